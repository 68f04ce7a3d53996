//! Failures as data: which ones a run survives, which node receives which error, and the record.

use dsrs::graph::{NodeStatus, Outcome};
use dsrs::lm::{LmErrorKind, LmRequest, ScriptedAnswer, ScriptedLm};
use dsrs::value::Payload;

use super::support::{build, run, run_with};

/// An LM that fails for fields with these names, and otherwise writes `fine`.
fn failing_at(fields: &'static [&'static str]) -> ScriptedLm {
    ScriptedLm::by(move |request: &LmRequest| {
        let asked: String =
            request.chat.turns.iter().map(|turn| turn.content.to_string()).collect();
        let wanted = |name: &str| asked.contains(&format!("`[[ ## {name} ## ]]`"));
        if fields.iter().any(|name| wanted(name)) {
            return ScriptedAnswer::fail(LmErrorKind::Refused, "no such model").status(404);
        }
        let names = ["a", "b", "c", "d", "e"].into_iter().filter(|name| wanted(name));
        ScriptedAnswer::from(
            names.map(|name| format!("[[ ## {name} ## ]]\nfine\n\n")).collect::<String>(),
        )
    })
}

fn statuses(outcome: &Outcome) -> String {
    let describe = |(name, node): (&std::sync::Arc<str>, &dsrs::graph::NodeOutcome)| {
        format!("{name} {}", node.status.as_str())
    };
    outcome.nodes.iter().map(describe).collect::<Vec<_>>().join(", ")
}

fn result(outcome: &Outcome) -> String {
    match &outcome.outputs {
        Ok(outputs) => Payload::map(outputs.clone()).to_json(),
        Err(failure) => {
            let node = failure.node.as_deref().unwrap_or_default();
            format!("{node}: {}", failure.error.kind.code())
        }
    }
}

/// Nodes and edges of a graph and the fields for which the LM fails; then the result of the run and the
/// status of each node.
type Row<'r> = (&'r str, &'r str, &'static [&'static str], &'r str, &'r str);

const ASK: &str = r#""ask": {"strategy": "predict", "signature": "x -> a", "retries": 0}"#;

#[tokio::test]
async fn a_run_survives_failures_that_all_readers_accept() {
    let rows: &[Row<'_>] = &[
        (
            r#""or": {"strategy": "unwrap_or", "config": {"default": "none"}}"#,
            r#"{"from": "ask.a", "to": "or.value"}"#,
            &["a"],
            r#"{"value":"none"}"#,
            "ask failed, or succeeded",
        ),
        (
            r#""or": {"strategy": "unwrap_or", "config": {"default": "none"}}"#,
            r#"{"from": "ask.a", "to": "or.value"}"#,
            &[],
            r#"{"value":"fine"}"#,
            "ask succeeded, or succeeded",
        ),
        (
            r#""or": {"strategy": "unwrap_or"}, "other": {"strategy": "upper"}"#,
            r#"{"from": "ask.a", "to": "or.value"}, {"from": "input.x", "to": "other.text"},
               {"from": "other.text", "to": "or.default"}"#,
            &["a"],
            r#"{"value":"GO"}"#,
            "ask failed, or succeeded, other succeeded",
        ),
        (
            r#""is": {"strategy": "is_error"}"#,
            r#"{"from": "ask.a", "to": "is.value"}"#,
            &["a"],
            r#"{"value":true}"#,
            "ask failed, is succeeded",
        ),
        (
            r#""say": {"strategy": "predict", "signature": "a: str | error -> b"}"#,
            r#"{"from": "ask.a", "to": "say.a"}"#,
            &["a"],
            r#"{"b":"fine"}"#,
            "ask failed, say succeeded",
        ),
        // A node that does not accept errors is skipped, and its outputs are the error.
        (
            r#""up": {"strategy": "upper"}, "or": {"strategy": "unwrap_or", "config": {"default": "-"}}"#,
            r#"{"from": "ask.a", "to": "up.text"}, {"from": "up.text", "to": "or.value"}"#,
            &["a"],
            r#"{"value":"-"}"#,
            "ask failed, up skipped, or succeeded",
        ),
        // Another node needs the failed output: the run fails.
        (
            r#""up": {"strategy": "upper"}, "is": {"strategy": "is_error"}"#,
            r#"{"from": "ask.a", "to": "up.text"}, {"from": "ask.a", "to": "is.value"}"#,
            &["a"],
            "ask: lm_error",
            "ask failed, up skipped, is skipped",
        ),
        // No node needs it.
        (
            r#""up": {"strategy": "upper"}"#,
            r#"{"from": "input.x", "to": "up.text"}"#,
            &["a"],
            "ask: lm_error",
            "ask failed, up succeeded",
        ),
    ];
    for (nodes, edges, failing, outputs, stand) in rows {
        let document = format!(
            r#"{{"name": "g", "inputs": {{"x": "str"}}, "nodes": {{{ASK}, {nodes}}},
                "edges": [{{"from": "input.x", "to": "ask.x"}}, {edges}]}}"#
        );
        let program = build(&document).unwrap_or_else(|problems| panic!("{nodes}: {problems}"));
        let outcome = run_with(&program, failing_at(failing), r#"{"x": "go"}"#).await;
        assert_eq!(
            (result(&outcome).as_str(), statuses(&outcome).as_str()),
            (*outputs, *stand),
            "{nodes}"
        );
    }
}

