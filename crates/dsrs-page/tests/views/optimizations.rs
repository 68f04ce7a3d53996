//! Optimizations on the page: the form with its forecast, one optimization with its candidates, activation.

use std::sync::Arc;

use dsrs::lm::{Role, ScriptedAnswer, ScriptedLm};
use serde_json::{Value, json};

use super::{open, submit, words};
use crate::Api;
use dsrs_test::{Answer, one_node, test_database};

/// Answers as expected once it is shown any worked example; says `?` before.
fn learns_from_demos() -> ScriptedLm {
    ScriptedLm::by(|request| {
        let is_taught = request.chat.messages().any(|turn| turn.role == Role::Assistant);
        let answer = if is_taught { "<u>Paris</u>" } else { "?" };
        ScriptedAnswer::from(format!("[[ ## capital ## ]]\n{answer}"))
    })
}

/// A server with a graph and a dataset of 40 examples.
async fn server() -> Api {
    let lm = Arc::new(learns_from_demos());
    let api = Api::start(&test_database().await, Some(lm), &[]).await;
    api.post("/v1/graphs", one_node("geo", "country -> capital")).await.expect(201);
    let example = |number: u32| json!({"inputs": {"country": format!("c{number}")}, "expected": {"capital": "<u>Paris</u>"}});
    let examples: Vec<Value> = (0..40).map(example).collect();
    api.post("/v1/datasets", json!({"name": "capitals", "examples": examples})).await.expect(201);
    api
}

const FILLED: [(&str, &str); 6] = [
    ("/graph", "geo"),
    ("/trainset/dataset", "capitals"),
    ("/optimizer", "labeled_few_shot"),
    ("/config/k", "2"),
    ("/metric", "f1"),
    ("/budget/lm_calls", "200"),
];

fn ended(answer: &Answer) -> bool {
    answer.json()["status"] == "succeeded"
}

#[tokio::test(flavor = "multi_thread")]
async fn the_form_has_the_settings_of_the_chosen_optimizer_and_a_forecast() {
    let api = server().await;
    let empty = words(&open(&api, "/optimizations").await.expect(200).text);
    assert!(empty.contains("No optimizations yet"), "{empty}");
    let form = open(&api, "/optimizations/new?graph=geo&trainset=capitals&optimizer=gepa").await;
    assert!(form.text.contains("name=\"/config/reflection_minibatch_size\""), "{}", form.text);
    let shown = words(&form.text);
    for part in ["Runs of the graph 30", "Cost unknown", "At most 500 calls", "no runs yet"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let other = submit(&api, "/optimizations/new", &FILLED).await.expect(200);
    assert!(other.text.contains("name=\"/config/k\" value=\"2\""), "{}", other.text);
    assert!(!other.text.contains("/config/reflection_minibatch_size"), "{}", other.text);
    let unlimited = words(&submit(&api, "/optimizations/new", &FILLED[..5]).await.text);
    assert!(unlimited.contains("No limit of calls"), "{unlimited}");
    assert_eq!(
        api.get("/v1/optimizations").await.json()["items"],
        json!([]),
        "nothing was started"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_start_shows_each_problem_at_its_field() {
    let api = server().await;
    let wrong = [FILLED[0], FILLED[1], FILLED[2], ("/config/k", "0"), ("/budget/lm_calls", "-3")];
    let view = submit(&api, "/optimizations", &wrong).await.expect(422);
    assert!(view.text.matches("field-problem").count() >= 1, "{}", view.text);
    assert!(view.text.contains("name=\"/config/k\" value=\"0\""), "what was entered stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_optimization_shows_budget_candidates_and_what_activation_changes() {
    let api = server().await;
    let started = submit(&api, "/optimizations", &FILLED).await.expect(303);
    let path = started.header("location").to_owned();
    api.until(&format!("/v1{path}"), ended).await;
    let view = open(&api, &path).await.expect(200);
    let shown = words(&view.text);
    for part in [
        "succeeded",
        "Budget",
        "of 200",
        "Pareto front",
        "original",
        "held out",
        "Result on held-out",
    ] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(view.text.contains("<title>Score over calls"), "{}", view.text);
    let list = words(&open(&api, "/optimizations?graph=geo").await.expect(200).text);
    assert!(list.contains("geo v1 · state 1 succeeded labeled_few_shot"), "{list}");
    let candidate = open(&api, &format!("{path}/candidates/1")).await.expect(200);
    let changes = words(&candidate.text);
    assert!(changes.contains("added demo 1") && changes.contains("all examples"), "{changes}");
    assert!(candidate.text.contains("&lt;u&gt;Paris") && !candidate.text.contains("<u>Paris"));
    assert_eq!(open(&api, &format!("{path}/candidates/99")).await.status, 404);
    assert!(shown.contains("instead of 1"), "{shown}");
    let graph =
        view.text.split("name=\"graph\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let stale = [("graph", graph), ("seen", "77")];
    submit(&api, &format!("{path}/activate"), &stale).await.expect(412);
    let fresh = [("graph", graph), ("seen", "1")];
    submit(&api, &format!("{path}/activate"), &fresh).await.expect(303);
    let active = words(&open(&api, &path).await.expect(200).text);
    assert!(active.contains("Active: callers of geo run candidate"), "{active}");
}
