//! Texts and the objects read from them.

use super::super::Leniencies;
use super::super::loose::Loose;
use super::{apart, bullets, object, table};

type Reader = fn(&str, Leniencies) -> Option<Loose<'_>>;

#[track_caller]
fn assert_read(read: Reader, text: &str, wanted: &str) {
    let found = read(text, Leniencies::ALL).map(|found| found.shown());
    assert_eq!(found.as_deref().unwrap_or("none"), wanted, "{text}");
}

#[test]
fn lines_of_keys_and_values_are_an_object() {
    assert_read(object, "name: Ann\nage: 30", "{name: Ann, age: 30}!lines");
    assert_read(object, "**Name:** Ann\n**Age**: 30", "{Name: Ann, Age: 30}!lines");
    assert_read(object, "- Name: Ann\n- Age: 30", "{Name: Ann, Age: 30}!lines");
    assert_read(object, "- Name: Ann\n  Age: 30", "{Name: Ann, Age: 30}!lines");
    assert_read(object, "name = Ann\nage=30", "{name: Ann, age: 30}!lines");
    assert_read(object, "name: Ann, age: 30", "{name: Ann!unquoted, age: 30}!lines");
    assert_read(object, "\"name\": \"Ann\",\n\"age\": 30", "{name: \"Ann\", age: 30}!lines");
    assert_read(object, "name:\nage: 30", "{name: ?, age: 30}!lines");
    assert_read(object, "Here it is:\nname: Ann", "{name: Ann}!prose!lines");
    assert_read(object, "at: 12:30\nsite: http://x.org", "{at: 12:30, site: http://x.org}!lines");
}

#[test]
fn values_go_on_over_lines_that_are_no_entries() {
    assert_read(object, "tags:\n  - red\n  - green\nn: 1", "{tags: - red\n  - green, n: 1}!lines");
    assert_read(object, "tags:\n- red\n- green\nn: 1", "{tags: - red\n- green, n: 1}!lines");
    assert_read(
        object,
        "at:\n  city: Rome\n  zip: 1\nn: 1",
        "{at: city: Rome\n  zip: 1, n: 1}!lines",
    );
    assert_read(object, "note: one\n  two\nn: {\"a\":\n 1}", "{note: one\n  two, n: {a: 1}}!lines");
    assert_read(object, "note: |\n  one\n  two\nn: 1", "{note: \"one\\ntwo\", n: 1}!lines");
    assert_read(object, "note: >-\n  one\n  two", "{note: \"one two\"}!lines");
}

#[test]
fn comments_and_prose_are_reported() {
    assert_read(
        object,
        "# who\nname: Ann # the first\n---\nlang: C#",
        "{name: Ann, lang: C#}!comment!lines",
    );
    assert_read(object, "Sure!\nname: Ann", "{name: Ann}!prose!lines");
    assert_read(object, "no entry here", "none");
}

#[test]
fn tables_are_lists_of_objects() {
    let text = "| **Name** | Age |\n|---|:-:|\n| Ann | 30 |\n| Bob | |";
    assert_read(table, text, "[{Name: Ann, Age: 30}, {Name: Bob, Age: ?}]!table");
    assert_read(table, "As asked:\na | b\n--|--\n1 | 2\nBye", "[{a: 1, b: 2}]!prose!table");
    assert_read(table, "| a | b |", "none");
}

#[test]
fn records_are_separated_by_bullets_or_blank_lines() {
    let wanted = "[{name: Ann, age: 30}, {name: Bob, age: 40}]!bullets!lines";
    assert_read(bullets, "- name: Ann\n  age: 30\n- name: Bob\n  age: 40", wanted);
    assert_read(bullets, "1. name: Ann\n   age: 30\n2. name: Bob\n   age: 40", wanted);
    let wanted = "[{name: Ann, age: 30}, {name: Bob, age: 40}]!lines";
    assert_read(apart, "name: Ann\nage: 30\n\nname: Bob\nage: 40", wanted);
    assert_read(apart, "- name: Ann\n- age: 30\n\n- name: Bob\n- age: 40", wanted);
    assert_read(apart, "- name: Ann\n- name: Bob\n\n- name: Cyd\n- name: Dan", "none");
    assert_read(object, "- name: Ann\n  age: 30\n- name: Bob\n  age: 40", "none");
    assert_read(bullets, "- red\n- green", "none");
}
