//! Resumed runs: checkpoints of completed nodes, nodes that do not run again, and resuming with another
//! version of the graph.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dsrs::graph::{
    CompletedNode, CompletedNodes, GraphState, Journal, JournalError, Outcome, Program,
    ResumeDecision,
};
use dsrs::lm::{ScriptedAnswer, ScriptedLm};
use dsrs::predict::{PredictErrorKind, SpanKind};
use dsrs::problem::{At, Problems};
use dsrs::value::{Fields, Payload};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::support::{Env, build, fields, run_on};

const LINE: &str = r#"{"name": "line", "inputs": {"x": "str"}, "nodes": {
    "a": {"strategy": "predict", "signature": "x -> y: int"},
    "b": {"strategy": "predict", "signature": "y: int -> z: Mood"},
    "c": {"strategy": "predict", "signature": "z: Mood -> w"},
    "d": {"strategy": "predict", "signature": "x -> v"}},
  "types": {"Mood": {"enum": {"calm": null, "angry": null}}},
  "edges": [{"from": "input.x", "to": "a.x"}, {"from": "a.y", "to": "b.y"},
            {"from": "b.z", "to": "c.z"}, {"from": "input.x", "to": "d.x"}],
  "outputs": {"w": "c.w", "v": "d.v"}}"#;

/// Records every node after a delay; refuses one of them.
#[derive(Default)]
struct Book {
    recorded: Mutex<Vec<CompletedNode>>,
    takes: Duration,
    refuses: Option<&'static str>,
}

impl Journal for Book {
    fn record(&self, node: CompletedNode) -> BoxFuture<'_, Result<(), JournalError>> {
        async move {
            tokio::time::sleep(self.takes).await;
            if self.refuses == Some(&*node.name) {
                return Err(JournalError("the book is full".to_owned()));
            }
            self.recorded.lock().unwrap().push(node);
            Ok(())
        }
        .boxed()
    }
}

impl Book {
    fn names(&self) -> Vec<String> {
        self.recorded.lock().unwrap().iter().map(|node| node.name.to_string()).collect()
    }
}

fn answers() -> ScriptedLm {
    ScriptedLm::sections([("y", "7"), ("z", "calm"), ("w", "end"), ("v", "aside")])
}

