//! The limits of each workspace: one that has used its share leaves the others theirs.

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Api;
use dsrs_test::{Answer, Remote, found, one_node, test_database};
use dsrs_test_api::friendly_lm;

/// Two workspaces of a server without workers, with these settings.
async fn workspaces(settings: &[(&str, &str)]) -> (Api, Remote, Remote, String) {
    let fixed = [("DSRS_API_KEYS", "root"), ("DSRS_WORKER_ENABLED", "false")];
    let settings = [fixed.as_slice(), settings].concat();
    let lm = std::sync::Arc::new(friendly_lm());
    let api = Api::start(&test_database().await, Some(lm), &settings).await;
    let root = Remote::with_key(&api.url, "root");
    let (mut remotes, mut keys) = (Vec::new(), Vec::new());
    for name in ["one", "other"] {
        root.post("/v1/workspaces", json!({"name": name})).await.expect(201);
        let key = json!({"name": "k", "scopes": ["admin"], "workspace": name});
        let key = root.post("/v1/keys", key).await.expect(201).json();
        keys.push(key["key"].as_str().unwrap().to_owned());
        remotes.push(Remote::with_key(&api.url, &keys[keys.len() - 1]));
    }
    let (other, one) = (remotes.pop().unwrap(), remotes.pop().unwrap());
    (api, one, other, keys.remove(0))
}

fn refused(answer: Answer, status: u16, setting: &str) {
    let answer = answer.expect(status);
    assert!(!answer.header("retry-after").is_empty(), "{:?}", answer.headers);
    assert!(answer.text.contains(&format!("`{setting}`")), "{}", answer.text);
}

fn ask() -> Value {
    json!({"inputs": {"question": "why?"}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_has_its_own_number_of_followers() {
    let (_api, one, other, _) =
        workspaces(&[("DSRS_LIMITS_MAX_FOLLOWERS_PER_WORKSPACE", "1")]).await;
    let mut events = Vec::new();
    for caller in [&one, &other] {
        caller.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
        let run = caller.post("/v1/graphs/q/runs", ask()).await.expect(202);
        events.push(format!("{}/events", run.header("location")));
    }
    let _follower = one.stream(Method::GET, &events[0], &[], None).await;
    refused(one.get(&events[0]).await, 429, "limits.max_followers_per_workspace");
    let _other = other.stream(Method::GET, &events[1], &[], None).await;
}

/// A request of `one` that the server has begun to read; it has sent a part of its body and never sends the rest.
async fn unfinished(api: &Api, key: &str, path: &str, media_type: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(api.url.strip_prefix("http://").unwrap()).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\
         content-type: {media_type}\r\ncontent-length: {}\r\nexpect: 100-continue\r\n\r\n",
        body.len() + 1
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut permission = [0; "HTTP/1.1 100".len()];
    stream.read_exact(&mut permission).await.unwrap();
    assert_eq!(&permission, b"HTTP/1.1 100", "the server does not read the body");
    stream.write_all(body.as_bytes()).await.unwrap();
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_has_its_own_memory_for_bodies() {
    let (api, one, other, key) =
        workspaces(&[("DSRS_LIMITS_BODY_MEMORY_PER_WORKSPACE", "1KiB")]).await;
    let part = " ".repeat(900);
    let _unfinished = unfinished(&api, &key, "/v1/parse", "application/json", &part).await;
    let gauge = |answer: &Answer| answer.text.contains("dsrs_body_memory_bytes 900");
    Remote::with_key(&api.url, "root").until("/metrics", gauge).await;
    let body = json!({"type": "str", "text": "x".repeat(300)});
    refused(one.post("/v1/parse", &body).await, 503, "limits.body_memory_per_workspace");
    other.post("/v1/parse", &body).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_has_its_own_number_of_uploads() {
    let (api, one, other, key) =
        workspaces(&[("DSRS_UPLOADS_MAX_CONCURRENT_PER_WORKSPACE", "1")]).await;
    let path = "/v1/datasets?name=large";
    let lines = [("content-type", "application/jsonl")];
    let line = Some("{\"inputs\": {\"a\": 1}}\n".to_owned());
    let upload = unfinished(&api, &key, path, lines[0].1, " ").await;
    let small = "/v1/datasets?name=small";
    let answer = one.send(Method::POST, small, &lines, line.clone()).await;
    refused(answer, 503, "uploads.max_concurrent_per_workspace");
    other.send(Method::POST, small, &lines, line.clone()).await.expect(201);
    drop(upload);
    let again = "/v1/datasets?name=again";
    let is_free = async || {
        let answer = one.send(Method::POST, again, &lines, line.clone()).await;
        (answer.status == 201).then_some(())
    };
    found("a free place", is_free).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_has_only_so_many_runs_that_wait() {
    let (_api, one, other, _) = workspaces(&[("DSRS_LIMITS_MAX_WAITING_RUNS", "1")]).await;
    let letter = json!({
        "name": "letter",
        "inputs": {"text": "str"},
        "nodes": {"approve": {"strategy": "await", "signature": "text -> approved: bool"}},
        "edges": [{"from": "input.text", "to": "approve.text"}],
        "outputs": {"approved": "approve.approved"}
    });
    for caller in [&one, &other] {
        caller.post("/v1/graphs", &letter).await.expect(201);
        caller.post("/v1/graphs", one_node("q", "question -> answer")).await.expect(201);
    }
    let text = json!({"inputs": {"text": "Dear all"}});
    let execute = "/v1/graphs/letter/execute";
    let parked = one.post(execute, &text).await.expect(202).json();
    for path in [execute, "/v1/graphs/letter/runs"] {
        refused(one.post(path, &text).await, 429, "limits.max_waiting_runs");
    }
    // Graphs without such nodes, and other workspaces, are not concerned.
    one.post("/v1/graphs/q/execute", ask()).await.expect(200);
    other.post(execute, &text).await.expect(202);
    let cancel = format!("/v1/runs/{}/cancel", parked["id"].as_str().unwrap());
    one.post(&cancel, "").await.expect(200);
    one.post(execute, &text).await.expect(202);
}
