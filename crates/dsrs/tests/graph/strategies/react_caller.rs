//! `react` with tools of the caller: a step parks the run, and the agent continues with the answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use dsrs::graph::{CompletedNode, CompletedNodes, Journal, JournalError, Outcome, Program};
use dsrs::lm::{Lm, Models, ScriptedLm};
use dsrs::predict::{NodeContinuation, NodePause, RunScope, Span, SpanKind, admit_answers};
use dsrs::problem::{At, Problems};
use dsrs::value::Payload;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::support::{answer, build, fields, json, outputs, refused};

const LOOK: &str = r#"{"caller": {"name": "look", "description": "Looks a word up.", "arguments": {
    "type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}}}"#;

fn agent() -> Program {
    build(&format!(
        r#"{{"name": "g", "nodes": {{"work": {{"strategy": "react", "signature": "question -> answer",
            "config": {{"tools": [{LOOK}, "calculator"], "with_trajectory": true, "max_iters": 4}}}}}}}}"#
    ))
}

fn step(name: &str, args: &str, more: &str) -> String {
    answer(&[
        ("next_thought", "so"),
        ("next_tool_name", name),
        ("next_tool_args", args),
        ("more_tool_calls", more),
    ])
}

fn extract() -> String {
    answer(&[("reasoning", "as found"), ("answer", "a dog")])
}

#[derive(Default)]
struct Book(Mutex<Vec<String>>);

impl Journal for Book {
    fn record(&self, node: CompletedNode) -> BoxFuture<'_, Result<(), JournalError>> {
        let number = node.outcome.pause.as_ref().map_or(0, |pause| pause.number);
        let requests = node.spans.iter().filter(|span| span.kind == SpanKind::Lm).count();
        self.0.lock().unwrap().push(format!("{} {number}: {requests} requests", node.name));
        async { Ok(()) }.boxed()
    }
}

