//! Parsing of answers: values, and the reasons of errors. The corpus covers layouts.

use dsrs::adapter::ChatAdapter;
use dsrs::coerce::Leniencies;
use dsrs::value::Payload;

use crate::story::{json, signature};

/// The outputs as JSON and the kinds of leniency, or the error.
fn read(types: &str, schema: &str, text: &str) -> String {
    match ChatAdapter::parse_output(&signature(types, schema), text) {
        Ok(parsed) => {
            let kinds = parsed.report.entries().iter().map(|entry| entry.kind.as_str());
            let kinds: Vec<_> = kinds.filter(|kind| *kind != "default").collect();
            format!("{} {}", Payload::map(parsed.fields).to_json(), kinds.join(" "))
                .trim()
                .to_owned()
        }
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn a_strict_field_allows_no_leniency() {
    let schema = r#"{"instructions": "x", "inputs": [], "outputs": [{"name": "v", "type": "int", "strict": true}]}"#;
    assert_eq!(read("{}", schema, "[[ ## v ## ]]\n7"), r#"{"v":7}"#);
    assert!(read("{}", schema, "[[ ## v ## ]]\n7.0").starts_with("error"));
    assert!(read("{}", schema, "7").starts_with("error"));
}

#[test]
fn asserts_fail_and_checks_report_inside_classes() {
    let types = r#"{"P": {"class": {"age": {"type": "int", "constraints": [{"assert": "this >= 0", "label": "age"}]}}}}"#;
    let schema = r#"{"instructions": "x", "inputs": [], "outputs": [
        {"name": "p", "type": "list[P]"},
        {"name": "s", "constraints": [{"check": "this|length < 3", "label": "short"}]}]}"#;
    let answer = |age: &str| format!("[[ ## p ## ]]\n[{{\"age\": {age}}}]\n[[ ## s ## ]]\nlong");
    let parsed = ChatAdapter::parse_output(&signature(types, schema), &answer("1")).unwrap();
    assert_eq!((&*parsed.checks[0].label, parsed.checks[0].passed), ("short", false));
    let error = ChatAdapter::parse_output(&signature(types, schema), &answer("-1")).unwrap_err();
    assert_eq!(error.to_string(), "`p`: [0].age: must hold, but does not: `age`");
    assert_eq!(error.failed_assert().map(|(_, label)| &**label), Some("age"));
    let many = answer("-1").replace("{\"age\": -1}", &"{\"age\": -1}, ".repeat(80));
    let error = ChatAdapter::parse_output(&signature(types, schema), &many).unwrap_err();
    assert_eq!(error.problems.len(), 50);
    let last = error.problems.last().unwrap().message();
    assert_eq!(last, "[49].age: must hold, but does not: `age`; and 30 more do not hold");
}

#[test]
fn a_draft_in_reasoning_before_a_value_never_wins() {
    let text = "<think>{\"a\": 1}</think>\n<thought>or 3?</thought> {\"a\": 2}";
    let ty = crate::story::type_of("{}", "{a: int}");
    let read = ChatAdapter::parse_value(&ty, text, Leniencies::STRICT).unwrap();
    assert_eq!(read.value, json(r#"{"a": 2}"#));
    let kinds: Vec<_> = read.report.entries().iter().map(|entry| entry.kind.as_str()).collect();
    assert_eq!(kinds, ["reasoning", "reasoning"]);
    let own = crate::story::type_of("{}", "{thought: str, a: int}");
    let tags = "<thought>so</thought><a>1</a>";
    let read = ChatAdapter::parse_value(&own, tags, Leniencies::ALL).unwrap();
    assert_eq!(read.value, json(r#"{"thought": "so", "a": 1}"#));
}

#[test]
fn hostile_texts_are_errors_and_do_not_crash() {
    let types = r#"{"Tree": {"class": {"kids": "list[Tree]"}}}"#;
    let schema =
        r#"{"instructions": "x", "inputs": [], "outputs": [{"name": "v", "type": "Tree"}]}"#;
    for text in [
        "[".repeat(100_000),
        "{\"kids\":[".repeat(50_000),
        "```".repeat(999),
        "[[ ## ".repeat(9_999),
    ] {
        assert!(read(types, schema, &text).starts_with("error"));
    }
    assert_eq!(json("1"), Payload::Int(1));
}
