//! A JSON Schema of the draft 2020-12 as a schema object of OpenAPI 3.0. Knows no document.

use serde_json::{Map, Value, json};

use super::{null, types};

/// The keywords of a schema object, and the names of its extensions begin with `x-`.
const KEYWORDS: &[&str] = &[
    "$ref",
    "title",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxProperties",
    "minProperties",
    "required",
    "enum",
    "type",
    "allOf",
    "oneOf",
    "anyOf",
    "not",
    "items",
    "properties",
    "additionalProperties",
    "description",
    "format",
    "default",
    "nullable",
    "discriminator",
    "readOnly",
    "writeOnly",
    "xml",
    "externalDocs",
    "example",
    "deprecated",
];

/// Converts a schema and the schemas in it. Conditions without a keyword in 3.0 are left out.
pub(super) fn convert(schema: &mut Value) {
    if let Value::Bool(accepts) = schema {
        *schema = if *accepts { json!({}) } else { json!({"not": {}}) };
    }
    let Some(members) = schema.as_object_mut() else { return };
    null::convert(members);
    convert_parts(members);
    convert_tuple(members);
    convert_patterns(members);
    convert_values(members);
    convert_bound(members, "minimum", "exclusiveMinimum", |one, other| one >= other);
    convert_bound(members, "maximum", "exclusiveMaximum", |one, other| one <= other);
    convert_encoding(members);
    members.retain(|name, _| KEYWORDS.contains(&name.as_str()) || name.starts_with("x-"));
    types::convert(members);
    refer_alone(members);
}

/// The schemas within a schema.
fn convert_parts(members: &mut Map<String, Value>) {
    for (name, member) in members.iter_mut() {
        match (name.as_str(), member) {
            ("not" | "items", part) => convert(part),
            ("additionalProperties", part @ Value::Object(_)) => convert(part),
            ("allOf", Value::Array(parts)) => parts.iter_mut().for_each(|part| {
                refer_without_words(part);
                convert(part);
            }),
            ("anyOf" | "oneOf" | "prefixItems", Value::Array(parts)) => {
                parts.iter_mut().for_each(convert);
            }
            ("properties" | "patternProperties", Value::Object(parts)) => {
                parts.values_mut().for_each(convert);
            }
            _ => {}
        }
    }
}

/// Removes what a reference within `allOf` says for people: generators read no `allOf` within another one, which keeps
/// such words.
fn refer_without_words(part: &mut Value) {
    let Some(members) = part.as_object_mut().filter(|members| members.contains_key("$ref")) else {
        return;
    };
    members.retain(|name, _| {
        !["title", "description", "example", "examples"].contains(&name.as_str())
    });
}

/// Elements with schemas of their own: each element has one of them.
fn convert_tuple(members: &mut Map<String, Value>) {
    let Some(Value::Array(mut choices)) = members.shift_remove("prefixItems") else { return };
    match members.shift_remove("items") {
        Some(rest) if rest == json!({"not": {}}) => {
            members.entry("maxItems").or_insert(json!(choices.len()));
        }
        Some(rest) => choices.push(rest),
        None => choices.push(json!({})),
    }
    choices.dedup();
    members.insert("items".to_owned(), any_of(choices));
}

/// Members by the pattern of their name: every further member has one of their schemas.
fn convert_patterns(members: &mut Map<String, Value>) {
    let Some(Value::Object(patterns)) = members.shift_remove("patternProperties") else { return };
    let mut choices: Vec<Value> = patterns.into_iter().map(|(_, schema)| schema).collect();
    match members.get("additionalProperties") {
        Some(Value::Bool(false)) => {}
        Some(rest @ Value::Object(_)) => choices.push(rest.clone()),
        _ => return,
    }
    members.insert("additionalProperties".to_owned(), any_of(choices));
}

fn any_of(mut choices: Vec<Value>) -> Value {
    if choices.len() == 1 { choices.remove(0) } else { json!({"anyOf": choices}) }
}

/// One constant is an enumeration, and of the examples the first stays.
fn convert_values(members: &mut Map<String, Value>) {
    if let Some(constant) = members.shift_remove("const") {
        members.insert("enum".to_owned(), json!([constant]));
    }
    if let Some(Value::Array(examples)) = members.shift_remove("examples")
        && let Some(first) = examples.into_iter().next()
    {
        members.entry("example").or_insert(first);
    }
}

/// A bound that is excluded: a bound and a switch. The tighter one of two stays.
fn convert_bound(
    members: &mut Map<String, Value>,
    bound: &str,
    excluded: &str,
    is_tighter: fn(f64, f64) -> bool,
) {
    let Some(number) = members.get(excluded).filter(|value| value.is_number()).cloned() else {
        return;
    };
    let included = members.get(bound).and_then(Value::as_f64);
    if included.is_some_and(|included| !is_tighter(number.as_f64().unwrap_or_default(), included)) {
        members.shift_remove(excluded);
        return;
    }
    members.insert(bound.to_owned(), number);
    members.insert(excluded.to_owned(), json!(true));
}

