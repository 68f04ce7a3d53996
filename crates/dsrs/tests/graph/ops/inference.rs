//! Inference of the types of ops, and the problems if they cannot be inferred.

use dsrs::graph::{Edits, Program};
use dsrs::problem::{At, Problems};

use super::support::{Env, build, graph_of, json, run};

fn problems(document: &str) -> String {
    match build(document) {
        Ok(_) => panic!("accepted: {document}"),
        Err(problems) => problems.to_string(),
    }
}

/// Ops that feed ops, written from the last to the first, edges too.
const BACKWARDS: &str = r#"{"name": "g", "inputs": {"a": "int", "b": "float"}, "nodes": {
    "tell": {"strategy": "render", "config": {"fstring": "{total} of {kind}"}},
    "total": {"strategy": "add", "config": {"right": 1}},
    "scaled": {"strategy": "multiply"}},
  "edges": [{"from": "total.value", "to": "tell.total"}, {"from": "scaled.value", "to": "total.left"},
            {"from": "input.b", "to": "scaled.right"}, {"from": "input.a", "to": "scaled.left"},
            {"from": "input.a", "to": "tell.kind"}]}"#;

#[tokio::test]
async fn the_order_of_the_document_does_not_matter() {
    let program = build(BACKWARDS).unwrap_or_else(|problems| panic!("{problems}"));
    let names: Vec<&str> = program.graph().nodes().map(|(name, _)| name.as_ref()).collect();
    assert_eq!(names, ["tell", "total", "scaled"]);
    let total = program.graph().node("total").unwrap();
    assert_eq!(total.schema().outputs[0].ty.to_string(), "float");
    let outcome = run(&program, r#"{"a": 3, "b": 0.5}"#).await;
    assert_eq!(outcome.outputs.unwrap()["text"].to_json(), r#""2.5 of 3""#);
}

#[test]
fn a_response_omits_signatures_of_ops_and_can_be_posted() {
    let program = build(BACKWARDS).unwrap();
    let document = program.canonical_text();
    assert!(!document.contains("signature"), "{document}");
    let again = build(document).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(again.canonical_text(), document);
    let signed = document.replacen(
        r#""strategy":"add""#,
        r#""strategy":"add","signature":"left: int -> value: int""#,
        1,
    );
    let message = problems(&signed);
    assert!(
        message.starts_with("/nodes/total/signature: the types of an op are inferred"),
        "{message}"
    );
}

#[test]
fn undeclared_inputs_are_those_with_known_types() {
    let program = build(
        r#"{"name": "g", "nodes": {
            "tidy": {"strategy": "strip"},
            "ask": {"strategy": "predict", "signature": "question, text -> answer"},
            "tell": {"strategy": "render", "config": {"fstring": "{question}: {answer}"}}},
          "edges": [{"from": "ask.answer", "to": "tell.answer"}],
          "outputs": {"text": "tell.text", "tidy": "tidy.text"}}"#,
    );
    let program = program.unwrap_or_else(|problems| panic!("{problems}"));
    let inputs: Vec<String> =
        program.graph().inputs().map(|field| format!("{}: {}", field.name, field.ty)).collect();
    assert_eq!(inputs, ["text: str", "question: str"]);
    let edges: Vec<String> = program
        .graph()
        .edges()
        .iter()
        .map(|edge| format!("{} -> {}", edge.from, edge.to))
        .collect();
    assert!(edges.contains(&"input.question -> tell.question".to_owned()), "{edges:?}");
}

#[test]
fn an_undetermined_type_is_reported_with_what_to_do() {
    for (document, expected) in [
        (
            r#"{"name": "g", "nodes": {"s": {"strategy": "select", "config": {"path": "a"}}}}"#,
            "/nodes/s: nothing feeds `s.value`, so its type is not known; connect it, or declare a \
             graph input `value` (undetermined_type)",
        ),
        (
            r#"{"name": "g", "nodes": {"s": {"strategy": "select", "config": {"path": "a"}}},
                "edges": [{"from": "input.x", "to": "s.value"}]}"#,
            "/nodes/s: the type of `input.x`, which feeds `s.value`, is unknown; declare it under \
             `inputs` (undetermined_type)",
        ),
        (
            r#"{"name": "g", "inputs": {"x": "str"},
                "nodes": {"s": {"strategy": "select", "config": {"path": "a"}}}}"#,
            "/nodes/s: nothing feeds `s.value`; connect it, or declare a graph input `value` \
             (unconnected_input)",
        ),
        (
            r#"{"name": "g", "nodes": {"s": {"strategy": "sum"}}}"#,
            "/nodes/s: nothing is connected to this op, so its types are unknown; connect \
             something, for example to `values`, or list its inputs under `config.inputs` \
             (undetermined_type)",
        ),
        (
            r#"{"name": "g", "inputs": {"x": "{a: str}"},
                "nodes": {"s": {"strategy": "select", "config": {"path": "a"}}},
                "edges": [{"from": "input.x", "to": "s.vlaue"}]}"#,
            "/edges/0/to: node `s` has no input `vlaue`; its inputs: value (unknown_field)",
        ),
    ] {
        assert_eq!(problems(document), expected);
    }
}

