//! The forms of parameters in the OpenAPI document: what their readers in this room accept. A name has
//! one form for each place, on every route. Knows no route.

use serde_json::{Map, Value, json};

use crate::http::protocol::page::{DEFAULT_LIMIT, MAX_LIMIT};

/// Completes the parameters of an operation.
pub(crate) fn complete(operation: &mut Map<String, Value>) {
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten().filter_map(Value::as_object_mut) {
        let member = |name: &str| parameter.get(name).and_then(Value::as_str).unwrap_or_default();
        let found = form(member("in"), member("name"));
        if let Some(schema) = parameter.get_mut("schema") {
            without_null(schema);
        }
        let Some(form) = found else { continue };
        if form.schema["type"] == "array" {
            // The values are one text with commas.
            parameter.insert("style".to_owned(), json!("form"));
            parameter.insert("explode".to_owned(), json!(false));
        }
        parameter.insert("schema".to_owned(), form.schema);
        if let Some(example) = form.example {
            parameter.entry("example").or_insert(example);
        }
    }
}

/// An optional parameter is left out: it is never null.
fn without_null(schema: &mut Value) {
    let kinds = schema.get("type").and_then(Value::as_array);
    let kind = kinds.and_then(|kinds| kinds.iter().find(|kind| *kind != "null")).cloned();
    if let (Some(kind), Some(schema)) = (kind, schema.as_object_mut()) {
        schema.insert("type".to_owned(), kind);
    }
}

/// The form of a parameter.
struct ParameterForm {
    schema: Value,
    example: Option<Value>,
}

impl ParameterForm {
    fn of(schema: Value) -> Self {
        Self { schema, example: None }
    }

    fn with_example(schema: Value, example: impl Into<Value>) -> Self {
        Self { schema, example: Some(example.into()) }
    }
}

/// The form of the parameters with this name; `None` if the route declares it.
fn form(place: &str, name: &str) -> Option<ParameterForm> {
    match place {
        "path" => path_form(name),
        "query" => query_form(name),
        "header" => header_form(name),
        _ => None,
    }
}

fn path_form(name: &str) -> Option<ParameterForm> {
    let named = |example: &str| ParameterForm::with_example(text(), example);
    Some(match name {
        "id" => ParameterForm::of(json!({"type": "string", "format": "uuid"})),
        "graph" => named("support-reply"),
        "dataset" => named("tickets"),
        "path" => named("triage"),
        "workspace" => named("default"),
        "name" => ParameterForm::of(text()),
        "version" => ParameterForm::with_example(number_from(1), 1),
        "number" => ParameterForm::with_example(number_from(0), 0),
        _ => return None,
    })
}

fn query_form(name: &str) -> Option<ParameterForm> {
    Some(ParameterForm::of(match name {
        "limit" => json!({
            "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT
        }),
        "cursor" => json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{8,}$"}),
        "version" | "state_version" => number_from(1),
        "timeout_ms" => json!({"type": "integer", "format": "int64", "minimum": 1}),
        "since" | "until" => json!({"type": "string", "format": "date-time"}),
        "failed" | "dedupe" => json!({"type": "boolean"}),
        "split" => json!({"type": "string", "pattern": SPLIT}),
        "graph" | "workspace" => text(),
        "description" | "actor" | "kind" => json!({"type": "string", "pattern": "^[^\\x00]*$"}),
        "inputs" | "expected" => json!({
            "type": "array", "minItems": 1, "uniqueItems": true,
            "items": {"type": "string", "pattern": COLUMN}
        }),
        _ => return None,
    }))
}

fn header_form(name: &str) -> Option<ParameterForm> {
    Some(ParameterForm::of(match name {
        "If-Match" | "If-None-Match" => {
            let schema = json!({"type": "string", "pattern": TAGS});
            return Some(ParameterForm::with_example(schema, "*"));
        }
        "Idempotency-Key" => json!({"type": "string", "pattern": "^[!-~]{1,255}$"}),
        "Last-Event-ID" => json!({"type": "integer", "format": "int64", "minimum": 0}),
        _ => return None,
    }))
}

/// `*`, or a list of quoted tags.
const TAGS: &str = r#"^(\*|(W/)?"[!#-~]*"( *, *(W/)?"[!#-~]*")*)$"#;

/// The name of a split.
const SPLIT: &str = "^[A-Za-z0-9_-]{1,64}$";

/// The name of a column, without a comma.
const COLUMN: &str = r"^[^,\s\x00]([^,\x00]*[^,\s\x00])?$";

/// A text that the database can hold.
fn text() -> Value {
    json!({"type": "string", "pattern": r"^[^\x00]+$"})
}

/// A number that the database holds as an integer.
fn number_from(least: i32) -> Value {
    json!({"type": "integer", "format": "int32", "minimum": least, "maximum": i32::MAX})
}
