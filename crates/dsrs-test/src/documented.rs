//! Checks requests and answers against the OpenAPI document. The callers of the tests use it for every request, so that
//! each test of a route also tests that the document describes what the route accepts and answers.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use reqwest::Method;
use serde_json::{Value, json};

use super::{Answer, Received, repository};

/// The committed document; a test compares it with that of the routes.
static DOCUMENT: LazyLock<Value> = LazyLock::new(|| {
    let file = repository().join("openapi/openapi.json");
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
});

type Validators = HashMap<String, Arc<Validator>>;

static VALIDATORS: LazyLock<Mutex<Validators>> = LazyLock::new(Mutex::default);

/// Fails if a JSON response does not match the OpenAPI document. Responses to `HEAD` have no body.
pub fn check(method: &Method, path: &str, answer: &Answer) {
    if method == Method::HEAD {
        return;
    }
    let media_type = answer.header("content-type");
    let pointer = match media_type {
        "application/problem+json" => Some("/components/schemas/Problem".to_owned()),
        "application/json" => schema_of(method, path, answer.status),
        _ => None,
    };
    let Some(pointer) = pointer else { return };
    expect_valid(&pointer, &answer.json(), &format!("{method} {path} {}", answer.status));
}

/// Fails if the server accepted a JSON body that the OpenAPI document does not allow.
pub(crate) fn check_request(method: &Method, path: &str, body: &str, answer: &Answer) {
    if !(200..300).contains(&answer.status) {
        return;
    }
    let Some(operation) = operation_of(method, path) else { return };
    let media_type = escape("application/json");
    let pointer = format!("{operation}/requestBody/content/{media_type}/schema");
    if let (Some(_), Ok(body)) = (DOCUMENT.pointer(&pointer), serde_json::from_str(body)) {
        expect_valid(&pointer, &body, &format!("the body of {method} {path}"));
    }
}

/// Fails if a message of a webhook is not as the OpenAPI document describes it, or has more members.
pub(crate) fn check_message(message: &Received) {
    let body = message.json();
    let event = body["type"].as_str().unwrap_or_default();
    let operation = format!("/webhooks/{event}/post");
    let media_type = escape("application/json");
    let pointer = format!("{operation}/requestBody/content/{media_type}/schema");
    expect_valid(&pointer, &body, &format!("the message of {event}"));
    expect_known_members(&pointer, &body, event);
    let headers = [&message.id, &message.timestamp, &message.signature];
    for (number, value) in headers.into_iter().enumerate() {
        let pointer = format!("{operation}/parameters/{number}/schema");
        expect_valid(&pointer, &json!(value), &format!("a header of {event}"));
    }
}

/// Fails if an object has a member that its schema does not name.
fn expect_known_members(pointer: &str, value: &Value, what: &str) {
    let schema = DOCUMENT.pointer(pointer).unwrap_or(&Value::Null);
    if let Some(reference) = schema["$ref"].as_str() {
        return expect_known_members(reference.trim_start_matches('#'), value, what);
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        assert!(schema["properties"].get(name).is_some(), "{what} has `{name}`, {pointer} has not");
        expect_known_members(&format!("{pointer}/properties/{}", escape(name)), member, what);
    }
}

fn expect_valid(pointer: &str, value: &Value, what: &str) {
    let problems: Vec<_> =
        validator(pointer).iter_errors(value).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{what}: {problems:?} in {value}");
}

/// Where the document has the schema of an answer; nothing for a route that it does not have.
fn schema_of(method: &Method, path: &str, status: u16) -> Option<String> {
    let operation = operation_of(method, path)?;
    let responses = DOCUMENT.pointer(&format!("{operation}/responses")).unwrap();
    let status = status.to_string();
    let status = if responses.get(&status).is_some() { &status } else { "default" };
    assert!(responses.get(status).is_some(), "{operation} does not document {status}");
    let media_type = escape("application/json");
    Some(format!("{operation}/responses/{status}/content/{media_type}/schema"))
}

/// Where the document has an operation; nothing for a route that it does not have.
fn operation_of(method: &Method, path: &str) -> Option<String> {
    let path = path.split('?').next().unwrap_or(path);
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let known = paths.keys().filter(|template| matches(template, path));
    // A literal segment wins over a parameter, as in the router.
    let template = known.min_by_key(|template| template.matches('{').count())?;
    let method = method.as_str().to_lowercase();
    Some(format!("/paths/{}/{method}", escape(template)))
}

fn matches(template: &str, path: &str) -> bool {
    let (mut known, mut found) = (template.split('/'), path.split('/'));
    loop {
        match (known.next(), found.next()) {
            (None, None) => return true,
            (Some(known), Some(found)) if known.starts_with('{') || known == found => {}
            _ => return false,
        }
    }
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn validator(pointer: &str) -> Arc<Validator> {
    let mut validators = VALIDATORS.lock().unwrap();
    let compile = || {
        let mut schema = DOCUMENT.pointer(pointer).unwrap_or(&Value::Null).clone();
        assert!(schema.is_object(), "no schema at {pointer}");
        schema["components"] = json!({"schemas": DOCUMENT["components"]["schemas"]});
        Arc::new(jsonschema::validator_for(&schema).unwrap())
    };
    validators.entry(pointer.to_owned()).or_insert_with(compile).clone()
}
