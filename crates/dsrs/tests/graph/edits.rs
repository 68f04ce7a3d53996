//! Building and editing a `ProgramGraph` in code: every step is checked at once, and a refused step
//! changes nothing.

use std::sync::Arc;

use crate::support::Env;
use dsrs::graph::{Edge, Node, NodeSettings, ProgramGraph, Source, Target};
use dsrs::problem::{At, Problems};
use dsrs::signature::{FieldSchema, SignatureSchema};
use dsrs::types::{TypeDefs, TypeIR};
use dsrs::value::{Map, Payload, Selection};

fn node(strategy: &str, input: (&str, TypeIR), output: (&str, TypeIR)) -> Node {
    let base = SignatureSchema {
        instructions: "Do it.".into(),
        inputs: vec![FieldSchema::of(input.0, input.1)],
        outputs: vec![FieldSchema::of(output.0, output.1)],
        defs: Arc::new(TypeDefs::default()),
    };
    let config = Payload::map(Map::new());
    Node::create(&Env, strategy, Arc::new(base), config, NodeSettings::default(), &At::Root)
        .unwrap_or_else(|problems| panic!("{problems}"))
}

fn from(node: &str, field: &str) -> Source {
    Source { node: node.into(), selection: Selection::parse(field).unwrap() }
}

fn to(node: &str, field: &str) -> Target {
    Target { node: node.into(), field: field.into() }
}

fn chain() -> ProgramGraph {
    let mut graph = ProgramGraph::new("chain", Arc::default()).unwrap();
    graph.add_node("a", node("predict", ("x", TypeIR::Str), ("y", TypeIR::Int))).unwrap();
    graph.add_node("b", node("predict", ("y", TypeIR::Float), ("z", TypeIR::Str))).unwrap();
    graph.set_input(FieldSchema::of("x", TypeIR::Str)).unwrap();
    graph.connect(from("input", "x"), to("a", "x")).unwrap();
    graph.connect(from("a", "y"), to("b", "y")).unwrap();
    graph.set_output("z", from("b", "z")).unwrap();
    graph
}

fn codes(result: Result<(), Problems>) -> Vec<String> {
    result.unwrap_err().iter().map(|problem| problem.code.to_string()).collect()
}

fn edges(graph: &ProgramGraph) -> Vec<String> {
    graph.edges().iter().map(|edge| format!("{} -> {}", edge.from, edge.to)).collect()
}

#[test]
fn a_chain_built_by_hand_compiles() {
    let program = chain().compile().unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(program.predictors().len(), 2);
}

#[test]
fn a_graph_with_an_input_that_nothing_feeds_does_not_compile() {
    let mut graph = chain();
    graph.disconnect(&from("a", "y"), &to("b", "y")).unwrap();
    let problems = graph.compile().err().unwrap();
    assert_eq!(problems.iter().next().unwrap().pointer, "/nodes/b");
}

#[test]
fn a_refused_connection_changes_nothing() {
    let mut graph = chain();
    graph.add_node("c", node("predict", ("w", TypeIR::Int), ("x", TypeIR::Str))).unwrap();
    let before = edges(&graph);
    assert_eq!(codes(graph.connect(from("b", "z"), to("c", "w"))), ["type_mismatch"]);
    assert_eq!(
        codes(graph.connect(from("b", "q"), to("d", "w"))),
        ["unknown_field", "unknown_node"]
    );
    assert_eq!(codes(graph.connect(from("a", "y"), to("b", "y"))), ["duplicate_edge"]);
    assert_eq!(codes(graph.connect(from("c", "x"), to("a", "x"))), ["input_already_connected"]);
    assert_eq!(edges(&graph), before);
}

#[test]
fn connect_refuses_a_cycle() {
    let mut graph = chain();
    graph.disconnect(&from("input", "x"), &to("a", "x")).unwrap();
    assert_eq!(codes(graph.connect(from("b", "z"), to("a", "x"))), ["cycle"]);
    assert_eq!(edges(&graph), ["a.y -> b.y"]);
}

