//! Optimizations survive servers that are killed or stopped, and pay for no request twice.

use std::collections::HashMap;
use std::sync::Arc;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::leases::{expire_leases, leased};
use super::{PATIENT_SHUTDOWN, STOPPING, logged, on, one_node, text};
use dsrs_test::{Answer, Asked, Does, FakeLm, Gate, Remote, sections, test_database};

/// Concurrent rollouts of one request each.
const AT_ONCE: usize = 4;

/// Knows the answer to `qN?`, which is `aN`, once it is shown any worked example; without one it knows
/// every fifth.
fn learned(asked: &Asked) -> String {
    let question = asked.question();
    let question = question.split("[[ ## question ## ]]\nq").nth(1).unwrap_or_default();
    let number = question.split('?').next().unwrap_or_default();
    let is_shown = asked.messages().iter().any(|said| said["role"] == "assistant");
    let knows = is_shown || number.parse::<usize>().is_ok_and(|number| number % 5 == 0);
    let answer = if knows { format!("a{number}") } else { "no idea".to_owned() };
    sections([("answer", answer.as_str())])
}

/// Answers the first `count` requests at once, and the others when the gate is open.
async fn holds_after(count: usize, gate: &Gate) -> Arc<FakeLm> {
    let gate = gate.clone();
    FakeLm::by(move |number, asked| match number < count {
        true => Does::Say(learned(asked)),
        false => Does::Hold(gate.clone(), learned(asked)),
    })
    .await
}

async fn started(api: &Remote, optimizer: &str, config: &Value) -> String {
    let graph = one_node("q", "question -> answer", json!({"retries": 0}));
    api.post("/v1/graphs", graph).await.expect(201);
    let example = |n: usize| json!({"inputs": {"question": format!("q{n}?")}, "expected": {"answer": format!("a{n}")}});
    let examples: Vec<_> = (0..40).map(example).collect();
    api.post("/v1/datasets", json!({"name": "qa", "examples": examples})).await.expect(201);
    let body = json!({
        "optimizer": optimizer, "config": config, "trainset": "qa", "metric": "exact", "seed": 5,
        "concurrency": AT_ONCE, "activate": "if_better", "budget": {"lm_calls": 1000}
    });
    let accepted = api.post("/v1/graphs/q/optimizations", body).await.expect(202).json();
    format!("/v1/optimizations/{}", text(&accepted, "id"))
}

async fn ended(api: &Remote, path: &str) -> Value {
    let done = |answer: &Answer| answer.status == 200 && answer.json()["finished_at"].is_string();
    api.until(path, done).await.json()
}

/// How often each request was sent.
fn times_asked(lm: &FakeLm) -> HashMap<String, usize> {
    let mut times = HashMap::new();
    for asked in lm.asked() {
        *times.entry(asked.body.to_string()).or_default() += 1;
    }
    times
}

/// The result without interruptions, and the number of requests.
async fn undisturbed(optimizer: &str, config: &Value) -> (Value, usize) {
    let (database, gate) = (test_database().await, Gate::new());
    let lm = holds_after(usize::MAX, &gate).await;
    let server = on(&database, &lm).start();
    let api = Remote::new(&server.url);
    let path = started(&api, optimizer, config).await;
    let found = ended(&api, &path).await;
    assert_eq!(text(&found, "status"), "succeeded", "{found}");
    let asked = lm.asked().len();
    assert_eq!((times_asked(&lm).len(), &found["usage"]["lm_calls"]), (asked, &json!(asked)));
    (found, asked)
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

/// Kills the process after `count` answered requests, and starts another. Returns the optimization and
/// the number of requests without those in flight.
async fn killed_after(count: usize, optimizer: &str, config: &Value) -> (Value, usize) {
    let (database, gate) = (test_database().await, Gate::new());
    let lm = holds_after(count, &gate).await;
    let setup = leased(on(&database, &lm), &database, "worker").await;
    let server = setup.start();
    let api = Remote::new(&server.url);
    let path = started(&api, optimizer, config).await;
    lm.arrived(count + 1).await;
    let written = |answer: &Answer| answer.json()["usage"]["lm_calls"] == count;
    api.until(&path, written).await;
    server.kill();
    expire_leases(&database, "worker").await;
    gate.open();
    // The model may learn late of requests that were in flight: the path distinguishes the servers.
    let server = setup.env("OPENAI_BASE_URL", &lm.url.replace("/v1", "/next")).start();
    let ended = ended(&Remote::new(&server.url), &path).await;
    let of_killed = lm.asked().into_iter().filter(|asked| asked.path.starts_with("/v1"));
    let in_flight: Vec<_> = of_killed.skip(count).map(|asked| asked.body.to_string()).collect();
    assert!((1..=AT_ONCE).contains(&in_flight.len()), "{}", in_flight.len());
    for (body, times) in times_asked(&lm) {
        let again = usize::from(in_flight.contains(&body));
        assert_eq!(times, 1 + again, "{body}");
    }
    (ended, lm.asked().len() - in_flight.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_kill_only_requests_in_flight_are_paid_for_again() {
    let optimizer = "bootstrap_random_search";
    let config = json!({"num_candidate_programs": 1});
    let (reference, all) = undisturbed(optimizer, &config).await;
    assert_eq!(reference["activation"]["activated"], true, "{reference}");
    // During the measurement of the original program, during the search, and near the end.
    for count in [5, all / 2, all - 3] {
        let (ended, asked) = killed_after(count, optimizer, &config).await;
        assert_eq!(found(&ended), found(&reference), "killed after {count}");
        assert_eq!(asked, all, "killed after {count}");
        assert_eq!(ended["usage"]["lm_calls"], all, "what was lost is not counted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_finishes_requests_in_flight_and_none_is_paid_for_twice() {
    let config = json!({"k": 3});
    let (reference, all) = undisturbed("labeled_few_shot", &config).await;
    let (database, gate) = (test_database().await, Gate::new());
    let lm = holds_after(13, &gate).await;
    let setup = leased(on(&database, &lm), &database, "worker").await;
    let setup = setup.env(PATIENT_SHUTDOWN.0, PATIENT_SHUTDOWN.1);
    let mut server = setup.start();
    let path = started(&Remote::new(&server.url), "labeled_few_shot", &config).await;
    lm.arrived(13 + AT_ONCE).await;
    server.signal(Signal::TERM);
    logged(&setup, STOPPING).await;
    gate.open();
    assert!(server.wait().success());
    assert!(lm.asked().len() < all);
    let server = setup.start();
    let ended = ended(&Remote::new(&server.url), &path).await;
    assert_eq!((found(&ended), lm.asked().len()), (found(&reference), all));
    assert!(times_asked(&lm).values().all(|times| *times == 1));
}
