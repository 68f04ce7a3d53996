//! The list of graphs at `/`.

use serde_json::json;

use super::{open, submit, words};
use crate::Api;
use dsrs_test::one_node;

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_gets_the_page_and_a_client_gets_json() {
    let api = Api::new().await;
    let view = open(&api, "/").await.expect(200);
    assert_eq!(view.header("content-type"), "text/html; charset=utf-8");
    let pointer = api.get("/").await.expect(200);
    assert_eq!(pointer.header("content-type"), "application/json");
    assert_eq!(pointer.json()["docs"], "/docs/");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_server_offers_the_examples_and_one_click_adds_each() {
    let api = Api::new().await;
    let view = words(&open(&api, "/").await.text);
    assert!(view.contains("No graphs yet"), "{view}");
    for name in ["capital", "review-card", "help-desk"] {
        assert!(view.contains(&format!("Add {name}")), "{view}");
        let added = submit(&api, "/graphs/example", &[("name", name)]).await.expect(303);
        assert_eq!(added.header("location"), format!("/graphs/{name}"));
        assert_eq!(api.get(&format!("/v1/graphs/{name}")).await.status, 200);
    }
    let again = submit(&api, "/graphs/example", &[("name", "capital")]).await.expect(409);
    assert!(words(&again.text).contains("already_exists"), "{}", again.text);
    assert_eq!(submit(&api, "/graphs/example", &[("name", "other")]).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_has_the_runs_of_the_last_day() {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("ask", "question -> answer")).await.expect(201);
    for _ in 0..3 {
        let body = json!({"inputs": {"question": "where?"}});
        api.post("/v1/graphs/ask/execute", body).await.expect(200);
    }
    let runs = |answer: &dsrs_test::Answer| answer.json()["items"].as_array().unwrap().len() == 3;
    api.until("/v1/runs", runs).await;
    let view = open(&api, "/").await.expect(200);
    let text = words(&view.text);
    assert!(text.contains("3 runs in 24 h 100 % succeeded p50"), "{text}");
    assert!(text.contains("state 1"), "{text}");
    assert!(view.text.contains("aria-label=\"3 runs in the last day\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_graphs_are_shown_page_by_page() {
    let api = Api::new().await;
    for number in 0..26 {
        let graph = one_node(&format!("graph-{number}"), "question -> answer");
        api.post("/v1/graphs", graph).await.expect(201);
    }
    let first = open(&api, "/").await.expect(200);
    assert!(first.text.contains("graph-25") && !first.text.contains("\"graph-1\""));
    let next = first.text.split("rel=\"next\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    let second = open(&api, next).await.expect(200);
    let text = words(&second.text);
    assert!(text.contains("graph-1 v1") && text.contains("graph-0 v1"), "{text}");
    assert!(text.contains("First page") && !text.contains("Next page"), "{text}");
}
