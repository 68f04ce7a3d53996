//! Merges the parts of a schema that stand in it, and not in another one: generators of clients lose the members of an
//! `allOf` within an `allOf`. Knows no route.

use serde_json::{Map, Value};

/// Replaces each `allOf` whose parts are all written in it by one object.
pub(crate) fn merge_parts(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.values_mut().for_each(merge_parts);
            if let Some(merged) = merged(members) {
                *members = merged;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(merge_parts),
        _ => {}
    }
}

/// The schema as one object, if it consists of objects without references.
fn merged(members: &Map<String, Value>) -> Option<Map<String, Value>> {
    let parts = members.get("allOf")?.as_array()?;
    let parts: Option<Vec<_>> = parts.iter().map(plain_object).collect();
    let mut whole = members.clone();
    whole.remove("allOf");
    for part in parts? {
        for (name, value) in part {
            add(&mut whole, name, value);
        }
    }
    Some(whole)
}

fn plain_object(part: &Value) -> Option<&Map<String, Value>> {
    let part = part.as_object()?;
    let is_object = part.get("type").is_some_and(|kind| kind == "object");
    let refers = ["$ref", "allOf", "anyOf", "oneOf"].iter().any(|name| part.contains_key(*name));
    (is_object && !refers).then_some(part)
}

/// Adds a member of a part: lists and objects are joined, of others the first stays.
fn add(whole: &mut Map<String, Value>, name: &str, value: &Value) {
    match (whole.get_mut(name), value) {
        (Some(Value::Array(found)), Value::Array(more)) => found.extend(more.iter().cloned()),
        (Some(Value::Object(found)), Value::Object(more)) => found.extend(more.clone()),
        (Some(_), _) => {}
        (None, _) => {
            whole.insert(name.to_owned(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nested_parts_become_one_object_and_references_stay() {
        let object = |name: &str| json!({"type": "object", "required": [name], "properties": {name: {"type": "string"}}});
        let open = json!({"type": "object", "additionalProperties": true});
        let mut schema =
            json!({"allOf": [{"allOf": [object("a"), open]}, object("b")], "description": "Both."});
        merge_parts(&mut schema);
        assert_eq!(
            schema,
            json!({"description": "Both.", "type": "object", "required": ["a", "b"], "additionalProperties": true,
                "properties": {"a": {"type": "string"}, "b": {"type": "string"}}})
        );
        let mut referring = json!({"allOf": [{"$ref": "#/components/schemas/A"}, object("b")]});
        let before = referring.clone();
        merge_parts(&mut referring);
        assert_eq!(referring, before);
    }
}