/// The encodings of texts are formats.
fn convert_encoding(members: &mut Map<String, Value>) {
    let text = |name: &str| members.get(name).and_then(Value::as_str);
    let format = match (text("contentEncoding"), text("contentMediaType")) {
        (Some("base64"), _) => "byte",
        (_, Some("application/octet-stream")) => "binary",
        _ => return,
    };
    members.entry("format").or_insert(json!(format));
}

/// A reference with other members is a part beside them.
fn refer_alone(members: &mut Map<String, Value>) {
    if members.len() < 2 {
        return;
    }
    let Some(reference) = members.shift_remove("$ref") else { return };
    let part = json!({"$ref": reference});
    match members.get_mut("allOf").and_then(Value::as_array_mut) {
        Some(parts) => parts.push(part),
        None => {
            members.insert("allOf".to_owned(), json!([part]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_in_a_part_of_a_whole_stands_alone() {
        expect(
            r##"{"allOf": [{"$ref": "#/components/schemas/Graph", "description": "The graph"}, {"type": "object"}]}"##,
            r##"{"allOf": [{"$ref": "#/components/schemas/Graph"}, {"type": "object"}]}"##,
        );
    }

    #[track_caller]
    fn expect(before: &str, after: &str) {
        let [mut schema, expected]: [Value; 2] =
            [before, after].map(|text| serde_json::from_str(text).unwrap());
        convert(&mut schema);
        assert_eq!(schema, expected, "{before}");
    }

    #[test]
    fn constants_and_examples_have_the_older_keywords() {
        expect(r#"{"const": "a", "examples": ["a", "b"]}"#, r#"{"enum": ["a"], "example": "a"}"#);
        expect(r#"{"not": {"const": "input"}}"#, r#"{"not": {"enum": ["input"]}}"#);
    }

    #[test]
    fn excluded_bounds_are_switches_and_the_tighter_one_stays() {
        expect(
            r#"{"exclusiveMinimum": 0, "exclusiveMaximum": 1}"#,
            r#"{"minimum": 0, "exclusiveMinimum": true, "maximum": 1, "exclusiveMaximum": true}"#,
        );
        expect(r#"{"minimum": 2, "exclusiveMinimum": 0}"#, r#"{"minimum": 2}"#);
        let tighter = r#"{"maximum": 1, "exclusiveMaximum": true}"#;
        expect(r#"{"maximum": 1, "exclusiveMaximum": 1}"#, tighter);
    }

    #[test]
    fn a_reference_with_other_members_is_a_part() {
        expect(r##"{"$ref": "#/a"}"##, r##"{"$ref": "#/a"}"##);
        expect(
            r##"{"$ref": "#/a", "description": "A."}"##,
            r##"{"description": "A.", "allOf": [{"$ref": "#/a"}]}"##,
        );
        expect(
            r##"{"oneOf": [{"$ref": "#/a"}, {"type": "null"}]}"##,
            r##"{"nullable": true, "allOf": [{"$ref": "#/a"}]}"##,
        );
        expect(r##"{"$ref": "#/a", "$comment": "A."}"##, r##"{"$ref": "#/a"}"##);
    }

    #[test]
    fn tuples_and_patterns_accept_more() {
        expect(
            r#"{"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}"#,
            r#"{"type": "array", "maxItems": 2, "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}"#,
        );
        expect(
            r#"{"type": "array", "prefixItems": [{"const": 1}]}"#,
            r#"{"type": "array", "items": {"anyOf": [{"enum": [1]}, {}]}}"#,
        );
        expect(
            r#"{"patternProperties": {"^x": {"type": "string"}}, "additionalProperties": false}"#,
            r#"{"additionalProperties": {"type": "string"}}"#,
        );
        expect(r#"{"patternProperties": {"^x": {"type": "string"}}}"#, "{}");
    }

    #[test]
    fn encodings_are_formats() {
        expect(
            r#"{"type": "string", "contentEncoding": "base64"}"#,
            r#"{"type": "string", "format": "byte"}"#,
        );
        expect(
            r#"{"type": "string", "contentMediaType": "application/json", "contentSchema": {}}"#,
            r#"{"type": "string"}"#,
        );
    }

    #[test]
    fn what_the_older_form_cannot_say_is_left_out_at_every_depth() {
        let odd = r#""if": {}, "then": {}, "else": {}, "propertyNames": {}, "$defs": {}, "contains": {}, "$id": "x",
            "unevaluatedProperties": false, "dependentRequired": {}, "$schema": "x", "x-own": {"const": 1}"#;
        let schema = format!(
            r#"{{{odd}, "properties": {{"const": {{{odd}}}, "if": true}}, "additionalProperties": {{"anyOf": [{{{odd}}}, false]}}}}"#
        );
        expect(
            &schema,
            r#"{"x-own": {"const": 1}, "properties": {"const": {"x-own": {"const": 1}}, "if": {}},
                "additionalProperties": {"anyOf": [{"x-own": {"const": 1}}, {"not": {}}]}}"#,
        );
    }
}
