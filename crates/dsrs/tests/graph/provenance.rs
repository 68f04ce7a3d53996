//! Provenance of outputs: graphs, and the provenance of each of their outputs.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::support::{build, fields, run_on};
use dsrs::graph::{GraphModule, GraphState, Lineage, Program, Provenance, RunRecord};
use dsrs::lm::ScriptedLm;
use dsrs::predict::Recording;
use dsrs::problem::Problems;
use dsrs::signature::SignatureSchema;
use dsrs::strategy::{BuildEnv, DynModule, GraphUnavailable, StoredGraphRef};
use dsrs::value::{Fields, Payload};

/// Runs a program with an LM that answers every field; returns the provenance of its outputs.
async fn provenance(program: &Program, inputs: &str) -> Provenance {
    let person = r#"{"name": "Ada", "age": 36}"#;
    let class = r#"{"n": "1", "m": "2", "o": "3"}"#;
    let others = ["topic", "reasoning", "mood", "letter", "idle", "answer", "l", "r", "text"];
    let answers = others.into_iter().map(|name| (name, "text")).chain([
        ("person", person),
        ("value", "text"),
        ("a", class),
        ("b", class),
        ("as", r#"["1", "2"]"#),
        ("bs", r#"["3"]"#),
    ]);
    let run = run_on(Arc::new(ScriptedLm::sections(answers)));
    let mut outcome = program.execute(&run, fields(inputs)).await;
    // A record contains errors as data like any other.
    for span in &mut outcome.spans {
        for data in [&mut span.inputs, &mut span.outputs] {
            let read = |data: &Fields| fields(&Payload::map(data.clone()).to_json());
            *data = data.as_ref().map(read);
        }
    }
    let outputs = outcome.outputs.unwrap_or_else(|failure| panic!("{failure}"));
    let recording = Recording::of(&outcome.spans);
    let found = program.provenance(&RunRecord { outputs, recording, ..RunRecord::default() });
    assert!(found.omitted.is_empty());
    found
}

async fn provenance_text(program: &Program, inputs: &str) -> String {
    let mut text = String::new();
    for (name, lineage) in &provenance(program, inputs).await.outputs {
        write(&mut text, name, lineage, 0);
    }
    text
}

fn write(text: &mut String, name: &str, lineage: &Lineage, depth: usize) {
    let indent = "  ".repeat(depth);
    let list =
        |items: Vec<String>| if items.is_empty() { "-".to_owned() } else { items.join(", ") };
    let refs =
        |refs: &[dsrs::value::ValueRef]| list(refs.iter().map(ToString::to_string).collect());
    let texts = |texts: &[Arc<str>]| list(texts.iter().map(ToString::to_string).collect());
    let value = &lineage.value;
    let reference = value.reference().map(ToString::to_string).unwrap_or_default();
    let calls = list(lineage.lm_calls.iter().map(ToString::to_string).collect());
    writeln!(text, "{indent}{name} = {reference} ({})", value.kind()).unwrap();
    writeln!(text, "{indent}  made of: {}", refs(&lineage.sources)).unwrap();
    writeln!(text, "{indent}  nodes: {}", texts(&lineage.nodes)).unwrap();
    writeln!(text, "{indent}  inputs: {}", refs(&lineage.inputs)).unwrap();
    writeln!(text, "{indent}  parameters: {}", texts(&lineage.parameters)).unwrap();
    writeln!(text, "{indent}  LM calls: {calls}").unwrap();
    for (part, lineage) in &lineage.fields {
        write(text, &part.to_string(), lineage, depth + 1);
    }
}

async fn of(document: &str, inputs: &str) -> String {
    let program = build(document).unwrap_or_else(|problems| panic!("{problems}"));
    provenance_text(&program, inputs).await
}

const REVIEW: &str = r#"{"name": "review", "inputs": {"text": "str", "unread": "str?"}, "nodes": {
    "facts":  {"strategy": "predict", "signature": "text -> person: {name: str, age: int}, topic"},
    "mood":   {"strategy": "chain_of_thought", "signature": "text -> mood"},
    "letter": {"strategy": "predict", "signature": "name, topic -> letter"},
    "idle":   {"strategy": "predict", "signature": "unread: str? -> idle"}},
  "edges": [{"from": "facts.person.name", "to": "letter.name"}, {"from": "facts.topic", "to": "letter.topic"}],
  "outputs": {"letter": "letter.letter", "mood": "mood.mood", "age": "facts.person.age", "text": "input.text"}}"#;

