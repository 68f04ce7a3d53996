//! The rollouts of an optimization are made by the workers of several servers: the result is that of one worker, no
//! request is paid for twice, and the budget holds. Each worker has a model of its own, so that its requests can be
//! counted.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::leases::{LONG_LEASE, expire_some, leased, sessions_ended};
use super::{on, one_node, text};
use dsrs_test::{
    Answer, Asked, Does, FakeLm, Gate, Remote, Server, ServerSetup, holds, sections, test_database,
};

/// Rollouts that one worker makes at a time.
const AT_ONCE: usize = 4;

/// Prompts with worked examples that a model answers before it holds the others. All models of a test together hold
/// fewer than one candidate is tried on, which are 50.
const SHOWN: usize = 10;

/// Knows the answer to `qN?`, which is `aN`, once it is shown any worked example; without one it knows
/// every fifth.
fn learned(asked: &Asked) -> String {
    let question = asked.question();
    let question = question.split("[[ ## question ## ]]\nq").nth(1).unwrap_or_default();
    let number = question.split('?').next().unwrap_or_default();
    let knows = is_shown(asked) || number.parse::<usize>().is_ok_and(|number| number % 5 == 0);
    let answer = if knows { format!("a{number}") } else { "no idea".to_owned() };
    sections([("answer", answer.as_str())])
}

/// Whether a prompt has a worked example.
fn is_shown(asked: &Asked) -> bool {
    asked.messages().iter().any(|said| said["role"] == "assistant")
}

async fn answering() -> Arc<FakeLm> {
    FakeLm::by(|_, asked| Does::Say(learned(asked))).await
}

/// Answers what has no worked examples, and [`SHOWN`] prompts that have, and holds the others until the gate opens.
async fn holding_shown(gate: &Gate) -> Arc<FakeLm> {
    let (gate, shown) = (gate.clone(), AtomicUsize::new(0));
    FakeLm::by(move |_, asked| {
        match is_shown(asked) && shown.fetch_add(1, Ordering::SeqCst) >= SHOWN {
            true => Does::Hold(gate.clone(), learned(asked)),
            false => Does::Say(learned(asked)),
        }
    })
    .await
}

/// Waits until a model holds as many requests as its worker sends at a time. Returns them.
async fn held(lm: &FakeLm) -> Vec<String> {
    let shown = || lm.asked().into_iter().filter(is_shown).map(|asked| asked.body.to_string());
    holds("requests that are held", || shown().count() >= SHOWN + AT_ONCE).await;
    shown().skip(SHOWN).collect()
}

/// Answers so many requests, and holds the others until the gate opens.
async fn holding_after(count: usize, gate: &Gate) -> Arc<FakeLm> {
    let gate = gate.clone();
    FakeLm::by(move |number, asked| match number < count {
        true => Does::Say(learned(asked)),
        false => Does::Hold(gate.clone(), learned(asked)),
    })
    .await
}

async fn started(api: &Remote, budget: Value, settings: Value) -> String {
    let graph = one_node("q", "question -> answer", json!({"retries": 0}));
    api.post("/v1/graphs", graph).await.expect(201);
    let example = |n: usize| json!({"inputs": {"question": format!("q{n}?")}, "expected": {"answer": format!("a{n}")}});
    let examples: Vec<_> = (0..200).map(example).collect();
    api.post("/v1/datasets", json!({"name": "qa", "examples": examples})).await.expect(201);
    let mut body = json!({
        "optimizer": "bootstrap_random_search", "config": {"num_candidate_programs": 1},
        "trainset": "qa", "metric": "exact", "seed": 5, "activate": "if_better", "budget": budget
    });
    body.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    let accepted = api.post("/v1/graphs/q/optimizations", body).await.expect(202).json();
    format!("/v1/optimizations/{}", text(&accepted, "id"))
}

fn worker(database: &str, lm: &FakeLm) -> ServerSetup {
    on(database, lm)
        .worker()
        .env(LONG_LEASE.0, LONG_LEASE.1)
        .env("DSRS_WORKER_BATCH_CONCURRENCY", &AT_ONCE.to_string())
}

/// A server that accepts, and works on nothing.
fn front(database: &str, lm: &FakeLm) -> Server {
    on(database, lm)
        .env("DSRS_WORKER_ENABLED", "false")
        .env("DSRS_WORKER_BATCH_CONCURRENCY", &AT_ONCE.to_string())
        .start()
}

async fn ended(api: &Remote, path: &str) -> Value {
    let done = |answer: &Answer| answer.status == 200 && answer.json()["finished_at"].is_string();
    api.until(path, done).await.json()
}

