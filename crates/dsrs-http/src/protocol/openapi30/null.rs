//! `null` as one of the choices of a schema: `nullable` in OpenAPI 3.0. Knows no document.

use serde_json::{Map, Value, json};

/// Replaces the choice `null` by `nullable`. A single other choice becomes the schema itself.
pub(super) fn convert(members: &mut Map<String, Value>) {
    for name in ["oneOf", "anyOf"] {
        let Some(choices) = members.get_mut(name).and_then(Value::as_array_mut) else { continue };
        let before = choices.len();
        choices.retain(|choice| choice != &json!({"type": "null"}));
        if choices.len() == before || choices.is_empty() {
            continue;
        }
        let only = if choices.len() == 1 { choices.pop() } else { None };
        if let Some(only) = only {
            members.shift_remove(name);
            merge(members, only);
        }
        members.insert("nullable".to_owned(), json!(true));
    }
}

/// Adds the members of a choice. The description outside stays; other members of both are parts.
fn merge(members: &mut Map<String, Value>, choice: Value) {
    let Value::Object(mut own) = choice else { return };
    if members.contains_key("description") {
        own.shift_remove("description");
    }
    if own.keys().all(|name| !members.contains_key(name)) {
        members.extend(own);
        return;
    }
    match members.get_mut("allOf").and_then(Value::as_array_mut) {
        Some(parts) => parts.push(Value::Object(own)),
        None => {
            members.insert("allOf".to_owned(), json!([own]));
        }
    }
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
    fn a_choice_beside_null_is_nullable() {
        let reference = json!({"$ref": "#/a"});
        expect(
            json!({"oneOf": [{"type": "null"}, reference]}),
            json!({"nullable": true, "$ref": "#/a"}),
        );
        expect(
            json!({"oneOf": [{"$ref": "#/a", "description": "In."}, {"type": "null"}], "description": "Out."}),
            json!({"description": "Out.", "nullable": true, "$ref": "#/a"}),
        );
        expect(
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!({"type": "string", "nullable": true}),
        );
    }

    #[test]
    fn several_choices_beside_null_stay() {
        expect(
            json!({"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}),
            json!({"oneOf": [{"type": "string"}, {"type": "integer"}], "nullable": true}),
        );
    }

    #[test]
    fn a_choice_with_members_of_the_schema_is_a_part_of_it() {
        expect(
            json!({"required": ["a"], "anyOf": [{"required": ["b"]}, {"type": "null"}]}),
            json!({"required": ["a"], "allOf": [{"required": ["b"]}], "nullable": true}),
        );
    }
}