/// Runs the agent, continued from a pause.
async fn run(lm: &Arc<ScriptedLm>, from: Option<NodeContinuation>, book: &Book) -> Outcome {
    let model: Arc<dyn Lm> = lm.clone();
    let deadline = Instant::now() + std::time::Duration::from_secs(600);
    let mut scope = RunScope::new(Arc::new(Models::only(model)), deadline);
    scope.paused = HashMap::from_iter(from.map(|from| ("work".into(), Arc::new(from))));
    let inputs = fields(r#"{"question": "What is a hound?"}"#);
    agent().execute_from(&Arc::new(scope), inputs, CompletedNodes::new(), book).await
}

fn pause(outcome: &Outcome) -> &NodePause {
    assert!(outcome.waits(), "{:?}", outcome.outputs);
    outcome.nodes["work"].pause.as_ref().unwrap()
}

fn calls(pause: &NodePause) -> Vec<String> {
    let call = |call: &dsrs::predict::CallerCall| {
        format!("{} {} {}", call.id, call.tool, call.arguments.to_json())
    };
    pause.calls.iter().map(call).collect()
}

fn answered(pauses: &[&NodePause], answers: &str) -> NodeContinuation {
    let stored = |pause: &&NodePause| Payload::from_json(&pause.progress.to_json()).unwrap();
    let progress = pauses.iter().map(stored).collect();
    let number = pauses.last().unwrap().number;
    NodeContinuation { number, progress, answers: Some(json(answers)) }
}

fn tools(spans: &[Span]) -> Vec<String> {
    let tools = spans.iter().filter(|span| span.kind == SpanKind::Tool);
    tools.map(|span| format!("{} {:?}", span.tool.as_deref().unwrap(), span.status)).collect()
}

#[tokio::test]
async fn a_step_waits_for_the_caller_and_continues_with_the_answers() {
    let more = r#"[{"name": "calculator", "args": {"expression": "6 * 7"}},
                   {"name": "look", "args": {"word": "dog"}}]"#;
    let lm = Arc::new(ScriptedLm::answering([
        step("look", r#"{"word": "hound"}"#, more),
        step("look", r#"{"word": "animal"}"#, "null"),
        step("finish", "{}", "null"),
        extract(),
    ]));
    let book = Book::default();
    let first = run(&lm, None, &book).await;
    let (parked, first) = (&first, pause(&first));
    assert_eq!(calls(first), [r#"1-1 look {"word":"hound"}"#, r#"1-3 look {"word":"dog"}"#]);
    assert_eq!(tools(&parked.spans), ["calculator Succeeded"]);

    // Without answers nothing is asked again, and nothing is recorded again.
    let lost = NodeContinuation { answers: None, ..answered(&[first], "{}") };
    assert_eq!(pause(&run(&lm, Some(lost), &book).await), first);
    assert_eq!(lm.requests().len(), 1);

    let found = r#"{"1-1": {"result": ["a dog"]}, "1-3": {"error": "no such page"}}"#;
    let parked = run(&lm, Some(answered(&[first], found)), &book).await;
    let second = pause(&parked);
    assert_eq!(calls(second), [r#"2-1 look {"word":"animal"}"#]);
    assert_eq!(tools(&parked.spans), ["look Succeeded", "look Failed"]);

    let found = answered(&[first, second], r#"{"2-1": {"result": "it lives"}}"#);
    let done = run(&lm, Some(found), &book).await;
    let expected = "Step 1\nthought: so\ncall: look {\"word\":\"hound\"}\nresult: [\"a dog\"]\n\
                    call: calculator {\"expression\":\"6 * 7\"}\nresult: 42\n\
                    call: look {\"word\":\"dog\"}\nresult: Error: no such page\n\n\
                    Step 2\nthought: so\ncall: look {\"word\":\"animal\"}\nresult: it lives\n\n\
                    Step 3\nthought: so\ncall: finish {}";
    assert_eq!(done.outputs.as_ref().unwrap()["trajectory"].as_str(), Some(expected));
    assert!(outputs(&done).starts_with(r#"{"answer":"a dog""#));
    assert_eq!(lm.requests().len(), 4);
    assert_eq!(*book.0.lock().unwrap(), ["work 1: 1 requests", "work 2: 1 requests"]);
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_answered_without_the_caller() {
    let lm = Arc::new(ScriptedLm::answering([
        step("look", r#"{"wrod": "hound"}"#, "null"),
        step("finish", "{}", "null"),
        extract(),
    ]));
    let done = run(&lm, None, &Book::default()).await;
    let trajectory = done.outputs.unwrap()["trajectory"].as_str().unwrap().to_owned();
    assert!(trajectory.contains("result: Error: the arguments do not fit"), "{trajectory}");
}

#[tokio::test]
async fn a_pause_in_the_last_step_is_followed_by_the_outputs() {
    let finish = r#"[{"name": "finish", "args": {}}]"#;
    let lm =
        Arc::new(ScriptedLm::answering([step("look", r#"{"word": "hound"}"#, finish), extract()]));
    let parked = run(&lm, None, &Book::default()).await;
    let found = answered(&[pause(&parked)], r#"{"1-1": {"result": {"kind": "dog"}}}"#);
    let done = run(&lm, Some(found), &Book::default()).await;
    assert!(outputs(&done).contains("result: {\\\"kind\\\":\\\"dog\\\"}"), "{}", outputs(&done));
    assert_eq!(lm.requests().len(), 2);
}

#[tokio::test]
async fn steps_that_cannot_be_read_fail_the_node() {
    let lm = Arc::new(ScriptedLm::answering([extract()]));
    let broken = NodeContinuation { number: 1, progress: vec![json("{}")], answers: None };
    let failed = run(&lm, Some(broken), &Book::default()).await.outputs.unwrap_err();
    assert!(failed.to_string().contains("start the run again"), "{failed}");
}

#[test]
fn answers_are_checked_together() {
    let admit = |value: &str| {
        let mut problems = Problems::new();
        let admitted = admit_answers(&["1-1", "1-2"], &json(value), &At::Root, &mut problems);
        assert_eq!(admitted.is_some(), problems.is_empty());
        problems.iter().map(|found| format!("{} {}", found.pointer, found.code)).collect::<Vec<_>>()
    };
    assert!(admit(r#"{"1-1": {"result": null}, "1-2": {"error": "no"}}"#).is_empty());
    assert_eq!(
        admit(r#"{"1-1": {"result": 1, "error": "x"}, "3": {"result": 1}}"#),
        ["/1-2 missing_field", "/1-1 wrong_type", "/3 unknown_field"]
    );
    assert_eq!(admit(r#"["a"]"#), [" wrong_type"]);
}

#[test]
fn only_a_node_of_its_own_may_wait() {
    let tools = format!(r#"{{"tools": [{LOOK}]}}"#);
    let inside = format!(
        r#"{{"module": {{"strategy": "react", "config": {tools}}}, "n": 2, "reward": {{"expression": "1"}}}}"#
    );
    let qa = "question -> answer";
    assert_eq!(refused("best_of_n", qa, &inside), ["/config/module/strategy invalid_config"]);
    for strategy in ["code_act", "rlm"] {
        let found = refused(strategy, qa, &tools);
        assert_eq!(found[0], "/config/tools invalid_config", "{strategy}");
    }
    let call = format!(r#"{{"tool": {LOOK}}}"#);
    assert_eq!(refused("call", "-> result", &call), ["/config/tool invalid_config"]);
}
