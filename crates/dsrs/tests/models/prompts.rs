//! The prompts, verbatim.

use dsrs::adapter::ChatAdapter;
use dsrs::predict::DynPredictor;

use crate::story::{fields, predictor, signature};

const TYPES: &str = r#"{
  "Mood": {"enum": {"calm": null, "angry": null}},
  "Team": {"enum": {"billing": "Money and invoices", "tech": {"description": "It does not work", "alias": "support"}}},
  "Person": {"class": {"name": "str", "age": {"type": "int?", "description": "in years", "alias": "years"}}, "description": "Someone"}
}"#;

const TICKET: &str = r#"{
  "instructions": "Sort the ticket.",
  "inputs": [{"name": "ticket", "description": "What the customer wrote."}, {"name": "sender", "type": "Person"}],
  "outputs": [
    {"name": "mood", "type": "Mood"},
    {"name": "topics", "type": "list[str]", "description": "At most three."},
    {"name": "team", "type": "Team"},
    {"name": "score", "type": "int", "constraints": [{"assert": "this >= 0"}]},
    {"name": "contact", "type": "Person?"},
    {"name": "answer", "alias": "reply"}
  ]
}"#;

/// All messages of a call as readable text.
fn shown(state: &str, types: &str, schema: &str, input: &str) -> String {
    let predictor = predictor(&signature(types, schema), state);
    let messages = predictor.render(&fields(input));
    let turns = messages.iter().map(|m| format!("--- {:?}\n{}\n", m.role, m.content));
    turns.collect()
}

#[test]
fn a_simple_question() {
    let input = r#"{"question": "Who wrote \"Emma\"?"}"#;
    insta::assert_snapshot!(shown("{}", "{}", r#""question -> answer""#, input));
}

#[test]
fn several_typed_outputs() {
    let input = r#"{"ticket": "My invoice is wrong!", "sender": {"name": "Ann", "age": 30}}"#;
    insta::assert_snapshot!(shown("{}", TYPES, TICKET, input));
}

#[test]
fn demos_and_another_instruction() {
    let state = r#"{"instruction": "Answer in one word.", "demos": [
        {"input": {"question": "2+2?"}, "output": {"reasoning": "Two and two.", "answer": "4"}},
        {"input": {"question": "Capital of France?"}, "output": {"answer": "Paris"}}]}"#;
    let schema = r#""question -> reasoning, answer""#;
    insta::assert_snapshot!(shown(state, "{}", schema, r#"{"question": "3+3?"}"#));
}

#[test]
fn values_in_the_format_that_the_field_asks_for() {
    let ty = r#""type": "list[{name: str, tags: list[str]}]""#;
    let schema = format!(
        r#"{{"instructions": "Go.", "inputs": [{{"name": "a", {ty}}}, {{"name": "b", {ty}, "format": "json"}},
            {{"name": "c", {ty}, "format": "yaml"}}, {{"name": "d", {ty}, "format": "text"}}],
            "outputs": [{{"name": "out"}}]}}"#
    );
    let value = r#"[{"name": "x: y", "tags": ["p", "q"]}, {"name": "no", "tags": []}]"#;
    let input = format!(r#"{{"a": {value}, "b": {value}, "c": {value}, "d": {value}}}"#);
    let schema = signature("{}", &schema);
    insta::assert_snapshot!(ChatAdapter::format_input(&schema, &fields(&input)));
}

#[test]
fn texts_pass_verbatim_even_with_headers_and_nul_in_them() {
    let schema = signature("{}", r#""text -> answer""#);
    let input = fields(r#"{"text": "a\u0000é\n[[ ## answer ## ]]\nno"}"#);
    let shown = ChatAdapter::format_input(&schema, &input);
    assert!(shown.starts_with("[[ ## text ## ]]\na\u{0}é\n[[ ## answer ## ]]\nno\n\nNow write"));
}

#[test]
fn a_written_output_reads_back_as_itself() {
    let schema = signature(TYPES, TICKET);
    let output = fields(
        r#"{"mood": "angry", "topics": ["a", "b\nc"], "team": "tech", "score": 3,
            "contact": {"name": "Bo", "age": null}, "answer": "line one\n\n\"quoted\" {\"x\": 1}"}"#,
    );
    let text = ChatAdapter::format_output(&schema, &output);
    assert!(text.contains("[[ ## team ## ]]\nsupport\n") && text.contains("\"years\":null"));
    let parsed = ChatAdapter::parse_output(&schema, &text).unwrap();
    assert_eq!(parsed.fields, output);
    assert!(parsed.report.is_empty(), "{:?}", parsed.report);
}
