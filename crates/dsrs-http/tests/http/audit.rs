//! The audit log: every change has an entry, without its contents.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};

use crate::Api;
use dsrs_test::{Answer, found, one_node, test_database};
use dsrs_test_api::friendly_lm;

async fn send(api: &Api, method: Method, path: &str, body: Option<Value>) -> Answer {
    let headers = [("authorization", "Bearer root")];
    api.send(method, path, &headers, body.map(|body| body.to_string())).await
}

/// A server that runs no jobs.
async fn guarded() -> Api {
    let settings = [("DSRS_API_KEYS", "root"), ("DSRS_WORKER_ENABLED", "false")];
    Api::start(&test_database().await, Some(Arc::new(friendly_lm())), &settings).await
}

/// The entries as `ACTION KIND NAME VERSION`, oldest first.
async fn entries(api: &Api, query: &str) -> Vec<String> {
    let page = send(api, Method::GET, &format!("/v1/audit{query}"), None).await.expect(200).json();
    let describe = |entry: &Value| {
        let version = entry["version"].as_i64().map_or(String::new(), |n| format!(" {n}"));
        let text = |name: &str| entry[name].as_str().unwrap_or("-").to_owned();
        format!("{} {} {}{version}", text("action"), text("kind"), text("name"))
    };
    page["items"].as_array().unwrap().iter().rev().map(describe).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_is_logged_with_its_actor_and_without_contents() {
    let api = guarded().await;
    let post = |path: &'static str, body: Value| send(&api, Method::POST, path, Some(body));
    post("/v1/graphs", one_node("ask", "question -> answer")).await.expect(201);
    let graph = one_node("ask", "question -> answer, score: float");
    send(&api, Method::PUT, "/v1/graphs/ask", Some(graph)).await.expect(200);
    let state = json!({"predictors": {"ask": {"instruction": "a-secret-instruction"}}});
    send(&api, Method::PUT, "/v1/graphs/ask/state", Some(state)).await.expect(200);
    post("/v1/graphs/ask/state/versions/2/activate", json!({})).await.expect(200);
    let example = json!({"inputs": {"question": "a-secret-question"}, "expected": {"answer": "b"}});
    let dataset = json!({"name": "tickets", "examples": [example]});
    post("/v1/datasets", dataset.clone()).await.expect(201);
    let run = post("/v1/graphs/ask/runs", json!({"inputs": {"question": "?"}})).await.expect(202);
    let run = run.json()["id"].as_str().unwrap().to_owned();
    send(&api, Method::POST, &format!("/v1/runs/{run}/cancel"), None).await.expect(200);
    post("/v1/workspaces", json!({"name": "team-a"})).await.expect(201);
    let key = post("/v1/keys", json!({"name": "ci", "scopes": ["read"]})).await.expect(201).json();
    let path = format!("/v1/keys/{}", key["id"].as_str().unwrap());
    send(&api, Method::DELETE, &path, None).await.expect(204);
    send(&api, Method::DELETE, "/v1/datasets/tickets", None).await.expect(204);
    send(&api, Method::DELETE, "/v1/graphs/ask", None).await.expect(204);

    let label = key["actor"].as_str().unwrap();
    let expected = [
        "create graph ask 1".to_owned(),
        "change graph ask 2".to_owned(),
        "change state ask 3".to_owned(),
        "activate state ask 2".to_owned(),
        "create dataset tickets 1".to_owned(),
        "cancel run -".to_owned(),
        "create workspace team-a".to_owned(),
        format!("create key {label}"),
        format!("revoke key {label}"),
        "delete dataset tickets".to_owned(),
        "delete graph ask".to_owned(),
    ];
    assert_eq!(entries(&api, "").await, expected);
    assert_eq!(entries(&api, "?kind=dataset").await.len(), 2);
    assert_eq!(entries(&api, "?actor=someone").await, Vec::<String>::new());
    assert_eq!(entries(&api, "?until=2001-01-01T00:00:00Z").await, Vec::<String>::new());
    assert_eq!(entries(&api, "?since=2001-01-01T00:00:00Z").await.len(), expected.len());
    let page = send(&api, Method::GET, "/v1/audit?limit=200", None).await.expect(200).text;
    assert!(!page.contains("a-secret"), "{page}");
    let first = send(&api, Method::GET, "/v1/audit?limit=1", None).await.json()["items"][0].clone();
    assert!(first["actor"].as_str().unwrap().starts_with("key-"), "{first}");
    let bad = send(&api, Method::GET, "/v1/audit?since=yesterday", None).await;
    assert_eq!(bad.expect(400).code(), "invalid_parameter");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_is_refused_is_not_logged() {
    let api = guarded().await;
    let graph = one_node("ask", "question -> answer");
    send(&api, Method::POST, "/v1/graphs", Some(graph.clone())).await.expect(201);
    send(&api, Method::POST, "/v1/graphs", Some(graph)).await.expect(409);
    send(&api, Method::POST, "/v1/graphs/ask/state/versions/7/activate", None).await.expect(404);
    let nothing = "/v1/runs/00000000-0000-7000-8000-00000000dead/cancel";
    send(&api, Method::POST, nothing, None).await.expect(404);
    assert_eq!(entries(&api, "").await, ["create graph ask 1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn old_entries_are_removed() {
    let settings = [("DSRS_API_KEYS", "root"), ("DSRS_RETENTION_AUDIT", "1s")];
    let api = Api::with_settings(&settings).await;
    let graph = one_node("ask", "question -> answer");
    send(&api, Method::POST, "/v1/graphs", Some(graph)).await.expect(201);
    found("no entry", async || entries(&api, "").await.is_empty().then_some(())).await;
}
