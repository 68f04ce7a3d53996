//! Ops that run other strategies: `map` over elements, `branch` between two.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dsrs::graph::{GraphModule, GraphState, Outcome, Program};
use dsrs::lm::{LmErrorKind, LmRequest, ScriptedAnswer, ScriptedLm};
use dsrs::predict::PredictErrorKind;
use dsrs::signature::SignatureSchema;
use dsrs::strategy::{BuildEnv, DynModule, GraphUnavailable, StoredGraphRef};
use dsrs::value::Payload;
use tokio::time::Instant;

use super::support::{build, graph_of, json, run, run_with};

const MODULE: &str = r#"{"strategy": "chain_of_thought", "signature": "word -> mark: int"}"#;

fn asked(request: &LmRequest) -> String {
    request.chat.turns.iter().map(|turn| turn.content.to_string()).collect()
}

fn answer(mark: impl std::fmt::Display) -> ScriptedAnswer {
    ScriptedAnswer::from(format!(
        "[[ ## reasoning ## ]]\nso\n\n[[ ## mark ## ]]\n{mark}\n\n[[ ## completed ## ]]"
    ))
}

/// An LM that marks `wN` with N, slower for smaller N; it refuses `bad`.
fn marker() -> ScriptedLm {
    ScriptedLm::by(|request: &LmRequest| {
        let asked = asked(request);
        if asked.contains("bad") {
            return ScriptedAnswer::fail(LmErrorKind::Refused, "no such model").status(404);
        }
        let mark = (0..40).rev().find(|n| asked.contains(&format!("w{n}"))).unwrap_or(0);
        answer(mark).after(Duration::from_millis(100 - mark))
    })
}

