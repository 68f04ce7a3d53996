//! Runs of only ops: they are called in place, and must neither recurse nor block other tasks.

use std::sync::Arc;
use std::time::Duration;

use dsrs::graph::Program;
use dsrs::lm::{Models, ScriptedLm};
use dsrs::predict::{PredictErrorKind, RunScope};
use tokio::time::Instant;

use super::support::{build, json, run};

/// A chain of ops, each of which adds the graph's input to the output of the one before it.
fn chain(length: usize) -> Program {
    let nodes: Vec<String> = (0..length)
        .map(|n| format!(r#""n{n}": {{"strategy": "add", "config": {{"right": 1}}}}"#))
        .collect();
    let edge = |n: usize| {
        let from = if n == 0 { "input.x".to_owned() } else { format!("n{}.value", n - 1) };
        format!(r#"{{"from": "{from}", "to": "n{n}.left"}}"#)
    };
    let edges: Vec<String> = (0..length).rev().map(edge).collect();
    let document = format!(
        r#"{{"name": "g", "inputs": {{"x": "int"}}, "nodes": {{{}}}, "edges": [{}]}}"#,
        nodes.join(", "),
        edges.join(", ")
    );
    build(&document).unwrap_or_else(|problems| panic!("{problems}"))
}

#[tokio::test]
async fn a_chain_of_thousands_of_ops_runs_to_its_end() {
    let outcome = run(&chain(4_000), r#"{"x": 2}"#).await;
    assert_eq!(outcome.outputs.unwrap()["value"].to_json(), "4002");
    assert_eq!(outcome.spans.len(), 4_000);
}

#[tokio::test]
async fn a_run_of_only_ops_can_be_cancelled_and_time_out() {
    let program = chain(400);
    let inputs = || json(r#"{"x": 2}"#).as_map().unwrap().clone();
    let models = Arc::new(Models::only(Arc::new(ScriptedLm::answering([""; 0]))));
    let late = Arc::new(RunScope::new(models.clone(), Instant::now()));
    let failure = program.execute(&late, inputs()).await.outputs.unwrap_err();
    assert_eq!(failure.error.kind, PredictErrorKind::Timeout);

    let deadline = Instant::now() + Duration::from_secs(600);
    let cancelled = Arc::new(RunScope::new(models, deadline));
    cancelled.cancelled.cancel();
    let failure = program.execute(&cancelled, inputs()).await.outputs.unwrap_err();
    assert_eq!(failure.error.kind, PredictErrorKind::Cancelled);
}
