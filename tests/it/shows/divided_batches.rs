//! A large batch is divided among the workers of several servers: every item is asked for once and has one
//! result, also if workers are killed, and a cancelled batch stops everywhere. Each worker has a model of its
//! own, so that its requests can be counted.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};

use super::leases::{expire_leases, leased};
use super::{on, one_node, text};
use dsrs_test::{Answer, Does, FakeLm, Gate, Remote, Server, ServerSetup, sections, test_database};

/// Four ranges of a divided batch.
const ITEMS: usize = 4000;

fn said() -> String {
    sections([("answer", "yes")])
}

async fn answering() -> Arc<FakeLm> {
    FakeLm::by(|_, _| Does::Say(said())).await
}

/// Answers so many requests, and holds the others until the gate opens.
async fn holding_after(count: usize, gate: &Gate) -> Arc<FakeLm> {
    let gate = gate.clone();
    FakeLm::by(move |number, _| match number < count {
        true => Does::Say(said()),
        false => Does::Hold(gate.clone(), said()),
    })
    .await
}

/// A worker whose lease does not expire, and which a client's cancellation reaches before it renews one.
async fn worker(database: &str, lm: &FakeLm) -> ServerSetup {
    leased(on(database, lm).worker(), database, "worker").await
}

async fn eight_at_once(database: &str, lm: &FakeLm) -> ServerSetup {
    worker(database, lm).await.env("DSRS_WORKER_BATCH_CONCURRENCY", "8")
}

/// Starts workers; each has begun to work when this returns, because their models hold the rest until then.
async fn sharing(database: &str, models: &[Arc<FakeLm>], gate: &Gate) -> Vec<Server> {
    let mut workers = Vec::new();
    for lm in models {
        workers.push(worker(database, lm).await.start());
        lm.arrived(1).await;
    }
    gate.open();
    workers
}

async fn started(api: &Remote) -> String {
    let graph = one_node("q", "question -> answer", json!({"retries": 0}));
    api.post("/v1/graphs", graph).await.expect(201);
    let lines = [("content-type", "application/jsonl")];
    let items: String =
        (0..ITEMS).map(|number| format!("{{\"question\": \"number {number}\"}}\n")).collect();
    let accepted = api.send(Method::POST, "/v1/graphs/q/batches", &lines, Some(items)).await;
    format!("/v1/batches/{}", text(&accepted.expect(202).json(), "id"))
}

async fn until_ended(api: &Remote, path: &str) -> Value {
    let done = |answer: &Answer| answer.json()["finished_at"].is_string();
    api.until(path, done).await.expect(200).json()
}

