//! A worker that is killed is replaced at once, and a run that grows too large for the engine continues in the
//! database.

use std::sync::Arc;

use dsrs::lm::ScriptedLm;
use serde_json::json;

use super::{NO_WORKER, id, line, question, service, until_empty};
use dsrs_test::{Does, FakeLm, Gate, ServerSetup, restate_settings, sections, test_database};

/// A worker whose lease would last an hour.
fn worker(database: &str, lm: &FakeLm) -> ServerSetup {
    let setup = ServerSetup::new().database(database).env("OPENAI_BASE_URL", &lm.url).worker();
    let settings = restate_settings(database).into_iter();
    settings
        .fold(setup, |setup, (name, text)| setup.env(&name, &text))
        .env("DSRS_WORKER_LEASE", "1h")
}

#[tokio::test(flavor = "multi_thread")]
async fn another_worker_continues_without_waiting_for_a_lease() {
    let (database, gate) = (test_database().await, Gate::new());
    let held = gate.clone();
    let said = sections([("thought", "hm"), ("answer", "yes")]);
    let lm = FakeLm::by(move |number, _| match number {
        1 => Does::Hold(held.clone(), said.clone()),
        _ => Does::Say(said.clone()),
    })
    .await;
    let api = service(&database, super::lm(), &[NO_WORKER]).await;
    api.post("/v1/graphs", line()).await.expect(201);
    let first = worker(&database, &lm).start();
    let run = api.post("/v1/graphs/line/runs", question("?")).await.expect(202).json();
    lm.arrived(2).await;
    let progress = api.get(&format!("/v1/runs/{}", id(&run))).await.expect(200).json();
    assert_eq!(progress["nodes"]["first"]["status"], "succeeded", "the engine has its progress");
    let _second = worker(&database, &lm).start();
    first.kill();
    lm.arrived(3).await;
    let run = api.ended(&id(&run)).await;
    assert_eq!((&run["status"], &run["outputs"]), (&json!("succeeded"), &json!({"answer": "yes"})));
    assert_eq!(lm.asked().len(), 3, "the first node, and the second one twice");
    until_empty(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_outgrows_the_engine_continues_in_the_database() {
    let database = test_database().await;
    let large = "x".repeat(3 << 20);
    let lm = Arc::new(ScriptedLm::sections([("a", &*large), ("b", &*large), ("c", &*large)]));
    let api = service(&database, lm.clone(), &[]).await;
    let graph = json!({
        "name": "large",
        "nodes": {
            "one": {"strategy": "predict", "signature": "question -> a"},
            "two": {"strategy": "predict", "signature": "a -> b"},
            "three": {"strategy": "predict", "signature": "b -> c"}
        },
        "edges": [{"from": "one.a", "to": "two.a"}, {"from": "two.b", "to": "three.b"}]
    });
    api.post("/v1/graphs", graph).await.expect(201);
    let run = api.post("/v1/graphs/large/runs", question("?")).await.expect(202).json();
    let run = api.ended(&id(&run)).await;
    assert_eq!(run["status"], "succeeded", "{}", run["error"]);
    assert_eq!(run["outputs"]["c"].as_str().map(str::len), Some(large.len()));
    // A request in flight is sent again if a busy machine delays the pings between engine and worker.
    let requests = lm.requests();
    let inputs = requests.iter().map(|request| {
        let asked: String = request.chat.turns.iter().map(|turn| turn.content.as_ref()).collect();
        ["question", "a", "b"]
            .iter()
            .position(|input| asked.contains(&format!("[[ ## {input} ## ]]\n")))
    });
    let inputs: Vec<_> = inputs.collect();
    assert!(inputs.is_sorted(), "no completed node is requested again: {inputs:?}");
    assert_eq!(run["usage"]["lm_calls"], 3);
    until_empty(&database).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn engine_check_registers_workers_and_says_what_does_not_fit() {
    let database = test_database().await;
    let lm = FakeLm::doing([Does::Say(String::new())]).await;
    let setup = worker(&database, &lm);
    let _worker = setup.start();
    let found = setup.command(&["engine", "check", "--apply", "--json"]).unwrap();
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    let findings = found["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| finding["fits"] == true), "{found}");
    let elsewhere = worker(&database, &lm).env("DSRS_RESTATE_URL", "http://127.0.0.1:1");
    assert!(elsewhere.command(&["engine", "check"]).is_err(), "registered at another address");
    let unreachable = worker(&database, &lm).env("DSRS_RESTATE_INGRESS", "http://127.0.0.1:1");
    assert!(unreachable.command(&["engine", "check"]).is_err());
}