#[tokio::test]
async fn the_lineage_of_an_output_is_complete_and_exact() {
    insta::assert_snapshot!(of(REVIEW, r#"{"text": "Ada is 36."}"#).await);
}

#[tokio::test]
async fn every_attempt_counts() {
    let document = r#"{"name": "tries", "nodes": {
        "best": {"strategy": "best_of_n", "signature": "question -> answer",
                 "config": {"module": {"strategy": "predict"}, "n": 2,
                            "reward": {"expression": "0"}, "threshold": 1}}}}"#;
    insta::assert_snapshot!(of(document, r#"{"question": "?"}"#).await);
}

/// One stored graph.
struct WithGraph(&'static str);

impl BuildEnv for WithGraph {
    fn knows_model(&self, _: &str) -> bool {
        true
    }

    fn pin_graph(&self, graph: &StoredGraphRef) -> Result<StoredGraphRef, GraphUnavailable> {
        Ok(StoredGraphRef { version: Some(1), state_version: Some(1), ..graph.clone() })
    }

    fn graph_schema(
        &self,
        graph: &StoredGraphRef,
    ) -> Result<Arc<SignatureSchema>, GraphUnavailable> {
        self.graph(graph).map(|module| module.schema().clone())
    }

    fn graph(&self, _: &StoredGraphRef) -> Result<Box<dyn DynModule>, GraphUnavailable> {
        let document = Payload::from_json(self.0).unwrap();
        let module = GraphModule::new(&document, &GraphState::default(), self);
        module
            .map(|module| Box::new(module) as Box<dyn DynModule>)
            .map_err(|problems: Problems| GraphUnavailable::new(problems.to_string()))
    }
}

#[tokio::test]
async fn provenance_continues_into_nested_graphs() {
    let inner = r#"{"name": "inner", "nodes": {
        "left":  {"strategy": "predict", "signature": "a -> l"},
        "right": {"strategy": "predict", "signature": "b -> r"}}}"#;
    let outer = r#"{"name": "outer", "nodes": {
        "first": {"strategy": "predict", "signature": "question -> a"},
        "both":  {"strategy": "graph", "config": {"graph": "inner"}}},
      "edges": [{"from": "first.a", "to": "both.a"}],
      "outputs": {"l": "both.l", "r": "both.r"}}"#;
    let document = Payload::from_json(outer).unwrap();
    let program = Program::from_document(&document, &WithGraph(inner));
    let program = program.unwrap_or_else(|problems| panic!("{problems}"));
    insta::assert_snapshot!(provenance_text(&program, r#"{"question": "?", "b": "!"}"#).await);
}

/// The name of the case; nodes and edges in addition to two LM nodes, `a` from `x` and `b` from
/// `y`; the source of the output; then the inputs and nodes of the output and of each of its
/// fields.
const OPS: &[(&str, &str, &str, &str, &str)] = &[
    (
        "field by field, the later of two wins",
        r#""both": {"strategy": "merge"}"#,
        r#"{"from": "a.a", "to": "both.a"}, {"from": "b.b", "to": "both.b"}"#,
        "both.value",
        "out: x, y | a, b, both; n: x | a, both; m: y | b, both; o: y | b, both",
    ),
    (
        "a part of what was merged came from one side",
        r#""both": {"strategy": "merge"}, "one": {"strategy": "select", "config": {"path": "o"}}"#,
        r#"{"from": "a.a", "to": "both.a"}, {"from": "b.b", "to": "both.b"}, {"from": "both.value", "to": "one.value"}"#,
        "one.value",
        "out: y | b, both, one",
    ),
    (
        "a default came from nowhere",
        r#""one": {"strategy": "select", "config": {"path": "[9]", "default": "-"}}"#,
        r#"{"from": "a.as", "to": "one.value"}"#,
        "one.value",
        "out: - | one",
    ),
    (
        "what was there came from its part",
        r#""one": {"strategy": "select", "config": {"path": "[0]", "default": "-"}}"#,
        r#"{"from": "a.as", "to": "one.value"}"#,
        "one.value",
        "out: x | a, one",
    ),
    (
        "lists element by element",
        r#""all": {"strategy": "concat"}"#,
        r#"{"from": "a.as", "to": "all.a"}, {"from": "b.bs", "to": "all.b"}"#,
        "all.value",
        "out: x, y | a, b, all; [0]: x | a, all; [1]: x | a, all; [2]: y | b, all",
    ),
    (
        "texts as a whole",
        r#""all": {"strategy": "concat"}"#,
        r#"{"from": "a.a.n", "to": "all.a"}, {"from": "b.b.o", "to": "all.b"}"#,
        "all.value",
        "out: x, y | a, b, all",
    ),
    (
        "slots name what they take",
        r#""say": {"strategy": "render", "config": {"fstring": "{p.o}!"}}, "both": {"strategy": "merge"}"#,
        r#"{"from": "a.a", "to": "both.a"}, {"from": "b.b", "to": "both.b"}, {"from": "both.value", "to": "say.p"}"#,
        "say.text",
        "out: y | b, say, both",
    ),
    (
        "a value that is there is not its default",
        r#""or": {"strategy": "unwrap_or"}"#,
        r#"{"from": "a.a.n", "to": "or.value"}, {"from": "b.b.o", "to": "or.default"}"#,
        "or.value",
        "out: x | a, or",
    ),
    (
        "a failed node gives nothing, its stand-in does",
        r#""or": {"strategy": "unwrap_or"}, "fail": {"strategy": "divide"}"#,
        r#"{"from": "input.z", "to": "fail.left"}, {"from": "input.zero", "to": "fail.right"}, {"from": "fail.value", "to": "or.value"}, {"from": "input.z", "to": "or.default"}"#,
        "or.value",
        "out: z | or",
    ),
    (
        "behind a failed node that was left out too",
        r#""or": {"strategy": "unwrap_or", "config": {"default": 1}}, "fail": {"strategy": "divide"}, "more": {"strategy": "add", "config": {"right": 1}}"#,
        r#"{"from": "input.z", "to": "fail.left"}, {"from": "input.zero", "to": "fail.right"}, {"from": "fail.value", "to": "more.left"}, {"from": "more.value", "to": "or.value"}"#,
        "or.value",
        "out: - | or",
    ),
    (
        "collected values each from their own",
        r#""all": {"strategy": "collect", "config": {"as": "class"}}"#,
        r#"{"from": "a.a.n", "to": "all.one"}, {"from": "input.z", "to": "all.two"}"#,
        "all.value",
        "out: x, z | a, all; one: x | a, all; two: z | all",
    ),
    (
        "what an edge leaves behind does not count",
        r#""both": {"strategy": "merge"}, "say": {"strategy": "predict", "signature": "p: {o: str} -> text"}"#,
        r#"{"from": "a.a", "to": "both.a"}, {"from": "b.b", "to": "both.b"}, {"from": "both.value", "to": "say.p"}"#,
        "say.text",
        "out: y | b, both, say",
    ),
    (
        "a branch: the value that was chosen and what decided",
        r#""if": {"strategy": "branch", "config": {"if": "z > 0"}}"#,
        r#"{"from": "a.a", "to": "if.then"}, {"from": "b.b.o", "to": "if.else"}, {"from": "input.z", "to": "if.z"}"#,
        "if.value",
        "out: x, z | a, if",
    ),
    (
        "a branch over strategies: what the arm took and what decided",
        r#""if": {"strategy": "branch", "config": {"if": "z > 1",
            "then": {"strategy": "select", "config": {"path": "n"}},
            "else": {"strategy": "predict", "signature": "other -> value"}}}"#,
        r#"{"from": "a.a", "to": "if.value"}, {"from": "b.b.o", "to": "if.other"}, {"from": "input.z", "to": "if.z"}"#,
        "if.value",
        "out: y, z | b, if",
    ),
    (
        "map: element by element, with what all share",
        r#""all": {"strategy": "concat"},
           "each": {"strategy": "map", "config": {"over": "item",
               "module": {"strategy": "predict", "signature": "item, z: int -> text"}}}"#,
        r#"{"from": "a.as", "to": "all.a"}, {"from": "b.bs", "to": "all.b"},
           {"from": "all.value", "to": "each.item"}, {"from": "input.z", "to": "each.z"}"#,
        "each.text",
        "out: x, y, z | a, b, all, each; [0]: x, z | a, all, each; [1]: x, z | a, all, each; [2]: y, z | b, all, each",
    ),
    (
        "map of an op",
        r#""all": {"strategy": "concat"}, "each": {"strategy": "map", "config": {"module": {"strategy": "upper"}}}"#,
        r#"{"from": "a.as", "to": "all.a"}, {"from": "b.bs", "to": "all.b"}, {"from": "all.value", "to": "each.text"}"#,
        "each.text",
        "out: x, y | a, b, all, each; [0]: x | a, all, each; [1]: x | a, all, each; [2]: y | b, all, each",
    ),
];

