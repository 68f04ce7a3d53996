//! Constraints hold inside of strategies and graphs: values that are converted along edges, elements
//! that `map` runs over, branches, graphs within graphs and as tools, and states of earlier versions.

use std::sync::Arc;

use dsrs::graph::{GraphModule, GraphState, Program, carry_over};
use dsrs::lm::ScriptedLm;
use dsrs::optimize::RawExample;
use dsrs::problem::{At, Problems};
use dsrs::strategy::{BuildEnv, DynModule, GraphUnavailable, StoredGraphRef};
use dsrs::value::Payload;

use crate::support::{fields, run_on};

/// Classes without constraints that can be assigned to those with constraints.
const TYPES: &str = r#"{
    "Raw": {"class": {"radius": "int", "color": "str"}},
    "Circle": {"class": {"radius": {"type": "float", "constraints": [{"assert": "this > 0", "label": "positive"}]}}},
    "Square": {"class": {"side": "float"}}
}"#;

/// A server with a stored graph that measures a circle; its node also wants a count that is even.
struct Stored;

const MEASURE: &str = r#"{"name": "measure", "types": @, "inputs": {"circle": "Circle | Square", "count": "int"}, "nodes": {
    "first": {"strategy": "predict", "signature": "count: int -> note"},
    "n": {"strategy": "predict", "signature": {"outputs": [{"name": "area"}],
        "inputs": [{"name": "circle", "type": "Circle | Square"}, {"name": "count", "type": "int", "constraints": [{"assert": "this is even"}]}]}}},
  "edges": [{"from": "input.circle", "to": "n.circle"}, {"from": "input.count", "to": "n.count"}, {"from": "input.count", "to": "first.count"}],
  "outputs": {"area": "n.area"}}"#;

impl BuildEnv for Stored {
    fn knows_model(&self, _: &str) -> bool {
        true
    }

    fn pin_graph(&self, graph: &StoredGraphRef) -> Result<StoredGraphRef, GraphUnavailable> {
        Ok(StoredGraphRef { version: Some(1), ..graph.clone() })
    }

    fn graph(&self, _: &StoredGraphRef) -> Result<Box<dyn DynModule>, GraphUnavailable> {
        let document = json(&MEASURE.replace('@', TYPES));
        Ok(Box::new(GraphModule::new(&document, &GraphState::default(), self).unwrap()))
    }
}

fn json(text: &str) -> Payload {
    Payload::from_json(text).unwrap()
}

fn build(document: &str) -> Program {
    Program::from_document(&json(document), &Stored)
        .unwrap_or_else(|problems| panic!("{document}\n{problems}"))
}

fn lm() -> Arc<ScriptedLm> {
    Arc::new(ScriptedLm::sections([("area", "3"), ("note", "n"), ("y", "fine")]))
}

/// How a run ends: its error, or "".
async fn error_of(program: &Program, inputs: &str, lm: &Arc<ScriptedLm>) -> String {
    let outcome = program.execute(&run_on(lm.clone()), fields(inputs)).await;
    outcome.outputs.err().map_or_else(String::new, |error| error.error.message)
}

#[tokio::test]
async fn a_value_that_an_edge_converts_holds_the_constraints_of_its_new_type() {
    for (from, to, good, bad, place) in [
        (
            "Raw",
            "Circle",
            r#"{"radius": 1, "color": ""}"#,
            r#"{"radius": -1, "color": ""}"#,
            "/radius",
        ),
        (
            "Raw",
            "Square | Circle",
            r#"{"radius": 1, "color": ""}"#,
            r#"{"radius": -1, "color": ""}"#,
            "/radius",
        ),
        (
            "Raw",
            "Circle?",
            r#"{"radius": 1, "color": ""}"#,
            r#"{"radius": 0, "color": ""}"#,
            "/radius",
        ),
        (
            "list[Raw]",
            "list[Circle | Square]",
            "[]",
            r#"[{"radius": 0, "color": ""}]"#,
            "/0/radius",
        ),
        (
            "dict[str, Raw]",
            "dict[str, Circle?]",
            "{}",
            r#"{"a": {"radius": 0, "color": ""}}"#,
            "/a/radius",
        ),
        (
            "Raw | Square | null",
            "Square | null | Circle",
            "null",
            r#"{"radius": 0, "color": ""}"#,
            "/radius",
        ),
    ] {
        let program = build(&format!(
            r#"{{"name": "g", "types": {TYPES}, "inputs": {{"x": "{from}"}}, "nodes": {{
                "n": {{"strategy": "predict", "signature": {{"inputs": [{{"name": "x", "type": "{to}"}}], "outputs": [{{"name": "y"}}]}}}}}},
              "edges": [{{"from": "input.x", "to": "n.x"}}]}}"#
        ));
        let inputs = |value: &str| format!(r#"{{"x": {value}}}"#);
        assert_eq!(error_of(&program, &inputs(good), &lm()).await, "", "{from} to {to}");
        let lm = lm();
        let error = error_of(&program, &inputs(bad), &lm).await;
        assert!(error.contains("breaks the assert `positive`"), "{from} to {to}: {error}");
        assert_eq!(lm.requests().len(), 0);
        let mut problems = Problems::new();
        program.admit_inputs(&json(&inputs(bad)), &At::Root, &mut problems);
        let found: Vec<_> = problems.iter().map(|problem| problem.pointer.as_str()).collect();
        assert_eq!(found, [format!("/x{place}")], "{from} to {to}");
    }
}