#[test]
fn names_of_nodes_are_unique_and_well_formed() {
    let mut graph = chain();
    let fresh = || node("predict", ("x", TypeIR::Str), ("y", TypeIR::Str));
    assert_eq!(codes(graph.add_node("a", fresh())), ["duplicate_name"]);
    assert_eq!(codes(graph.add_node("input", fresh())), ["reserved_name"]);
    assert_eq!(codes(graph.add_node("a b", fresh())), ["invalid_name"]);
}

#[test]
fn removing_a_node_removes_its_edges() {
    let mut graph = chain();
    assert_eq!(codes(graph.remove_node("b")), ["invalid_value"]);
    graph.set_output("z", from("a", "y")).unwrap();
    graph.remove_node("b").unwrap();
    assert_eq!(edges(&graph), ["input.x -> a.x"]);
    assert_eq!(codes(graph.remove_node("b")), ["unknown_node"]);
}

#[test]
fn replacing_a_node_checks_its_edges_again() {
    let mut graph = chain();
    let better = node("chain_of_thought", ("x", TypeIR::Str), ("y", TypeIR::Int));
    graph.replace_node("a", better).unwrap();
    assert_eq!(graph.node("a").unwrap().strategy(), "chain_of_thought");

    let worse = node("predict", ("x", TypeIR::Str), ("y", TypeIR::Str));
    let problems = graph.replace_node("a", worse).unwrap_err();
    assert_eq!(problems.iter().next().unwrap().pointer, "/edges/1");
    assert_eq!(graph.node("a").unwrap().strategy(), "chain_of_thought");
}

#[test]
fn a_node_is_inserted_into_an_edge() {
    let mut graph = chain();
    let edge = Edge { from: from("a", "y"), to: to("b", "y") };
    let double = || node("predict", ("n", TypeIR::Int), ("twice", TypeIR::Int));
    graph.insert_between(&edge, "double", double(), "n", from("double", "twice")).unwrap();
    assert_eq!(edges(&graph), ["input.x -> a.x", "a.y -> double.n", "double.twice -> b.y"]);

    let before = edges(&graph);
    let edge = Edge { from: from("double", "twice"), to: to("b", "y") };
    let bad = node("predict", ("n", TypeIR::Int), ("text", TypeIR::Str));
    let refused = graph.insert_between(&edge, "bad", bad, "n", from("bad", "text"));
    assert_eq!(codes(refused), ["type_mismatch"]);
    assert_eq!(edges(&graph), before, "all or nothing");
    assert!(graph.node("bad").is_none());
}

#[test]
fn unused_inputs_outputs_and_definitions_can_be_removed() {
    let mut graph = chain();
    let refused = graph.remove_input("x").unwrap_err().to_string();
    assert_eq!(refused, "/name: `a.x` reads the input `x`; disconnect that first (invalid_value)");
    graph.disconnect(&from("input", "x"), &to("a", "x")).unwrap();
    graph.remove_input("x").unwrap();
    assert!(graph.remove_input("x").is_err());
    graph.set_input(FieldSchema::of("x", TypeIR::Str)).unwrap();
    graph.connect(from("input", "x"), to("a", "x")).unwrap();
    let person = Payload::from_json(r#"{"class": {"name": "str"}}"#).unwrap();
    graph.set_type("Person", &person, &Env).unwrap();
    assert!(graph.defs().get("Person").is_some());
    graph.remove_type("Person", &Env).unwrap();
    assert!(graph.remove_type("Person", &Env).is_err());
    graph.rename_node("b", "last", &Env).unwrap();
    assert_eq!(graph.outputs().next().unwrap().1.source.to_string(), "last.z");
    graph.remove_output("z").unwrap();
    assert!(graph.remove_output("z").is_err() && graph.outputs().next().is_none());
}
