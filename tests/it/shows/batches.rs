//! Batches that outlast those who work on them, and that are larger than memory should be.

use std::sync::Arc;

use reqwest::Method;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::leases::{expire_leases, leased};
use super::{PATIENT_SHUTDOWN, STOPPING, logged, on, one_node, text};
use dsrs_test::{Does, FakeLm, Gate, Remote, ServerSetup, sections, test_database};

const BATCHES: &str = "/v1/graphs/q/batches";

fn said() -> String {
    sections([("answer", "yes")])
}

/// Answers the first `count` requests at once, and the others when the gate is open.
async fn holds_after(count: usize, gate: &Gate) -> Arc<FakeLm> {
    let gate = gate.clone();
    FakeLm::by(move |number, _| match number < count {
        true => Does::Say(said()),
        false => Does::Hold(gate.clone(), said()),
    })
    .await
}

fn items(count: usize) -> String {
    (0..count).map(|number| format!("{{\"question\": \"number {number}\"}}\n")).collect()
}

async fn worker(database: &str, lm: &FakeLm) -> ServerSetup {
    let setup = leased(on(database, lm).worker(), database, "worker").await;
    setup.env(PATIENT_SHUTDOWN.0, PATIENT_SHUTDOWN.1)
}

async fn started(api: &Remote, count: usize, options: &str) -> String {
    let graph = one_node("q", "question -> answer", json!({"retries": 0}));
    api.post("/v1/graphs", graph).await.expect(201);
    let lines = [("content-type", "application/jsonl")];
    let path = format!("{BATCHES}?{options}");
    let accepted = api.send(Method::POST, &path, &lines, Some(items(count))).await.expect(202);
    format!("/v1/batches/{}", text(&accepted.json(), "id"))
}

async fn until_succeeded(api: &Remote, path: &str, count: u64) -> Value {
    let enough =
        |batch: &Value| batch["counts"]["succeeded"].as_u64().is_some_and(|done| done >= count);
    api.until(path, |answer| answer.status == 200 && enough(&answer.json())).await.json()
}

