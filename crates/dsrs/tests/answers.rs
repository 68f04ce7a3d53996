//! What answers are read as: values, and why something is refused. Layouts stand in the corpus.

mod story;

use dsrs::adapter::ChatAdapter;
use dsrs::value::Payload;
use story::{json, signature};

/// The outputs as JSON, with the kinds of leniency behind them; or what is wrong.
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
fn values_are_read_as_their_types_with_every_leniency_reported() {
    let types = r#"{"Team": {"enum": {"billing": null, "tech_help": {"alias": "support"}}},
        "Person": {"class": {"name": "str", "age": "int?", "home": {"type": "str", "default": "here"}}}}"#;
    let cases = [
        ("str", "  \"as it is\"\n", r#""\"as it is\"""#, ""),
        ("int", "1,200", "1200", "number"),
        ("int", "7.0", "7", "number"),
        ("int", "About 42 of them", "42", "prose"),
        ("float", "3", "3.0", ""),
        ("float", "$3.50", "3.5", "number"),
        ("bool", "True", "true", "word"),
        ("bool", "Yes, because it is", "true", "prose"),
        ("Team", "support", r#""tech_help""#, ""),
        ("Team", "Tech Help", r#""tech_help""#, "spelling"),
        ("Team", "It belongs to billing.", r#""billing""#, "prose"),
        (r#"\"low\" | \"high\""#, "High.", r#""high""#, "spelling"),
        ("int?", "null", "null", ""),
        ("int?", "None", "null", "word"),
        ("str?", "None", "null", "word"),
        ("str?", "nobody", r#""nobody""#, ""),
        ("str | int", "5", "5", ""),
        ("list[str]", "[\"a\", \"b\"]", r#"["a","b"]"#, ""),
        ("list[str]", "- a\n- b", r#"["a","b"]"#, "bullets"),
        ("list[int]", "Here: [1, \"2\"] ok", "[1,2]", "number prose"),
        ("dict[str, float]", "{\"a\": 1}", r#"{"a":1.0}"#, ""),
        ("tuple[int, str]", "[1, \"x\"]", r#"[1,"x"]"#, ""),
        (
            "Person",
            "```json\n{\"Name\": \"Ann\", \"x\": 1}\n```",
            r#"{"name":"Ann","age":null,"home":"here"}"#,
            "spelling extra_member fenced",
        ),
        (
            "list[Person]",
            "{\"name\": \"Bo\"}",
            r#"[{"name":"Bo","age":null,"home":"here"}]"#,
            "single_element",
        ),
        ("any", "{\"b\": 1, \"a\": 2}", r#"{"b":1,"a":2}"#, ""),
    ];
    for (ty, text, value, kinds) in cases {
        let schema = format!(
            r#"{{"instructions": "x", "inputs": [], "outputs": [{{"name": "v", "type": "{ty}"}}]}}"#
        );
        let text = format!("[[ ## v ## ]]\n{text}\n\n[[ ## completed ## ]]");
        assert_eq!(
            read(types, &schema, &text),
            format!("{{\"v\":{value}}} {kinds}").trim(),
            "{ty} {text}"
        );
    }
}

#[test]
fn doubtful_values_are_refused_with_their_place() {
    let types = r#"{"Person": {"class": {"name": "str", "age": "int"}}}"#;
    let cases = [
        ("int", "7/10", "expected a whole number, found `7/10`"),
        ("int", "7.5", "expected a whole number, found `7.5`"),
        ("int", "between 3 and 4", "expected a whole number, found `between 3 and 4`"),
        ("list[Person]", r#"[{"name": "A", "age": 1}, {"name": "B"}]"#, "[1].age: is missing"),
        ("Person", r#"{"name": "A", "age": "old"}"#, "age: expected a whole number, found `old`"),
        ("tuple[int, int]", "[1]", "expected 2 values, found 1"),
        ("list[str]", "nothing to list", "expected a list, found `nothing to list`"),
    ];
    for (ty, text, reason) in cases {
        let schema = format!(
            r#"{{"instructions": "x", "inputs": [], "outputs": [{{"name": "v", "type": "{ty}"}}]}}"#
        );
        assert_eq!(
            read(types, &schema, &format!("[[ ## v ## ]]\n{text}")),
            format!("error: `v`: {reason}")
        );
    }
}

#[test]
fn a_strict_field_takes_no_leniency() {
    let schema = r#"{"instructions": "x", "inputs": [], "outputs": [{"name": "v", "type": "int", "strict": true}]}"#;
    assert_eq!(read("{}", schema, "[[ ## v ## ]]\n7"), r#"{"v":7}"#);
    assert!(read("{}", schema, "[[ ## v ## ]]\n7.0").starts_with("error"));
    assert!(read("{}", schema, "7").starts_with("error"));
}

#[test]
fn asserts_refuse_and_checks_report_inside_classes_too() {
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
}

#[test]
fn hostile_texts_give_an_error_and_not_a_crash() {
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