/// How often each item was asked for, of all models together.
fn times_asked(models: &[&FakeLm]) -> Vec<usize> {
    let mut times = vec![0; ITEMS];
    for asked in models.iter().flat_map(|model| model.asked()) {
        let question = asked.question();
        let number = question.split("number ").nth(1).unwrap();
        let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
        times[digits.parse::<usize>().unwrap()] += 1;
    }
    times
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_of_three_servers_share_a_large_batch_and_ask_for_no_item_twice() {
    let (database, gate) = (test_database().await, Gate::new());
    let holding = || holding_after(100, &gate);
    let models = [holding().await, holding().await, holding().await];
    let server = on(&database, &models[0]).env("DSRS_WORKER_ENABLED", "false").start();
    let api = Remote::new(&server.url);
    let path = started(&api).await;
    let _workers = sharing(&database, &models, &gate).await;
    let batch = until_ended(&api, &path).await;
    let counts =
        json!({"total": ITEMS, "pending": 0, "succeeded": ITEMS, "failed": 0, "cancelled": 0});
    assert_eq!((text(&batch, "status"), &batch["counts"]), ("succeeded", &counts));
    assert_eq!(batch["usage"]["lm_calls"], ITEMS);
    let times = times_asked(&[&models[0], &models[1], &models[2]]);
    assert!(times.iter().all(|times| *times == 1), "an item was asked for twice, or not at all");
    let lines = [("accept", "application/jsonl")];
    let results = api.send(Method::GET, &format!("{path}/results"), &lines, None).await;
    for (number, line) in results.expect(200).text.lines().enumerate() {
        assert!(
            line.starts_with(&format!("{{\"index\":{number},\"status\":\"succeeded\",")),
            "{line}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_workers_lose_the_items_in_flight_and_no_other() {
    let (database, gate) = (test_database().await, Gate::new());
    let held = [holding_after(300, &gate).await, holding_after(300, &gate).await];
    let last = answering().await;
    let server = on(&database, &last).env("DSRS_WORKER_ENABLED", "false").start();
    let api = Remote::new(&server.url);
    let path = started(&api).await;
    let mut killed = Vec::new();
    for lm in &held {
        killed.push(eight_at_once(&database, lm).await.start());
    }
    for lm in &held {
        lm.arrived(308).await;
    }
    // All that was answered is stored, and both the holder of the batch and its helper die.
    let stored = |answer: &Answer| answer.json()["counts"]["succeeded"] == 600;
    api.until(&path, stored).await;
    for worker in killed {
        worker.kill();
    }
    expire_leases(&database, "worker").await;
    let _last = eight_at_once(&database, &last).await.start();
    let batch = until_ended(&api, &path).await;
    assert_eq!(batch["counts"]["succeeded"], ITEMS);
    gate.open();
    assert_eq!(last.asked().len(), ITEMS - 600, "what was stored is not asked for again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_batch_stops_on_every_server() {
    let (database, gate) = (test_database().await, Gate::new());
    let models = [holding_after(40, &gate).await, holding_after(40, &gate).await];
    let server = on(&database, &models[0]).env("DSRS_WORKER_ENABLED", "false").start();
    let api = Remote::new(&server.url);
    let path = started(&api).await;
    let mut workers = Vec::new();
    for lm in &models {
        workers.push(eight_at_once(&database, lm).await.start());
    }
    for lm in &models {
        lm.arrived(48).await;
    }
    api.post(&format!("{path}/cancel"), json!({})).await.expect(200);
    assert_eq!(until_ended(&api, &path).await["status"], "cancelled");
    for lm in &models {
        lm.abandoned(8).await;
    }
    gate.open();
    for worker in workers {
        assert!(worker.stop().success());
    }
    let asked: usize = models.iter().map(|lm| lm.asked().len()).sum();
    assert_eq!(asked, 96, "nothing is asked for after the cancellation");
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_of_two_servers_share_a_large_evaluation_and_its_errors_end_it_everywhere() {
    let (database, gate) = (test_database().await, Gate::new());
    let models = [holding_after(100, &gate).await, holding_after(100, &gate).await];
    let server = on(&database, &models[0]).env("DSRS_WORKER_ENABLED", "false").start();
    let api = Remote::new(&server.url);
    api.post("/v1/graphs", one_node("q", "question -> answer", json!({"retries": 0})))
        .await
        .expect(201);
    let line = |number| {
        let example = json!({"inputs": {"question": format!("number {number}")}, "expected": {"answer": "yes"}});
        example.to_string() + "\n"
    };
    let (lines, examples) =
        ([("content-type", "application/jsonl")], (0..ITEMS).map(line).collect());
    api.send(Method::POST, "/v1/datasets?name=many", &lines, Some(examples)).await.expect(201);
    let body = json!({"dataset": "many", "metric": "exact"});
    let accepted = api.post("/v1/graphs/q/evaluations", body).await.expect(202).json();
    let path = format!("/v1/evaluations/{}", text(&accepted, "id"));
    let _workers = sharing(&database, &models, &gate).await;
    let evaluation = until_ended(&api, &path).await;
    let counts = json!({"total": ITEMS, "done": ITEMS, "failed": 0, "unmeasured": 0});
    assert_eq!((text(&evaluation, "status"), &evaluation["counts"]), ("succeeded", &counts));
    assert_eq!(
        (&evaluation["mean_score"], &evaluation["usage"]["lm_calls"]),
        (&json!(1.0), &json!(ITEMS))
    );
    let times = times_asked(&[&models[0], &models[1]]);
    assert!(times.iter().all(|times| *times == 1), "an example was asked for twice, or not at all");
}
