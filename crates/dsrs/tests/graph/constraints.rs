//! Constraints hold wherever a value passes: every place in a type, every kind of constraint, every way
//! in.

use std::sync::Arc;

use dsrs::adapter::ChatAdapter;
use dsrs::coerce::Leniencies;
use dsrs::graph::{GraphState, Program};
use dsrs::lm::ScriptedLm;
use dsrs::problem::{At, Problems};
use dsrs::types::{Type, TypeScope};
use dsrs::value::Payload;

use crate::support::{self, Env, fields, run_on};

/// Classes whose members have constraints.
const TYPES: &str = r##"{
    "Circle": {"class": {"radius": {"type": "float", "constraints": [{"assert": "this > 0", "label": "positive"}]}}},
    "Square": {"class": {"side": "float"}},
    "Frame": {"class": {"shape": "Circle | Square", "inner": "Circle?"}},
    "Tree": {"class": {"size": {"type": "int", "constraints": [{"assert": "this >= 0"}]}, "children": "list[Tree]"}},
    "Part": {"class": {"size": {"type": "int?", "constraints": [{"assert": "this > 0"}]}, "limit": {"type": "int", "default": 1, "constraints": [{"assert": "this > 0"}]}}},
    "Nested": {"anyOf": [{"$ref": "#/$defs/Circle"}, {"type": "array", "items": {"$ref": "#"}}, {"type": "null"}]}
}"##;

