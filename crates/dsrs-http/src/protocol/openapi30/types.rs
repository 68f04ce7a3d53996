//! Lists of types, which OpenAPI 3.0 does not have: `nullable`, and a choice for each further type. Knows no document.

use serde_json::{Map, Value, json};

/// The keywords that concern values of one type.
const OF_TYPES: [(&str, &[&str]); 4] = [
    ("string", &["minLength", "maxLength", "pattern"]),
    ("number", &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]),
    ("array", &["items", "minItems", "maxItems", "uniqueItems"]),
    (
        "object",
        &["properties", "required", "additionalProperties", "minProperties", "maxProperties"],
    ),
];

/// Replaces a list of types. An array has a schema for its elements.
pub(super) fn convert(members: &mut Map<String, Value>) {
    if let Some(types) = members.shift_remove("type") {
        set_types(members, types);
    }
    if members.get("type").is_some_and(|kind| kind == "array") {
        members.entry("items").or_insert(json!({}));
    }
}

fn set_types(members: &mut Map<String, Value>, types: Value) {
    let mut types = match types {
        Value::Array(types) => types,
        one => vec![one],
    };
    let before = types.len();
    types.retain(|kind| kind != "null");
    if types.len() < before {
        members.insert("nullable".to_owned(), json!(true));
    }
    match types.as_slice() {
        [] if before > 0 => {
            members.insert("enum".to_owned(), json!([null]));
        }
        [only] => {
            members.insert("type".to_owned(), only.clone());
        }
        _ => add_choices(members, &types),
    }
}

/// A choice for each type, with the keywords that concern it.
fn add_choices(members: &mut Map<String, Value>, types: &[Value]) {
    let choices: Vec<Value> = types.iter().map(|kind| choice(members, kind)).collect();
    for (_, keywords) in OF_TYPES {
        members.retain(|name, _| !keywords.contains(&name.as_str()));
    }
    if members.contains_key("anyOf") {
        let part = json!({"anyOf": choices});
        match members.get_mut("allOf").and_then(Value::as_array_mut) {
            Some(parts) => parts.push(part),
            None => {
                members.insert("allOf".to_owned(), json!([part]));
            }
        }
        return;
    }
    members.insert("anyOf".to_owned(), Value::Array(choices));
}

fn choice(members: &Map<String, Value>, kind: &Value) -> Value {
    let name = if kind == "integer" { "number" } else { kind.as_str().unwrap_or_default() };
    let mut choice = Map::from_iter([("type".to_owned(), kind.clone())]);
    let keywords = OF_TYPES.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, found)| found);
    let own = members.iter().filter(|(name, _)| keywords.contains(&name.as_str()));
    choice.extend(own.map(|(name, value)| (name.clone(), value.clone())));
    convert(&mut choice);
    Value::Object(choice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn expect(mut schema: Value, expected: Value) {
        convert(schema.as_object_mut().unwrap());
        assert_eq!(schema, expected);
    }

    #[test]
    fn null_among_types_is_nullable() {
        expect(
            json!({"type": ["string", "null"], "maxLength": 3}),
            json!({"maxLength": 3, "nullable": true, "type": "string"}),
        );
        expect(json!({"type": "null"}), json!({"nullable": true, "enum": [null]}));
    }

    #[test]
    fn several_types_are_choices_with_their_own_keywords() {
        expect(
            json!({"type": ["string", "integer", "array", "null"], "maxLength": 3, "minimum": 1,
                "items": {"type": "string"}, "description": "Any."}),
            json!({"description": "Any.", "nullable": true, "anyOf": [
                {"type": "string", "maxLength": 3}, {"type": "integer", "minimum": 1},
                {"type": "array", "items": {"type": "string"}}]}),
        );
        expect(
            json!({"type": ["string", "boolean"], "anyOf": [{"enum": [true]}, {"enum": ["x"]}]}),
            json!({"anyOf": [{"enum": [true]}, {"enum": ["x"]}],
                "allOf": [{"anyOf": [{"type": "string"}, {"type": "boolean"}]}]}),
        );
    }

    #[test]
    fn an_array_has_a_schema_for_its_elements() {
        expect(json!({"type": "array"}), json!({"type": "array", "items": {}}));
    }
}
