//! The memory that hostile answers cost: parsing and reporting use memory within a fixed factor of
//! the length of the text, independent of nesting, number of errors and length of paths. Every
//! leniency is reported.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../story/mod.rs"]
mod story;

use std::alloc::System;
use std::sync::Arc;

use cap::Cap;
use dsrs::adapter::ChatAdapter;
use dsrs::coerce::{Leniencies, LeniencyKind, ParseReport, coerce};
use dsrs::types::{Type, TypeDef, parse_type_expr};
use story::{signature, type_of};

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

const LARGE: usize = 1 << 16;

/// The limits of bytes in use at once, and of bytes allocated in total, per byte of text.
const AT_ONCE: usize = 100;
const IN_ALL: usize = 500;

const TYPES: &str = r#"{
    "Person": {"class": {
        "name": "str",
        "age": {"type": "int?", "alias": "years"},
        "friends": {"type": "list[Person]", "default": []}}}}"#;

/// A single test, because memory is counted for the whole process.
#[test]
fn memory_is_proportional_to_the_length_of_hostile_answers() {
    let mut wrong = Vec::new();
    let mut measure = |name: &str, length: usize, (at_once, in_all): (usize, usize)| {
        let (at_once, in_all) = (at_once / length, in_all / length);
        if at_once > AT_ONCE || in_all > IN_ALL {
            wrong.push(format!("{name}: {at_once} at once, {in_all} in all, for each byte"));
        }
    };
    for (name, ty, text) in texts() {
        let ty = wanted(ty);
        let taken = taken(|| {
            let mut report = ParseReport::default();
            let read = coerce(&text, &ty, Leniencies::ALL, &mut report);
            (read, report.to_payload().to_json())
        });
        measure(name, text.len(), taken);
    }
    let schema = signature("{}", "\"question -> reasoning, score: int\"");
    let text = filled("[[ ## reasoning ## ]]\nso\n[[ ## score ## ]]\n1\n", "[[ ## x ## ]]\n");
    let sections = taken(|| {
        let parsed = ChatAdapter::parse_output(&schema, &text).expect("an answer");
        parsed.report.to_payload().to_json()
    });
    measure("sections", text.len(), sections);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    every_leniency_is_listed_or_counted();
}

fn every_leniency_is_listed_or_counted() {
    let text = filled(&"[".repeat(110), "x y, ");
    let slips = text.matches("x y").count();
    let mut report = ParseReport::default();
    coerce(&text, &wanted("any"), Leniencies::ALL, &mut report).expect("a list");
    let unquoted = || report.entries().iter().filter(|entry| entry.kind == LeniencyKind::Unquoted);
    assert_eq!(unquoted().map(|entry| entry.times).sum::<usize>(), slips);
    assert!(unquoted().count() <= 100, "{} entries", unquoted().count());
    let last = unquoted().next_back().expect("an entry").clone();
    assert_eq!(last.path, format!("{}[99]", "[0]".repeat(109)));
    assert!(report.to_payload().to_json().contains(&format!("\"times\":{}", last.times)));
    assert!(report.penalty() >= slips, "{}", report.penalty());
}

/// Texts with extreme paths, notes and noted values.
fn texts() -> Vec<(&'static str, &'static str, String)> {
    let key = "k".repeat(LARGE / 2);
    let list = "1, ".repeat(LARGE / 6);
    let large_friend = format!("{{\"name\": \"{}\"}} ", "a".repeat(LARGE / 2));
    vec![
        ("lists in lists", "any", filled(&"[".repeat(110), "x y, ")),
        ("objects in objects", "any", filled(&"{\"a\":".repeat(110), "\"b\": x y, ")),
        ("a long key", "any", filled(&format!("{{\"{key}\": ["), "x y, ")),
        (
            "long keys in long keys",
            "any",
            filled(&format!("{{\"{}\": ", &key[..250]).repeat(100), "x y, "),
        ),
        (
            "a key again and again",
            "any",
            filled(&format!("{{\"a\": [{list}], "), "\"a\": 1, ") + "\"a\": [" + &list,
        ),
        ("unions in unions", "Tree", filled(&"[".repeat(110), "x y, ")),
        ("a union of objects", "Tree", filled(&"{\"a\":".repeat(110), "\"b\": x y, ")),
        (
            "friends of friends",
            "Person",
            filled(&"{name: a, friends: [".repeat(50), "{name: b c, years: \"1\"}, "),
        ),
        ("one of many objects", "Person", filled(&large_friend, "{\"name\": \"b\"} ")),
        (
            "trees that do not fit",
            "Tree",
            filled("{", &format!("\"a\": {}NaN{}, ", "[".repeat(50), "]".repeat(50))) + "\"a\": 1}",
        ),
        ("members left out", "list[Person]", filled("[", "{\"name\":\"\"},")),
        ("members too many", "Person", filled("{\"name\": \"a\", ", "\"b\": 1, ")),
    ]
}

/// A type over a recursive class and a recursive union.
fn wanted(ty: &str) -> Type {
    let mut defs = type_of(TYPES, "Person").defs.as_ref().clone();
    let tree = parse_type_expr("int | str? | list[Tree] | dict[str, Tree]").expect("a type");
    defs.0.insert("Tree".into(), TypeDef::Alias(tree));
    Type::new(parse_type_expr(ty).expect("a type"), Arc::new(defs))
}

/// A beginning, then repetitions of a piece up to the length limit.
fn filled(start: &str, piece: &str) -> String {
    let room = LARGE.saturating_sub(start.len());
    format!("{start}{}", piece.repeat(room / piece.len()))
}

/// The bytes in use at once and allocated in total. All texts have about the same length, so one
/// maximum is enough for all.
fn taken<T>(work: impl FnOnce() -> T) -> (usize, usize) {
    let (before, in_use) = (MEMORY.total_allocated(), MEMORY.allocated());
    drop(work());
    let at_once = MEMORY.max_allocated().saturating_sub(in_use);
    (at_once, MEMORY.total_allocated() - before)
}
