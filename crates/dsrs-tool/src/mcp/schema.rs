//! The schema of a tool's arguments as providers of models accept it: they refuse an object without `properties` and an
//! array without `items`, which JSON Schema and MCP allow. Knows no tools.

use serde_json::{Map, Value, json};

/// Members that hold one schema.
const ONE: [&str; 5] = ["items", "additionalProperties", "not", "contains", "propertyNames"];

/// Members that hold a list of schemas.
const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];

/// Members that hold schemas by name.
const NAMED: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];

/// The schema of the arguments of a tool, with what providers miss in it. Accepts the same arguments.
pub(super) fn complete(mut schema: Value) -> Value {
    if let Value::Object(members) = &mut schema {
        members.entry("type").or_insert_with(|| json!("object"));
    }
    complete_within(&mut schema);
    schema
}

fn complete_within(schema: &mut Value) {
    let Value::Object(members) = schema else { return };
    if has_type(members, "object") {
        members.entry("properties").or_insert_with(|| json!({}));
    }
    if has_type(members, "array") {
        members.entry("items").or_insert_with(|| json!({}));
    }
    for name in ONE {
        members.get_mut(name).into_iter().for_each(complete_within);
    }
    for name in LISTS {
        let list = members.get_mut(name).and_then(Value::as_array_mut);
        list.into_iter().flatten().for_each(complete_within);
    }
    for name in NAMED {
        let schemas = members.get_mut(name).and_then(Value::as_object_mut);
        schemas.into_iter().flatten().for_each(|(_, schema)| complete_within(schema));
    }
}

/// Whether a schema names a type, alone or among others.
fn has_type(members: &Map<String, Value>, name: &str) -> bool {
    match members.get("type") {
        Some(Value::String(only)) => only == name,
        Some(Value::Array(types)) => types.iter().any(|found| found == name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_get_properties_and_arrays_items_at_every_depth() {
        assert_eq!(complete(json!({})), json!({"type": "object", "properties": {}}));
        assert_eq!(
            complete(json!({"type": "object"})),
            json!({"type": "object", "properties": {}})
        );
        let nested = json!({"type": "object", "properties": {
            "tags": {"type": "array"},
            "options": {"anyOf": [{"type": ["object", "null"]}, {"$ref": "#/$defs/list"}]}},
            "$defs": {"list": {"type": "array", "items": {"type": "array"}}}});
        assert_eq!(
            complete(nested),
            json!({"type": "object", "properties": {
                "tags": {"type": "array", "items": {}},
                "options": {"anyOf": [{"type": ["object", "null"], "properties": {}}, {"$ref": "#/$defs/list"}]}},
                "$defs": {"list": {"type": "array", "items": {"type": "array", "items": {}}}}})
        );
    }

    #[test]
    fn a_complete_schema_stays_as_it_is() {
        let schema = json!({"type": "object", "properties": {"type": {"type": "string"}},
            "required": ["type"], "additionalProperties": false});
        assert_eq!(complete(schema.clone()), schema);
    }
}