#[tokio::test]
async fn an_output_of_the_graph_that_reads_a_failed_node_fails_the_run() {
    let document = format!(
        r#"{{"name": "g", "nodes": {{{ASK}, "is": {{"strategy": "is_error"}}}},
            "edges": [{{"from": "ask.a", "to": "is.value"}}],
            "outputs": {{"a": "ask.a", "failed": "is.value"}}}}"#
    );
    let outcome = run_with(&build(&document).unwrap(), failing_at(&["a"]), r#"{"x": "go"}"#).await;
    assert_eq!(result(&outcome), "ask: lm_error");
}

const TWO: &str = r#"{"name": "g", "nodes": {
    "one": {"strategy": "predict", "signature": "x -> a", "retries": 0},
    "two": {"strategy": "predict", "signature": "x -> b", "retries": 0},
    "both": {"strategy": "predict", "signature": "b, a -> c"},
    "report": {"strategy": "predict", "signature": "c: str | error -> d"}},
  "edges": [{"from": "one.a", "to": "both.a"}, {"from": "two.b", "to": "both.b"},
            {"from": "both.c", "to": "report.c"}]}"#;

#[tokio::test]
async fn the_first_error_by_input_order_has_the_others_as_causes() {
    let outcome = run_with(&build(TWO).unwrap(), failing_at(&["a", "b"]), r#"{"x": "go"}"#).await;
    assert_eq!(statuses(&outcome), "one failed, two failed, both skipped, report succeeded");
    let report = outcome.spans.iter().find(|span| &*span.node == "report").unwrap();
    let Payload::Error(failure) = &report.inputs.as_ref().unwrap()["c"] else {
        panic!("no error: {:?}", report.inputs)
    };
    let causes: Vec<_> = failure.causes.iter().map(|cause| cause.node.as_deref()).collect();
    assert_eq!((failure.node.as_deref(), &*failure.code), (Some("two"), "lm_error"));
    assert_eq!(causes, [Some("one")]);
}

#[tokio::test]
async fn a_failed_node_keeps_its_error_in_the_record_of_a_run_that_succeeded() {
    let outcome = run_with(&build(TWO).unwrap(), failing_at(&["a"]), r#"{"x": "go"}"#).await;
    assert!(outcome.outputs.is_ok());
    let one = &outcome.nodes["one"];
    assert_eq!(one.status, NodeStatus::Failed);
    assert_eq!(one.error.as_ref().unwrap().kind.code(), "lm_error");
    assert_eq!(outcome.nodes["two"].status, NodeStatus::Succeeded);
    assert!(outcome.nodes["both"].started.is_none());
}

#[tokio::test]
async fn an_op_that_fails_is_a_failed_node_like_any_other() {
    let document = r#"{"name": "g", "inputs": {"x": "int"}, "nodes": {
        "by": {"strategy": "divide", "config": {"left": 1}},
        "or": {"strategy": "unwrap_or", "config": {"default": 0}}},
      "edges": [{"from": "input.x", "to": "by.right"}, {"from": "by.value", "to": "or.value"}]}"#;
    let outcome = run(&build(document).unwrap(), r#"{"x": 0}"#).await;
    assert_eq!(
        (result(&outcome).as_str(), statuses(&outcome).as_str()),
        (r#"{"value":0.0}"#, "by failed, or succeeded")
    );
}

#[tokio::test]
async fn a_cancelled_run_is_not_an_error_value() {
    let document = format!(
        r#"{{"name": "g", "nodes": {{{ASK}, "is": {{"strategy": "is_error"}}}},
            "edges": [{{"from": "ask.a", "to": "is.value"}}]}}"#
    );
    let program = build(&document).unwrap();
    let lm = std::sync::Arc::new(ScriptedLm::always(ScriptedAnswer::hang()));
    let models = std::sync::Arc::new(dsrs::lm::Models::only(lm));
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(600);
    let run = std::sync::Arc::new(dsrs::predict::RunScope::new(models, deadline));
    run.cancelled.cancel();
    let inputs = super::support::json(r#"{"x": "go"}"#).as_map().unwrap().clone();
    let outcome = program.execute(&run, inputs).await;
    assert_eq!(result(&outcome), "ask: run_cancelled");
}
