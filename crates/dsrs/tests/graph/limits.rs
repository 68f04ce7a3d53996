//! Documents made to cost more than they weigh: refused before they do.

use dsrs::problem::{Code, Problems};
use serde_json::{Value, json};

use crate::support::build;

fn predict(inputs: Value, outputs: Value) -> Value {
    json!({
        "strategy": "predict",
        "signature": {"instructions": "", "inputs": inputs, "outputs": outputs}
    })
}

fn fields(count: usize, ty: &str) -> Value {
    (0..count).map(|n| json!({"name": format!("y{n}"), "type": ty})).collect()
}

/// A graph in which `count` outputs of one type go into as many inputs of another.
fn many_edges(count: usize, from: &str, to: &str) -> Value {
    let edge = |n: usize| json!({"from": format!("a.y{n}"), "to": format!("b.y{n}")});
    json!({
        "name": "g",
        "nodes": {
            "a": predict(json!([{"name": "x"}]), fields(count, from)),
            "b": predict(fields(count, to), json!([{"name": "z"}])),
        },
        "edges": (0..count).map(edge).collect::<Value>()
    })
}

/// Two types that take tens of thousands of steps to compare.
fn costly_types() -> [String; 2] {
    let union = |members: Vec<String>| members.join(" | ");
    let members: Vec<String> = (0..220).map(|n| format!("\"m{n}\"")).collect();
    [union(members.clone()), union(members.into_iter().rev().collect())]
}

fn refusals(document: &Value) -> Vec<String> {
    let problems = build(&document.to_string()).err().expect("the document is refused");
    problems.iter().map(|p| format!("{} {}", p.pointer, p.code)).collect()
}

#[test]
fn a_graph_with_costly_type_comparisons_is_refused_once() {
    let [one, other] = costly_types();
    assert!(build(&many_edges(5, &one, &other).to_string()).is_ok());
    assert_eq!(refusals(&many_edges(40, &one, &other)), ["/edges/10 too_large"]);
}

#[test]
fn comparisons_of_inferred_inputs_count_towards_the_limit() {
    let [one, other] = costly_types();
    let inputs = |ty: &str| {
        let inputs = (0..40).map(|n| (format!("y{n}"), json!(ty)));
        Value::Object(inputs.collect())
    };
    let node = predict(fields(40, &other), json!([{"name": "z"}]));
    let declared = json!({"name": "g", "inputs": inputs(&one), "nodes": {"b": node}});
    assert_eq!(refusals(&declared), ["/nodes/b too_large"]);
    let nodes = json!({
        "a": predict(fields(40, &one), json!([{"name": "p"}])),
        "b": predict(fields(40, &other), json!([{"name": "q"}])),
    });
    assert_eq!(refusals(&json!({"name": "g", "nodes": nodes})), ["/nodes/b too_large"]);
}

#[test]
fn huge_types_are_abbreviated() {
    let huge = format!("\"{}\"", "x".repeat(100_000));
    let short = |problems: Problems, code: Code| {
        assert!(!problems.is_empty());
        for problem in problems.iter() {
            assert_eq!(problem.code, code);
            assert!(problem.detail.len() < 1000, "{} bytes", problem.detail.len());
        }
    };
    let mismatch = many_edges(3, &huge, "int");
    short(build(&mismatch.to_string()).err().unwrap(), Code::TypeMismatch);
    let node = |ty: &str| predict(json!([{"name": "x", "type": ty}]), json!([{"name": "y"}]));
    let unfed = json!({"name": "g", "inputs": {"x": huge}, "nodes": {"a": node("int")}});
    short(build(&unfed.to_string()).err().unwrap(), Code::UnconnectedInput);
    let two = json!({"name": "g", "nodes": {"a": node(&huge), "b": node("int")}, "outputs": {}});
    short(build(&two.to_string()).err().unwrap(), Code::TypeMismatch);
}

#[test]
fn a_source_longer_than_any_path_needs_is_refused() {
    let mut document = many_edges(1, "dict[str, int]", "int?");
    document["edges"][0]["from"] = json!("a.y0['k']");
    assert!(build(&document.to_string()).is_ok());
    document["edges"][0]["from"] = json!(format!("a.y0['{}']", "k".repeat(1_000_000)));
    assert_eq!(refusals(&document), ["/edges/0/from too_large"]);
}
