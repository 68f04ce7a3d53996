//! Rules of decisions over HTTP: executed, changed, compared, refused, and set by an optimization.

use std::sync::Arc;

use dsrs::lm::{LmRequest, ScriptedLm};
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{Answer, test_database};

const PREDICTOR: &str = "/v1/graphs/q/predictors/ask";

/// An LM whose probabilities rise with the number in the text, and are too low.
fn lm() -> ScriptedLm {
    ScriptedLm::by(|request: &LmRequest| {
        let asked = &request.chat.turns[0].content;
        let number = asked.split("case ").nth(1).and_then(|rest| rest.split_whitespace().next());
        let number: f64 = number.and_then(|number| number.parse().ok()).unwrap_or_default();
        format!("[[ ## spam_probability ## ]]\n{}", number * 0.004)
    })
}

async fn api() -> Api {
    let api = Api::start(&test_database().await, Some(Arc::new(lm())), &[]).await;
    let node = json!({"strategy": "decide", "signature": "text -> spam: bool"});
    api.post("/v1/graphs", json!({"name": "q", "nodes": {"ask": node}})).await.expect(201);
    api
}

async fn decided(api: &Api) -> Value {
    let body = json!({"inputs": {"text": "case 60 of many"}});
    api.post("/v1/graphs/q/execute", body).await.expect(200).json()["outputs"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_is_changed_without_another_prompt() {
    let api = api().await;
    assert_eq!(decided(&api).await, json!({"spam_probability": 0.24, "spam": false}));
    let rules = json!({"spam": {"threshold": 0.2}});
    let patched = api.patch(PREDICTOR, json!({"decisions": rules})).await.expect(200).json();
    assert_eq!(patched["decisions"], rules);
    assert_eq!(decided(&api).await, json!({"spam_probability": 0.24, "spam": true}));
    let diff = api.get("/v1/graphs/q/state/versions/2/diff").await.expect(200).json();
    assert_eq!(
        diff["predictors"],
        json!({"ask": {"change": "changed", "decisions": {"spam": {"after": {"threshold": 0.2}}}}})
    );
    let wrong = json!({"decisions": {"spam": {"cuts": [1]}, "ham": {"threshold": 2}}});
    assert_eq!(
        api.patch(PREDICTOR, wrong).await.expect(422).errors(),
        ["/decisions/ham/threshold invalid_value", "/decisions/spam/cuts invalid_value"]
    );
    let restored = api.patch(PREDICTOR, json!({"decisions": null})).await.expect(200).json();
    assert_eq!(restored.get("decisions"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_optimization_sets_the_rule() {
    let api = api().await;
    let example = |n: usize| {
        let number = n * 37 % 100;
        json!({"inputs": {"text": format!("case {number} of many")}, "expected": {"spam": number >= 50}})
    };
    let examples: Vec<Value> = (0..40).map(example).collect();
    api.post("/v1/datasets", json!({"name": "mail", "examples": examples})).await.expect(201);
    let body = json!({"optimizer": "threshold_calibration", "trainset": "mail", "metric": "exact"});
    let accepted = api.post("/v1/graphs/q/optimizations", body).await.expect(202);
    let path = format!("/v1/optimizations/{}", accepted.json()["id"].as_str().unwrap());
    let done = |answer: &Answer| answer.json()["finished_at"].is_string();
    let found = api.until(&path, done).await.expect(200).json();
    assert_eq!((&found["status"], &found["usage"]["lm_calls"]), (&json!("succeeded"), &json!(40)));
    let text = found["result"]["diff"]["text"].as_str().unwrap();
    assert!(text.starts_with("~ ask decisions.spam: none -> {\"threshold\":0."), "{text}");
    api.post(&format!("{path}/activate"), json!({})).await.expect(200);
    assert_eq!(decided(&api).await["spam"], true);
}
