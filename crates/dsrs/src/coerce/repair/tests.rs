//! Texts and the trees read from them.

use super::super::{Leniencies, LeniencyKind};
use super::parse;

#[track_caller]
fn assert_read(text: &str, tree: &str) {
    let found = parse(text, Leniencies::ALL).map(|found| found.shown());
    assert_eq!(found.as_deref().unwrap_or("none"), tree, "{text}");
}

#[test]
fn valid_json_has_no_errors() {
    assert_read(
        r#" {"a": [1, -2.5e3, true, null], "b": {"c": "x\ny"}, "d": {}, "e": []} "#,
        r#"{a: [1, -2.5e3, true, null], b: {c: "x\ny"}, d: {}, e: []}"#,
    );
    assert_read(r#""text""#, r#""text""#);
    assert_read("12.50", "12.50");
}

#[test]
fn valid_json_is_never_repaired() {
    assert_read(r#"{"a\"}": 0}"#, "{a\"}: 0}");
    assert_read(r#"{"a": " ", "]\b\"]_-": false}"#, "{a: \" \", ]\u{8}\"]_-: false}");
    assert_read(r#"["x\", ", "y"]"#, r#"["x\", ", "y"]"#);
}

#[test]
fn a_text_without_a_container_is_a_bare_text() {
    assert_read("He said \"hi\"", "He said \"hi\"");
    assert_read(r#""a" and "b""#, r#""a" and "b""#);
    assert_read(r#"{"a": 1} is it"#, "none");
    assert_read("", "none");
}

#[test]
fn commas_and_colons_go_wrong() {
    assert_read(r#"{"a": 1 "b": 2}"#, "{a: 1, b: 2}!punctuation");
    assert_read(r#"{"a": 1, "b": 2,}"#, "{a: 1, b: 2}!punctuation");
    assert_read("[1,,2]", "[1, 2]!punctuation");
    assert_read("[1 2\n3]", "[1, 2, 3]!punctuation");
    assert_read(r#"["a" "b"]"#, r#"["a", "b"]!punctuation"#);
    assert_read(r#"{"a" = 1, "b" => 2}"#, "{a: 1, b: 2}!punctuation");
    assert_read(r#"{"a" 1}"#, "{a: 1}!punctuation");
    assert_read(r#"{"a": , "b": 2}"#, "{a: ?, b: 2}!punctuation");
}

#[test]
fn brackets_go_wrong() {
    assert_read(r#"{"a": [1, 2"#, "{a: [1, 2]!unclosed}!unclosed");
    assert_read(r#"{"a": [1, 2}"#, "{a: [1, 2]!unclosed}");
    assert_read(r#"{"a": [1, 2}, "b": 3}"#, "{a: [1, 2]!punctuation, b: 3}");
    assert_read(r#"{"a": {"b": 1}}, "c": 2}"#, "{a: {b: 1}, c: 2}!punctuation");
    assert_read("[1, 2}", "[1, 2]!punctuation");
    assert_read("[1, 2]]", "[1, 2]!punctuation");
    assert_read(r#"{{"a": {{"b": 1}}}}"#, "{a: {b: 1}!punctuation}!punctuation");
    assert_read(r#"["a": 1, "b": 2]"#, "{a: 1, b: 2}!punctuation");
}

#[test]
fn a_truncated_part_is_missing() {
    assert_read(r#"{"a": 1, "b":"#, "{a: 1, b: ?}!unclosed");
    assert_read(r#"{"a": 1, "b"#, "{a: 1}!unclosed");
    assert_read(r#"{"a": "so f"#, r#"{a: "so f"!unclosed}!unclosed"#);
}

#[test]
fn texts_need_no_quotes() {
    assert_read(
        "{name: Ann O'Hara, site: http://x.org/a, at: 12:30, lang: C#, rank: #1}",
        "{name: Ann O'Hara!unquoted, site: http://x.org/a!unquoted, at: 12:30!unquoted, \
         lang: C#!unquoted, rank: #1!unquoted}!unquoted",
    );
    assert_read(
        "{city: Paris, France, n: 1,200}",
        "{city: Paris, France!unquoted, n: 1,200!unquoted}!unquoted",
    );
    assert_read("[red, dark green]", "[red!unquoted, dark green!unquoted]");
    assert_read("[\n  red\n  green\n]", "[red!unquoted, green!unquoted]!punctuation");
}

#[test]
fn quotes_of_all_kinds_quote() {
    assert_read("['it's', `b`, “c”]", r#"["it's"!quotes!escape, "b"!quotes, "c"!quotes]"#);
    assert_read("{'a': '''x\ny'''}", r#"{a: "x\ny"!quotes}!quotes"#);
    assert_read(r#"{\"a\": \"b\"}"#, r#"{a: "b"!quotes}!quotes"#);
}

#[test]
fn inner_quotes_and_escapes_are_repaired() {
    assert_read(
        r#"{"a": "He said "hi" to me", "b": 1}"#,
        r#"{a: "He said \"hi\" to me"!escape, b: 1}"#,
    );
    assert_read(
        r#"{"a": "He said "hi", then left"}"#,
        r#"{a: "He said \"hi\", then left"!escape}"#,
    );
    assert_read("{\"a\": \"x\ny\"}", r#"{a: "x\ny"!escape}"#);
    assert_read(
        r#"["\d+", "it\'s", "\ud83d", "\u12", "\ud83d\ude00"]"#,
        r#"["\\d+"!escape, "it's"!escape, "�"!escape, "\\u12"!escape, "😀"]"#,
    );
    assert_read("{\"a\": \"x,\n \"b\": 1}", r#"{a: "x"!unclosed, b: 1}"#);
}

#[test]
fn comments_are_left_out() {
    assert_read("{\"a\": 1, // one\n \"b\": 2 # two\n /* three */}", "{a: 1, b: 2}!comment");
    assert_read("[1, # one\n 2]", "[1, 2]!comment");
    assert_read("[#fff, #000]", "[#fff!unquoted, #000!unquoted]");
}

#[test]
fn python_is_read() {
    assert_read(
        "{'a': True, 'b': (1, None)}",
        "{a: True!python, b: [1, None!python]!python}!quotes",
    );
    assert_read("{1, 2}", "[1, 2]!python");
    assert_read("(1, 2)", "[1, 2]!python");
    assert_read("(a) b", "(a) b");
    assert_read("[NaN, -Infinity]", "[NaN!unquoted, -Infinity!unquoted]");
}

#[test]
fn an_error_that_is_not_allowed_is_not_repaired() {
    let without = Leniencies::ALL.without(LeniencyKind::Punctuation);
    assert_eq!(parse("[1,]", without), None);
    assert_eq!(parse(r#"{"a": "b}"#, Leniencies::STRICT), None);
}

#[test]
fn depth_is_bounded() {
    for open in ["[", "{\"a\":", "(", "{"] {
        let text = open.repeat(100_000);
        assert!(parse(&text, Leniencies::ALL).is_some());
    }
}
