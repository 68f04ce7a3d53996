//! Which types are assignable to which.

use std::sync::Arc;

use dsrs::types::{Type, TypeDefs, TypeIR, parse_type_expr};

use super::{defs, ty};

fn verdict(from: &str, to: &str) -> String {
    ty(from).assignable_to(&ty(to)).map_or_else(|mismatch| mismatch.to_string(), |()| "ok".into())
}

fn check(table: &[(&str, &str, &str)]) {
    let failures: Vec<_> = table
        .iter()
        .map(|(from, to, expected)| (from, to, expected, verdict(from, to)))
        .filter(|(_, _, expected, found)| **expected != found)
        .collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn assignable_types() {
    let table = [
        ("int", "float"),
        ("3", "int"),
        ("3", "float"),
        ("\"low\"", "str"),
        ("true", "bool"),
        ("Mood", "str"),
        ("Mood", "Wide"),
        ("Mood", "any"),
        ("int", "int | str"),
        ("int", "str | float"),
        ("int?", "float | str | null"),
        ("\"a\" | \"b\"", "str"),
        ("list[int]", "list[float?]"),
        ("dict[str, int]", "dict[str, any]"),
        ("tuple[int, Mood]", "tuple[float, str]"),
        ("{a: int, b: str}", "{b: str}"),
        ("{a: int, b: str}", "{b: str, a: float}"),
        ("Person", "Pet"),
        ("Person", "{age: float}"),
        ("Person", "{}"),
        ("error", "error"),
        ("error", "int | error"),
        ("list[error]", "any"),
        ("any", "any"),
        ("any", "any?"),
        ("Text", "str"),
        ("str", "Text?"),
        ("null", "int?"),
    ];
    check(&table.map(|(from, to)| (from, to, "ok")));
}

/// Enums, literals and unions of them are compared by their values, whatever they are written as.
#[test]
fn finite_types_are_assignable_if_all_their_values_are() {
    let types: [(&str, &[&str]); 8] = [
        ("Mood", &["calm", "angry"]),
        ("Wide", &["calm", "angry", "glad"]),
        ("\"calm\"", &["calm"]),
        ("\"angry\" | \"calm\"", &["calm", "angry"]),
        ("\"calm\" | \"glad\" | \"angry\"", &["calm", "angry", "glad"]),
        ("\"glad\" | Mood", &["calm", "angry", "glad"]),
        ("\"glad\" | \"calm\"", &["calm", "glad"]),
        ("\"glad\"", &["glad"]),
    ];
    for (from, values) in types {
        for (to, accepted) in types {
            let fits = values.iter().all(|value| accepted.contains(value));
            for (from, to) in
                [(from.to_owned(), to.to_owned()), (format!("list[{from}]"), format!("list[{to}]"))]
            {
                assert_eq!(verdict(&from, &to) == "ok", fits, "{from} to {to}");
            }
        }
    }
    assert_eq!(verdict("bool", "true | false"), "ok");
    assert_eq!(verdict("Mood", "str | int"), "ok");
}

#[test]
fn mismatches_name_place_and_reason() {
    check(&[
        ("str", "int", "str is not assignable to int"),
        ("int", "str", "int is not assignable to str"),
        ("float", "int", "float is not assignable to int"),
        ("bool", "int", "bool is not assignable to int"),
        ("str", "\"low\"", "str is not assignable to \"low\""),
        ("\"wild\"", "Mood", "\"wild\" is not assignable to Mood: the target has no member `wild`"),
        ("str", "Mood", "str is not assignable to Mood"),
        ("Wide", "Mood", "Wide is not assignable to Mood: the target has no member `glad`"),
        ("int?", "int", "int? is not assignable to int: it may be null"),
        ("int | str", "int", "str is not assignable to int"),
        ("str", "int | float", "str is not assignable to int | float"),
        ("list[str]", "list[int]", "[*]: str is not assignable to int"),
        ("tuple[int, str]", "tuple[int, int]", "[1]: str is not assignable to int"),
        (
            "tuple[int]",
            "tuple[int, int]",
            "tuple[int] is not assignable to tuple[int, int]: they have different lengths",
        ),
        ("tuple[int, int]", "list[int]", "tuple[int, int] is not assignable to list[int]"),
        ("dict[str, int]", "{a: int}", "dict[str, int] is not assignable to {a: int}"),
        ("{a: int}", "dict[str, int]", "{a: int} is not assignable to dict[str, int]"),
        (
            "{person: {age: str}}",
            "{person: {age: int}}",
            "person.age: str is not assignable to int",
        ),
        (
            "list[{tags: dict[str, str]}]",
            "list[{tags: dict[str, int]}]",
            "[*].tags[*]: str is not assignable to int",
        ),
        ("Pet", "Person", "Pet is not assignable to Person: the source has no field `age`"),
        (
            "Pet",
            "{name: str, nick: str?}",
            "Pet is not assignable to {name: str, nick: str?}: the source has no field `nick`",
        ),
        ("Pet?", "{name: int}?", "name: str is not assignable to int"),
        (
            "any",
            "int",
            "any is not assignable to int: only `any` accepts `any`; give it a type with a coerce node",
        ),
        ("error", "any", "error is not assignable to any: an error is not data; handle it first"),
        (
            "int | error",
            "any",
            "error is not assignable to any: an error is not data; handle it first",
        ),
        ("error", "str", "error is not assignable to str"),
        ("Missing", "int", "Missing is not assignable to int: the type `Missing` is not defined"),
        ("Self", "int", "Self is not assignable to int: the type `Self` is not defined"),
    ]);
}

#[test]
fn recursive_types_are_compared_by_their_members() {
    check(&[
        ("Tree", "Tree", "ok"),
        ("Tree", "Wood", "ok"),
        ("Wood", "Tree", "value: float is not assignable to int"),
        ("Leafy", "Tree", "ok"),
        ("Tree", "Leafy", "Tree is not assignable to Leafy: the source has no field `colour`"),
        ("Odd", "Even", "ok"),
        ("Odd", "Tree", "ok"),
        ("Tree", "Odd", "ok"),
        ("Bad", "Tree", "children[*].value: str is not assignable to int"),
        ("Tree", "Bad", "children[*].value: int is not assignable to str"),
        ("Loop", "Chain", "ok"),
        ("Chain", "Loop", "Chain is not assignable to Loop: the source has no field `mark`"),
        ("Plain", "Json", "ok"),
        ("Json", "Plain", "float is not assignable to Plain"),
        ("list[list[int]]", "Json", "ok"),
        ("Tree", "Json", "Tree is not assignable to Json"),
        ("Forth", "int", "ok"),
        ("Back", "float", "ok"),
    ]);
}

#[test]
fn an_assumption_made_in_a_failed_branch_does_not_leak() {
    // If the pair under comparison were assumed to be assignable, Left would fit the first member of
    // Right. That branch fails on `end`, and its assumption must not be used elsewhere.
    let defs = defs(
        "Left = {next: Left, end: str}
         Inner = {next: Inner, end: int}
         Right = {next: Inner, end: str}",
    );
    let of = |text| Type::new(parse_type_expr(text).unwrap(), defs.clone());
    assert!(of("Left").assignable_to(&of("Inner")).is_err());
    assert!(of("Left").assignable_to(&of("Inner | Right")).is_err());
    assert!(of("Left").assignable_to(&of("Right | {next: Left, end: str}")).is_ok());
}

#[test]
fn names_and_definitions_do_not_count() {
    let here = Type::new(parse_type_expr("A").unwrap(), defs("A = {x: int, next: A?}"));
    let there = Type::new(parse_type_expr("B").unwrap(), defs("B = {x: float, next: B?}"));
    assert!(here.assignable_to(&there).is_ok());
    assert_eq!(there.assignable_to(&here).unwrap_err().path, "x");
}

#[test]
fn types_that_multiply_the_work_are_decided_or_rejected() {
    let chain = |last: &str| {
        let mut lines: Vec<String> = (0..60)
            .map(|n| {
                let next = n + 1;
                format!("T{n} = {{l: T{next} | {{z: T{next}}}, r: T{next} | {{z: T{next}}}}}")
            })
            .collect();
        lines.push(format!("T60 = {{x: {last}}}"));
        Type::new(parse_type_expr("T0").unwrap(), defs(&lines.join("\n")))
    };
    assert!(chain("int").assignable_to(&chain("float")).is_ok());
    assert!(chain("float").assignable_to(&chain("int")).is_err());
    let literals = |from: i64| {
        let members = (from..from + 2000).map(|n| TypeIR::Literal(dsrs::types::Literal::Int(n)));
        Type::new(TypeIR::union(members), Arc::new(TypeDefs::default()))
    };
    let refused = literals(0).assignable_to(&literals(1)).unwrap_err().to_string();
    assert!(refused.contains("too large to compare"), "{refused}");
}
