//! Checks answers against the OpenAPI document. The callers of the tests use it for every answer, so
//! that each test of a route also tests that the document describes what the route answers.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use reqwest::Method;
use serde_json::{Value, json};

use super::Answer;

static DOCUMENT: LazyLock<Value> = LazyLock::new(dsrs_server::http::openapi);

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
    let (validator, body) = (validator(&pointer), answer.json());
    let problems: Vec<_> = validator.iter_errors(&body).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{method} {path} {}: {problems:?} in {body}", answer.status);
}

/// Where the document has the schema of an answer; nothing for a route that it does not have.
fn schema_of(method: &Method, path: &str, status: u16) -> Option<String> {
    let path = path.split('?').next().unwrap_or(path);
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let known = paths.keys().filter(|template| matches(template, path));
    // A literal segment wins over a parameter, as in the router.
    let template = known.min_by_key(|template| template.matches('{').count())?;
    let method = method.as_str().to_lowercase();
    let operation = &DOCUMENT["paths"][template][&method];
    let response = &operation["responses"][status.to_string()];
    assert!(response.is_object(), "{method} {template} does not document {status}");
    let (template, media_type) = (escape(template), escape("application/json"));
    let content = format!("/paths/{template}/{method}/responses/{status}/content/{media_type}");
    Some(format!("{content}/schema"))
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
