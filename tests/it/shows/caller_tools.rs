//! An agent whose calls a client answers: its worker is killed while it continues, and another one has its steps and the
//! answers.

use std::sync::Arc;

use serde_json::{Value, json};

use super::leases::{expire_leases, leased};
use super::{on, text};
use dsrs_test::{Asked, Does, FakeLm, Gate, Remote, sections, test_database};

fn agent() -> Value {
    json!({"name": "agent", "nodes": {"work": {
        "strategy": "react", "signature": "question -> answer", "config": {"tools": [{"caller": {
            "name": "look", "description": "Looks a word up.", "arguments": {
                "type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}}}]}}}})
}

fn step(name: &str, args: &str) -> String {
    sections([
        ("next_thought", "so"),
        ("next_tool_name", name),
        ("next_tool_args", args),
        ("more_tool_calls", "null"),
    ])
}

/// Which request of the agent this is: its first step, its second one with the result of the first, or its outputs.
fn kind(asked: &Asked) -> &'static str {
    match asked.question() {
        prompt if prompt.contains("[[ ## reasoning ## ]]") => "outputs",
        prompt if prompt.contains("result: a dog") => "second",
        _ => "first",
    }
}

/// Holds the first request of the second step.
async fn model(gate: &Gate) -> Arc<FakeLm> {
    let gate = gate.clone();
    FakeLm::by(move |number, asked| match kind(asked) {
        "outputs" => Does::Say(sections([("reasoning", "r"), ("answer", "a dog")])),
        "second" if number == 1 => Does::Hold(gate.clone(), step("finish", "{}")),
        "second" => Does::Say(step("finish", "{}")),
        _ => Does::Say(step("look", r#"{"word": "hound"}"#)),
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_killed_after_the_answers_loses_no_step() {
    let (database, gate) = (test_database().await, Gate::new());
    let lm = model(&gate).await;
    let front = on(&database, &lm).env("DSRS_WORKER_ENABLED", "false").start();
    let api = Remote::new(&front.url);
    let setup = leased(on(&database, &lm).worker(), &database, "worker").await;
    let killed = setup.start();
    api.post("/v1/graphs", agent()).await.expect(201);
    let body = json!({"inputs": {"question": "What is a hound?"}});
    let run = api.post("/v1/graphs/agent/runs", body).await.expect(202).json();
    let place = format!("/v1/runs/{}", text(&run, "id"));
    let waits = |answer: &dsrs_test::Answer| answer.json()["status"] == "waiting";
    let waiting = api.until(&place, waits).await.json();
    assert_eq!(waiting["nodes"]["work"]["calls"][0]["arguments"], json!({"word": "hound"}));
    let answer = json!({"node": "work", "value": {"1-1": {"result": "a dog"}}});
    api.post(&format!("{place}/signal"), answer).await.expect(202);
    lm.arrived(2).await;
    killed.kill();
    expire_leases(&database, "worker").await;
    let _next = setup.start();
    let run = api.ended(text(&run, "id")).await;
    assert_eq!((text(&run, "status"), &run["outputs"]), ("succeeded", &json!({"answer": "a dog"})));
    let asked: Vec<_> = lm.asked().iter().map(kind).collect();
    assert_eq!(asked, ["first", "second", "second", "outputs"], "the first step is bought once");
    assert_eq!(run["usage"]["lm_calls"], 3, "{run}");
}