/// A graph that runs a strategy over the elements of `xs`, or on `x`.
const NODES: [(&str, &str, &str); 4] = [
    (
        r#"{"strategy": "map", "config": {"module": {"strategy": "predict", "signature": @}}}"#,
        r#"[{"radius": 1.0}]"#,
        r#"[{"radius": 1.0}, {"radius": -1.0}]"#,
    ),
    (
        r#"{"strategy": "map", "config": {"module": {"strategy": "best_of_n", "signature": @, "config": {
            "module": {"strategy": "predict"}, "n": 2, "reward": {"expression": "1"}}}}}"#,
        r#"[{"radius": 1.0}]"#,
        r#"[{"radius": -1.0}]"#,
    ),
    (
        r#"{"strategy": "branch", "config": {"if": "true", "then": {"strategy": "predict", "signature": @},
            "else": {"strategy": "predict", "signature": @}}}"#,
        r#"{"radius": 1.0}"#,
        r#"{"radius": -1.0}"#,
    ),
    (
        r#"{"strategy": "refine", "signature": @, "config": {"module": {"strategy": "chain_of_thought"}, "n": 2,
            "reward": {"expression": "1"}}}"#,
        r#"{"radius": 1.0}"#,
        r#"{"radius": -1.0}"#,
    ),
];

#[tokio::test]
async fn a_strategy_within_a_node_is_called_with_values_that_hold_its_constraints() {
    // The type of the member is plain: the field of the inner signature has the constraint.
    let signature = r#"{"inputs": [{"name": "x", "type": "Plain", "constraints": [{"assert": "this.radius > 0", "label": "positive"}]}],
        "outputs": [{"name": "y"}]}"#;
    for (node, good, bad) in NODES {
        let ty = if node.contains("map") { "list[Plain]" } else { "Plain" };
        let document = format!(
            r#"{{"name": "g", "types": {{"Plain": {{"class": {{"radius": "float"}}}}}}, "inputs": {{"x": "{ty}"}},
                "nodes": {{"n": {}}}, "edges": [{{"from": "input.x", "to": "n.x"}}]}}"#,
            node.replace('@', signature)
        );
        let program = build(&document);
        let lm = Arc::new(ScriptedLm::sections([("y", "fine"), ("reasoning", "so")]));
        let inputs = |value: &str| format!(r#"{{"x": {value}}}"#);
        assert_eq!(error_of(&program, &inputs(good), &lm).await, "", "{node}");
        let error = error_of(&program, &inputs(bad), &lm).await;
        assert!(error.contains("breaks the assert `positive`"), "{node}: {error}");
    }
}

