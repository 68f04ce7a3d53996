//! Notes of a JSON Schema on parts of a value (the elements of a list, one member of a union): they
//! become descriptions and constraints of the field.

use dsrs::expr::Condition;
use dsrs::problem::{At, Problems};
use dsrs::signature::{FieldSchema, read_field};
use dsrs::types::TypeScope;

use super::json;

fn read(schema: &str) -> Result<FieldSchema, String> {
    let (mut scope, mut problems) = (TypeScope::new(), Problems::new());
    let field = read_field("value", &json(schema), &mut scope, &At::Root, &mut problems);
    field.filter(|_| problems.is_empty()).ok_or_else(|| problems.to_string())
}

#[test]
fn descriptions_and_formats_of_parts_are_added_to_the_field() {
    for (schema, ty, description) in [
        (
            r#"{"type": "array", "description": "Places", "items": {"type": "string", "description": "A town"}}"#,
            "list[str]",
            "Places; each element: A town",
        ),
        (
            r#"{"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string", "format": "date"}}}"#,
            "dict[str, list[str]]",
            "each value: each element: format: date",
        ),
        (
            r#"{"type": "array", "prefixItems": [{"type": "number", "description": "Latitude"}, {"type": "number", "description": "Longitude"}]}"#,
            "tuple[float, float]",
            "element 1: Latitude; element 2: Longitude",
        ),
        (
            r#"{"anyOf": [{"type": "integer", "description": "Cents"}, {"type": "string", "description": "With a currency"}]}"#,
            "int | str",
            "if int: Cents; if str: With a currency",
        ),
        (
            r#"{"description": "Outer", "anyOf": [{"type": "string", "description": "Inner"}, {"type": "null"}]}"#,
            "str?",
            "Outer; Inner",
        ),
        (
            r##"{"type": "array", "items": {"$ref": "#/$defs/Word"}, "$defs": {"Word": {"type": "string", "description": "One word"}}}"##,
            "list[str]",
            "each element: One word",
        ),
    ] {
        let field = read(schema).unwrap();
        assert_eq!(field.ty.to_string(), ty);
        assert_eq!(field.description.as_deref(), Some(description));
    }
}

#[test]
fn limits_of_parts_become_constraints_of_the_field() {
    for (schema, fits, fails) in [
        (
            r#"{"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 9}}"#,
            &["[]", "[0, 9]"][..],
            &["[-1, 3]", "[3, 10]"][..],
        ),
        (
            r#"{"type": ["array", "null"], "items": {"type": "integer", "exclusiveMinimum": 0}}"#,
            &["null", "[1]"],
            &["[0]"],
        ),
        (
            r#"{"type": "array", "items": {"anyOf": [{"type": "number", "multipleOf": 5}, {"type": "null"}]}}"#,
            &["[null, 10]"],
            &["[null, 11]"],
        ),
        (
            r#"{"type": "object", "additionalProperties": {"type": "string", "maxLength": 2}}"#,
            &["{}", r#"{"abc": "ab"}"#],
            &[r#"{"a": "abc"}"#],
        ),
        (
            r#"{"type": "array", "items": {"type": "string", "pattern": "^[a-z]+$"}}"#,
            &[r#"["ab", "c"]"#],
            &[r#"["ab", "C"]"#],
        ),
        (
            r#"{"type": "array", "items": [{"type": "integer", "minimum": 1}, {"type": ["string", "null"], "minLength": 1}], "additionalItems": false}"#,
            &[r#"[1, "a"]"#, "[1, null]"],
            &[r#"[0, "a"]"#, r#"[1, ""]"#],
        ),
        (
            r#"{"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "minLength": 1}]}"#,
            &["1", r#""a""#],
            &["0", r#""""#],
        ),
        (r#"{"type": ["string", "number"], "minLength": 1}"#, &["0", r#""a""#], &[r#""""#]),
        (r#"{"type": "integer", "format": "uint8"}"#, &["0", "255"], &["-1", "256"]),
    ] {
        let field = read(schema).unwrap();
        let holds = |value: &str| {
            let conditions = field.constraints.iter();
            let mut conditions =
                conditions.map(|rule| Condition::compile(&rule.expression).unwrap());
            conditions.all(|condition| condition.holds(&json(value)).unwrap())
        };
        assert!(!field.constraints.is_empty(), "{schema}");
        for value in fits {
            assert!(holds(value), "{value} of {:?}", field.constraints);
        }
        for value in fails {
            assert!(!holds(value), "{value} of {:?}", field.constraints);
        }
    }
}

#[test]
fn limits_without_an_equivalent_are_reported_at_their_place() {
    let unsupported = |keyword: &str| {
        format!("`{keyword}` is not supported here; only a field can have it (invalid_type)")
    };
    for (schema, place, detail) in [
        (
            r#"{"type": "array", "items": {"type": "array", "items": {"type": "integer", "minimum": 0}}}"#,
            "/items/items/minimum",
            unsupported("minimum"),
        ),
        (
            r#"{"type": "array", "items": {"type": "array", "uniqueItems": true}}"#,
            "/items/uniqueItems",
            unsupported("uniqueItems"),
        ),
        (
            r#"{"anyOf": [{"type": "string", "maxLength": 3}, {"const": "unlimited"}]}"#,
            "/anyOf/0/maxLength",
            unsupported("maxLength"),
        ),
        (
            r#"{"type": "array", "items": {"type": "string", "default": "x"}}"#,
            "/items/default",
            unsupported("default"),
        ),
        (
            r##"{"anyOf": [{"$ref": "#/$defs/Word"}, {"type": "integer"}], "$defs": {"Word": {"type": "string", "default": "x"}}}"##,
            "/anyOf/0/default",
            unsupported("default"),
        ),
        (
            r##"{"$ref": "#/$defs/Deep", "$defs": {"Deep": {"description": "d", "type": "array", "items": {"$ref": "#/$defs/Deep"}}}}"##,
            "/$defs/Deep/items/$ref",
            "`#/$defs/Deep` refers to itself and has keywords that only a field supports, such as \
             `default`; remove them (invalid_type)"
                .to_owned(),
        ),
    ] {
        assert_eq!(read(schema).unwrap_err(), format!("{place}: {detail}"), "{schema}");
    }
}

#[test]
fn notes_of_parts_are_reported_where_there_is_no_field() {
    let schema = json(
        r#"{"type": "array", "items": {"type": "string", "description": "d", "minLength": 1}}"#,
    );
    let mut problems = Problems::new();
    TypeScope::new().read_type(&schema, &At::Root, &mut problems);
    assert_eq!(
        problems.to_string(),
        "/items/minLength: `minLength` is not supported here; only a field can have it (invalid_type); \
         /items/description: `description` is not supported here; only a field can have it (invalid_type)"
    );
}

#[test]
fn a_pattern_in_a_definition_is_reported_at_its_place() {
    let schema = r##"{"$ref": "#/$defs/Word", "$defs": {"Word": {"type": "string", "description": "d", "pattern": "("}}}"##;
    let problem = read(schema).unwrap_err();
    assert!(problem.starts_with("/$defs/Word/pattern: not a regular expression"), "{problem}");
}