fn map(config: &str) -> String {
    format!(r#""strategy": "map", "retries": 0, "config": {{"module": {MODULE}{config}}}"#)
}

fn outputs(outcome: &Outcome) -> String {
    match &outcome.outputs {
        Ok(outputs) => Payload::map(outputs.clone()).to_json(),
        Err(failure) => format!("{}: {}", failure.error.kind.code(), failure.error.message),
    }
}

fn built(node: &str, inputs: &[(&str, &str)]) -> Program {
    build(&graph_of(node, inputs)).unwrap_or_else(|problems| panic!("{node}: {problems}"))
}

#[tokio::test(start_paused = true)]
async fn elements_run_at_once_with_results_in_order() {
    let program = built(&map(""), &[("word", "list[str]")]);
    let types: Vec<String> = program
        .graph()
        .outputs()
        .map(|(name, output)| format!("{name}: {}", output.ty.ir))
        .collect();
    assert_eq!(types, ["reasoning: list[str]", "mark: list[int]"]);
    let started = Instant::now();
    let outcome = run_with(&program, marker(), r#"{"word": ["w1", "w2", "w3"]}"#).await;
    assert_eq!(outputs(&outcome), r#"{"reasoning":["so","so","so"],"mark":[1,2,3]}"#);
    assert!(started.elapsed() < Duration::from_millis(150), "they ran one after the other");
    assert_eq!(outcome.usage.lm_calls, 3);
}

#[tokio::test]
async fn a_dict_stays_a_dict_and_an_empty_list_stays_empty() {
    let program = built(&map(""), &[("word", "dict[str, str]")]);
    let outcome = run_with(&program, marker(), r#"{"word": {"b": "w2", "a": "w1"}}"#).await;
    assert_eq!(outputs(&outcome), r#"{"reasoning":{"b":"so","a":"so"},"mark":{"b":2,"a":1}}"#);
    let outcome = run_with(&program, marker(), r#"{"word": {}}"#).await;
    assert_eq!(outputs(&outcome), r#"{"reasoning":{},"mark":{}}"#);
}

#[tokio::test(start_paused = true)]
async fn concurrency_is_limited() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (seen, peak) = (now.clone(), most.clone());
    let lm = ScriptedLm::by(move |_: &LmRequest| {
        peak.fetch_max(seen.fetch_add(1, Ordering::SeqCst) % 3 + 1, Ordering::SeqCst);
        answer(1).after(Duration::from_millis(100))
    });
    let program = built(&map(r#", "concurrency": 3"#), &[("word", "list[str]")]);
    let started = Instant::now();
    let words: Vec<String> = (0..9).map(|n| format!("\"w{n}\"")).collect();
    let outcome = run_with(&program, lm, &format!(r#"{{"word": [{}]}}"#, words.join(","))).await;
    assert!(outcome.outputs.is_ok());
    assert_eq!(started.elapsed().as_millis() / 100, 3, "nine elements, three at once");
}

#[tokio::test]
async fn a_failed_element_is_named_or_is_an_error_in_the_results() {
    let words = r#"{"word": ["w1", "bad", "w3"]}"#;
    let outcome = run_with(&built(&map(""), &[("word", "list[str]")]), marker(), words).await;
    assert!(outputs(&outcome).starts_with("lm_error: element [1]: "), "{}", outputs(&outcome));
    let predictor = outcome.outputs.unwrap_err().error.predictor;
    assert_eq!(predictor.as_deref(), Some("module.predict"));

    let keep = built(&map(r#", "on_error": "keep""#), &[("word", "list[str]")]);
    let (_, mark) = keep.graph().outputs().find(|(name, _)| &***name == "mark").unwrap();
    assert_eq!(mark.ty.ir.to_string(), "list[int | error]");
    let outcome = run_with(&keep, marker(), words).await;
    let marks = outcome.outputs.unwrap()["mark"].clone();
    let [Payload::Int(1), Payload::Error(error), Payload::Int(3)] = marks.as_list().unwrap() else {
        panic!("{}", marks.to_json())
    };
    assert_eq!((&*error.code, error.node.as_deref()), ("lm_error", Some("op")));
}

#[tokio::test]
async fn errors_among_the_results_are_unwrapped_one_by_one() {
    let document = format!(
        r#"{{"name": "g", "inputs": {{"word": "list[str]"}}, "nodes": {{
            "all": {{{}}},
            "second": {{"strategy": "select", "config": {{"path": "[1]"}}}},
            "failed": {{"strategy": "is_error"}},
            "sum": {{"strategy": "sum"}},
            "clean": {{"strategy": "map", "config": {{"module": {{"strategy": "unwrap_or", "config": {{"default": 0}}}}}}}}}},
          "edges": [{{"from": "all.mark", "to": "second.value"}}, {{"from": "second.value", "to": "failed.value"}},
                    {{"from": "all.mark", "to": "clean.value"}}, {{"from": "clean.value", "to": "sum.values"}}],
          "outputs": {{"sum": "sum.value", "failed": "failed.value"}}}}"#,
        map(r#", "on_error": "keep""#)
    );
    let program = build(&document).unwrap_or_else(|problems| panic!("{problems}"));
    let outcome = run_with(&program, marker(), r#"{"word": ["w1", "bad", "w3"]}"#).await;
    assert_eq!(outputs(&outcome), r#"{"sum":4,"failed":true}"#);
}

#[tokio::test]
async fn inner_predictors_are_tuned_under_module() {
    let program = built(&map(""), &[("word", "list[str]")]);
    let paths: Vec<String> = program.predictors().into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["op.module.predict"]);
    let state = json(r#"{"op.module.predict": {"instruction": "Mark like a teacher."}}"#);
    let mut problems = dsrs::problem::Problems::new();
    let at = dsrs::problem::At::Root;
    let state = GraphState::read(&state, &at, &mut problems).unwrap();
    let tuned = program.with_state(&super::support::Env, &state, &at).unwrap();
    let outcome = run_with(&tuned, marker(), r#"{"word": ["w1"]}"#).await;
    let messages = outcome.spans.iter().find_map(|span| span.messages.clone()).unwrap();
    assert!(format!("{:?}", messages.0).contains("Mark like a teacher."));
}

#[tokio::test]
async fn an_op_runs_over_elements_with_the_other_inputs() {
    let node = r#""strategy": "map", "config": {"over": "who",
        "module": {"strategy": "render", "config": {"fstring": "{greeting}, {who.name}!"}}}"#;
    let program = built(node, &[("who", "list[Person]"), ("greeting", "str")]);
    let people = r#"{"who": [{"name": "Ada"}, {"name": "Bo"}], "greeting": "Hi"}"#;
    assert_eq!(outputs(&run(&program, people).await), r#"{"text":["Hi, Ada!","Hi, Bo!"]}"#);
    let again = build(program.canonical_text()).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(again.canonical_text(), program.canonical_text());
}

#[test]
fn an_invalid_map_or_branch_is_refused_at_its_place() {
    let module = r#"{"strategy": "predict", "signature": "a, b -> c"}"#;
    for (node, inputs, expected) in [
        (
            format!(r#""strategy": "map", "config": {{"module": {module}}}"#),
            &[("a", "list[str]")][..],
            "/nodes/op/config/over: name the input to run over; the inputs of the strategy: a, b",
        ),
        (
            format!(r#""strategy": "map", "config": {{"module": {module}, "over": "x"}}"#),
            &[],
            "/nodes/op/config/over: the strategy has no input `x`; its inputs: a, b",
        ),
        (
            format!(r#""strategy": "map", "config": {{"module": {module}, "over": "a"}}"#),
            &[("a", "str"), ("b", "str")],
            "/edges/0: `input.a` is `str`, `op.a` accepts `list[str]`",
        ),
        (
            r#""strategy": "map", "config": {"module": {"strategy": "predict"}}"#.to_owned(),
            &[],
            "/nodes/op/config/module/signature: `signature` is missing (missing_field)",
        ),
        (
            r#""strategy": "map", "config": {"module": {"strategy": "predikt"}}"#.to_owned(),
            &[],
            "/nodes/op/config/module/strategy: there is no strategy `predikt`",
        ),
        (
            r#""strategy": "map", "config": {"module": {"strategy": "strip", "signature": "a -> b"}}"#
                .to_owned(),
            &[],
            "/nodes/op/config/module/signature: the types of an op are inferred",
        ),
        (
            r#""strategy": "map", "config": {"module": {"strategy": "coerce", "config": {"type": "x"}}}"#
                .to_owned(),
            &[],
            "/nodes/op/config/module/config/type: column 1:",
        ),
        (
            r#""strategy": "map", "config": {"module": {"strategy": "await", "signature": "a -> b"}}"#
                .to_owned(),
            &[("a", "list[str]")],
            "/nodes/op/config/module/strategy: a run that waits for a value can only resume from a node",
        ),
        (
            r#""strategy": "branch", "config": {"if": "x >"}"#.to_owned(),
            &[],
            "/nodes/op/config/if: ",
        ),
        (
            format!(r#""strategy": "branch", "config": {{"if": "x", "then": {module}}}"#),
            &[],
            "/nodes/op/config: config of `branch`",
        ),
        (
            format!(
                r#""strategy": "branch", "config": {{"if": "a", "then": {module},
                    "else": {{"strategy": "predict", "signature": "a: int -> c"}}}}"#
            ),
            &[("a", "int"), ("b", "str")],
            "/nodes/op/config/else: the input `a` is `str` in `then` and `int` here",
        ),
        (
            format!(
                r#""strategy": "branch", "config": {{"if": "a", "then": {module},
                    "else": {{"strategy": "predict", "signature": "a -> d"}}}}"#
            ),
            &[("a", "str"), ("b", "str")],
            "/nodes/op/config/else: the two strategies have no output of the same name",
        ),
    ] {
        let message = build(&graph_of(&node, inputs)).err().map(|p| p.to_string()).unwrap_or_default();
        assert!(message.starts_with(expected), "{node}:\n{message}");
    }
}

#[tokio::test]
async fn a_branch_chooses_between_two_typed_values() {
    let node = r#""strategy": "branch", "config": {"if": "score > 0.5 and not name is startingwith('x')"}"#;
    let inputs = &[("then", "int"), ("else", "float"), ("score", "float"), ("name", "str")];
    let program = built(node, inputs);
    let (_, output) = program.graph().outputs().next().unwrap();
    assert_eq!(output.ty.ir.to_string(), "float");
    for (score, name, expected) in [(0.9, "ab", "1.0"), (0.9, "xb", "2.5"), (0.1, "ab", "2.5")] {
        let given = format!(r#"{{"then": 1, "else": 2.5, "score": {score:?}, "name": "{name}"}}"#);
        let outcome = run(&program, &given).await;
        assert_eq!(outputs(&outcome), format!(r#"{{"value":{expected}}}"#));
    }
    let node = r#""strategy": "branch", "config": {"if": "name + 1"}"#;
    let program = built(node, &[("then", "str"), ("else", "int?"), ("name", "str")]);
    let (_, output) = program.graph().outputs().next().unwrap();
    assert_eq!(output.ty.ir.to_string(), "str | int | null");
    let outcome = run(&program, r#"{"then": "a", "else": null, "name": "b"}"#).await;
    assert!(outputs(&outcome).starts_with("op_failed: `if`: "), "{}", outputs(&outcome));
}

#[tokio::test]
async fn only_the_chosen_strategy_runs() {
    let node = r#""strategy": "branch", "config": {"if": "word|length > 3",
        "then": {"strategy": "chain_of_thought", "signature": "word, hint: str? -> mark: int"},
        "else": {"strategy": "select", "config": {"path": "mark"}}}"#;
    // The op of one arm returns `value`, the other arm does not: they have no common output.
    let refused = build(&graph_of(node, &[("word", "str"), ("value", "{mark: float}")]));
    assert!(refused.err().unwrap().to_string().contains("no output of the same name"));

    let node = r#""strategy": "branch", "config": {"if": "word|length > 3",
        "then": {"strategy": "chain_of_thought", "signature": "word, hint: str? -> mark: int"},
        "else": {"strategy": "predict", "signature": "word -> mark: float"}}"#;
    let undeclared = build(&format!(r#"{{"name": "g", "nodes": {{"op": {{{node}}}}}}}"#));
    let undeclared = undeclared.unwrap_or_else(|problems| panic!("{problems}"));
    let inputs: Vec<&str> = undeclared.graph().inputs().map(|field| field.name.as_ref()).collect();
    assert_eq!(inputs, ["word"]);

    let program = built(node, &[("word", "str")]);
    let paths: Vec<String> = program.predictors().into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["op.then.predict", "op.else"]);
    for (word, expected, called) in
        [("w1 long", r#"{"mark":1.0}"#, "then.predict"), ("w2", r#"{"mark":2.0}"#, "else")]
    {
        let outcome = run_with(&program, marker(), &format!(r#"{{"word": "{word}"}}"#)).await;
        assert_eq!(outputs(&outcome), expected);
        assert_eq!(outcome.usage.lm_calls, 1);
        let predictor = outcome.spans.iter().find_map(|span| span.predictor.clone());
        assert_eq!(predictor.as_deref(), Some(called));
    }
}

/// An environment with one stored graph, or without it.
struct Store {
    gone: bool,
}

const SHOUT: &str = r#"{"name": "shout", "nodes": {"up": {"strategy": "upper"}},
    "outputs": {"loud": "up.text"}}"#;

impl BuildEnv for Store {
    fn knows_model(&self, _: &str) -> bool {
        true
    }

    fn is_stored(&self) -> bool {
        self.gone
    }

    fn pin_graph(&self, graph: &StoredGraphRef) -> Result<StoredGraphRef, GraphUnavailable> {
        match self.gone {
            true => Err(GraphUnavailable::new("it is gone")),
            false => Ok(StoredGraphRef { version: Some(3), ..graph.clone() }),
        }
    }

    fn graph_schema(
        &self,
        graph: &StoredGraphRef,
    ) -> Result<Arc<SignatureSchema>, GraphUnavailable> {
        self.graph(graph).map(|module| module.schema().clone())
    }

    fn graph(&self, graph: &StoredGraphRef) -> Result<Box<dyn DynModule>, GraphUnavailable> {
        self.pin_graph(graph)?;
        let module = GraphModule::new(&json(SHOUT), &GraphState::default(), self);
        Ok(Box::new(module.map_err(|problems| GraphUnavailable::new(problems.to_string()))?))
    }
}

#[tokio::test]
async fn a_stored_graph_runs_over_each_element_and_is_pinned() {
    let node = r#""strategy": "map", "config": {"module": {"strategy": "graph", "config": {"graph": "shout"}}}"#;
    let document = json(&graph_of(node, &[("text", "list[str]")]));
    let here = Store { gone: false };
    let program = Program::from_document(&document, &here).unwrap_or_else(|p| panic!("{p}"));
    assert!(program.canonical_text().contains(r#""version":3"#), "{}", program.canonical_text());
    let outcome = run(&program, r#"{"text": ["a", "b"]}"#).await;
    assert_eq!(outputs(&outcome), r#"{"loud":["A","B"]}"#);

    // The document can be posted again. It loads after the graph was deleted, and fails only when
    // it runs.
    let again = Program::from_document(program.document(), &here).unwrap();
    assert_eq!(again.canonical_text(), program.canonical_text());
    let gone = Program::from_document(program.document(), &Store { gone: true });
    let outcome = run(&gone.unwrap_or_else(|p| panic!("{p}")), r#"{"text": ["a"]}"#).await;
    assert_eq!(outcome.outputs.unwrap_err().error.kind, PredictErrorKind::Missing);
}
