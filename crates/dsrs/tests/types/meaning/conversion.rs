//! The conversion of values along edges.

use dsrs::types::Conversion;

use super::{json, ty};

fn convert(from: &str, to: &str, value: &str) -> String {
    Conversion::between(&ty(from), &ty(to))
        .apply(&json(value))
        .map_or_else(|error| error.to_string(), |value| value.to_json())
}

#[test]
fn edges_that_change_nothing_are_identities() {
    for (from, to) in [
        ("int", "int?"),
        ("Mood", "str"),
        ("Mood", "Wide"),
        ("Person", "any"),
        ("Person", "{name: str, age: int}"),
        ("Odd", "Tree"),
        ("list[int]", "list[int | str]"),
        ("int", "float | int"),
        ("3", "float | 3"),
        ("Tree?", "Tree | str | null"),
    ] {
        assert!(Conversion::between(&ty(from), &ty(to)).is_identity(), "{from} to {to}");
    }
    for (from, to) in [("int", "float"), ("Person", "Pet"), ("Tree", "Wood"), ("Plain", "Json")] {
        assert!(!Conversion::between(&ty(from), &ty(to)).is_identity(), "{from} to {to}");
    }
}

#[test]
fn converted_values_have_exactly_the_target_type() {
    for (from, to, value, expected) in [
        ("int", "float", "1", "1.0"),
        ("3", "float", "3", "3.0"),
        ("int?", "float?", "null", "null"),
        ("int | str", "float | str", "7", "7.0"),
        ("int | str", "float | str", r#""7""#, r#""7""#),
        ("Person", "Pet", r#"{"name":"a","age":1}"#, r#"{"name":"a"}"#),
        ("Person", "{age: int, name: str}", r#"{"name":"a","age":1}"#, r#"{"age":1,"name":"a"}"#),
        (
            "dict[str, Person]",
            "dict[str, Pet]",
            r#"{"k":{"name":"a","age":1}}"#,
            r#"{"k":{"name":"a"}}"#,
        ),
        ("tuple[int, int]", "tuple[int, float]", "[1,2]", "[1,2.0]"),
        (
            "Leafy",
            "Wood",
            r#"{"value":1,"children":[{"value":2,"children":[],"colour":"b"}],"colour":"a"}"#,
            r#"{"value":1.0,"children":[{"value":2.0,"children":[]}]}"#,
        ),
        ("Plain", "Json", r#"[1,{"a":"b","c":[2]}]"#, r#"[1.0,{"a":"b","c":[2.0]}]"#),
        // A member that keeps all fields is preferred to the first that accepts the value.
        ("Person", "Pet | Person", r#"{"name":"a","age":1}"#, r#"{"name":"a","age":1}"#),
        // Members of the source are distinguished by their contents.
        (
            "{kind: \"a\", n: int} | {kind: \"b\", n: int}",
            "{kind: \"a\", n: float} | {kind: \"b\", n: int}",
            r#"{"kind":"b","n":1}"#,
            r#"{"kind":"b","n":1}"#,
        ),
    ] {
        assert_eq!(convert(from, to, value), expected, "{from} to {to}");
    }
}

#[test]
fn integers_beyond_2_53_do_not_become_floats() {
    assert_eq!(convert("int", "float", "9007199254740992"), "9007199254740992.0");
    assert_eq!(
        convert(
            "Tree",
            "Wood",
            r#"{"value":1,"children":[{"value":-9007199254740993,"children":[]}]}"#
        ),
        "children[0].value: -9007199254740993 is beyond 2^53 and would lose digits as a float"
    );
    assert_eq!(
        convert("dict[str, int]", "dict[str, float]", r#"{"it's":9007199254740993}"#),
        "['it\\'s']: 9007199254740993 is beyond 2^53 and would lose digits as a float"
    );
}

#[test]
fn ambiguous_unions_do_not_multiply_the_work_on_deep_values() {
    let defs = super::defs(
        "Node = {next: Node | Twin | int, last: 1}
         Twin = {next: Node | Twin | int, last: 2}
         Out = {next: Out | OutTwin | float, last: 1}
         OutTwin = {next: Out | OutTwin | float, last: 2}",
    );
    let of =
        |text| dsrs::types::Type::new(dsrs::types::parse_type_expr(text).unwrap(), defs.clone());
    let mut value = json("5");
    for _ in 0..90 {
        value = dsrs::value::Payload::from(dsrs::value::Map::from_iter([
            ("next".into(), value),
            ("last".into(), 2.into()),
        ]));
    }
    let conversion = Conversion::between(&of("Node | Twin"), &of("Out | OutTwin"));
    let converted = conversion.apply(&value).unwrap();
    assert!(converted.to_json().contains(":5.0,"));
}
