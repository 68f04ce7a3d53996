//! How a program runs: dataflow, conversion along edges, fail-fast, time, cancellation, the trace.

use std::sync::Arc;
use std::time::Duration;

use crate::support::{build, fields, run_on};
use dsrs::graph::{NodeStatus, Outcome};
use dsrs::lm::{LmErrorKind, LmRequest, ScriptedAnswer, ScriptedLm};
use dsrs::predict::{PredictErrorKind, SpanKind, SpanStatus};
use dsrs::value::Payload;
use tokio::time::Instant;

const DIAMOND: &str = r#"{"name": "diamond", "nodes": {
    "top":   {"strategy": "predict", "signature": "x -> seed: int"},
    "left":  {"strategy": "predict", "signature": "seed: int -> l"},
    "right": {"strategy": "predict", "signature": "seed: float -> r"},
    "join":  {"strategy": "predict", "signature": "l, r -> done"}},
  "edges": [{"from": "top.seed", "to": "left.seed"}, {"from": "top.seed", "to": "right.seed"},
            {"from": "left.l", "to": "join.l"}, {"from": "right.r", "to": "join.r"}],
  "outputs": {"done": "join.done", "x": "input.x"}}"#;

fn asked_for(request: &LmRequest) -> String {
    request.chat.turns.iter().map(|turn| turn.content.as_ref()).collect()
}

async fn run(document: &str, lm: ScriptedLm, inputs: &str) -> Outcome {
    let program = build(document).unwrap_or_else(|problems| panic!("{problems}"));
    let run = run_on(Arc::new(lm));
    program.execute(&run, fields(inputs)).await
}

fn answers() -> ScriptedLm {
    ScriptedLm::sections([("seed", "7"), ("l", "left"), ("r", "right"), ("done", "both")])
}

