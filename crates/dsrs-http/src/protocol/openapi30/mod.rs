//! The OpenAPI document in the form of OpenAPI 3.0, for generators of clients that read no other. What 3.0 cannot say is
//! left out: schemas accept at least what they accept in the document, and operations have one media type. Knows no route.

mod null;
mod operation;
mod schema;
mod types;

use serde_json::{Map, Value, json};

/// A document of OpenAPI 3.1 in the form of 3.0.
pub(crate) fn convert(document: &Value) -> Value {
    let mut form = document.clone();
    convert_root(&mut form);
    let paths = form.get_mut("paths").and_then(Value::as_object_mut);
    for item in paths.into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut) {
        item.values_mut().filter_map(Value::as_object_mut).for_each(operation::convert);
    }
    let schemes = document.pointer("/components/securitySchemes").unwrap_or(&Value::Null);
    convert_members(&mut form, schemes);
    form
}

/// Sets the version, and removes what it does not have from the objects that every document has.
fn convert_root(form: &mut Value) {
    if let Some(members) = form.as_object_mut() {
        members.insert("openapi".to_owned(), json!("3.0.3"));
        members.shift_remove("jsonSchemaDialect");
        // Readers of documents show them under this name.
        if let Some(messages) = members.shift_remove("webhooks") {
            members.insert("x-webhooks".to_owned(), messages);
        }
    }
    for (place, name) in
        [("/info", "summary"), ("/info/license", "identifier"), ("/components", "pathItems")]
    {
        if let Some(members) = form.pointer_mut(place).and_then(Value::as_object_mut) {
            members.shift_remove(name);
        }
    }
}

/// Converts what stands in an object of the document that is no schema.
fn convert_members(value: &mut Value, schemes: &Value) {
    match value {
        Value::Object(members) => {
            refer_alone(members);
            for (name, member) in members.iter_mut() {
                match (name.as_str(), member) {
                    ("schema", member) => schema::convert(member),
                    ("schemas", Value::Object(named)) => {
                        named.values_mut().for_each(schema::convert);
                    }
                    ("security", Value::Array(choices)) => {
                        choices.iter_mut().for_each(|choice| without_roles(choice, schemes));
                    }
                    // Values, which may have members of any name.
                    ("example" | "examples" | "value", _) => {}
                    (_, member) => convert_members(member, schemes),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| convert_members(item, schemes)),
        _ => {}
    }
}

/// A reference has no other members: readers ignore them.
fn refer_alone(members: &mut Map<String, Value>) {
    if members.get("$ref").is_some_and(Value::is_string) {
        members.retain(|name, _| name == "$ref");
    }
}

/// Only schemes with scopes of their own name any.
fn without_roles(choice: &mut Value, schemes: &Value) {
    for (scheme, roles) in choice.as_object_mut().into_iter().flatten() {
        let kind = schemes[scheme.as_str()]["type"].as_str().unwrap_or_default();
        if !matches!(kind, "oauth2" | "openIdConnect") {
            *roles = json!([]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_references_roles_and_dialects_have_their_form_of_3_0() {
        let operation = json!({
            "security": [{"key": ["read"], "login": ["read"]}],
            "parameters": [{"name": "a", "schema": {"type": ["string", "null"]}}],
            "responses": {"200": {"$ref": "#/components/responses/ok", "description": "Done"}},
        });
        let components = json!({
            "securitySchemes": {"key": {"type": "http"}, "login": {"type": "oauth2"}},
            "examples": {"odd": {"value": {"schema": {"const": 1}, "$ref": "x", "more": 1}}},
            "schemas": {"A": {"const": 1}},
            "pathItems": {},
        });
        let document = json!({
            "openapi": "3.1.0", "jsonSchemaDialect": "x",
            "info": {"title": "t", "summary": "s", "license": {"name": "l", "identifier": "i"}},
            "paths": {"/a": {"get": operation}}, "webhooks": {"b": {"post": operation}},
            "components": components,
        });
        let converted = json!({
            "security": [{"key": [], "login": ["read"]}],
            "parameters": [{"name": "a", "schema": {"type": "string", "nullable": true}}],
            "responses": {"200": {"$ref": "#/components/responses/ok"}},
        });
        let expected = json!({
            "openapi": "3.0.3", "info": {"title": "t", "license": {"name": "l"}},
            "paths": {"/a": {"get": converted}}, "x-webhooks": {"b": {"post": converted}},
            "components": {
                "securitySchemes": components["securitySchemes"],
                "examples": components["examples"],
                "schemas": {"A": {"enum": [1]}},
            },
        });
        assert_eq!(convert(&document), expected);
    }
}