/// How often each question was asked.
fn times_asked(lm: &FakeLm, count: usize) -> Vec<usize> {
    let asked: Vec<String> = lm.asked().iter().map(|asked| asked.question() + "\n").collect();
    let times = |number| {
        let question = format!("number {number}\n");
        asked.iter().filter(|asked| asked.contains(&question)).count()
    };
    (0..count).map(times).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_worker_loses_the_items_in_flight_and_no_item_that_has_ended() {
    let (database, gate) = (test_database().await, Gate::new());
    let lm = holds_after(30, &gate).await;
    let server = on(&database, &lm).env("DSRS_WORKER_ENABLED", "false").start();
    let worker = worker(&database, &lm).await;
    let api = Remote::new(&server.url);
    let killed = worker.start();
    let path = started(&api, 50, "concurrency=4").await;
    lm.arrived(34).await;
    until_succeeded(&api, &path, 30).await;
    killed.kill();
    expire_leases(&database, "worker").await;
    gate.open();
    let _next = worker.start();
    let done = |answer: &dsrs_test::Answer| answer.json()["finished_at"].is_string();
    let batch = api.until(&path, done).await.expect(200).json();
    let counts = json!({"total": 50, "pending": 0, "succeeded": 50, "failed": 0, "cancelled": 0});
    assert_eq!((text(&batch, "status"), &batch["counts"]), ("succeeded", &counts));
    assert_eq!(batch["usage"]["lm_calls"], 50, "what was lost is not counted, and nothing twice");
    let times = times_asked(&lm, 50);
    assert!(times.iter().all(|times| (1..=2).contains(times)), "{times:?}");
    assert_eq!(times.iter().sum::<usize>(), 54, "the four in flight were asked for again");
    let runs = api.get("/v1/runs?limit=200").await.expect(200).json();
    assert_eq!(runs["items"].as_array().unwrap().len(), 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_worker_finishes_its_items_and_requeues_the_batch() {
    let (database, gate) = (test_database().await, Gate::new());
    let lm = holds_after(10, &gate).await;
    let server = on(&database, &lm).env("DSRS_WORKER_ENABLED", "false").start();
    let worker = worker(&database, &lm).await;
    let api = Remote::new(&server.url);
    let mut ending = worker.start();
    let path = started(&api, 20, "concurrency=2").await;
    lm.arrived(12).await;
    ending.signal(Signal::TERM);
    logged(&worker, STOPPING).await;
    gate.open();
    assert!(ending.wait().success());
    let left = api.get(&path).await.expect(200).json();
    assert_eq!(left["counts"]["succeeded"], lm.asked().len(), "what was begun has ended");
    let _next = worker.start();
    until_succeeded(&api, &path, 20).await;
    assert_eq!(times_asked(&lm, 20), [1; 20]);
}

#[tokio::test(flavor = "multi_thread")]
async fn shared_work_survives_its_worker() {
    let (database, gate) = (test_database().await, Gate::new());
    let held = gate.clone();
    let lm = FakeLm::by(move |number, _| match number {
        1 => Does::Hold(held.clone(), said()),
        _ => Does::Say(said()),
    })
    .await;
    let server = on(&database, &lm).env("DSRS_WORKER_ENABLED", "false").start();
    let worker = worker(&database, &lm).await;
    let api = Remote::new(&server.url);
    let killed = worker.start();
    let graph = one_node("q", "question -> answer", json!({"retries": 0}));
    api.post("/v1/graphs", graph).await.expect(201);
    let items = ["same", "other", "same", "same"].map(|question| json!({"question": question}));
    let body = json!({"items": items, "concurrency": 1, "dedupe": true});
    let accepted = api.post(BATCHES, body).await.expect(202).json();
    let path = format!("/v1/batches/{}", text(&accepted, "id"));
    lm.arrived(2).await;
    killed.kill();
    expire_leases(&database, "worker").await;
    let _next = worker.start();
    until_succeeded(&api, &path, 4).await;
    assert_eq!(lm.asked().len(), 3, "only what was in flight was asked for again");
}

/// The most memory that a process has had, in MiB.
pub(super) fn peak_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() >> 10
}

/// So many, and of this size, that storing their whole body would show in memory; `bench/batch.py` measures any
/// number.
const MANY: usize = 4000;
const SIZE: usize = 25_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_large_batch_needs_less_memory_than_its_body() {
    let (database, lm) = (test_database().await, FakeLm::doing([Does::Stall]).await);
    let server = on(&database, &lm).env("DSRS_RUNS_RECORD", "off").start();
    let api = Remote::new(&server.url);
    let graph = json!({"name": "q", "nodes": {"loud": {"strategy": "upper"}},
        "inputs": {"question": "str"}, "edges": [{"from": "input.question", "to": "loud.text"}]});
    api.post("/v1/graphs", graph).await.expect(201);
    let filler = "x".repeat(SIZE);
    let body: String =
        (0..MANY).map(|number| format!("{{\"question\": \"{number} {filler}\"}}\n")).collect();
    let size = body.len() >> 20;
    let before = peak_memory(server.pid());
    let lines = [("content-type", "application/jsonl")];
    let accepted = api.send(Method::POST, BATCHES, &lines, Some(body)).await.expect(202).json();
    let path = format!("/v1/batches/{}", text(&accepted, "id"));
    until_succeeded(&api, &path, MANY as u64).await;
    let lines = [("accept", "application/jsonl")];
    let download = api.send(Method::GET, &format!("{path}/results"), &lines, None).await;
    let download = download.expect(200).text;
    for (number, line) in download.lines().enumerate() {
        let begins = format!("{{\"index\":{number},\"status\":\"succeeded\",");
        assert!(line.starts_with(&begins) && line.contains(&format!("\"{number} XXX")), "{line}");
    }
    assert_eq!(download.lines().count(), MANY);
    let peak = peak_memory(server.pid());
    assert!(peak < before + size as u64, "{peak} MiB after {before} MiB, for a body of {size} MiB");
}
