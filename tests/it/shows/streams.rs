//! A thousand streams at once on one process: each receives the text of its model, and
//! together they need little memory, even if no client reads.

use futures_util::stream::{self, StreamExt};
use reqwest::Method;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use super::{on, one_node};
use dsrs_test::{Does, FakeLm, Remote, sections, test_database};

const STREAMS: usize = 1000;

/// This many deltas exceed the buffer of a run.
const WORDS: usize = 900;

/// A build without optimization has larger futures, and itself takes 70 MiB before the first request.
const MOST_MEMORY_KB: u64 = if cfg!(debug_assertions) { 400 << 10 } else { 300 << 10 };

/// The resident memory of a process in KiB.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// This process has two sockets per stream: one of the client and one of the model.
fn allow_many_sockets() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_streams_need_less_than_300_megabytes() {
    allow_many_sockets();
    let begin = "[[ ## answer ## ]]\nOnce upon a time".to_owned();
    let words = std::iter::repeat_n(" there".to_owned(), WORDS);
    let pieces = std::iter::once(begin).chain(words).chain([" was".to_owned()]);
    let lm = FakeLm::doing([Does::Pour(pieces.collect())]).await;
    let hour = 3_600_000;
    let server = on(&test_database().await, &lm)
        .env("DSRS_MODELS__DEFAULT__MODEL", "fake")
        .env("DSRS_MODELS__DEFAULT__TIMEOUT_MS", &hour.to_string())
        .env("DSRS_LIMITS_RUN_TIMEOUT_MS", &hour.to_string())
        .start();
    let api = Remote::new(&server.url);
    let graph = one_node("q", "question -> answer", json!({"timeout_ms": hour}));
    api.post("/v1/graphs", graph).await.expect(201);
    let body = json!({"inputs": {"question": "?"}}).to_string();
    let open = |_| async {
        let path = "/v1/graphs/q/execute";
        let mut stream = api.stream(Method::POST, path, &[], Some(body.clone())).await;
        stream.pass("\"text\":\" was\"").await;
        stream
    };
    let streams: Vec<_> = stream::iter(0..STREAMS).map(open).buffer_unordered(64).collect().await;
    assert_eq!((streams.len(), lm.asked().len()), (STREAMS, STREAMS));
    let held = resident(server.pid());
    println!("{held} KiB for {STREAMS} streams");
    assert!(held < MOST_MEMORY_KB, "{held} KiB for {STREAMS} streams");
    drop(streams);
    lm.abandoned(STREAMS).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_client_costs_neither_time_nor_memory() {
    // Three times the text exceeds the buffers of the connection.
    let long = "Once upon a time there was a text. ".repeat(29_000);
    let lm = FakeLm::doing([Does::Say(sections([("answer", long.trim())]))]).await;
    let server = on(&test_database().await, &lm).start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", one_node("q", "question -> answer", json!({}))).await.expect(201);
    let body = json!({"inputs": {"question": "?"}}).to_string();
    let mut stream = api.stream(Method::POST, "/v1/graphs/q/execute", &[], Some(body)).await;
    let id = stream.next().await.unwrap().data["run_id"].as_str().unwrap().to_owned();
    // It does not wait for its reader.
    let run = api.until(&format!("/v1/runs/{id}"), |run| run.status == 200).await.json();
    assert_eq!(run["status"], "succeeded");
    let held = resident(server.pid());
    assert!(held < MOST_MEMORY_KB, "{held} KiB for a reader that does not read");
    let events = stream.rest().await;
    assert_eq!(events.last().unwrap().kind, "run.completed");
}