#[tokio::test]
async fn ops_report_the_sources_of_parts() {
    for (what, nodes, edges, out, expected) in OPS {
        let program = build(&format!(
            r#"{{"name": "g", "inputs": {{"x": "str", "y": "str", "z": "int", "zero": "int"}}, "nodes": {{
                "a": {{"strategy": "predict", "signature": "x -> a: {{n: str, m: str}}, as: list[str]"}},
                "b": {{"strategy": "predict", "signature": "y -> b: {{o: str, m: str}}, bs: list[str]"}},
                {nodes}}}, "edges": [{edges}], "outputs": {{"out": "{out}"}}}}"#
        ));
        let program = program.unwrap_or_else(|problems| panic!("{what}: {problems}"));
        let found = provenance(&program, r#"{"x": "x", "y": "y", "z": 1, "zero": 0}"#).await;
        let out = &found.outputs["out"];
        let parts = out.fields.iter().map(|(part, lineage)| brief(&part.to_string(), lineage));
        let found: Vec<String> = std::iter::once(brief("out", out)).chain(parts).collect();
        assert_eq!(found.join("; "), *expected, "{what}");
    }
}

fn brief(name: &str, lineage: &Lineage) -> String {
    let mut inputs: Vec<String> = lineage.inputs.iter().map(ToString::to_string).collect();
    inputs.sort();
    let inputs = inputs.join(", ").replace("input:", "");
    format!(
        "{name}: {} | {}",
        if inputs.is_empty() { "-" } else { &inputs },
        lineage.nodes.join(", ")
    )
}