/// How often each request was sent, by all workers together.
fn times_asked(models: &[Arc<FakeLm>]) -> HashMap<String, usize> {
    let mut times = HashMap::new();
    for asked in models.iter().flat_map(|lm| lm.asked()) {
        *times.entry(asked.body.to_string()).or_default() += 1;
    }
    times
}

/// The result of an optimization without its ids.
fn found(optimization: &Value) -> [Value; 4] {
    let result = &optimization["result"];
    [
        result["best"].clone(),
        result["comparison"].clone(),
        result["diff"].clone(),
        optimization["activation"].clone(),
    ]
}

/// The result of one worker alone, and the number of its requests.
async fn alone() -> (Value, usize) {
    let (database, lm) = (test_database().await, answering().await);
    let front = front(&database, &lm);
    let api = Remote::new(&front.url);
    let path = started(&api, json!({"lm_calls": 5000}), json!({})).await;
    let _worker = worker(&database, &lm).start();
    let reference = ended(&api, &path).await;
    assert_eq!(text(&reference, "status"), "succeeded", "{reference}");
    (reference, lm.asked().len())
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_of_three_servers_share_the_rollouts_and_find_what_one_finds() {
    let (reference, all) = alone().await;
    let (database, gate) = (test_database().await, Gate::new());
    let holding = || holding_shown(&gate);
    let models = [holding().await, holding().await, holding().await];
    let front = front(&database, &models[0]);
    let api = Remote::new(&front.url);
    let path = started(&api, json!({"lm_calls": 5000}), json!({})).await;
    let _workers: Vec<_> = models.iter().map(|lm| worker(&database, lm).start()).collect();
    for lm in &models {
        held(lm).await;
    }
    gate.open();
    let shared = ended(&api, &path).await;
    assert_eq!(found(&shared), found(&reference));
    let asked = models.each_ref().map(|lm| lm.asked().len());
    assert!(times_asked(&models).values().all(|times| *times == 1), "a request was sent twice");
    assert_eq!((asked.iter().sum::<usize>(), &shared["usage"]["lm_calls"]), (all, &json!(all)));
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_workers_lose_the_requests_in_flight_and_no_other() {
    let (reference, all) = alone().await;
    // The holder of the optimization, or its helper.
    for killed in [0, 1] {
        let (database, gate) = (test_database().await, Gate::new());
        let models = [holding_shown(&gate).await, holding_shown(&gate).await];
        let front = front(&database, &models[0]);
        let api = Remote::new(&front.url);
        let path = started(&api, json!({"lm_calls": 5000}), json!({})).await;
        let holder = leased(worker(&database, &models[0]), &database, "holder").await.start();
        models[0].arrived(AT_ONCE).await;
        let helper = leased(worker(&database, &models[1]), &database, "helper").await.start();
        let held = [held(&models[0]).await, held(&models[1]).await];
        let answered: usize = models.iter().map(|lm| lm.asked().len() - AT_ONCE).sum();
        let is_counted = |answer: &Answer| answer.json()["usage"]["lm_calls"] == answered;
        api.until(&path, is_counted).await;
        let mut workers = [Some(holder), Some(helper)];
        workers[killed].take().unwrap().kill();
        let in_flight = &held[killed];
        sessions_ended(&database, ["holder", "helper"][killed]).await;
        expire_some(&database, if killed == 0 { "parent is null" } else { "parent is not null" })
            .await;
        gate.open();
        let ended = ended(&api, &path).await;
        assert_eq!(found(&ended), found(&reference), "{killed}");
        let times = times_asked(&models);
        if killed == 1 {
            assert_eq!(ended["usage"]["lm_calls"], all, "what was lost is not counted");
            for (body, times) in &times {
                assert_eq!(*times, 1 + usize::from(in_flight.contains(body)), "{body}");
            }
        } else {
            // The new attempt ends the part of the helper, and with it the requests that it had in flight.
            let again = times.values().filter(|times| **times > 1).count();
            assert!((AT_ONCE..=2 * AT_ONCE).contains(&again), "{again} requests were sent again");
            assert!(times.values().all(|times| *times <= 2));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_budget_holds_over_all_workers() {
    for (budget, most) in [(json!({"lm_calls": 130}), 130), (json!({"tokens": 40_000}), usize::MAX)]
    {
        let (database, gate) = (test_database().await, Gate::new());
        let holding = || holding_after(5, &gate);
        let models = [holding().await, holding().await, holding().await];
        let front = front(&database, &models[0]);
        let api = Remote::new(&front.url);
        let _workers: Vec<_> = models.iter().map(|lm| worker(&database, lm).start()).collect();
        let path = started(&api, budget, json!({})).await;
        // The tokens that are granted to one worker may be all that are left.
        if most < usize::MAX {
            for lm in &models {
                lm.arrived(6).await;
            }
        }
        gate.open();
        let ended = ended(&api, &path).await;
        assert_eq!(text(&ended, "status"), "succeeded", "{ended}");
        let asked: usize = models.iter().map(|lm| lm.asked().len()).sum();
        let usage = &ended["usage"];
        assert!(asked <= most, "{asked}");
        assert_eq!(usage["lm_calls"], asked, "{ended}");
        let tokens =
            usage["input_tokens"].as_u64().unwrap() + usage["output_tokens"].as_u64().unwrap();
        assert!(most < usize::MAX || tokens <= 40_000, "{tokens}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_a_helper_gives_up_counts_like_one_of_the_holder() {
    let (database, gate) = (test_database().await, Gate::new());
    let stalling = || {
        let gate = gate.clone();
        FakeLm::by(move |number, asked| match number {
            0..9 => Does::Say(learned(asked)),
            9 => Does::Stall,
            _ => Does::Hold(gate.clone(), learned(asked)),
        })
    };
    let models = [stalling().await, stalling().await];
    let front = front(&database, &models[0]);
    let api = Remote::new(&front.url);
    let path = started(&api, json!({"lm_calls": 180}), json!({"timeout_ms": 2000})).await;
    let _workers: Vec<_> = models.iter().map(|lm| worker(&database, lm).start()).collect();
    // Each gives up a request, and more if the other one starts late.
    for lm in &models {
        lm.arrived(11).await;
        lm.abandoned(1).await;
    }
    gate.open();
    let ended = ended(&api, &path).await;
    let asked = || models.iter().map(|lm| lm.asked().len()).sum::<usize>();
    // A model may learn late of a request that was given up at once.
    holds("the last requests", || ended["usage"]["lm_calls"] == asked()).await;
    assert!(asked() <= 180, "{}", asked());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offer_whose_part_is_gone_is_returned() {
    let (database, gate) = (test_database().await, Gate::new());
    let models = [holding_after(20, &gate).await, holding_after(0, &gate).await];
    let front = front(&database, &models[0]);
    let api = Remote::new(&front.url);
    let path = started(&api, json!({"lm_calls": 5000}), json!({})).await;
    let _holder = worker(&database, &models[0]).start();
    models[0].arrived(AT_ONCE).await;
    let _helper = worker(&database, &models[1]).start();
    models[1].arrived(AT_ONCE).await;
    // As if the part had been removed before its last claim was executed.
    let mut owner = PgConnection::connect(&database).await.unwrap();
    let removed =
        "delete from jobs where parent is not null and holder is not null and not dispatched";
    let removed = sqlx::raw_sql(removed).execute(&mut owner).await.unwrap();
    assert_eq!(removed.rows_affected(), 1);
    gate.open();
    let ended = ended(&api, &path).await;
    assert_eq!(text(&ended, "status"), "succeeded", "{ended}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_requested_concurrency_is_that_of_one_worker() {
    let (database, gate) = (test_database().await, Gate::new());
    let models = [holding_after(20, &gate).await, holding_after(20, &gate).await];
    let front = front(&database, &models[0]);
    let api = Remote::new(&front.url);
    let path = started(&api, json!({"lm_calls": 150}), json!({"concurrency": AT_ONCE})).await;
    let _workers: Vec<_> = models.iter().map(|lm| worker(&database, lm).start()).collect();
    // Time in which the other one would ask for offers.
    tokio::time::sleep(Duration::from_secs(2)).await;
    gate.open();
    ended(&api, &path).await;
    let asked = models.each_ref().map(|lm| lm.asked().len());
    assert!(asked.contains(&0) && asked.iter().any(|asked| *asked >= 100), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_optimization_stops_on_every_server() {
    let (database, gate) = (test_database().await, Gate::new());
    let models = [holding_after(10, &gate).await, holding_after(10, &gate).await];
    let front = front(&database, &models[0]);
    let api = Remote::new(&front.url);
    let path = started(&api, json!({"lm_calls": 5000}), json!({})).await;
    let _workers: Vec<_> = models.iter().map(|lm| worker(&database, lm).start()).collect();
    for lm in &models {
        lm.arrived(10 + AT_ONCE).await;
    }
    api.until(&path, |answer| answer.json()["usage"]["lm_calls"] == 20).await;
    api.post(&format!("{path}/cancel"), json!({})).await.expect(200);
    for lm in &models {
        lm.abandoned(AT_ONCE).await;
    }
    let ended = ended(&api, &path).await;
    assert_eq!(text(&ended, "status"), "cancelled");
    // A request that the holder gave up counts, because it may have been paid for.
    let calls = ended["usage"]["lm_calls"].as_u64().unwrap();
    assert!((20..=20 + AT_ONCE as u64).contains(&calls), "{ended}");
    gate.open();
}
