//! Evaluations survive workers that are killed or stopped.

use std::sync::Arc;

use reqwest::Method;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::leases::{expire_leases, leased};
use super::{PATIENT_SHUTDOWN, STOPPING, logged, on, one_node, text};
use dsrs_test::{Answer, Does, FakeLm, Gate, Remote, sections, test_database};

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

/// A graph, a dataset of `count` examples, and an evaluation of the graph on it.
async fn started(api: &Remote, count: usize, concurrency: usize) -> String {
    let graph = one_node("q", "question -> answer", json!({"retries": 0}));
    api.post("/v1/graphs", graph).await.expect(201);
    let line = |number| {
        let example = json!({"inputs": {"question": format!("number {number}")}, "expected": {"answer": "yes"}});
        example.to_string() + "\n"
    };
    let (lines, examples) =
        ([("content-type", "application/jsonl")], (0..count).map(line).collect());
    api.send(Method::POST, "/v1/datasets?name=d", &lines, Some(examples)).await.expect(201);
    let body = json!({"dataset": "d", "metric": "exact", "concurrency": concurrency});
    let accepted = api.post("/v1/graphs/q/evaluations", body).await.expect(202);
    format!("/v1/evaluations/{}", text(&accepted.json(), "id"))
}

async fn until_done(api: &Remote, path: &str, count: u64) -> Value {
    let enough = |answer: &Answer| answer.json()["counts"]["done"].as_u64() >= Some(count);
    api.until(path, |answer| answer.status == 200 && enough(answer)).await.json()
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
async fn a_killed_server_continues_with_the_examples_without_a_score() {
    let (database, gate) = (test_database().await, Gate::new());
    let lm = holds_after(30, &gate).await;
    let setup = leased(on(&database, &lm), &database, "worker").await;
    let killed = setup.start();
    let api = Remote::new(&killed.url);
    let path = started(&api, 50, 4).await;
    lm.arrived(34).await;
    let before = until_done(&api, &path, 30).await;
    assert_eq!((text(&before, "status"), &before["mean_score"]), ("running", &json!(1.0)));
    killed.kill();
    expire_leases(&database, "worker").await;
    gate.open();
    let next = setup.start();
    let api = Remote::new(&next.url);
    let ended = |answer: &Answer| answer.json()["finished_at"].is_string();
    let evaluation = api.until(&path, ended).await.expect(200).json();
    let counts = json!({"total": 50, "done": 50, "failed": 0, "unmeasured": 0});
    assert_eq!((text(&evaluation, "status"), &evaluation["counts"]), ("succeeded", &counts));
    assert_eq!(evaluation["mean_score"], 1.0);
    assert_eq!(
        evaluation["usage"]["lm_calls"], 50,
        "what was lost is not counted, and nothing twice"
    );
    let times = times_asked(&lm, 50);
    assert!(times.iter().all(|times| (1..=2).contains(times)), "{times:?}");
    assert_eq!(times.iter().sum::<usize>(), 54, "the four in flight were asked for again");
    let results = api.get(&format!("{path}/results?limit=200")).await.expect(200).json();
    let results = results["items"].as_array().unwrap();
    let positions: Vec<i64> =
        results.iter().map(|item| item["position"].as_i64().unwrap()).collect();
    assert_eq!(positions, (0..50).collect::<Vec<i64>>(), "one result each");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_worker_finishes_its_examples_and_another_continues() {
    let (database, gate) = (test_database().await, Gate::new());
    let lm = holds_after(10, &gate).await;
    let server = on(&database, &lm).env("DSRS_WORKER_ENABLED", "false").start();
    let worker = leased(on(&database, &lm).worker(), &database, "worker").await;
    let worker = worker.env(PATIENT_SHUTDOWN.0, PATIENT_SHUTDOWN.1);
    let api = Remote::new(&server.url);
    let mut ending = worker.start();
    let path = started(&api, 20, 2).await;
    lm.arrived(12).await;
    ending.signal(Signal::TERM);
    logged(&worker, STOPPING).await;
    gate.open();
    assert!(ending.wait().success());
    let left = api.get(&path).await.expect(200).json();
    assert_eq!(left["counts"]["done"], lm.asked().len(), "what was begun has ended");
    let _next = worker.start();
    until_done(&api, &path, 20).await;
    assert_eq!(times_asked(&lm, 20), [1; 20]);
}
