//! Datasets on the page: the list, the examples, what does not fit a graph, uploads by form.

use reqwest::Method;
use serde_json::json;

use super::{HTML, open, submit, words};
use crate::Api;
use dsrs_test::one_node;

/// A dataset of capitals; the third has an input that no graph here accepts.
fn capitals() -> serde_json::Value {
    json!({"name": "capitals", "examples": [
        {"inputs": {"country": "France"}, "expected": {"capital": "Paris"}, "split": "train"},
        {"inputs": {"country": "<b>Japan</b>"}, "expected": {"capital": "Tokyo"}},
        {"inputs": {"land": 7}, "expected": {"capital": "Lima"}}]})
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_list_says_what_a_dataset_is_and_a_pasted_text_makes_one() {
    let api = Api::new().await;
    let view = open(&api, "/datasets").await.expect(200);
    assert!(words(&view.text).contains("No datasets yet"), "{}", view.text);
    let table = "country,capital,split\r\nFrance,Paris,train\r\n\"Korea, South\",Seoul,\r\n";
    let fields = [("name", "table"), ("format", "csv"), ("inputs", "country"), ("text", table)];
    let made = submit(&api, "/datasets", &fields).await.expect(303);
    assert_eq!(made.header("location"), "/datasets/table");
    let view = words(&open(&api, "/datasets/table").await.expect(200).text);
    for part in ["2 examples", "train 1", "country Korea, South", "capital Seoul", "cells"] {
        assert!(view.contains(part), "{part} in {view}");
    }
    let list = words(&open(&api, "/datasets").await.expect(200).text);
    assert!(list.contains("table 2"), "{list}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_text_is_shown_again_with_each_problem_at_its_row() {
    let api = Api::new().await;
    let text = "{\"inputs\": {\"a\": 1}}\n{\"inputs\": 2}\n{\"input\": {}}";
    let fields = [("name", "wrong"), ("format", "jsonl"), ("text", text)];
    let view = submit(&api, "/datasets", &fields).await.expect(422);
    let shown = words(&view.text);
    for part in ["/examples/1/inputs", "/examples/2/input"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(view.text.contains("value=\"wrong\""), "{}", view.text);
    api.post("/v1/datasets", capitals()).await.expect(201);
    let view = submit(&api, "/datasets/capitals", &fields).await.expect(422);
    assert!(words(&view.text).contains("/examples/1/inputs"), "{}", view.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_that_do_not_fit_a_graph_are_marked_with_the_reason() {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("geo", "country -> capital")).await.expect(201);
    api.post("/v1/datasets", capitals()).await.expect(201);
    let view = open(&api, "/datasets/capitals").await.expect(200);
    assert!(view.text.contains("&lt;b&gt;Japan") && !view.text.contains("<b>Japan"));
    assert!(!view.text.contains("class=\"unfit"), "nothing is checked without a graph");
    let view = open(&api, "/datasets/capitals?graph=geo").await.expect(200);
    assert_eq!(view.text.matches("<tr class=\"unfit\"").count(), 1, "{}", view.text);
    let shown = words(&view.text);
    assert!(shown.contains("1 examples do not fit geo"), "{shown}");
    assert!(shown.contains("/inputs/land"), "{shown}");
    let part =
        words(&open(&api, "/datasets/capitals?graph=geo&split=train").await.expect(200).text);
    assert!(part.contains("All 1 examples fit geo"), "{part}");
    assert_eq!(open(&api, "/datasets/capitals?graph=none").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_and_pages_have_addresses_and_a_deletion_frees_the_name() {
    let api = Api::new().await;
    let example = |number: u32| json!({"inputs": {"n": number}});
    let many: Vec<_> = (0..120).map(example).collect();
    api.post("/v1/datasets", json!({"name": "many", "examples": many})).await.expect(201);
    let one = "{\"inputs\": {\"n\": 777}}";
    submit(&api, "/datasets/many", &[("format", "jsonl"), ("text", one)]).await.expect(303);
    let newest = words(&open(&api, "/datasets/many").await.expect(200).text);
    assert!(newest.contains("n 777") && newest.contains("version 2"), "{newest}");
    let first = open(&api, "/datasets/many?version=1").await.expect(200);
    let next = first.text.split("rel=\"next\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    let second = open(&api, &next.replace("&amp;", "&")).await.expect(200);
    assert!(words(&first.text).contains("n 49 ") && !words(&first.text).contains("n 50 "));
    assert!(words(&second.text).contains("n 50 ") && second.text.contains("First page"));
    submit(&api, "/datasets/many/delete", &[]).await.expect(303);
    assert_eq!(open(&api, "/datasets/many").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_may_only_read_sees_no_buttons_that_change_or_start_something() {
    let api = Api::with_settings(&[("DSRS_API_KEYS", "open-sesame-123456")]).await;
    let own = ("authorization", "Bearer open-sesame-123456");
    let post = async |path: &str, body: serde_json::Value| {
        let headers = [own, ("content-type", "application/json")];
        api.send(Method::POST, path, &headers, Some(body.to_string())).await
    };
    post("/v1/datasets", capitals()).await.expect(201);
    let key = post("/v1/keys", json!({"name": "reader", "scopes": ["read"]})).await.expect(201);
    let bearer = format!("Bearer {}", key.json()["key"].as_str().unwrap());
    let read = async |path: &str| {
        api.send(Method::GET, path, &[HTML, ("authorization", &bearer)], None).await
    };
    for (path, hidden) in [
        ("/datasets", "id=\"upload\""),
        ("/datasets/capitals", "/delete\""),
        ("/datasets/capitals", "/evaluations/new"),
        ("/evaluations", "/evaluations/new"),
        ("/optimizations", "/optimizations/new"),
    ] {
        let view = read(path).await.expect(200);
        assert!(!view.text.contains(hidden), "{hidden} in {path}");
        let all = api.send(Method::GET, path, &[HTML, own], None).await.expect(200);
        assert!(all.text.contains(hidden), "{hidden} not in {path} for a key that may");
    }
    for path in ["/evaluations/new", "/optimizations/new"] {
        assert_eq!(read(path).await.status, 403, "{path}");
    }
}
