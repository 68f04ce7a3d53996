//! Texts and their candidates.

use super::super::{Leniencies, LeniencyKind};
use super::of;

#[track_caller]
fn assert_found(text: &str, wanted: &[&str]) {
    let describe = |one: &super::Candidate<'_>| {
        let how: Vec<_> = one.how.kinds().map(LeniencyKind::as_str).collect();
        format!("{}: {}", how.join("+"), one.data.shown())
    };
    let found: Vec<_> = of(text, Leniencies::ALL).iter().map(describe).collect();
    assert_eq!(found, wanted, "{text}");
}

#[test]
fn a_text_that_is_data_is_the_only_candidate() {
    assert_found("[1, 2]", &[": [1, 2]"]);
    assert_found("{a: 1}", &[": {a: 1}!unquoted"]);
    assert_found("42", &[": 42"]);
    assert_found("{\"a\": 1}\n{\"a\": 2}", &[": [{a: 1}, {a: 2}]!punctuation"]);
}

#[test]
fn data_is_found_within_prose() {
    let text = "Sure: {\"a\": 1}. Bye!";
    assert_found(text, &[&format!(": {text}"), "prose: {a: 1}"]);
    let text = "answer = [1, 2];";
    assert_found(text, &[&format!(": {text}"), "prose: [1, 2]"]);
    let text = "From [0, 1) to {\"a\": \"}\"}";
    assert_found(
        text,
        &[
            &format!(": {text}"),
            "prose: {a: \"}\"}",
            "prose: [0, 1) to {\"a\": \"}\"!unquoted]!punctuation",
        ],
    );
}

#[test]
fn every_fenced_block_is_a_candidate() {
    let text = "```json\n{\"a\": 1}\n```\nor rather\n```\n[2]\n```";
    assert_found(text, &[&format!(": {text}"), "fenced: {a: 1}", "fenced: [2]"]);
    let text = "```\nhigh\n```";
    assert_found(text, &[&format!(": {text}"), "fenced: high"]);
    let text = "```json\n{\"a\": \"```\"}";
    assert_found(text, &[&format!(": {text}"), "fenced+unclosed: {a: \"```\"}"]);
}

#[test]
fn an_unclosed_candidate_extends_to_the_end() {
    let text = "Here:\n```json\n{\"a\": [1, 2";
    assert_found(text, &[&format!(": {text}"), "fenced+unclosed: {a: [1, 2]!unclosed}!unclosed"]);
    let text = "Here: {\"a\": [1], \"b\": {\"c\": 2}";
    assert_found(text, &[&format!(": {text}"), "prose: {a: [1], b: {c: 2}}!unclosed"]);
}

#[test]
fn several_objects_are_a_list_too() {
    let text = "One {\"a\": 1} and two {\"a\": 2}";
    let all = "prose: [{a: 1}, {a: 2}]";
    assert_found(text, &[&format!(": {text}"), "prose: {a: 1}", "prose: {a: 2}", all]);
}

#[test]
fn only_allowed_candidates_are_searched() {
    assert_eq!(of("Sure: {\"a\": 1}", Leniencies::STRICT).len(), 1);
    assert_eq!(of("```\n[1]\n```", Leniencies::STRICT).len(), 1);
}
