//! Computations of callers: while graphs compute for as long as they may, the server answers health
//! checks, renews leases, writes records and stops, and the computations end at their time limits.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::future::join_all;
use rustix::process::Signal;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tokio::task::JoinHandle;

use super::{on, one_node};
use dsrs_test::{
    Answer, Does, FakeLm, Remote, Server, ServerSetup, sections, test_database, within,
};

const EXECUTE: &str = "/v1/graphs/heavy/execute";

/// As many computations at a time as fill every thread of a small machine.
const COMPUTATIONS: usize = 8;

/// Health checks during the computations.
const CHECKS: usize = 20;

/// As many ops as last for minutes: the computations of a test are still in progress when it ends, on a fast machine and on
/// one that does much else.
const OPS: usize = 2_000;

/// A template that reads nearly as much as it may.
const LONG: &str = "{% for a in range(1000) %}{{ x|upper|length }}{% endfor %}";

/// The length of the text that it reads again and again.
const TEXT: usize = 16 << 10;

/// A graph of many ops, each of which computes for as long as it may.
fn heavy(ops: usize) -> Value {
    let op = json!({"strategy": "render", "config": {"template": LONG}});
    let name = |number| format!("n{number}");
    let nodes: serde_json::Map<_, _> = (0..ops).map(|number| (name(number), op.clone())).collect();
    let edge = |number| json!({"from": "input.x", "to": format!("{}.x", name(number))});
    let edges: Vec<_> = (0..ops).map(edge).collect();
    json!({
        "name": "heavy", "inputs": {"x": "str"}, "nodes": nodes, "edges": edges,
        "outputs": {"y": "n0.text"}
    })
}

async fn lm() -> Arc<FakeLm> {
    FakeLm::doing([Does::Say(sections([("answer", "yes")]))]).await
}

async fn serving(setup: &ServerSetup) -> (Server, Remote) {
    let server = setup.start();
    let api = Remote::new(&server.url);
    api.post_when_available("/v1/graphs", heavy(OPS)).await.expect(201);
    let light = one_node("q", "question -> answer", json!({}));
    api.post_when_available("/v1/graphs", light).await.expect(201);
    (server, api)
}

/// Executions that compute until their time is over, each over its own connection.
fn compute(url: &str, timeout_ms: u64) -> Vec<JoinHandle<Answer>> {
    let one = || {
        let api = Remote::new(url);
        let body = json!({"inputs": {"x": "a".repeat(TEXT)}, "timeout_ms": timeout_ms});
        tokio::spawn(async move { api.post(EXECUTE, body).await })
    };
    (0..COMPUTATIONS).map(|_| one()).collect()
}

/// A background run that computes until its time is over.
async fn started(api: &Remote, timeout_ms: u64) -> String {
    let body = json!({"inputs": {"x": "a".repeat(TEXT)}, "timeout_ms": timeout_ms});
    let run = api.post_when_available("/v1/graphs/heavy/runs", body).await.expect(202).json();
    run["id"].as_str().unwrap().to_owned()
}

/// Waits until runs are in progress.
async fn computing(api: &Remote, count: usize) {
    let line = format!("dsrs_runs_running {count}");
    api.until("/metrics", |answer| answer.text.lines().any(|found| found == line)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_checks_are_answered_while_every_thread_computes() {
    let (lm, database) = (lm().await, test_database().await);
    let setup = on(&database, &lm).env("DSRS_SHUTDOWN_TIMEOUT", "1s");
    let (server, api) = serving(&setup).await;
    let runs = compute(&server.url, 300_000);
    computing(&api, COMPUTATIONS).await;
    for _ in 0..CHECKS {
        // A connection of its own, which any thread may get.
        let check = Remote::new(&server.url);
        check.get("/healthz").await.expect(200);
        check.get("/readyz").await.expect(200);
    }
    assert!(runs.iter().all(|run| !run.is_finished()), "the computations ended first");
    // A record is written, and a list is read, too.
    let asked = json!({"inputs": {"question": "?"}});
    let run = Remote::new(&server.url).post("/v1/graphs/q/execute", asked).await.expect(200);
    let recorded = format!("/v1/runs/{}", run.json()["id"].as_str().unwrap());
    api.get(&recorded).await.expect(200);
    assert!(runs.iter().all(|run| !run.is_finished()), "the computations ended first");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_computation_ends_at_the_time_limit_of_its_run() {
    let (lm, database) = (lm().await, test_database().await);
    let (server, api) = serving(&on(&database, &lm)).await;
    let queued = started(&api, 2_000).await;
    for run in compute(&server.url, 2_000) {
        let answer = run.await.unwrap().expect(504);
        assert_eq!(answer.code(), "timeout");
    }
    assert_eq!(api.ended(&queued).await["error"]["code"], "timeout");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_threads_compute_stops_when_asked() {
    let (lm, database) = (lm().await, test_database().await);
    let setup = on(&database, &lm).env("DSRS_SHUTDOWN_TIMEOUT", "1s");
    let (mut server, api) = serving(&setup).await;
    let runs = compute(&server.url, 300_000);
    computing(&api, COMPUTATIONS).await;
    server.signal(Signal::TERM);
    assert!(tokio::task::spawn_blocking(move || server.wait()).await.unwrap().success());
    for run in runs {
        // Answered as interrupted, or cut off.
        let _ = run.await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn leases_are_renewed_while_every_thread_computes() {
    let (lm, database) = (lm().await, test_database().await);
    let setup = on(&database, &lm).env("DSRS_WORKER_LEASE", "4s");
    let setup = setup.env("DSRS_SHUTDOWN_TIMEOUT", "1s");
    let (_server, api) = serving(&setup).await;
    join_all((0..COMPUTATIONS).map(|_| started(&api, 300_000))).await;
    computing(&api, COMPUTATIONS).await;
    let mut connection = PgConnection::connect(&database).await.unwrap();
    let sql = "select lease_until from jobs where holder is not null order by id";
    let mut leases = async || -> Vec<DateTime<Utc>> {
        sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap()
    };
    let before = leases().await;
    within("the renewal of every lease", async {
        while !leases().await.iter().zip(&before).all(|(now, before)| now > before) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
    computing(&api, COMPUTATIONS).await;
}
