//! Restate as the engine, on a real node of it. What both engines promise is in the tests of background work, which
//! run with each (`DSRS_TEST_ENGINE`); here is what only this one does.

mod attempts;
mod hostile;
mod moves;
mod takeover;

use std::sync::Arc;

use dsrs::lm::ScriptedLm;
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{found, http_client, restate_node, restate_settings};

/// A service on this database with Restate as its engine, and more settings.
async fn service(database: &str, lm: Arc<ScriptedLm>, settings: &[(&str, &str)]) -> Api {
    let engine = restate_settings(database);
    let engine = engine.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let settings: Vec<(&str, &str)> = engine.chain(settings.iter().copied()).collect();
    Api::start(database, Some(lm), &settings).await
}

/// Accepts work and makes no attempt.
const NO_WORKER: (&str, &str) = ("DSRS_WORKER_ENABLED", "false");

fn lm() -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::sections([("thought", "hm"), ("answer", "yes")]))
}

/// Two nodes, one after the other.
fn line() -> Value {
    json!({
        "name": "line",
        "nodes": {
            "first": {"strategy": "predict", "signature": "question -> thought"},
            "second": {"strategy": "predict", "signature": "thought -> answer"}
        },
        "edges": [{"from": "first.thought", "to": "second.thought"}]
    })
}

fn question(text: &str) -> Value {
    json!({"inputs": {"question": text}})
}

fn id(answer: &Value) -> String {
    answer["id"].as_str().unwrap().to_owned()
}

/// The prefix of the services of a database.
fn prefix(database: &str) -> String {
    let settings = restate_settings(database);
    settings.into_iter().find(|(name, _)| name == "DSRS_RESTATE_PREFIX").unwrap().1
}

/// The invocations of a database that the engine has, with their statuses and last failures.
async fn invocations(database: &str) -> Vec<Value> {
    let name = prefix(database);
    let query = format!(
        "select target_service_key, status, last_failure from sys_invocation
         where target_service_name in ('{name}.run', '{name}.job') and status <> 'completed'"
    );
    let request = http_client().post(format!("{}/query", restate_node().admin));
    let request = request.header("accept", "application/json");
    let request = request.header("content-type", "application/json");
    let answer = request.body(json!({"query": query}).to_string()).send().await.unwrap();
    let rows: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
    rows["rows"].as_array().unwrap().clone()
}

/// Waits until the engine has nothing of a database.
async fn until_empty(database: &str) {
    let is_empty = async || invocations(database).await.is_empty().then_some(());
    found("the end of what the engine has", is_empty).await;
}
