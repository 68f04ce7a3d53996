//! Background runs whose worker is killed, suspended or stopped, or loses the database.

use std::sync::Arc;

use dsrs_pg::PrivatePostgres;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::leases::{expire_leases, expire_some, leased};
use super::{logged, on, text};
use dsrs_test::{
    Asked, Does, FakeLm, Gate, Remote, ServerSetup, pg_options, scratch, sections, test_database,
};

const RUNS: &str = "/v1/graphs/line/runs";

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

fn question() -> Value {
    json!({"inputs": {"question": "?"}})
}

fn is_second(asked: &Asked) -> bool {
    asked.question().contains("[[ ## thought ## ]]\nhm")
}

fn said() -> String {
    sections([("thought", "hm"), ("answer", "yes")])
}

/// Answers the first node, and the first request of the second node once the gate is open.
async fn holds_the_second(gate: &Gate) -> Arc<FakeLm> {
    let gate = gate.clone();
    FakeLm::by(move |number, asked| match is_second(asked) && number == 1 {
        true => Does::Hold(gate.clone(), said()),
        false => Does::Say(said()),
    })
    .await
}

/// A server that accepts runs without executing them.
fn front(database: &str, lm: &FakeLm) -> ServerSetup {
    on(database, lm).env("DSRS_WORKER_ENABLED", "false")
}

async fn worker(database: &str, lm: &FakeLm) -> ServerSetup {
    leased(on(database, lm).worker(), database, "worker").await
}

async fn started(api: &Remote) -> String {
    api.post("/v1/graphs", line()).await.expect(201);
    text(&api.post(RUNS, question()).await.expect(202).json(), "id").to_owned()
}

/// The number of requests per node.
fn counts(lm: &FakeLm) -> (usize, usize) {
    let asked = lm.asked();
    let second = asked.iter().filter(|asked| is_second(asked)).count();
    (asked.len() - second, second)
}

fn assert_done(run: &Value) {
    assert_eq!((text(run, "status"), &run["error"]), ("succeeded", &Value::Null));
    assert_eq!(run["outputs"], json!({"answer": "yes"}));
    let nodes: Vec<_> = run["trace"]["spans"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|span| span["kind"] == "node")
        .map(|span| text(span, "name"))
        .collect();
    assert_eq!(nodes, ["first", "second"], "both nodes stand in the trace, whoever ran them");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_worker_loses_no_completed_node() {
    let (database, gate) = (test_database().await, Gate::new());
    let lm = holds_the_second(&gate).await;
    let server = front(&database, &lm).start();
    let api = Remote::new(&server.url);
    let setup = worker(&database, &lm).await;
    let killed = setup.start();
    let id = started(&api).await;
    lm.arrived(2).await;
    killed.kill();
    expire_leases(&database, "worker").await;
    let _next = setup.start();
    assert_done(&api.ended(&id).await);
    assert_eq!(counts(&lm), (1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_worker_returns_its_runs_to_the_queue() {
    let (database, gate) = (test_database().await, Gate::new());
    let lm = holds_the_second(&gate).await;
    let server = front(&database, &lm).start();
    let api = Remote::new(&server.url);
    let setup = worker(&database, &lm).await.env("DSRS_SHUTDOWN_TIMEOUT", "200ms");
    let ended = setup.start();
    let id = started(&api).await;
    lm.arrived(2).await;
    assert!(ended.stop().success());
    let waiting = api.get(&format!("/v1/runs/{id}")).await.expect(200).json();
    assert_eq!(text(&waiting["nodes"]["first"], "status"), "succeeded");
    let _next = setup.start();
    assert_done(&api.ended(&id).await);
    assert_eq!(counts(&lm), (1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_lease_expired_writes_nothing() {
    let (database, gate) = (test_database().await, Gate::new());
    let lm = holds_the_second(&gate).await;
    let server = front(&database, &lm).start();
    let api = Remote::new(&server.url);
    let setup = worker(&database, &lm).await;
    let asleep = setup.start();
    let id = started(&api).await;
    lm.arrived(2).await;
    asleep.signal(Signal::STOP);
    expire_some(&database, "true").await;
    let _next = worker(&database, &lm).await.start();
    let done = api.ended(&id).await;
    assert_done(&done);
    gate.open();
    asleep.signal(Signal::CONT);
    assert!(asleep.stop().success());
    assert_eq!(api.get(&format!("/v1/runs/{id}")).await.expect(200).json(), done);
    assert_eq!(counts(&lm), (1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_in_another_process_is_cancelled_with_its_request() {
    let (database, gate) = (test_database().await, Gate::new());
    let lm = holds_the_second(&gate).await;
    let server = front(&database, &lm).start();
    let api = Remote::new(&server.url);
    let _worker = worker(&database, &lm).await.start();
    let id = started(&api).await;
    lm.arrived(2).await;
    api.post(&format!("/v1/runs/{id}/cancel"), "").await.expect(200);
    let run = api.ended(&id).await;
    assert_eq!((text(&run, "status"), text(&run["error"], "code")), ("cancelled", "run_cancelled"));
    lm.abandoned(1).await;
    assert_eq!(text(&run["nodes"]["first"], "status"), "succeeded");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_outage_loses_no_accepted_run_and_repeats_no_call() {
    let directory = scratch();
    let options = dsrs_pg::PgOptions { connections: 40, ..pg_options(directory.path()) };
    let postgres = PrivatePostgres::start(&options).unwrap();
    let (database, gate) = (postgres.url(), Gate::new());
    let held = gate.clone();
    let lm = FakeLm::by(move |_, _| Does::Hold(held.clone(), said())).await;
    let server = front(&database, &lm).start();
    let renews = on(&database, &lm).worker().env("DSRS_LOG", "debug,sqlx=warn");
    let _worker = renews.start();
    let api = Remote::new(&server.url);
    let mut runs = vec![started(&api).await];
    for _ in 1..20 {
        runs.push(text(&api.post(RUNS, question()).await.expect(202).json(), "id").to_owned());
    }
    lm.arrived(20).await;

    tokio::task::spawn_blocking(move || postgres.stop().unwrap()).await.unwrap();
    gate.open();
    for (path, body) in [(RUNS, question()), ("/v1/graphs", line())] {
        let refused = api.post(path, body).await.expect(503);
        assert_eq!((refused.code().as_str(), refused.header("retry-after")), ("unavailable", "1"));
    }
    assert_eq!(api.get("/readyz").await.expect(503).code(), "unavailable");
    logged(&renews, "could not renew leases").await;
    let postgres = tokio::task::spawn_blocking(move || PrivatePostgres::start(&options).unwrap())
        .await
        .unwrap();

    for id in &runs {
        assert_done(&api.ended(id).await);
    }
    assert_eq!(counts(&lm), (20, 20));
    api.until("/readyz", |answer| answer.status == 200).await;
    let late = api.post(RUNS, question()).await.expect(202).json();
    assert_done(&api.ended(text(&late, "id")).await);
    drop((server, _worker));
    tokio::task::spawn_blocking(move || postgres.stop().unwrap()).await.unwrap();
}