#[test]
fn a_cycle_of_ops_is_reported_only_as_a_cycle() {
    let message = problems(
        r#"{"name": "g", "inputs": {"x": "int"}, "nodes": {
            "a": {"strategy": "add"}, "b": {"strategy": "add", "config": {"right": 1}},
            "behind": {"strategy": "add", "config": {"right": 1}}},
          "edges": [{"from": "input.x", "to": "a.left"}, {"from": "b.value", "to": "a.right"},
                    {"from": "a.value", "to": "b.left"}, {"from": "b.value", "to": "behind.left"}],
          "outputs": {"x": "behind.value"}}"#,
    );
    assert_eq!(message, "/edges/2: closes the cycle b -> a -> b (cycle)");
}

#[test]
fn a_cycle_through_op_and_strategy_is_reported_once() {
    let message = problems(
        r#"{"name": "g", "nodes": {
            "say": {"strategy": "render", "config": {"fstring": "{answer}"}},
            "ask": {"strategy": "predict", "signature": "text -> answer"}},
          "edges": [{"from": "ask.answer", "to": "say.answer"}, {"from": "say.text", "to": "ask.text"}],
          "outputs": {"text": "say.text"}}"#,
    );
    assert_eq!(message, "/edges/1: closes the cycle ask -> say -> ask (cycle)");
}

