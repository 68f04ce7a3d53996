//! Values at the boundary.

use std::sync::Arc;

use dsrs::problem::{At, Problems};
use dsrs::types::{
    Class, ClassField, Type, TypeDef, TypeDefs, TypeIR, absent_value, admit, admit_default,
};
use dsrs::value::{Map, Payload};

use super::{json, ty};

fn admitted(value: &Payload, ty: &Type) -> String {
    let mut problems = Problems::new();
    let admitted = admit(value, ty, &At::Root, &mut problems);
    assert_eq!(admitted.is_some(), problems.is_empty());
    admitted.map_or_else(|| problems.to_string(), |value| value.to_json())
}

fn check(table: &[(&str, &str, &str)]) {
    for (of, value, expected) in table {
        assert_eq!(admitted(&json(value), &ty(of)), *expected, "{value} as {of}");
    }
}

#[test]
fn values_that_fit_are_converted() {
    check(&[
        ("str", r#""a\u0000b""#, r#""a\u0000b""#),
        ("float", "3", "3.0"),
        ("float", "3.5", "3.5"),
        ("float | int", "3", "3"),
        ("float | str", "3", "3.0"),
        ("bytes", r#""aGk=""#, r#""aGk=""#),
        ("any", r#"{"a":[1,null]}"#, r#"{"a":[1,null]}"#),
        ("Mood", r#""calm""#, r#""calm""#),
        ("1 | true", "true", "true"),
        ("Person", r#"{"age":1,"name":"a"}"#, r#"{"name":"a","age":1}"#),
        ("Chain", r#"{"head":"a"}"#, r#"{"head":"a","tail":null}"#),
        ("Wood", r#"{"children":[],"value":1}"#, r#"{"value":1.0,"children":[]}"#),
        ("tuple[int, str]", r#"[1,"a"]"#, r#"[1,"a"]"#),
        ("Json", r#"[1,{"a":null}]"#, r#"[1.0,{"a":null}]"#),
        ("Pet | Person", r#"{"age":1,"name":"a"}"#, r#"{"name":"a","age":1}"#),
        ("int | error", "1", "1"),
    ]);
}

#[test]
fn values_that_do_not_fit_are_reported_at_their_place() {
    check(&[
        ("int", r#""1""#, "/: expected int, found a string (wrong_type)"),
        ("int", "true", "/: expected int, found a boolean (wrong_type)"),
        ("int", "1.0", "/: expected int, found a number (wrong_type)"),
        ("int", "1e30", "/: outside the range of 64-bit integers (invalid_value)"),
        ("int", "9223372036854775808", "/: outside the range of 64-bit integers (invalid_value)"),
        (
            "float",
            "9007199254740993",
            "/: 9007199254740993 is beyond 2^53 and would lose digits as a float (invalid_value)",
        ),
        ("bytes", r#""a""#, "/: expected padded base64 (invalid_value)"),
        ("str?", "1", "/: expected str?, found 1 (wrong_type)"),
        (
            "Mood",
            r#""clam""#,
            "/: expected one of \"calm\", \"angry\", found \"clam\"; did you mean \"calm\"? (invalid_value)",
        ),
        ("Mood", "1", "/: expected Mood, found an integer (wrong_type)"),
        (
            "\"low\" | \"high\"",
            r#""mid""#,
            "/: expected \"low\" | \"high\", found \"mid\" (invalid_value)",
        ),
        ("\"low\"", "1", "/: expected \"low\", found 1 (wrong_type)"),
        (
            "Person",
            r#"{"nme":"a"}"#,
            "/name: `name` is missing; its type is str (missing_field); \
             /age: `age` is missing; its type is int (missing_field); \
             /nme: unknown member `nme`; did you mean `name`? (unknown_field)",
        ),
        (
            "list[Person?]",
            r#"[null,{"name":1,"age":2}]"#,
            "/1/name: expected str, found an integer (wrong_type)",
        ),
        ("dict[str, int]", r#"{"a/b":"x"}"#, "/a~1b: expected int, found a string (wrong_type)"),
        (
            "tuple[int, int]",
            "[1]",
            "/: expected tuple[int, int], which has 2 elements, found 1 (invalid_value)",
        ),
        (
            "{kind: \"a\", n: int} | {kind: \"b\", m: int}",
            r#"{"kind":"b","m":"x"}"#,
            "/m: expected int, found a string (wrong_type)",
        ),
        ("int | error", "{}", "/: expected int | error, found an object (wrong_type)"),
        (
            "error",
            "{}",
            "/: a value of type `error` cannot be passed in; only nodes produce errors (wrong_type)",
        ),
        ("Missing", "1", "/: the type `Missing` is not defined (invalid_type)"),
        ("any", "1", "1"),
    ]);
}

/// A class `A` with the fields `next: A` and `n: float`, and these defaults.
fn with_defaults(next: Option<Payload>, n: Option<Payload>) -> Type {
    let next = ClassField { default: next, ..ClassField::of(TypeIR::Named("A".into())) };
    let n = ClassField { default: n, ..ClassField::of(TypeIR::Float) };
    let fields = [("next".into(), next), ("n".into(), n)].into_iter().collect();
    let class = TypeDef::Class(Class { description: None, fields });
    let defs = TypeDefs([("A".into(), class)].into_iter().collect());
    Type::new(TypeIR::Named("A".into()), Arc::new(defs))
}

#[test]
fn absent_members_get_their_converted_default() {
    let ty = with_defaults(None, Some(1.into()));
    let ir = TypeIR::Class(Arc::new(Class {
        description: None,
        fields: [(
            "n".into(),
            ClassField { default: Some(1.into()), ..ClassField::of(TypeIR::Float) },
        )]
        .into_iter()
        .collect(),
    }));
    assert_eq!(admitted(&json("{}"), &Type::new(ir, ty.defs)), r#"{"n":1.0}"#);
}

#[test]
fn defaults_within_defaults_do_not_recurse_forever() {
    let ty = with_defaults(Some(Payload::map(Map::new())), Some(1.into()));
    assert!(admitted(&json("{}"), &ty).starts_with("/next/next: `next` is missing"));
    let mut problems = Problems::new();
    assert_eq!(admit_default(&json("{}"), &ty, &At::Root, &mut problems), None);
}

#[test]
fn a_value_of_type_any_is_required_but_may_be_null() {
    let defs = TypeDefs::default();
    assert_eq!(absent_value(&TypeIR::Any, &defs, None), None);
    assert_eq!(absent_value(&TypeIR::Any, &defs, Some(&1.into())), Some(1.into()));
    assert_eq!(absent_value(&TypeIR::Null, &defs, None), Some(Payload::Null));
    assert_eq!(
        admitted(&json("{}"), &super::ty("{a: any}")),
        "/a: `a` is missing; its type is any (missing_field)"
    );
}

#[test]
fn values_that_nest_too_deep_are_reported() {
    let mut value = json("1");
    for _ in 0..1000 {
        value = Payload::list(vec![value]);
    }
    assert!(admitted(&value, &ty("Json")).ends_with("(too_large)"));
    let list = super::defs("L = list[L]");
    let list = Type::new(TypeIR::Named("L".into()), list);
    assert!(admitted(&value, &list).ends_with("(too_large)"));
}