#[tokio::test]
async fn errors_within_values_are_errors_in_records() {
    let document = r#"{"name": "kept", "inputs": {"xs": "list[str]", "d": "int"}, "nodes": {
        "all": {"strategy": "map", "config": {"over": "text", "on_error": "keep",
            "module": {"strategy": "parse_structured", "config": {"type": "int"}}}},
        "safe": {"strategy": "unwrap_or"}},
      "edges": [{"from": "input.xs", "to": "all.text"}, {"from": "all.value[0]", "to": "safe.value"},
                {"from": "input.d", "to": "safe.default"}], "outputs": {"out": "safe.value"}}"#;
    let program = build(document).unwrap_or_else(|problems| panic!("{problems}"));
    let found = provenance(&program, r#"{"xs": ["no number", "2"], "d": 7}"#).await;
    assert_eq!(brief("out", &found.outputs["out"]), "out: d | safe");
    let found = provenance(&program, r#"{"xs": ["1", "2"], "d": 7}"#).await;
    assert_eq!(brief("out", &found.outputs["out"]), "out: xs[0] | all, safe");
}

#[tokio::test]
async fn the_calls_of_an_element_are_its_own() {
    let document = r#"{"name": "each", "inputs": {"words": "list[str]"}, "nodes": {
        "each": {"strategy": "map", "config": {"module": {"strategy": "chain_of_thought", "signature": "word -> text"}}}},
      "edges": [{"from": "input.words", "to": "each.word"}],
      "outputs": {"second": "each.text[1]", "all": "each.text"}}"#;
    insta::assert_snapshot!(of(document, r#"{"words": ["a", "b", "c"]}"#).await);
}

#[test]
fn lineages_beyond_the_step_limit_are_omitted_by_name() {
    let nodes: Vec<String> = (0..1_000)
        .map(|n| format!(r#""n{n}": {{"strategy": "predict", "signature": "f{n} -> f{}"}}"#, n + 1))
        .collect();
    let edges: Vec<String> = (1..1_000)
        .map(|n| format!(r#"{{"from": "n{}.f{n}", "to": "n{n}.f{n}"}}"#, n - 1))
        .collect();
    let outputs: Vec<String> =
        (0..1_000).map(|n| format!(r#""o{n}": "n{n}.f{}""#, n + 1)).collect();
    let program = build(&format!(
        r#"{{"name": "long", "nodes": {{{}}}, "edges": [{}], "outputs": {{{}}}}}"#,
        nodes.join(","),
        edges.join(","),
        outputs.join(",")
    ))
    .unwrap();
    let gave = |n: usize| Payload::from_json(&format!(r#"{{"f{}": "text"}}"#, n + 1)).unwrap();
    let record = RunRecord {
        outputs: (0..1_000).map(|n| (format!("o{n}").into(), "text".into())).collect(),
        nodes: (0..1_000).map(|n| (format!("n{n}").into(), gave(n))).collect(),
        ..RunRecord::default()
    };
    let found = program.provenance(&record);
    assert_eq!(found.outputs.len() + found.omitted.len(), 1_000);
    assert_eq!(found.outputs["o99"].nodes.len(), 100);
    assert_eq!(found.omitted.last().map(AsRef::as_ref), Some("o999"));
}
