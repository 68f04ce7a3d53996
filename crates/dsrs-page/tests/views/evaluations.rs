//! Evaluations on the page: the form with its forecast, one evaluation, two side by side.

use serde_json::{Value, json};

use super::{open, submit, words};
use crate::Api;
use dsrs_test::one_node;

/// A server with a graph and a dataset of two examples.
async fn server() -> Api {
    let api = Api::new().await;
    api.post("/v1/graphs", one_node("geo", "country -> answer")).await.expect(201);
    let examples = json!([
        {"inputs": {"country": "<i>France</i>"}, "expected": {"answer": "Paris"}},
        {"inputs": {"country": "Japan"}, "expected": {"answer": "Tokyo"}}]);
    let body = json!({"name": "capitals", "examples": examples});
    api.post("/v1/datasets", body).await.expect(201);
    api
}

const FILLED: [(&str, &str); 4] = [
    ("/graph", "geo"),
    ("/dataset/dataset", "capitals"),
    ("/metric#", "1"),
    ("/metric/exact/field", "answer"),
];

/// Starts an evaluation by the form, and returns its id once it has ended.
async fn evaluated(api: &Api) -> String {
    let started = submit(api, "/evaluations", &FILLED).await.expect(303);
    let path = started.header("location").to_owned();
    let ended = |answer: &dsrs_test::Answer| answer.json()["status"] == "succeeded";
    api.until(&format!("/v1{path}"), ended).await;
    path.rsplit('/').next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_form_is_made_of_the_schema_of_metrics_and_foresees_calls() {
    let api = server().await;
    let empty = words(&open(&api, "/evaluations").await.expect(200).text);
    assert!(empty.contains("No evaluations yet"), "{empty}");
    let form = open(&api, "/evaluations/new?graph=geo&dataset=capitals").await.expect(200);
    let shown = words(&form.text);
    for part in [
        "judge: an LM that judges",
        "Runs of the graph 2",
        "about 2",
        "Cost unknown",
        "no runs yet",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let chosen = submit(&api, "/evaluations/new", &FILLED).await.expect(200);
    assert!(
        chosen.text.contains("name=\"/metric/exact/field\" value=\"answer\""),
        "{}",
        chosen.text
    );
    let same = words(&chosen.text);
    assert!(
        same.contains("&quot;exact&quot;: { &quot;field&quot;: &quot;answer&quot; }"),
        "{same}"
    );
    assert_eq!(api.get("/v1/evaluations").await.json()["items"], json!([]), "nothing was started");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_start_shows_each_problem_at_its_field() {
    let api = server().await;
    let wrong = [
        FILLED[0],
        FILLED[1],
        FILLED[2],
        ("/metric/exact/field", "capitol"),
        ("/max_errors", "-1"),
    ];
    let view = submit(&api, "/evaluations", &wrong).await.expect(422);
    assert!(view.text.contains("field-problem"), "{}", view.text);
    assert!(words(&view.text).contains("capitol"), "{}", view.text);
    assert!(view.text.contains("value=\"-1\""), "what was entered stays");
    let unnamed = submit(&api, "/evaluations", &[]).await.expect(422);
    assert!(unnamed.text.contains("refusal"), "{}", unnamed.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_evaluation_shows_its_score_with_interval_and_each_example() {
    let api = server().await;
    let id = evaluated(&api).await;
    let view = open(&api, &format!("/evaluations/{id}")).await.expect(200);
    let shown = words(&view.text);
    for part in [
        "succeeded",
        "2 of 2 examples",
        "95 % interval",
        "too few examples",
        "expected `Paris`",
        "Got",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(view.text.contains("&lt;i&gt;France") && !view.text.contains("<i>France"));
    assert!(!view.text.contains("data-follow"), "an ended evaluation is not followed");
    let failed =
        words(&open(&api, &format!("/evaluations/{id}?show=failed")).await.expect(200).text);
    assert!(failed.contains("No results here"), "{failed}");
    let list = words(&open(&api, "/evaluations?graph=geo").await.expect(200).text);
    assert!(list.contains("geo v1 · state 1") && list.contains("2 / 2"), "{list}");
    let form = words(&open(&api, "/evaluations/new?graph=geo&dataset=capitals").await.text);
    assert!(form.contains("Based on the 2 examples of the last evaluation"), "{form}");
    submit(&api, &format!("/evaluations/{id}/cancel"), &[]).await.expect(409);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_evaluations_are_compared_example_by_example() {
    let api = server().await;
    let (one, two) = (evaluated(&api).await, evaluated(&api).await);
    let view = open(&api, &format!("/evaluations/{two}")).await.expect(200);
    assert!(view.text.contains(&format!("<option value=\"{one}\"")), "{}", view.text);
    let path = format!("/evaluations/compare?a={one}&b={two}");
    let shown = words(&open(&api, &path).await.expect(200).text);
    for part in
        ["+0.000", "too few examples to exclude chance", "2 equal", "country Japan", "A got"]
    {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let items: Value = api.get("/v1/evaluations").await.json()["items"].clone();
    assert_eq!(items.as_array().unwrap().len(), 2);
    assert_eq!(open(&api, "/evaluations/compare?a=x").await.status, 400);
}