#[tokio::test]
async fn a_graph_within_a_graph_refuses_inputs_that_its_nodes_refuse() {
    let program = build(&format!(
        r#"{{"name": "g", "types": {TYPES}, "inputs": {{"circle": "Raw", "count": "int"}}, "nodes": {{
            "n": {{"strategy": "graph", "config": {{"graph": "measure"}}}}}},
          "edges": [{{"from": "input.circle", "to": "n.circle"}}, {{"from": "input.count", "to": "n.count"}}]}}"#
    ));
    let inputs = |radius: i64, count: i64| {
        format!(r#"{{"circle": {{"radius": {radius}, "color": ""}}, "count": {count}}}"#)
    };
    assert_eq!(error_of(&program, &inputs(1, 2), &lm()).await, "");
    for (radius, count, name) in [(-1, 2, "positive"), (1, 1, "this is even")] {
        let lm = lm();
        let error = error_of(&program, &inputs(radius, count), &lm).await;
        assert!(error.contains(name), "{error}");
        assert_eq!(lm.requests().len(), 0, "{name}");
    }
    let mut problems = Problems::new();
    program.admit_inputs(&json(&inputs(-1, 1)), &At::Root.key("inputs"), &mut problems);
    let mut places: Vec<_> = problems.iter().map(|problem| problem.pointer.as_str()).collect();
    places.sort_unstable();
    assert_eq!(places, ["/inputs/circle/radius", "/inputs/count"]);
}

#[tokio::test]
async fn a_graph_as_a_tool_refuses_arguments_that_break_an_assert() {
    let program = build(
        r#"{"name": "g", "inputs": {"q": "str"}, "nodes": {
            "n": {"strategy": "react", "signature": "q -> y", "config": {"tools": [{"graph": "measure"}]}}},
          "edges": [{"from": "input.q", "to": "n.q"}]}"#,
    );
    let step = |tool: &str, arguments: &str| {
        let texts =
            [("next_thought", "hm"), ("next_tool_name", tool), ("next_tool_args", arguments)];
        texts.map(|(name, text)| format!("[[ ## {name} ## ]]\n{text}\n")).join("\n")
    };
    let lm = Arc::new(ScriptedLm::answering([
        step("measure", r#"{"circle": {"radius": -1}, "count": 2}"#),
        step("measure", r#"{"circle": {"radius": 1}, "count": 1}"#),
        step("finish", "{}"),
        "[[ ## reasoning ## ]]\nso\n\n[[ ## y ## ]]\nfine".to_owned(),
    ]));
    let error = error_of(&program, r#"{"q": "?"}"#, &lm).await;
    assert_eq!(error, "");
    assert_eq!(lm.requests().len(), 4, "the graph is not run");
    let shown: String =
        lm.requests()[2].chat.turns.iter().map(|turn| turn.content.as_ref()).collect();
    assert!(shown.contains("`radius` breaks the assert `this > 0` (positive)"), "{shown}");
    assert!(shown.contains("`count` breaks the assert `this is even`"), "{shown}");
}

#[test]
fn expected_outputs_of_an_example_hold_the_constraints_of_their_field() {
    let program = build(
        r#"{"name": "g", "nodes": {"n": {"strategy": "predict", "signature": {"inputs": [{"name": "q"}],
            "outputs": [{"name": "y", "type": "int", "constraints": [{"assert": "this > 0"}, {"assert": "this is even"}]}]}}}}"#,
    );
    let example = RawExample {
        id: &"e".into(),
        inputs: &json(r#"{"q": "?"}"#),
        expected: &json(r#"{"y": -1}"#),
        cells: false,
    };
    let mut problems = Problems::new();
    assert_eq!(example.fit(&program, &At::Root, &mut problems), None);
    assert_eq!(
        problems.to_string(),
        "/expected/y: `y` breaks the assert `this > 0` (invalid_value); \
         /expected/y: `y` breaks the assert `this is even` (invalid_value)"
    );
}

#[test]
fn a_demo_with_an_absent_output_is_carried_over() {
    let program = build(
        r#"{"name": "g", "nodes": {"n": {"strategy": "predict", "signature": {"inputs": [{"name": "q"}],
            "outputs": [{"name": "y", "type": "int?", "constraints": [{"assert": "this > 0"}]}]}}}}"#,
    );
    let state = r#"{"n": {"demos": [{"input": {"q": "?"}, "output": {"y": null}}]}}"#;
    let mut problems = Problems::new();
    let state = GraphState::read(&json(state), &At::Root, &mut problems).unwrap();
    let loaded = program.with_state(&Stored, &state, &At::Root);
    assert_eq!(loaded.err().map(|found| found.to_string()), None);
    let carried = carry_over(&state, &program, &program, &[]);
    assert_eq!(carried.dropped, []);
}