#[test]
fn types_that_grow_with_each_op_are_refused_once() {
    let fields = |n: usize| {
        let all: Vec<String> = (0..100).map(|f| format!("f{n}_{f}: int")).collect();
        format!("{{{}}}", all.join(", "))
    };
    let count = 120;
    let inputs: Vec<String> = (0..count).map(|n| format!(r#""i{n}": "{}""#, fields(n))).collect();
    let nodes: Vec<String> =
        (1..count).map(|n| format!(r#""n{n}": {{"strategy": "merge"}}"#)).collect();
    let edges: Vec<String> = (1..count)
        .map(|n| {
            let before = if n == 1 { "input.i0".to_owned() } else { format!("n{}.value", n - 1) };
            format!(
                r#"{{"from": "{before}", "to": "n{n}.a"}}, {{"from": "input.i{n}", "to": "n{n}.b"}}"#
            )
        })
        .collect();
    let message = problems(&format!(
        r#"{{"name": "g", "inputs": {{{}}}, "nodes": {{{}}}, "edges": [{}]}}"#,
        inputs.join(", "),
        nodes.join(", "),
        edges.join(", ")
    ));
    assert!(
        message.starts_with(
            "/nodes/n49: the types of this op, or of all ops before it, are too large"
        ),
        "{message}"
    );
    assert_eq!(message.matches("too_large").count(), 1, "{message}");
}

#[test]
fn every_edge_is_still_checked() {
    for (node, inputs, expected) in [
        (
            r#""strategy": "add""#,
            &[("left", "str"), ("right", "int")][..],
            "/edges/0: `input.left` is `str`, `op.left` accepts `float`",
        ),
        (
            r#""strategy": "upper""#,
            &[("text", "int")],
            "/edges/0: `input.text` is `int`, `op.text` accepts `str`",
        ),
        (
            r#""strategy": "concat""#,
            &[("a", "list[int]"), ("b", "str")],
            "/edges/1: `input.b` is `str`, `op.b` accepts `list[any]`",
        ),
        (
            r#""strategy": "merge""#,
            &[("a", "Person"), ("b", "dict[str, int]")],
            "/edges/0: `input.a` is `Person`, `op.a` accepts `dict[str, any]`",
        ),
        (
            r#""strategy": "mean""#,
            &[("a", "list[str]")],
            "/edges/0: `input.a` is `list[str]`, `op.a` accepts `list[float]`",
        ),
        (
            r#""strategy": "select", "config": {"path": "nmae"}"#,
            &[("value", "Person")],
            "/nodes/op/config/path: `nmae`: Person has no field `nmae`; did you mean `name`?",
        ),
        (
            r#""strategy": "select", "config": {"path": "age", "default": "old"}"#,
            &[("value", "Person")],
            "/nodes/op/config/default: expected int, found a string (wrong_type)",
        ),
        (
            r#""strategy": "unwrap_or", "config": {"default": "x"}"#,
            &[("value", "int?")],
            "/nodes/op/config/default: expected int, found a string (wrong_type)",
        ),
        (
            r#""strategy": "format", "config": {"template": "{a:.2f}"}"#,
            &[("a", "str")],
            "/nodes/op/config/template: `{a}` is `str`, not a number",
        ),
        (
            r#""strategy": "render", "config": {"fstring": "{a.b}"}"#,
            &[("a", "str")],
            "/nodes/op/config/fstring: `{a.b}`: str has no `b`",
        ),
    ] {
        let message = problems(&graph_of(node, inputs));
        assert!(message.starts_with(expected), "{node}:\n{message}");
    }
}

#[test]
fn an_invalid_config_is_refused_at_its_place() {
    for (node, expected) in [
        (r#""strategy": "render", "config": {}"#, "/nodes/op/config: config of `render`"),
        (
            r#""strategy": "render", "config": {"template": "{% if %}"}"#,
            "/nodes/op/config/template: ",
        ),
        (
            r#""strategy": "render", "config": {"template": "{{ a|uper }}\n{{ a.b.shout() }}"}"#,
            "/nodes/op/config/template: line 1: there is no filter `uper`; did you mean `upper`?; line 2: there is no \
             method `shout`; known ones: ",
        ),
        (
            r#""strategy": "branch", "config": {"if": "a is xyzzy(3) or len(a) > 3 or a[::-1] == a"}"#,
            "/nodes/op/config/if: there is no test `xyzzy`; known ones: boolean, defined, divisibleby, \
             endingwith, eq, equalto, escaped, even, false, filter and 33 more; there is no function `len`: use the filter `length`; the step of a \
             slice is a positive number",
        ),
        (
            r#""strategy": "render", "config": {"fstring": "{a"}"#,
            "/nodes/op/config/fstring: a `{` without its `}`",
        ),
        (
            r#""strategy": "render", "config": {"fstring": "{a:.2f}"}"#,
            "/nodes/op/config/fstring: `{a:.2f}`: only the op `format` accepts formats in slots",
        ),
        (
            r#""strategy": "select", "config": {"path": "a..b"}"#,
            "/nodes/op/config/path: `a..b`: column 3: expected a name (invalid_config)",
        ),
        (r#""strategy": "coerce", "config": {"type": "intt"}"#, "/nodes/op/config/type: column 1:"),
        (r#""strategy": "strip", "config": {"chars": "x"}"#, "/nodes/op/config: config of `strip`"),
    ] {
        let message = problems(&graph_of(node, &[]));
        assert!(message.starts_with(expected), "{node}:\n{message}");
        assert!(!message.contains("undetermined"), "{message}");
    }
}

#[test]
fn a_config_may_define_types() {
    let node = r#""strategy": "coerce", "config": {"type": {"type": "object", "title": "Town",
        "properties": {"name": {"type": "string", "description": "its name"}}, "required": ["name"]}}"#;
    let program = build(&graph_of(node, &[("value", "str")])).unwrap_or_else(|p| panic!("{p}"));
    let again = build(program.canonical_text()).unwrap_or_else(|p| panic!("{p}"));
    assert_eq!(again.canonical_text(), program.canonical_text());
}

fn edited(program: &Program, edits: &str) -> Result<Program, Problems> {
    let mut problems = Problems::new();
    let edits = Edits::read(&json(edits), &At::Root, &mut problems);
    program.graph().apply_edits(&edits.unwrap(), &Env)?.graph.compile()
}

#[test]
fn edits_infer_again() {
    let program = build(BACKWARDS).unwrap();
    let total = |program: &Program| {
        program.graph().node("total").unwrap().schema().outputs[0].ty.to_string()
    };
    let whole = r#"{"edits": [{"op": "set_input", "name": "b", "type": "int"}]}"#;
    let edited_to_whole = edited(&program, whole).unwrap_or_else(|p| panic!("{p}"));
    assert_eq!((total(&program), total(&edited_to_whole)), ("float".into(), "int".into()));
    let broken = r#"{"edits": [{"op": "set_input", "name": "b", "type": "str"}]}"#;
    let message = edited(&program, broken).err().unwrap().to_string();
    assert!(message.contains("`input.b` is `str`, `scaled.right` accepts `float`"), "{message}");
    let alone = r#"{"edits": [{"op": "remove_input", "name": "a"}, {"op": "disconnect",
        "from": "input.a", "to": "scaled.left"}, {"op": "disconnect", "from": "input.a",
        "to": "tell.kind"}]}"#;
    let message = edited(&program, alone).err().unwrap().to_string();
    assert!(message.contains("/edits/1: nothing feeds `scaled.left`"), "{message}");
}