async fn run(lm: &Arc<ScriptedLm>, ended: CompletedNodes, book: &Book) -> Outcome {
    let program = build(LINE).unwrap();
    program.execute_from(&run_on(lm.clone()), fields(r#"{"x": "go"}"#), ended, book).await
}

#[tokio::test]
async fn every_node_but_the_last_is_recorded_with_its_trace() {
    let book = Book::default();
    let outcome = run(&Arc::new(answers()), CompletedNodes::new(), &book).await;
    assert_eq!(Payload::map(outcome.outputs.unwrap()).to_json(), r#"{"w":"end","v":"aside"}"#);
    let mut names = book.names();
    names.sort();
    assert_eq!(names, ["a", "b", "d"]);
    for node in book.recorded.lock().unwrap().iter() {
        let kinds: Vec<_> = node.spans.iter().map(|span| span.kind).collect();
        assert_eq!(kinds, [SpanKind::Node, SpanKind::Predictor, SpanKind::Lm], "{}", node.name);
        let parents: Vec<_> = node.spans.iter().map(|span| span.parent.map(|p| p.0)).collect();
        assert_eq!(parents, [None, Some(1), Some(2)], "{}", node.name);
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_starts_once_its_sources_are_recorded() {
    let second = Duration::from_secs(1);
    let lm = ScriptedLm::by(move |request| {
        let asked: String = request.chat.turns.iter().map(|turn| turn.content.as_ref()).collect();
        let quick = asked.contains("[[ ## y ## ]]") && asked.contains("[[ ## x ## ]]");
        let said =
            "[[ ## y ## ]]\n7\n\n[[ ## z ## ]]\ncalm\n\n[[ ## w ## ]]\ne\n\n[[ ## v ## ]]\na";
        ScriptedAnswer::from(said).after(if quick { Duration::ZERO } else { second })
    });
    let book = Book { takes: second / 2, ..Book::default() };
    let outcome = run(&Arc::new(lm), CompletedNodes::new(), &book).await;
    let started = |node: &str| outcome.nodes[node].started.unwrap().as_millis();
    let times = ["a", "d", "b", "c"].map(started);
    assert_eq!(times, [0, 0, 500, 2000], "{:?}", outcome.outputs);
}

#[tokio::test]
async fn completed_nodes_are_reused_and_feed_the_rest() {
    let program = build(LINE).unwrap();
    let outputs = Payload::from_json(r#"{"z": "angry"}"#).unwrap();
    let ended: CompletedNodes = [("a", r#"{"y": 1}"#), ("b", r#"{"z": "angry"}"#)]
        .map(|(name, json)| {
            let outputs = Payload::from_json(json).unwrap();
            (Arc::from(name), program.restore_completed_node(name, &outputs).unwrap())
        })
        .into();
    assert!(program.restore_completed_node("a", &outputs).is_none(), "these are not its outputs");
    let (lm, book) = (Arc::new(answers()), Book::default());
    let outcome = run(&lm, ended, &book).await;
    assert!(outcome.outputs.is_ok());
    assert_eq!(book.names().len(), 1, "of `c` and `d`, which of them ends first");
    assert_eq!(outcome.usage.lm_calls, 2);
    let given = outcome.spans.iter().find(|span| &*span.node == "c").unwrap().inputs.clone();
    assert_eq!(Payload::map(given.unwrap()).to_json(), r#"{"z":"angry"}"#);
}

#[tokio::test]
async fn a_failed_journal_stops_the_run() {
    let book = Book { refuses: Some("a"), ..Book::default() };
    let outcome = run(&Arc::new(answers()), CompletedNodes::new(), &book).await;
    let failure = outcome.outputs.unwrap_err();
    assert_eq!(failure.node.as_deref(), Some("a"));
    assert_eq!(failure.error.kind, PredictErrorKind::Cancelled);
    assert!(failure.error.message.contains("the book is full"), "{}", failure.error.message);
    assert!(!book.names().contains(&"b".to_owned()));
}

/// The decisions on completed nodes when a run of `LINE` resumes with another document.
fn verdicts(new: &Program, inputs: &Fields, ended: &[&str]) -> Vec<String> {
    let old = build(LINE).unwrap();
    let ended: HashSet<Arc<str>> = ended.iter().map(|name| Arc::from(*name)).collect();
    let given = fields(r#"{"x": "go"}"#);
    let verdicts = dsrs::graph::resume_decisions((&old, &given), (new, inputs), &ended);
    let decisions = verdicts.into_iter().map(|(name, verdict)| match verdict {
        ResumeDecision::Reuse => format!("{name}: reused"),
        ResumeDecision::Rerun(reason) => format!("{name}: {reason}"),
    });
    decisions.collect()
}

#[test]
fn an_unchanged_node_is_reused_by_another_version() {
    let all = ["a", "b", "c", "d"];
    let reused = ["a: reused", "b: reused", "c: reused", "d: reused"];
    let after = |node: &str| format!("`{node}`, which it waits for, runs again");
    let (b, c) = (format!("b: {}", after("a")), format!("c: {}", after("b")));
    let cases: [(&str, &str, [&str; 4]); 7] = [
        ("", "", reused),
        (r#""x -> v"}"#, r#""x -> v", "timeout_ms": 5, "retries": 0}"#, reused),
        (
            r#""x -> y: int"}"#,
            r#""x -> y: int", "lm": {"temperature": 0.5}}"#,
            ["a: its LM settings changed", &b, &c, "d: reused"],
        ),
        (
            r#""predict", "signature": "x -> y: int""#,
            r#""chain_of_thought", "signature": "x -> y: int""#,
            ["a: its strategy changed", &b, &c, "d: reused"],
        ),
        (
            "x -> v",
            "x -> v: int",
            ["a: reused", "b: reused", "c: reused", "d: its signature changed"],
        ),
        (
            r#""angry": null"#,
            r#""angry": "very""#,
            ["a: reused", "b: its signature changed", "c: its signature changed", "d: reused"],
        ),
        (r#""x": "str"}"#, r#""x": "str", "u": "str?"}"#, reused),
    ];
    for (was, is, expected) in cases {
        let document = LINE.replacen(was, is, 1);
        let new = build(&document).unwrap_or_else(|problems| panic!("{is}: {problems}"));
        assert_eq!(verdicts(&new, &fields(r#"{"x": "go"}"#), &all), expected, "{is}");
    }
    let rewired =
        LINE.replace(r#""from": "input.x", "to": "d.x""#, r#""from": "c.w", "to": "d.x""#);
    let found = verdicts(&build(&rewired).unwrap(), &fields(r#"{"x": "go"}"#), &all);
    assert_eq!(found[3], "d: its input `x` has another source");
    let same = build(LINE).unwrap();
    let found = verdicts(&same, &fields(r#"{"x": "come"}"#), &all);
    assert_eq!(found[0], "a: the graph's input `x` is converted differently");
    assert_eq!(verdicts(&same, &fields(r#"{"x": "go"}"#), &["a"])[1], "b: it had not completed");
    let state = Payload::from_json(r#"{"d": {"instruction": "Aside.", "demos": []}}"#).unwrap();
    let state = GraphState::read(&state, &At::Root, &mut Problems::new()).unwrap();
    let tuned = same.with_state(&Env, &state, &At::Root).unwrap();
    let found = verdicts(&tuned, &fields(r#"{"x": "go"}"#), &all);
    assert_eq!(found[3], "d: the state of its predictors changed");
}

/// A resumed run computes ops again; completed nodes after them do not run again.
const OPS: &str = r#"{"name": "ops", "inputs": {"x": "str"}, "nodes": {
    "a": {"strategy": "predict", "signature": "x -> y"},
    "loud": {"strategy": "upper"},
    "b": {"strategy": "predict", "signature": "y -> z"},
    "c": {"strategy": "predict", "signature": "z, w -> v"},
    "d": {"strategy": "predict", "signature": "x -> w"}},
  "edges": [{"from": "input.x", "to": "a.x"}, {"from": "a.y", "to": "loud.text"},
            {"from": "loud.text", "to": "b.y"}, {"from": "b.z", "to": "c.z"},
            {"from": "input.x", "to": "d.x"}, {"from": "d.w", "to": "c.w"}],
  "outputs": {"v": "c.v"}}"#;

async fn gone_on(ended: &[(&str, &str)]) -> (Vec<String>, Outcome) {
    let program = build(OPS).unwrap();
    let restored = |(name, outputs): &(&str, &str)| {
        let outputs = Payload::from_json(outputs).unwrap();
        (Arc::from(*name), program.restore_completed_node(name, &outputs).unwrap())
    };
    let ended: CompletedNodes = ended.iter().map(restored).collect();
    let fields_of = [("y", "one"), ("z", "two"), ("w", "three"), ("v", "four")];
    let (lm, book) = (Arc::new(ScriptedLm::sections(fields_of)), Book::default());
    let inputs = fields(r#"{"x": "why"}"#);
    let outcome = program.execute_from(&run_on(lm), inputs, ended, &book).await;
    let asked = outcome.spans.iter().filter(|span| span.kind == SpanKind::Lm);
    (asked.map(|span| span.node.to_string()).collect(), outcome)
}

#[tokio::test]
async fn completed_nodes_after_ops_do_not_run_again() {
    let (a, b, d) =
        (("a", r#"{"y": "one"}"#), ("b", r#"{"z": "two"}"#), ("d", r#"{"w": "three"}"#));
    for (ended, runs) in [
        (vec![], vec!["a", "d", "b", "c"]),
        (vec![a], vec!["d", "b", "c"]),
        (vec![a, b], vec!["d", "c"]),
        (vec![a, b, d], vec!["c"]),
        (vec![a, d], vec!["b", "c"]),
        (vec![b], vec!["a", "d", "c"]),
    ] {
        let (mut ran, outcome) = gone_on(&ended).await;
        let mut runs = runs;
        runs.sort_unstable();
        ran.sort_unstable();
        assert_eq!(ran, runs, "{ended:?}");
        let last = outcome.spans.iter().find(|span| &*span.node == "c").unwrap();
        let inputs = Payload::map(last.inputs.clone().unwrap()).to_json();
        assert_eq!(inputs, r#"{"z":"two","w":"three"}"#, "{ended:?}");
    }
    let all = [a, b, d, ("c", r#"{"v": "four"}"#)];
    let (ran, outcome) = gone_on(&all).await;
    assert_eq!((ran.len(), outcome.outputs.unwrap()["v"].clone()), (0, Payload::str("four")));
}

#[tokio::test]
async fn an_absorbed_failure_is_recorded_and_restored() {
    let survives = r#"{"name": "s", "inputs": {"x": "str"}, "nodes": {
        "a": {"strategy": "predict", "signature": "x -> y", "retries": 0},
        "safe": {"strategy": "unwrap_or", "config": {"default": "none"}},
        "c": {"strategy": "predict", "signature": "y -> z", "retries": 0}},
      "edges": [{"from": "input.x", "to": "a.x"}, {"from": "a.y", "to": "safe.value"},
                {"from": "safe.value", "to": "c.y"}], "outputs": {"z": "c.z"}}"#;
    let program = build(survives).unwrap();
    let inputs = fields(r#"{"x": "why"}"#);
    let fails = ScriptedAnswer::fail(dsrs::lm::LmErrorKind::Refused, "no");
    let lm = Arc::new(ScriptedLm::answering([fails, "[[ ## z ## ]]\nfine".into()]));
    let book = Book::default();
    let first =
        program.execute_from(&run_on(lm), inputs.clone(), CompletedNodes::new(), &book).await;
    assert!(first.outputs.is_ok());
    assert_eq!(book.names(), ["a"]);
    let ended: CompletedNodes =
        [("a".into(), program.restore_failed_node("a", "lm_error", "no").unwrap())].into();
    let lm = Arc::new(ScriptedLm::sections([("y", "now it works"), ("z", "fine")]));
    let again = program.execute_from(&run_on(lm.clone()), inputs, ended, &Book::default()).await;
    assert!(again.outputs.is_ok());
    assert_eq!(lm.requests().len(), 1, "the node that failed is not asked again");
    assert!(lm.requests()[0].chat.turns[0].content.contains("none"));
}

#[test]
fn outputs_that_hold_errors_are_read_back() {
    let document = r#"{"name": "k", "inputs": {"xs": "list[str]"}, "nodes": {
        "all": {"strategy": "map", "config": {"over": "text", "on_error": "keep",
            "module": {"strategy": "parse_structured", "config": {"type": "int"}}}}},
      "edges": [{"from": "input.xs", "to": "all.text"}]}"#;
    let program = build(document).unwrap();
    let stored = Payload::from_json(r#"{"value": [1, {"code": "parse_error", "message": "no"}]}"#);
    let restored =
        program.restore_completed_node("all", &stored.unwrap()).unwrap().outputs.unwrap();
    let values = restored.as_map().unwrap()["value"].as_list().unwrap().to_vec();
    assert_eq!(values[0], Payload::Int(1));
    assert!(matches!(&values[1], Payload::Error(failure) if &*failure.code == "parse_error"));
}
