//! The OpenAPI document in the form of OpenAPI 3.0: served and printed, complete, and without anything of 3.1. That
//! validators and generators accept it is checked by `scripts/generated-clients.sh`.

use std::process::Command;

use serde_json::{Value, json};

use crate::Api;
use dsrs_test::program;

/// Keywords of schemas that OpenAPI 3.0 does not have.
const NEWER: [&str; 12] = [
    "const",
    "examples",
    "prefixItems",
    "propertyNames",
    "patternProperties",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "if",
    "then",
    "contains",
    "$defs",
];

#[tokio::test(flavor = "multi_thread")]
async fn the_server_serves_the_form_that_the_command_prints() {
    let api = Api::new().await;
    let served = api.get("/openapi-3.0.json").await.expect(200).json();
    assert_eq!(served, dsrs_http::openapi30());
    let printed = Command::new(program()).args(["openapi", "--format", "3.0"]).output().unwrap();
    assert!(printed.status.success(), "{printed:?}");
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(served, printed);
}

#[test]
fn the_form_has_every_operation_schema_and_message() {
    let (document, form) = (dsrs_http::openapi(), &dsrs_http::openapi30());
    assert_eq!(form["openapi"], "3.0.3");
    let names =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    for (path, item) in document["paths"].as_object().unwrap() {
        assert_eq!(names(item), names(&form["paths"][path]), "{path}");
    }
    let schemas = |document: &Value| names(&document["components"]["schemas"]);
    assert_eq!(schemas(document), schemas(form));
    assert_eq!(names(&document["webhooks"]), names(&form["x-webhooks"]));
    assert!(form.get("webhooks").is_none());
}

#[test]
fn no_schema_has_a_keyword_of_3_1_and_every_reference_a_target() {
    let form = &dsrs_http::openapi30();
    let mut seen = 0;
    let mut check = |schema: &Value| {
        seen += 1;
        let members = schema.as_object().unwrap_or_else(|| panic!("{schema}"));
        for name in NEWER {
            assert!(!members.contains_key(name), "{name} in {schema}");
        }
        assert!(members.get("type").is_none_or(Value::is_string), "{schema}");
        assert!(members.get("exclusiveMinimum").is_none_or(Value::is_boolean), "{schema}");
        if let Some(reference) = members.get("$ref") {
            assert_eq!(members.len(), 1, "{schema}");
            let pointer = reference.as_str().unwrap().trim_start_matches('#');
            assert!(form.pointer(pointer).is_some(), "{pointer}");
        }
    };
    for schema in form["components"]["schemas"].as_object().unwrap().values() {
        visit(schema, &mut check);
    }
    assert!(seen > 1000, "{seen}");
}

/// Visits a schema and the schemas in it.
fn visit(schema: &Value, check: &mut impl FnMut(&Value)) {
    check(schema);
    for name in ["not", "items", "additionalProperties"] {
        if let Some(part) = schema.get(name).filter(|part| part.is_object()) {
            visit(part, check);
        }
    }
    for name in ["allOf", "anyOf", "oneOf"] {
        schema[name].as_array().into_iter().flatten().for_each(|part| visit(part, check));
    }
    let properties = schema["properties"].as_object();
    properties.into_iter().flatten().for_each(|(_, part)| visit(part, check));
}

#[test]
fn members_that_may_be_null_are_nullable() {
    let form = dsrs_http::openapi30();
    let schemas = &form["components"]["schemas"];
    let run = &schemas["Run"]["properties"];
    assert_eq!(
        (&run["run_id"]["type"], &run["run_id"]["nullable"]),
        (&json!("string"), &json!(true))
    );
    let error = &run["error"];
    assert_eq!(
        (&error["nullable"], &error["allOf"][0]["$ref"]),
        (&json!(true), &json!("#/components/schemas/Problem"))
    );
}