/// A type, a value that holds all constraints, one that does not, and the place of the failure.
const PLACES: [[&str; 4]; 17] = [
    ["Circle", r#"{"radius": 1.0}"#, r#"{"radius": -1.0}"#, "/radius"],
    ["Circle?", r#"{"radius": 1.0}"#, r#"{"radius": -1.0}"#, "/radius"],
    ["list[Circle]", r#"[{"radius": 1.0}]"#, r#"[{"radius": 1.0}, {"radius": 0.0}]"#, "/1/radius"],
    ["dict[str, Circle]", r#"{"a": {"radius": 1.0}}"#, r#"{"a": {"radius": -1.0}}"#, "/a/radius"],
    ["tuple[int, Circle]", r#"[1, {"radius": 1.0}]"#, r#"[1, {"radius": -1.0}]"#, "/1/radius"],
    ["Circle | Square", r#"{"side": -1.0}"#, r#"{"radius": -1.0}"#, "/radius"],
    ["Square | Circle | str", r#""none""#, r#"{"radius": -1.0}"#, "/radius"],
    ["Square | Circle", r#"{"radius": 1.0}"#, r#"{"radius": -1.0}"#, "/radius"],
    [
        "list[Circle | Square]",
        r#"[{"side": -1.0}]"#,
        r#"[{"side": 1.0}, {"radius": -1.0}]"#,
        "/1/radius",
    ],
    [
        "Frame",
        r#"{"shape": {"side": 1.0}, "inner": null}"#,
        r#"{"shape": {"radius": -1.0}, "inner": null}"#,
        "/shape/radius",
    ],
    [
        "Frame",
        r#"{"shape": {"side": 1.0}, "inner": null}"#,
        r#"{"shape": {"side": 1.0}, "inner": {"radius": -1.0}}"#,
        "/inner/radius",
    ],
    [
        "Tree",
        r#"{"size": 0, "children": []}"#,
        r#"{"size": 1, "children": [{"size": -1, "children": []}]}"#,
        "/children/0/size",
    ],
    ["Circle? | Square", "null", r#"{"radius": -1}"#, "/radius"],
    ["list[Square | null | Circle]", "[null]", r#"[null, {"radius": 0.0}]"#, "/1/radius"],
    ["Nested", r#"[[null], {"radius": 1.0}]"#, r#"[[{"radius": -1.0}], null]"#, "/0/0/radius"],
    ["Part", r#"{"size": 1, "limit": 2}"#, r#"{"size": -1, "limit": 2}"#, "/size"],
    ["Part | Circle", r#"{"size": 1, "limit": 2}"#, r#"{"size": 1, "limit": 0}"#, "/limit"],
];

/// A type of a field with its own constraints, a value that holds them and one that does not.
const KINDS: [[&str; 3]; 14] = [
    [r#"{"type": "int", "constraints": [{"assert": "this > 0", "label": "positive"}]}"#, "1", "-1"],
    [
        r#"{"type": "str", "constraints": [{"assert": "this is matching('^[a-z]+$')"}]}"#,
        r#""a""#,
        r#""A""#,
    ],
    [r#"{"type": "list[int]", "constraints": [{"assert": "this|length < 2"}]}"#, "[1]", "[1, 2]"],
    [
        r#"{"type": "dict[str, int]", "constraints": [{"assert": "this.a < 2"}]}"#,
        r#"{"a": 1}"#,
        r#"{"a": 2}"#,
    ],
    [r#"{"schema": {"type": "integer", "minimum": 1, "maximum": 3}}"#, "3", "4"],
    [r#"{"schema": {"type": "integer", "multipleOf": 5}}"#, "10", "11"],
    [r#"{"schema": {"type": "string", "maxLength": 2}}"#, r#""ab""#, r#""abc""#],
    [r#"{"schema": {"type": "string", "pattern": "^a"}}"#, r#""ab""#, r#""ba""#],
    [
        r#"{"schema": {"type": "array", "items": {"type": "integer"}, "uniqueItems": true}}"#,
        "[1, 2]",
        "[1, 1]",
    ],
    [
        r#"{"schema": {"type": "array", "items": {"type": "string", "maxLength": 1}}}"#,
        r#"["a"]"#,
        r#"["ab"]"#,
    ],
    [r#"{"schema": {"type": ["integer", "null"], "minimum": 1}}"#, "null", "0"],
    [
        r#"{"schema": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "maxLength": 2}, {"type": "null"}]}}"#,
        "null",
        r#""abc""#,
    ],
    [
        r#"{"schema": {"type": "array", "items": {"type": ["integer", "null"], "minimum": 1}}}"#,
        "[null, 1]",
        "[null, 0]",
    ],
    [
        r#"{"schema": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}}"#,
        "null",
        "0",
    ],
];

fn json(text: &str) -> Payload {
    Payload::from_json(text).unwrap()
}

fn build(document: &str) -> Program {
    support::build(document).unwrap_or_else(|problems| panic!("{document}\n{problems}"))
}

/// A field object of a type expression, a field object or a JSON Schema in `schema`, without its name.
fn members(ty: &str) -> String {
    match ty.strip_prefix(r#"{"schema": "#) {
        Some(schema) => format!(r#""type": {}"#, schema.strip_suffix('}').unwrap()),
        None if ty.starts_with('{') => ty[1..ty.len() - 1].to_owned(),
        None => format!(r#""type": "{ty}""#),
    }
}

/// An input of a graph.
fn input(name: &str, ty: &str) -> String {
    format!(r#""{name}": {{{}}}"#, members(ty))
}

/// A field of a signature.
fn field(name: &str, ty: &str) -> String {
    format!(r#"{{"name": "{name}", {}}}"#, members(ty))
}

/// A graph whose input is the field `x`, and whose only node writes `y` from it.
fn graph_of_input(ty: &str) -> Program {
    let (given, read) = (input("x", ty), field("x", ty));
    build(&format!(
        r#"{{"name": "g", "types": {TYPES}, "inputs": {{{given}}}, "nodes": {{
            "n": {{"strategy": "predict", "signature": {{"inputs": [{read}], "outputs": [{{"name": "y"}}]}}}}}},
          "edges": [{{"from": "input.x", "to": "n.x"}}]}}"#
    ))
}

/// All rows of both tables: a type, a good value, a bad value, the place of the failure.
fn rows() -> Vec<[&'static str; 4]> {
    let kinds = KINDS.iter().map(|[ty, good, bad]| [*ty, *good, *bad, ""]);
    PLACES.into_iter().chain(kinds).collect()
}

fn admitted(program: &Program, value: &str) -> Problems {
    let mut problems = Problems::new();
    let inputs = json(&format!(r#"{{"x": {value}}}"#));
    let found = program.admit_inputs(&inputs, &At::Root.key("inputs"), &mut problems);
    assert_eq!(found.is_some(), problems.is_empty(), "{problems}");
    problems
}

#[test]
fn inputs_of_a_run_hold_every_constraint_at_every_place() {
    for [ty, good, bad, place] in rows() {
        let program = graph_of_input(ty);
        assert_eq!(admitted(&program, good).to_string(), "", "{ty} {good}");
        let problems = admitted(&program, bad);
        let found: Vec<_> = problems.iter().map(|problem| problem.pointer.as_str()).collect();
        assert_eq!(found, [format!("/inputs/x{place}")], "{ty} {bad}: {problems}");
        assert!(problems.to_string().contains("breaks the assert `"), "{problems}");
    }
}

#[test]
fn a_refusal_names_the_value_the_condition_and_its_label() {
    let program = graph_of_input("list[Circle]");
    assert_eq!(
        admitted(&program, r#"[{"radius": -1.0}, {"radius": 0.0}]"#).to_string(),
        "/inputs/x/0/radius: `radius` breaks the assert `this > 0` (positive) (invalid_value); \
         /inputs/x/1/radius: `radius` breaks the assert `this > 0` (positive) (invalid_value)"
    );
}

#[test]
fn answers_hold_every_constraint_at_every_place() {
    for [ty, good, bad, _] in rows() {
        let output = field("y", ty);
        let mut problems = Problems::new();
        let mut scope = TypeScope::read(&json(TYPES), &At::Root, &mut problems);
        let signature = format!(r#"{{"inputs": [{{"name": "q"}}], "outputs": [{output}]}}"#);
        let read = &json(&signature);
        let draft = dsrs::signature::read_signature(read, &mut scope, &At::Root, &mut problems);
        assert!(problems.is_empty(), "{problems}");
        let schema = draft.unwrap().finish(scope.finish());
        let text = |value: &str| format!("[[ ## y ## ]]\n{}", value.trim_matches('"'));
        let parsed = ChatAdapter::parse_output(&schema, &text(good));
        assert!(parsed.is_ok(), "{ty} {good}: {parsed:?}");
        let refused = ChatAdapter::parse_output(&schema, &text(bad)).unwrap_err();
        assert!(refused.to_string().contains("must hold"), "{ty} {bad}: {refused}");
    }
}

#[test]
fn texts_read_as_one_value_hold_the_constraints_of_members() {
    for [ty, good, bad, _] in PLACES {
        let mut problems = Problems::new();
        let mut scope = TypeScope::read(&json(TYPES), &At::Root, &mut problems);
        let ir = scope.read_type(&Payload::str(ty), &At::Root, &mut problems).unwrap();
        let ty = Type::new(ir, scope.finish());
        let parsed = ChatAdapter::parse_value(&ty, good, Leniencies::ALL);
        assert!(parsed.is_ok(), "{ty:?} {good}: {parsed:?}");
        assert!(ChatAdapter::parse_value(&ty, bad, Leniencies::ALL).is_err(), "{ty:?} {bad}");
    }
}

#[test]
fn signals_hold_every_constraint_at_every_place() {
    for [ty, good, bad, place] in rows() {
        let output = field("y", ty);
        let program = build(&format!(
            r#"{{"name": "g", "types": {TYPES}, "inputs": {{"x": "str"}}, "nodes": {{
                "n": {{"strategy": "await", "signature": {{"inputs": [{{"name": "x"}}], "outputs": [{output}]}}}}}},
              "edges": [{{"from": "input.x", "to": "n.x"}}]}}"#
        ));
        let node = program.graph().node("n").unwrap();
        for (wrap, prefix) in [(false, ""), (true, "/y")] {
            let signal = |value: &str| {
                let value = if wrap { format!(r#"{{"y": {value}}}"#) } else { value.to_owned() };
                let mut problems = Problems::new();
                let found = program.admit_signal(
                    node,
                    &json(&value),
                    &At::Root.key("value"),
                    &mut problems,
                );
                assert_eq!(found.is_some(), problems.is_empty(), "{ty}: {problems}");
                problems.iter().map(|problem| problem.pointer.clone()).collect::<Vec<_>>()
            };
            assert_eq!(signal(good), Vec::<String>::new(), "{ty} {good}");
            assert_eq!(signal(bad), [format!("/value{prefix}{place}")], "{ty} {bad}");
        }
    }
}

/// Runs a graph and returns how its node `n` ended: its error, or "".
async fn error_of(program: &Program, inputs: &str, lm: &Arc<ScriptedLm>) -> String {
    let run = run_on(lm.clone());
    let outcome = program.execute(&run, fields(inputs)).await;
    match outcome.outputs {
        Ok(_) => String::new(),
        Err(error) => format!("{}: {}", error.error.kind.code(), error.error.message),
    }
}

#[tokio::test]
async fn values_along_an_edge_hold_the_constraints_of_the_input_before_anything_is_paid_for() {
    for [ty, good, bad, _] in rows() {
        let (plain, input) = (ty_without_constraints(ty), field("x", ty));
        let Some(plain) = plain else { continue };
        let program = build(&format!(
            r#"{{"name": "g", "types": {TYPES}, "inputs": {{"x": "{plain}"}}, "nodes": {{
                "n": {{"strategy": "predict", "signature": {{"inputs": [{input}], "outputs": [{{"name": "y"}}]}}}}}},
              "edges": [{{"from": "input.x", "to": "n.x"}}]}}"#
        ));
        let lm = Arc::new(ScriptedLm::sections([("y", "fine")]));
        let run = |value: &str| format!(r#"{{"x": {value}}}"#);
        assert_eq!(error_of(&program, &run(good), &lm).await, "", "{ty} {good}");
        let asked = lm.requests().len();
        let problems = admitted(&program, bad);
        assert!(problems.to_string().contains("/inputs/x: `x` breaks the assert"), "{problems}");
        let error = error_of(&program, &run(bad), &lm).await;
        assert!(
            error.starts_with("invalid_value: ") && error.contains("`x` breaks"),
            "{ty}: {error}"
        );
        assert_eq!(lm.requests().len(), asked, "{ty}");
    }
}

/// The type of a value without the constraints of its field; `None` if they are inside of the type.
fn ty_without_constraints(ty: &str) -> Option<&str> {
    let ty = ty.strip_prefix(r#"{"type": ""#)?;
    ty.split_once('"').map(|(ty, _)| ty)
}

#[tokio::test]
async fn values_that_no_lm_wrote_hold_the_constraints_of_their_type() {
    let coerce = r#""strategy": "coerce", "config": {"type": "Circle"}"#;
    let map = format!(r#""strategy": "map", "config": {{"module": {{{coerce}}}}}"#);
    for (node, x, good, bad) in [
        (coerce, "any", r#"{"radius": 1}"#, r#"{"radius": -1}"#),
        (&*map, "list[any]", r#"[{"radius": 1}]"#, r#"[{"radius": 1}, {"radius": -1}]"#),
    ] {
        let program = build(&format!(
            r#"{{"name": "g", "types": {TYPES}, "inputs": {{"x": "{x}"}}, "nodes": {{"n": {{{node}}}}},
              "edges": [{{"from": "input.x", "to": "n.value"}}]}}"#
        ));
        let lm = Arc::new(ScriptedLm::sections([("y", "fine")]));
        let run = |value: &str| format!(r#"{{"x": {value}}}"#);
        assert_eq!(error_of(&program, &run(good), &lm).await, "", "{node}");
        let error = error_of(&program, &run(bad), &lm).await;
        assert!(error.contains("positive"), "{node}: {error}");
    }
}

#[test]
fn defaults_hold_the_constraints_of_their_field() {
    for [ty, good, bad] in KINDS {
        // A JSON Schema has its default inside.
        let given = match ty.strip_suffix("}}") {
            Some(schema) if ty.starts_with(r#"{"schema""#) => {
                format!("{schema}, \"default\": @}}}}")
            }
            _ => format!("{}, \"default\": @}}", ty.strip_suffix('}').unwrap()),
        };
        let with_default = |value: &str| {
            let given = input("x", &given.replace('@', value));
            support::build(&format!(
                r#"{{"name": "g", "inputs": {{{given}}}, "nodes": {{
                    "n": {{"strategy": "predict", "signature": "q -> y"}}}}}}"#
            ))
        };
        let problems = with_default(bad).err().unwrap().to_string();
        assert!(problems.contains("/default: `default` breaks the assert"), "{problems}");
        let problems = with_default(good).err().map_or_else(String::new, |found| found.to_string());
        assert!(!problems.contains("breaks the assert"), "{problems}");
    }
}

#[test]
fn a_check_is_reported_and_refuses_nothing() {
    let program = graph_of_input(
        r#"{"type": "int", "constraints": [{"check": "this > 0", "label": "positive"}]}"#,
    );
    assert_eq!(admitted(&program, "-1").to_string(), "");
}

#[tokio::test]
async fn the_checks_of_inputs_are_in_the_trace_beside_those_of_outputs() {
    let program = graph_of_input(
        r#"{"type": "int", "constraints": [{"check": "this > 0", "label": "positive"}]}"#,
    );
    let lm = Arc::new(ScriptedLm::sections([("y", "fine")]));
    let run = run_on(lm);
    let outcome = program.execute(&run, fields(r#"{"x": -1}"#)).await;
    let checks: Vec<_> = outcome.spans.iter().flat_map(|span| &span.checks).collect();
    let [check] = checks.as_slice() else { panic!("{checks:?}") };
    assert_eq!((&*check.field, &*check.label, check.passed), ("x", "positive", false));
}

#[test]
fn null_means_that_an_optional_input_is_absent() {
    let ty = r#"{"type": "int?", "constraints": [{"assert": "this > 0"}]}"#;
    assert_eq!(admitted(&graph_of_input(ty), "null").to_string(), "");
}

#[test]
fn demos_hold_every_constraint_on_both_sides() {
    for [ty, good, bad, place] in rows() {
        let (given, read, output) = (input("x", ty), field("x", ty), field("y", ty));
        let program = build(&format!(
            r#"{{"name": "g", "types": {TYPES}, "inputs": {{{given}}}, "nodes": {{
                "n": {{"strategy": "predict", "signature": {{"inputs": [{read}], "outputs": [{output}]}}}}}},
              "edges": [{{"from": "input.x", "to": "n.x"}}]}}"#
        ));
        let load = |x: &str, y: &str| {
            let state = format!(
                r#"{{"n": {{"demos": [{{"input": {{"x": {x}}}, "output": {{"y": {y}}}}}]}}}}"#
            );
            let mut problems = Problems::new();
            let state = GraphState::read(&json(&state), &At::Root, &mut problems).unwrap();
            assert!(problems.is_empty(), "{problems}");
            match program.with_state(&Env, &state, &At::Root) {
                Ok(_) => Vec::new(),
                Err(problems) => problems.iter().map(|problem| problem.pointer.clone()).collect(),
            }
        };
        assert_eq!(load(good, good), Vec::<String>::new(), "{ty}");
        assert_eq!(load(bad, good), [format!("/n/demos/0/input/x{place}")], "{ty}");
        assert_eq!(load(good, bad), [format!("/n/demos/0/output/y{place}")], "{ty}");
    }
}

/// A graph whose only node has asserts on both of its inputs, which the graph passes on: `x` as a whole,
/// `mood` as a part of the input `customer`.
fn graph_of_two_inputs() -> Program {
    build(
        r#"{"name": "g", "types": {
            "Box": {"class": {"width": {"type": "int", "constraints": [{"assert": "this > 0"}]},
                              "height": {"type": "int", "constraints": [{"assert": "this > 0"}]}}},
            "Customer": {"class": {"mood": "int", "moods": "dict[str, list[int]]"}}},
          "inputs": {"x": "Box", "customer": "Customer", "count": "int"},
          "nodes": {"n": {"strategy": "predict", "signature": {
            "inputs": [{"name": "x", "type": "Box", "constraints": [{"assert": "this.width < this.height"}]},
                       {"name": "mood", "type": "int", "constraints": [{"assert": "this > 0"}, {"assert": "this is even"}]},
                       {"name": "first", "type": "int?", "constraints": [{"assert": "this > 0"}]}],
            "outputs": [{"name": "y"}]}}},
          "edges": [{"from": "input.x", "to": "n.x"}, {"from": "input.customer.mood", "to": "n.mood"},
                    {"from": "input.customer.moods['a'][0]", "to": "n.first"}]}"#,
    )
}

#[test]
fn all_broken_asserts_of_a_run_are_reported_at_once_each_at_its_place() {
    let program = graph_of_two_inputs();
    let found = |inputs: &str| {
        let mut problems = Problems::new();
        program.admit_inputs(&json(inputs), &At::Root.key("inputs"), &mut problems);
        problems.iter().map(|one| format!("{} {}", one.pointer, one.detail)).collect::<Vec<_>>()
    };
    let broken = r#"{"x": {"width": 0, "height": -1}, "count": "many",
        "customer": {"mood": -1, "moods": {"a": [-1, 1]}}}"#;
    let mut problems = found(broken);
    problems.sort();
    assert_eq!(
        problems,
        [
            "/inputs/count expected int, found a string",
            "/inputs/customer/mood `mood` breaks the assert `this > 0`",
            "/inputs/customer/mood `mood` breaks the assert `this is even`",
            "/inputs/customer/moods/a/0 `a` breaks the assert `this > 0`",
            "/inputs/x `x` breaks the assert `this.width < this.height`",
            "/inputs/x/height `height` breaks the assert `this > 0`",
            "/inputs/x/width `width` breaks the assert `this > 0`",
        ]
    );
    let good =
        r#"{"x": {"width": 1, "height": 2}, "count": 1, "customer": {"mood": 2, "moods": {}}}"#;
    assert_eq!(found(good), Vec::<String>::new());
}

#[tokio::test]
async fn a_node_names_all_asserts_that_values_along_its_edges_break() {
    let program = build(
        r#"{"name": "g", "inputs": {"q": "str"}, "nodes": {
            "made": {"strategy": "predict", "signature": "q -> a: int, b: list[int]"},
            "n": {"strategy": "predict", "signature": {
                "inputs": [{"name": "a", "type": "int", "constraints": [{"assert": "this > 0", "label": "positive"}, {"assert": "this is even"}]},
                           {"name": "b", "type": "list[int]", "constraints": [{"assert": "this|length > 1", "label": "many"}]}],
                "outputs": [{"name": "y"}]}}},
          "edges": [{"from": "input.q", "to": "made.q"}, {"from": "made.a", "to": "n.a"}, {"from": "made.b", "to": "n.b"}]}"#,
    );
    let lm = Arc::new(ScriptedLm::sections([("a", "-1"), ("b", "[1]"), ("y", "fine")]));
    let error = error_of(&program, r#"{"q": "?"}"#, &lm).await;
    for part in
        ["`a` breaks the assert `positive`", "`this is even`", "`b` breaks the assert `many`"]
    {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn an_absent_member_has_no_constraints_wherever_the_value_goes() {
    let ty = r#"{"Part": {"class": {"size": {"type": "int?", "constraints": [{"assert": "this > 0"}]}}}}"#;
    let program = build(&format!(
        r#"{{"name": "g", "types": {ty}, "inputs": {{"x": "Part"}}, "nodes": {{
            "n": {{"strategy": "predict", "signature": {{"inputs": [{{"name": "x", "type": "Part"}}], "outputs": [{{"name": "y"}}]}}}}}},
          "edges": [{{"from": "input.x", "to": "n.x"}}]}}"#
    ));
    for inputs in [r#"{"x": {"size": null}}"#, r#"{"x": {}}"#] {
        let lm = Arc::new(ScriptedLm::sections([("y", "fine")]));
        let mut problems = Problems::new();
        let admitted = program.admit_inputs(&json(inputs), &At::Root, &mut problems).unwrap();
        let run = run_on(lm);
        let outcome = dsrs::block_on(program.execute(&run, admitted));
        assert!(outcome.outputs.is_ok(), "{inputs}: {:?}", outcome.outputs);
    }
}
