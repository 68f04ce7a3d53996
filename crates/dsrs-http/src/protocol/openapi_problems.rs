//! The problems of the OpenAPI document: one example for each code, to which every operation refers, and the headers of
//! answers. Knows the status table and the catalogue, and no route.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::protocol::status::ProblemCode;

/// The media type of problems.
const PROBLEM: &str = "application/problem+json";

/// The problem of each code that an operation names, as `components/examples`.
pub(super) fn problem_examples(named: &HashSet<ProblemCode>) -> Value {
    let example = |code: &ProblemCode| {
        let example = json!({"summary": code.title(), "value": problem(*code)});
        (code.as_str().to_owned(), example)
    };
    let used = ProblemCode::ALL.iter().filter(|code| named.contains(code));
    Value::Object(used.map(example).collect())
}

/// The headers of answers, as `components/headers`.
pub(super) fn headers() -> Value {
    json!({
        "X-Request-Id": {
            "description": "The id of the request: that of the client if it sent one, else a new one",
            "schema": {"type": "string"},
            "example": REQUEST_ID
        },
        "Retry-After": {
            "description": "Seconds to wait before the request is repeated",
            "schema": {"type": "integer", "minimum": 0},
            "example": 1
        }
    })
}

/// A response that a route does not declare itself.
pub(super) fn empty_problem() -> Value {
    json!({"description": "", "content": {PROBLEM: problem_content()}})
}

fn problem_content() -> Value {
    json!({"schema": {"$ref": "#/components/schemas/Problem"}, "examples": {}})
}

/// Adds a problem to a response.
pub(super) fn add_problem(response: &mut Value, code: ProblemCode) {
    if let Some(description) = response.get_mut("description") {
        let before = description.as_str().unwrap_or_default();
        let and = if before.is_empty() { "" } else { "; " };
        *description = json!(format!("{before}{and}`{}`: {}", code.as_str(), code.title()));
    }
    // A route may answer the same status with a document of its own.
    let content = response.get_mut("content").and_then(Value::as_object_mut);
    let content = content.map(|content| content.entry(PROBLEM).or_insert_with(problem_content));
    let examples = content.and_then(|content| content.get_mut("examples"));
    if let Some(examples) = examples.and_then(Value::as_object_mut) {
        let reference = format!("#/components/examples/{}", code.as_str());
        examples.insert(code.as_str().to_owned(), json!({"$ref": reference}));
    }
    if code.names_retry() {
        add_header(response, "Retry-After");
    }
}

/// Moves the answers of an operation that are problems alone to `components/responses`: most operations share them.
pub(super) fn share_problems(operation: &mut Map<String, Value>, shared: &mut Map<String, Value>) {
    let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
    for response in responses.into_iter().flatten().map(|(_, response)| response) {
        let Some(name) = shared_name(response) else { continue };
        let first = shared.entry(name.clone()).or_insert_with(|| response.clone());
        if first == response {
            *response = json!({"$ref": format!("#/components/responses/{name}")});
        }
    }
}

/// The codes of an answer that is a problem alone.
fn shared_name(response: &Value) -> Option<String> {
    let content = response.get("content")?.as_object().filter(|content| content.len() == 1)?;
    let examples = content.get(PROBLEM)?.get("examples")?.as_object()?;
    let codes: Vec<&str> = examples.keys().map(String::as_str).collect();
    (!codes.is_empty()).then(|| codes.join("_or_"))
}

/// Adds a header of `components/headers` to a response.
pub(super) fn add_header(response: &mut Value, name: &str) {
    let Some(response) = response.as_object_mut() else { return };
    let headers = response.entry("headers").or_insert_with(|| json!({}));
    if let Some(headers) = headers.as_object_mut() {
        let reference = || json!({"$ref": format!("#/components/headers/{name}")});
        headers.entry(name).or_insert_with(reference);
    }
}

/// The id of the request in examples.
const REQUEST_ID: &str = "01990d5e-7c1c-7b7e-9d8a-0c2f0f1f2f3f";

fn problem(code: ProblemCode) -> Value {
    let errors = match code {
        ProblemCode::InvalidRequest => item("/nmae", "unknown_field", "unknown member `nmae`"),
        ProblemCode::InvalidGraph => item("/edges/0", "cycle", "closes the cycle a -> b -> a"),
        ProblemCode::InvalidInput => item("/inputs/ticket", "missing_field", "`ticket` is missing"),
        ProblemCode::InvalidState => {
            item("/predictors/triag", "unknown_field", "there is no predictor `triag`")
        }
        ProblemCode::NameMismatch => {
            item("/name", "name_mismatch", "the graph is `a`, the body names `b`")
        }
        _ => json!([]),
    };
    let mut problem = Map::new();
    let members = [
        ("type", json!(code.path())),
        ("title", json!(code.title())),
        ("status", json!(code.status())),
        ("detail", json!(code.entry().example)),
        ("code", json!(code.as_str())),
        ("errors", errors),
        ("request_id", json!(REQUEST_ID)),
    ];
    problem.extend(members.map(|(name, value)| (name.to_owned(), value)));
    Value::Object(problem)
}

fn item(pointer: &str, code: &str, detail: &str) -> Value {
    json!([{"pointer": pointer, "code": code, "detail": detail}])
}