#[tokio::test]
async fn a_diamond_returns_outputs_and_every_node_outcome() {
    let outcome = run(DIAMOND, answers(), r#"{"x": "go"}"#).await;
    let outputs = Payload::map(outcome.outputs.unwrap()).to_json();
    assert_eq!(outputs, r#"{"done":"both","x":"go"}"#);
    let names: Vec<_> = outcome.nodes.keys().map(AsRef::as_ref).collect();
    assert_eq!(names, ["top", "left", "right", "join"]);
    assert!(outcome.nodes.values().all(|node| node.status == NodeStatus::Succeeded));
    assert_eq!(outcome.usage.lm_calls, 4);
}

#[tokio::test]
async fn an_edge_delivers_exactly_the_type_of_its_target() {
    let outcome = run(DIAMOND, answers(), r#"{"x": "go"}"#).await;
    let input_of = |node: &str| {
        let span = outcome.spans.iter().find(|s| s.kind == SpanKind::Node && &*s.node == node);
        Payload::map(span.unwrap().inputs.clone().unwrap()).to_json()
    };
    assert_eq!(input_of("left"), r#"{"seed":7}"#);
    assert_eq!(input_of("right"), r#"{"seed":7.0}"#);
}

#[tokio::test]
async fn an_int_beyond_float_precision_fails_the_receiving_node() {
    let lm = ScriptedLm::sections([("seed", "9007199254740993"), ("l", "left"), ("r", "right")]);
    let outcome = run(DIAMOND, lm, r#"{"x": "go"}"#).await;
    let failure = outcome.outputs.unwrap_err();
    assert_eq!(failure.node.as_deref(), Some("right"));
    let kind = PredictErrorKind::InvalidValue { field: Arc::from("seed") };
    assert_eq!(failure.error.kind, kind);
}

#[tokio::test(start_paused = true)]
async fn siblings_run_at_the_same_time() {
    let slow = Duration::from_secs(1);
    let lm = ScriptedLm::by(move |request| {
        let asked = asked_for(request);
        let wants = |name: &str| asked.rfind(&format!("[[ ## {name} ## ]]"));
        let name = ["seed", "l", "r", "done"].into_iter().max_by_key(|name| wants(name)).unwrap();
        let value = if name == "seed" { "1" } else { "text" };
        ScriptedAnswer::from(format!("[[ ## {name} ## ]]\n{value}\n\n[[ ## completed ## ]]"))
            .after(slow)
    });
    let started = Instant::now();
    let outcome = run(DIAMOND, lm, r#"{"x": "go"}"#).await;
    assert!(outcome.outputs.is_ok(), "{:?}", outcome.outputs);
    assert_eq!(started.elapsed().as_millis() / 100, 30, "three levels of one second each");
}

#[tokio::test(start_paused = true)]
async fn the_first_failure_ends_the_run_with_all_node_outcomes() {
    let document = r#"{"name": "g", "nodes": {
        "bad":   {"strategy": "predict", "signature": "x -> y", "retries": 0},
        "slow":  {"strategy": "predict", "signature": "x -> z"},
        "after": {"strategy": "predict", "signature": "y -> w"}},
      "edges": [{"from": "bad.y", "to": "after.y"}], "outputs": {"z": "slow.z"}}"#;
    let lm = ScriptedLm::by(|request| {
        if asked_for(request).contains("## z ##") {
            ScriptedAnswer::hang()
        } else {
            ScriptedAnswer::fail(LmErrorKind::Refused, "no such model").status(404)
        }
    });
    let outcome = run(document, lm, r#"{"x": "go"}"#).await;
    let failure = outcome.outputs.unwrap_err();
    assert_eq!(failure.node.as_deref(), Some("bad"));
    assert_eq!(failure.error.kind, PredictErrorKind::Lm);
    let statuses: Vec<_> = outcome.nodes.values().map(|node| node.status.as_str()).collect();
    assert_eq!(statuses, ["failed", "cancelled", "skipped"]);
    let open = outcome.spans.iter().filter(|span| span.status == SpanStatus::Running);
    assert_eq!(open.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_slow_node_times_out() {
    let document = r#"{"name": "g", "nodes": {
        "a": {"strategy": "predict", "signature": "x -> y", "timeout_ms": 1500}}}"#;
    let started = Instant::now();
    let outcome = run(document, ScriptedLm::always(ScriptedAnswer::hang()), r#"{"x": "go"}"#).await;
    let failure = outcome.outputs.unwrap_err();
    assert_eq!(failure.error.kind, PredictErrorKind::Timeout);
    assert_eq!(failure.node.as_deref(), Some("a"));
    assert_eq!(started.elapsed().as_millis() / 100, 15);
}

#[tokio::test(start_paused = true)]
async fn the_runs_deadline_bounds_every_node() {
    let document = r#"{"name": "g", "nodes": {
        "a": {"strategy": "predict", "signature": "x -> y", "timeout_ms": 3600000}}}"#;
    let started = Instant::now();
    let outcome = run(document, ScriptedLm::always(ScriptedAnswer::hang()), r#"{"x": "go"}"#).await;
    assert_eq!(outcome.outputs.unwrap_err().error.kind, PredictErrorKind::Timeout);
    assert_eq!(started.elapsed().as_secs(), 600);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_stops_at_once() {
    let document =
        r#"{"name": "g", "nodes": {"a": {"strategy": "chain_of_thought", "signature": "x -> y"}}}"#;
    let program = build(document).map_err(|p| p.to_string()).unwrap();
    let run = run_on(Arc::new(ScriptedLm::always(ScriptedAnswer::hang())));
    let cancel = run.cancelled.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        cancel.cancel();
    });
    let started = Instant::now();
    let outcome = program.execute(&run, fields(r#"{"x": "go"}"#)).await;
    let failure = outcome.outputs.unwrap_err();
    assert_eq!(failure.error.kind, PredictErrorKind::Cancelled);
    let at_work = (failure.node.as_deref(), failure.error.predictor.as_deref());
    assert_eq!(at_work, (Some("a"), Some("predict")));
    assert_eq!(outcome.nodes["a"].status, NodeStatus::Cancelled);
    assert!(started.elapsed() < Duration::from_millis(200));
}

#[tokio::test]
async fn the_trace_has_exact_messages_and_raw_answers() {
    let document = r#"{"name": "g", "nodes": {
        "a": {"strategy": "chain_of_thought", "signature": "x -> y"}}}"#;
    let lm = ScriptedLm::sections([("reasoning", "because"), ("y", "yes")]);
    let outcome = run(document, lm, r#"{"x": "go"}"#).await;
    let kinds: Vec<_> = outcome.spans.iter().map(|span| span.kind).collect();
    assert_eq!(kinds, [SpanKind::Node, SpanKind::Predictor, SpanKind::Lm]);
    let lm = &outcome.spans[2];
    assert_eq!(lm.predictor.as_deref(), Some("predict"));
    assert_eq!(lm.attempt, Some(1));
    assert!(lm.raw.as_ref().unwrap().contains("because"));
    let (prefix, turns) = lm.messages.as_ref().unwrap();
    assert_eq!((prefix.len(), turns.len()), (1, 1));
}

#[tokio::test]
async fn optional_inputs_that_nothing_feeds_are_null() {
    let document = r#"{"name": "g", "inputs": {"x": "str"}, "nodes": {
        "a": {"strategy": "predict", "signature": "x, hint: str? -> y"}}}"#;
    let outcome = run(document, ScriptedLm::sections([("y", "ok")]), r#"{"x": "go"}"#).await;
    let inputs = Payload::map(outcome.spans[0].inputs.clone().unwrap()).to_json();
    assert_eq!(inputs, r#"{"x":"go","hint":null}"#);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_out_of_time_does_not_blame_the_nodes_own_limit() {
    let document = r#"{"name": "g", "nodes": {
        "a": {"strategy": "predict", "signature": "x -> y", "timeout_ms": 3600000}}}"#;
    let program = build(document).unwrap_or_else(|problems| panic!("{problems}"));
    let lm = ScriptedLm::by(|_| ScriptedAnswer::from("late").after(Duration::from_secs(3600)));
    let run = run_on(Arc::new(lm));
    let outcome = program.execute(&run, fields(r#"{"x": "go"}"#)).await;
    let failure = outcome.outputs.unwrap_err();
    assert_eq!(failure.error.kind, PredictErrorKind::Timeout);
    assert!(!failure.error.message.contains("3600000"), "{}", failure.error.message);
}
