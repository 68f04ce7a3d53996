//! Limits of ops: the size of values in a run, the output of one op, and the time of a node.

use std::time::Duration;

use dsrs::graph::Program;

use super::support::{build, graph_of, run};

/// A chain of nodes, each of which reads the output of the one before it twice.
fn doubling(node: &str, output: &str, ty: &str, length: usize) -> Program {
    let nodes: Vec<String> = (0..length).map(|n| format!(r#""n{n}": {{{node}}}"#)).collect();
    let edges = (0..length).map(|n| {
        let from = match n {
            0 => "input.x".to_owned(),
            n => format!("n{}.{output}", n - 1),
        };
        format!(r#"{{"from": "{from}", "to": "n{n}.a"}}, {{"from": "{from}", "to": "n{n}.b"}}"#)
    });
    let document = format!(
        r#"{{"name": "g", "inputs": {{"x": "{ty}"}}, "nodes": {{{}}}, "edges": [{}],
            "outputs": {{"y": "n{}.{output}"}}}}"#,
        nodes.join(", "),
        edges.collect::<Vec<_>>().join(", "),
        length - 1
    );
    build(&document).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The code and the message of what a run failed with.
async fn failure(program: &Program, inputs: &str) -> String {
    let failure = run(program, inputs).await.outputs.unwrap_err();
    format!("{}: {}", failure.error.kind.code(), failure.error.message)
}

#[tokio::test]
async fn a_chain_of_ops_cannot_double_a_value_without_limit() {
    for (node, output, ty, x) in [
        (r#""strategy": "concat""#, "value", "str", r#""ab""#),
        (r#""strategy": "concat""#, "value", "list[int]", "[1]"),
        (r#""strategy": "format", "config": {"template": "{a}{b}"}"#, "text", "str", r#""ab""#),
        (r#""strategy": "render", "config": {"fstring": "{a}{b}"}"#, "text", "str", r#""ab""#),
    ] {
        let message = failure(&doubling(node, output, ty, 31), &format!(r#"{{"x": {x}}}"#)).await;
        assert_eq!(message, "op_failed: the values of the run take more than 16 MiB", "{node}");
    }
}

#[tokio::test]
async fn a_shared_value_counts_as_often_as_it_occurs() {
    let collect = r#""strategy": "collect", "config": {"as": "list"}"#;
    let cast =
        |n: usize| format!(r#""c{n}": {{"strategy": "coerce", "config": {{"type": "any"}}}}"#);
    let nodes: Vec<String> =
        (0..31).map(|n| format!(r#""n{n}": {{{collect}}}, {}"#, cast(n))).collect();
    let edge = |n: usize| {
        let from = if n == 0 { "input.x".to_owned() } else { format!("c{}.value", n - 1) };
        format!(
            r#"{{"from": "{from}", "to": "n{n}.a"}}, {{"from": "{from}", "to": "n{n}.b"}},
               {{"from": "n{n}.value", "to": "c{n}.value"}}"#
        )
    };
    let document = format!(
        r#"{{"name": "g", "inputs": {{"x": "any"}}, "nodes": {{{}}}, "edges": [{}],
            "outputs": {{"y": "c30.value"}}}}"#,
        nodes.join(", "),
        (0..31).map(edge).collect::<Vec<_>>().join(", ")
    );
    let program = build(&document).unwrap_or_else(|problems| panic!("{problems}"));
    let message = failure(&program, r#"{"x": 1}"#).await;
    assert_eq!(message, "op_failed: the values of the run take more than 16 MiB");
}

#[tokio::test]
async fn no_value_nests_deeper_than_the_json_limit() {
    let wrap = |n: usize| {
        format!(
            r#""n{n}": {{"strategy": "collect"}},
               "c{n}": {{"strategy": "coerce", "config": {{"type": "any"}}}}"#
        )
    };
    let edge = |n: usize| {
        let from = if n == 0 { "input.x".to_owned() } else { format!("c{}.value", n - 1) };
        format!(
            r#"{{"from": "{from}", "to": "n{n}.a"}}, {{"from": "n{n}.value", "to": "c{n}.value"}}"#
        )
    };
    let chain = |length: usize| {
        let document = format!(
            r#"{{"name": "g", "inputs": {{"x": "any"}}, "nodes": {{{}}}, "edges": [{}],
                "outputs": {{"y": "c{}.value"}}}}"#,
            (0..length).map(wrap).collect::<Vec<_>>().join(", "),
            (0..length).map(edge).collect::<Vec<_>>().join(", "),
            length - 1
        );
        build(&document).unwrap_or_else(|problems| panic!("{problems}"))
    };
    assert!(run(&chain(110), r#"{"x": 1}"#).await.outputs.is_ok());
    let message = failure(&chain(130), r#"{"x": 1}"#).await;
    assert_eq!(message, "op_failed: the values of the run nest deeper than 120 levels");
}

#[tokio::test]
async fn the_output_of_one_op_is_bounded_by_the_limit_of_a_run() {
    let names: Vec<String> = (0..40).map(|n| format!("a{n}")).collect();
    let edges: Vec<String> =
        names.iter().map(|name| format!(r#"{{"from": "input.x", "to": "op.{name}"}}"#)).collect();
    let slots: String = names.iter().map(|name| format!("{{{name}}}")).collect();
    let text = format!("{:?}", "x".repeat(1 << 19));
    let list = format!("[{}]", vec!["1"; 1 << 15].join(","));
    let format = format!(r#""strategy": "format", "config": {{"template": "{slots}"}}"#);
    for (node, ty, x) in [
        (r#""strategy": "concat""#, "str", &text),
        (r#""strategy": "concat""#, "list[int]", &list),
        (format.as_str(), "str", &text),
    ] {
        let document = format!(
            r#"{{"name": "g", "inputs": {{"x": "{ty}"}}, "nodes": {{"op": {{{node}}}}},
                "edges": [{}]}}"#,
            edges.join(", ")
        );
        let program = build(&document).unwrap_or_else(|problems| panic!("{problems}"));
        let message = failure(&program, &format!(r#"{{"x": {x}}}"#)).await;
        assert_eq!(message, "op_failed: the values of this op take more than 16 MiB", "{node}");
    }
}

/// A `map` over many elements that all compute, each with its own input.
fn mapped(timeout_ms: u64) -> Program {
    let node = format!(
        r#""strategy": "map", "timeout_ms": {timeout_ms}, "config": {{"over": "a", "module":
           {{"strategy": "concat", "config": {{"inputs": ["a", "b"]}}}}}}"#
    );
    let document = graph_of(&node, &[("a", "list[str]"), ("b", "str")]);
    build(&document).unwrap_or_else(|problems| panic!("{problems}"))
}

fn many(elements: usize, bytes: usize) -> String {
    format!(r#"{{"a": [{}], "b": {:?}}}"#, vec![r#""w""#; elements].join(","), "x".repeat(bytes))
}

#[tokio::test]
async fn the_results_of_a_map_are_bounded_while_they_grow() {
    let message = failure(&mapped(600_000), &many(10_000, 1 << 20)).await;
    assert_eq!(message, "op_failed: the values of this op take more than 16 MiB");
}

#[tokio::test(start_paused = true)]
async fn a_map_of_ops_stops_at_its_deadline() {
    let (program, inputs) = (mapped(1_000), many(100, 1));
    assert!(run(&program, &inputs).await.outputs.is_ok());
    // The elements compute in place; the time passes when the map lets others work.
    let time_passes = tokio::time::advance(Duration::from_secs(2));
    let (message, ()) = tokio::join!(failure(&program, &inputs), time_passes);
    assert_eq!(message, "timeout: the node ran out of time after 32 of its elements");
}

#[tokio::test]
async fn an_op_that_exceeds_its_time_limit_fails_the_node() {
    let node = |timeout: u64| {
        let node = format!(r#""strategy": "lower", "timeout_ms": {timeout}"#);
        build(&graph_of(&node, &[("text", "str")])).unwrap_or_else(|problems| panic!("{problems}"))
    };
    // No machine converts 8 MB in a millisecond.
    let inputs = format!(r#"{{"text": {:?}}}"#, "Ä".repeat(4 << 20));
    assert!(run(&node(600_000), &inputs).await.outputs.is_ok());
    let message = failure(&node(1), &inputs).await;
    assert_eq!(message, "timeout: node `op` took longer than its 1 ms");
}
