//! `await`: a run parks until it receives a value, other nodes continue, and the value must have
//! the type of the node's outputs.

use std::sync::{Arc, Mutex};

use dsrs::graph::{
    CompletedNode, CompletedNodes, GraphModule, GraphState, Journal, JournalError, NodeStatus,
    Outcome, Program,
};
use dsrs::lm::ScriptedLm;
use dsrs::predict::{PredictErrorKind, SpanStatus};
use dsrs::problem::{At, Problems};
use dsrs::strategy::registry;
use dsrs::value::Payload;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::support::{self, Env, fields, run_on};

/// A draft that a person approves before it is sent; another node takes notes meanwhile.
const APPROVAL: &str = r#"{"name": "g", "inputs": {"topic": "str"}, "nodes": {
    "draft":   {"strategy": "predict", "signature": "topic -> text"},
    "approve": {"strategy": "await", "signature": "text -> approved: bool"},
    "notes":   {"strategy": "predict", "signature": "topic -> note"},
    "send":    {"strategy": "predict", "signature": "text, approved: bool -> sent"}},
  "edges": [{"from": "draft.text", "to": "approve.text"}, {"from": "draft.text", "to": "send.text"},
            {"from": "approve.approved", "to": "send.approved"}]}"#;

fn build(document: &str) -> Program {
    support::build(document).unwrap_or_else(|problems| panic!("{problems}"))
}

fn json(text: &str) -> Payload {
    Payload::from_json(text).unwrap()
}

#[derive(Default)]
struct Book(Mutex<Vec<String>>);

impl Journal for Book {
    fn record(&self, node: CompletedNode) -> BoxFuture<'_, Result<(), JournalError>> {
        self.0.lock().unwrap().push(node.name.to_string());
        async { Ok(()) }.boxed()
    }
}

fn lm() -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::sections([("text", "Dear all"), ("note", "n"), ("sent", "yes")]))
}

fn statuses(outcome: &Outcome) -> Vec<String> {
    let nodes = outcome.nodes.iter();
    nodes.map(|(name, node)| format!("{name} {}", node.status.as_str())).collect()
}

#[tokio::test]
async fn a_waiting_run_parks_and_continues_with_the_signal() {
    let (program, lm, book) = (build(APPROVAL), lm(), Book::default());
    let inputs = fields(r#"{"topic": "rain"}"#);
    let parked = program
        .execute_from(&run_on(lm.clone()), inputs.clone(), CompletedNodes::new(), &book)
        .await;
    assert!(parked.waits());
    let kind = PredictErrorKind::Waiting { pause: None };
    assert_eq!(parked.outputs.as_ref().unwrap_err().error.kind, kind);
    let stands = ["draft succeeded", "approve waiting", "notes succeeded", "send pending"];
    assert_eq!(statuses(&parked), stands);
    assert_eq!(*book.0.lock().unwrap(), ["draft", "notes"]);
    let span = parked.spans.iter().find(|span| &*span.node == "approve").unwrap();
    assert_eq!(span.status, SpanStatus::Waiting);
    assert_eq!(span.inputs.as_ref().unwrap()["text"], Payload::str("Dear all"));

    let mut problems = Problems::new();
    let node = program.graph().node("approve").unwrap();
    let value = program.admit_signal(node, &json("true"), &At::Root, &mut problems).unwrap();
    let mut ended: CompletedNodes =
        parked.nodes.into_iter().filter(|(_, node)| node.status == NodeStatus::Succeeded).collect();
    ended.insert("approve".into(), program.restore_completed_node("approve", &value).unwrap());
    let done = program.execute_from(&run_on(lm.clone()), inputs, ended, &book).await;
    assert_eq!(done.outputs.unwrap()["sent"], Payload::str("yes"));
    assert_eq!(*book.0.lock().unwrap(), ["draft", "notes"]);
    assert_eq!(lm.requests().len(), 3);
}

#[tokio::test]
async fn a_run_that_fails_elsewhere_does_not_wait() {
    let lm = Arc::new(ScriptedLm::sections([("text", "Dear all")]));
    let outcome = build(APPROVAL).execute(&run_on(lm), fields(r#"{"topic": "rain"}"#)).await;
    assert!(!outcome.waits() && outcome.outputs.is_err());
    let still_waiting = statuses(&outcome).iter().any(|status| status.ends_with("waiting"));
    assert!(!still_waiting, "{:?}", statuses(&outcome));
}

#[test]
fn a_signal_value_covers_all_outputs_or_the_only_one() {
    let two = r#"{"name": "g", "nodes": {
        "one": {"strategy": "await", "signature": "x -> ok: bool"},
        "two": {"strategy": "await", "signature": "x -> ok: bool, note: str?"}},
      "outputs": {"ok": "one.ok"}}"#;
    let program = build(two);
    let admit = |node: &str, value: &str| {
        let (mut problems, at) = (Problems::new(), At::Root);
        let node = program.graph().node(node).unwrap();
        let found = program.admit_signal(node, &json(value), &at.key("value"), &mut problems);
        let describe = |found: &dsrs::problem::Problem| format!("{} {}", found.pointer, found.code);
        match problems.is_empty() {
            true => found.unwrap().to_json(),
            false => problems.iter().map(describe).collect::<Vec<_>>().join(", "),
        }
    };
    assert_eq!(admit("one", "true"), r#"{"ok":true}"#);
    assert_eq!(admit("one", r#"{"ok": false}"#), r#"{"ok":false}"#);
    assert_eq!(admit("one", r#""yes""#), "/value wrong_type");
    assert_eq!(admit("one", r#"{"ok": 1}"#), "/value/ok wrong_type");
    assert_eq!(admit("two", r#"{"ok": true}"#), r#"{"ok":true,"note":null}"#);
    assert_eq!(admit("two", r#"{"ok": true, "nte": "x"}"#), "/value/nte unknown_field");
    assert_eq!(admit("two", "true"), "/value wrong_type");
}

#[test]
fn waiting_nodes_cannot_be_nested() {
    let config =
        json(r#"{"module": {"strategy": "await"}, "n": 2, "reward": {"expression": "1"}}"#);
    let base = build(APPROVAL).graph().node("approve").unwrap().base().clone();
    let refused = registry::create(&Env, "best_of_n", &base, Some(&config), &At::Root);
    let message = refused.err().unwrap().to_string();
    assert!(
        message.contains("/config/module/strategy")
            && message.contains("make `await` a node of its own"),
        "{message}"
    );
    let module = GraphModule::new(&json(APPROVAL), &GraphState::default(), &Env);
    let message = module.err().unwrap().to_string();
    assert!(
        message.contains("/nodes/approve") && message.contains("no part of another"),
        "{message}"
    );
}
