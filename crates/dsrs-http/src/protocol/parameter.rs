//! The forms of parameters in the OpenAPI document: what their readers in this room accept. A name has
//! one form for each place, on every route. Knows no route.

use serde_json::{Map, Value, json};

use crate::protocol::page::{DEFAULT_LIMIT, MAX_LIMIT};
use dsrs_store::usage::UsageDimension;

/// Completes the parameters of an operation.
pub(crate) fn complete(operation: &mut Map<String, Value>) {
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten().filter_map(Value::as_object_mut) {
        let member = |name: &str| parameter.get(name).and_then(Value::as_str).unwrap_or_default();
        let found = form(member("in"), member("name"));
        let name = member("name").to_owned();
        if let Some(schema) = parameter.get_mut("schema") {
            without_null(schema);
        }
        if let Some(form) = found {
            if form.schema["type"] == "array" {
                // The values are one text with commas.
                parameter.insert("style".to_owned(), json!("form"));
                parameter.insert("explode".to_owned(), json!(false));
            }
            parameter.insert("schema".to_owned(), form.schema);
            parameter.entry("example").or_insert(form.example);
        }
        if let Some(schema) = parameter.get_mut("schema") {
            list_choices(schema);
        }
        let declared = parameter.get("schema").map(|schema| example_of(&name, schema));
        if let Some(example) = declared {
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

/// An example of a parameter whose route declares its form.
fn example_of(name: &str, schema: &Value) -> Value {
    match (name, &schema["type"], &schema["format"]) {
        (_, Value::String(kind), _) if kind == "integer" => json!(1),
        (_, Value::String(kind), _) if kind == "number" => json!(0.5),
        (_, _, Value::String(format)) if format == "uuid" => json!(ID),
        ("include", ..) => json!("provenance"),
        ("problem", ..) => json!("timeout"),
        (_, Value::String(kind), _) if kind == "array" => json!(["tickets"]),
        _ => schema["enum"].get(0).cloned().unwrap_or_else(|| json!("tickets")),
    }
}

/// A pattern of a few words becomes the list of them.
fn list_choices(schema: &mut Value) {
    let pattern = schema.get("pattern").and_then(Value::as_str);
    let Some(words) = pattern.and_then(|text| text.strip_prefix('^')?.strip_suffix('$')) else {
        return;
    };
    let words = words.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(words);
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    let choices: Vec<Value> =
        words.split('|').filter(|word| is_word(word)).map(Value::from).collect();
    if choices.len() != words.split('|').count() {
        return;
    }
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("pattern");
        schema.insert("enum".to_owned(), Value::Array(choices));
    }
}

struct ParameterForm {
    schema: Value,
    example: Value,
}

/// The form of the parameters with this name; `None` if the route declares it.
fn form(place: &str, name: &str) -> Option<ParameterForm> {
    let (schema, example) = match place {
        "path" => path_form(name),
        "query" => query_form(name),
        "header" => header_form(name),
        _ => None,
    }?;
    Some(ParameterForm { schema, example })
}

fn path_form(name: &str) -> Option<(Value, Value)> {
    Some(match name {
        "id" | "delivery" | "feedback" => (json!({"type": "string", "format": "uuid"}), json!(ID)),
        "graph" | "model" => (text(), json!("support-reply")),
        "dataset" => (text(), json!("tickets")),
        "index" => (text(), json!("handbook")),
        "path" => (text(), json!("triage")),
        "workspace" => (text(), json!("default")),
        "name" => (text(), json!("predict")),
        "version" => (number_from(1), json!(1)),
        "number" => (number_from(0), json!(0)),
        _ => return None,
    })
}

fn query_form(name: &str) -> Option<(Value, Value)> {
    let any_text = || json!({"type": "string", "pattern": "^[^\\x00]*$"});
    Some(match name {
        "limit" => {
            let schema = json!({
                "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT
            });
            (schema, json!(20))
        }
        "cursor" => (json!({"type": "string", "pattern": "^[A-Za-z0-9_-]{8,}$"}), json!(CURSOR)),
        "version" | "state_version" => (number_from(1), json!(1)),
        "timeout_ms" => {
            (json!({"type": "integer", "format": "int64", "minimum": 1}), json!(30_000))
        }
        "since" => {
            (json!({"type": "string", "format": "date-time"}), json!("2026-01-31T08:00:00Z"))
        }
        "until" => {
            (json!({"type": "string", "format": "date-time"}), json!("2026-02-28T08:00:00Z"))
        }
        "failed" | "unmeasured" | "dedupe" => (json!({"type": "boolean"}), json!(true)),
        "split" => (json!({"type": "string", "pattern": SPLIT}), json!("train")),
        "graph" => (text(), json!("support-reply")),
        "workspace" => (text(), json!("default")),
        "description" => (any_text(), json!("Tickets of January")),
        "actor" => (any_text(), json!("deploy")),
        "kind" => (any_text(), json!("graph")),
        "by" => (dimensions(), json!(["graph", "model"])),
        "key" => (text(), json!("deploy")),
        "model" => (text(), json!("default")),
        "session_id" => (text(), json!("ticket-4711")),
        "user_id" => (text(), json!("u-17")),
        "error_code" => (text(), json!("lm_error")),
        "inputs" => (columns(), json!(["ticket"])),
        "expected" => (columns(), json!(["reply"])),
        _ => return None,
    })
}

fn header_form(name: &str) -> Option<(Value, Value)> {
    Some(match name {
        "If-Match" | "If-None-Match" => {
            (json!({"type": "string", "pattern": TAGS}), json!("\"3\""))
        }
        "Idempotency-Key" => {
            (json!({"type": "string", "pattern": "^[!-~]{1,255}$"}), json!("order-4711-reply"))
        }
        "X-Dsrs-Tags" => (json!({"type": "string", "pattern": TAG_LIST}), json!("nightly, de")),
        "X-Dsrs-Session-Id" => (label(), json!("ticket-4711")),
        "X-Dsrs-User-Id" => (label(), json!("u-17")),
        "X-Dsrs-Metadata" => (metadata_text(), json!("{\"channel\": \"mail\"}")),
        "Last-Event-ID" => (json!({"type": "integer", "format": "int64", "minimum": 0}), json!(12)),
        _ => return None,
    })
}

/// The id of a resource in examples.
const ID: &str = "01990d5e-7c1c-7b7e-9d8a-0c2f0f1f2f3f";

/// The cursor of a list in examples.
const CURSOR: &str = "MDE5OTBkNWU";

/// Names of columns, with commas between them.
fn columns() -> Value {
    json!({
        "type": "array", "minItems": 1, "uniqueItems": true,
        "items": {"type": "string", "pattern": COLUMN}
    })
}

/// By what usage is divided, with commas between them.
fn dimensions() -> Value {
    let names = UsageDimension::ALL.map(UsageDimension::as_str);
    json!({
        "type": "array", "minItems": 1, "uniqueItems": true, "items": {"type": "string", "enum": names}
    })
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

/// Tags with commas between them. An empty header is none.
const TAG_LIST: &str = concat!(
    r"^([!-+\--~]([ -+\--~]{0,62}[!-+\--~])?)?",
    r"( *, *([!-+\--~]([ -+\--~]{0,62}[!-+\--~])?)?){0,15}$"
);

/// A label in a header. An empty header is none.
fn label() -> Value {
    json!({"type": "string", "pattern": "^([!-~]([ -~]{0,198}[!-~])?)?$"})
}

/// Metadata in a header: JSON text. Generators of clients lose or garble a header that is declared with `content`, and
/// send a text as it is. An empty header is none.
fn metadata_text() -> Value {
    json!({
        "type": "string", "pattern": r"^(\{[ -~]*\})?$",
        "contentMediaType": "application/json", "contentSchema": metadata()
    })
}

/// Metadata as in a body.
fn metadata() -> Value {
    let plain = r"^[^\u0000-\u001f\u007f-\u009f]*$";
    json!({
        "type": "object", "maxProperties": 16,
        "propertyNames": {"minLength": 1, "maxLength": 64, "pattern": plain},
        "additionalProperties": {
            "type": ["string", "number", "boolean"], "maxLength": 512, "pattern": plain
        }
    })
}

/// A number that the database holds as an integer.
fn number_from(least: i32) -> Value {
    json!({"type": "integer", "format": "int32", "minimum": least, "maximum": i32::MAX})
}
