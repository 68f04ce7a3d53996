//! The OpenAPI document: generated from the routes and their views, completed with the problems that
//! each route may answer, from the status table.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};

use crate::protocol::merged_schema::merge_parts;
use crate::protocol::openai_problem::{self, OpenAiError};
use crate::protocol::openapi_problems::{
    add_header, add_problem, empty_problem, headers, problem_examples, share_problems,
};
use crate::protocol::openapi_webhooks::{self, WebhookMessage};
use crate::protocol::problem_view::ProblemView;
use crate::protocol::route::{RUNS_ON, SCOPE, STARTS, declared_scope};
use crate::protocol::status::ProblemCode;
use crate::protocol::{parameter, path_parameter};
use dsrs_store::key_scope::KeyScope;

/// The member in which a route lists its own problems.
const OWN_PROBLEMS: &str = "x-problems";

#[derive(OpenApi)]
#[openapi(
    info(
        title = "dsrs-server",
        description = "Hosts typed graphs of language-model prompting strategies.\n\n\
            Every answer has the header `X-Request-Id`. Every error is `application/problem+json`; \
            its `errors` lists all problems found, with JSON Pointers into the request body. \
            Unknown members and parameters are errors. Bytes that are not an HTTP request are \
            answered with `400 malformed_request`, `414 uri_too_long` or `431 headers_too_large`. \
            Without API keys, requests that name another host, or that a page of another web site \
            sends, are answered with `403 forbidden_host` or `403 forbidden_origin`. Answers to keys \
            with limits have the headers `RateLimit-Policy` and `RateLimit`."
    ),
    components(schemas(ProblemView, OpenAiError)),
    modifiers(&Bearer),
    tags(
        (name = "graphs", description = "Typed graphs and their versions"),
        (name = "runs", description = "Executions and their records"),
        (name = "batches", description = "A graph over many items"),
        (name = "datasets", description = "Examples in immutable versions"),
        (name = "indexes", description = "Passages of a dataset, found by words and by meaning"),
        (name = "evaluations", description = "The quality of a graph on examples, and comparisons"),
        (name = "optimizations", description = "Search for better prompts and graphs with examples"),
        (name = "state", description = "The instructions and demos of the predictors of a graph"),
        (name = "strategies", description = "The strategies, models and types of the server"),
        (name = "usage", description = "Runs, calls, tokens, cost and scores over time"),
        (name = "schedules", description = "Work that starts at times of a calendar"),
        (name = "webhooks", description = "Signed messages about what has ended"),
        (name = "keys", description = "API keys and workspaces"),
        (name = "openai", description = "Graphs as models for clients of OpenAI's API"),
        (name = "mcp", description = "Graphs as tools of an MCP server"),
        (name = "operations", description = "Health and metrics"),
    )
)]
pub(crate) struct Base;

struct Bearer;

impl utoipa::Modify for Bearer {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("An API key, if the server has any. An operation names the scope that the key needs; \
                `admin` includes all others"))
            .build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("key", SecurityScheme::Http(bearer));
    }
}

/// The complete document of the routes and of the messages that the server sends. `complete_schemas` completes the
/// schemas of the views.
pub(crate) fn complete(
    routes: &utoipa::openapi::OpenApi,
    messages: &[WebhookMessage],
    complete_schemas: impl FnOnce(&mut Map<String, Value>),
) -> Value {
    let mut document = serde_json::to_value(routes).unwrap_or_default();
    let (mut named, mut shared) = (HashSet::new(), Map::new());
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    for (path, item) in paths.into_iter().flatten() {
        for operation in item.as_object_mut().into_iter().flat_map(Map::values_mut) {
            if let Some(operation) = operation.as_object_mut() {
                named.extend(complete_operation(path, operation));
                share_problems(operation, &mut shared);
            }
        }
    }
    let schemas = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut);
    if let Some(schemas) = schemas {
        schemas.extend(openapi_webhooks::schemas(messages));
        complete_schemas(schemas);
        schemas.values_mut().for_each(merge_parts);
    }
    if let Some(components) = document.get_mut("components").and_then(Value::as_object_mut) {
        components.insert("examples".to_owned(), problem_examples(&named));
        components.insert("responses".to_owned(), Value::Object(shared));
        components.insert("headers".to_owned(), headers());
    }
    if let Some(document) = document.as_object_mut() {
        openapi_webhooks::add(document, messages);
        let server = json!({"url": "/", "description": "The server that serves this document"});
        document.insert("servers".to_owned(), json!([server]));
    }
    open_objects(&mut document);
    document
}

/// Says of every object without members that it may have any. Generators take it for an empty one otherwise.
fn open_objects(value: &mut Value) {
    match value {
        Value::Object(members) => {
            let is_object = match members.get("type") {
                Some(Value::String(kind)) => kind == "object",
                Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
                _ => false,
            };
            let is_silent =
                ["properties", "additionalProperties", "$ref", "allOf", "oneOf", "anyOf"]
                    .iter()
                    .all(|member| !members.contains_key(*member));
            if is_object && is_silent {
                members.insert("additionalProperties".to_owned(), Value::Bool(true));
            }
            for (name, member) in members.iter_mut() {
                match (name.as_str(), member) {
                    // Names of members, which may be those of keywords.
                    ("properties", Value::Object(named)) => {
                        named.values_mut().for_each(open_objects);
                    }
                    // Values, not schemas.
                    ("example" | "examples" | "default" | "const" | "enum", _) => {}
                    (_, member) => open_objects(member),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(open_objects),
        _ => {}
    }
}

/// Whether the requests of a route need a key, if the server has any.
pub(crate) fn is_guarded(path: &str) -> bool {
    path.starts_with("/v1")
        || path.starts_with(openai_problem::PREFIX)
        || path == "/mcp"
        || path == "/metrics"
}

/// Completes an operation, and returns the problems that it may answer.
fn complete_operation(path: &str, operation: &mut Map<String, Value>) -> Vec<ProblemCode> {
    let guarded = is_guarded(path);
    if guarded {
        require_scope(operation);
    } else {
        operation.insert("security".to_owned(), json!([]));
    }
    path_parameter::add(path, operation);
    parameter::complete(operation);
    let codes = problems_of(path, guarded, operation);
    let responses = operation.entry("responses").or_insert_with(|| json!({}));
    let Some(responses) = responses.as_object_mut() else { return Vec::new() };
    if path.starts_with(openai_problem::PREFIX) {
        let schema = json!({"$ref": "#/components/schemas/OpenAiError"});
        let error = json!({
            "description": "An error in the format of OpenAI; `code` is that of the problem",
            "content": {"application/json": {"schema": schema}}
        });
        responses.insert("default".to_owned(), error);
        return Vec::new();
    }
    for code in codes.iter().copied() {
        let status = code.status().to_string();
        let response = responses.entry(status).or_insert_with(empty_problem);
        add_problem(response, code);
    }
    for response in responses.values_mut() {
        add_header(response, "X-Request-Id");
    }
    responses.sort_keys();
    codes
}

/// Shows which scope a key needs. A server without keys requires none.
fn require_scope(operation: &mut Map<String, Value>) {
    let declared = declared_scope(&Value::Object(operation.clone()));
    let scope = declared.unwrap_or(KeyScope::Admin).as_str();
    operation.shift_remove(SCOPE);
    operation.insert("security".to_owned(), json!([{"key": [scope]}, {}]));
    let before = operation.get("description").and_then(Value::as_str).unwrap_or_default();
    let and = if before.is_empty() { "" } else { "\n\n" };
    let description = format!("{before}{and}Needs the scope `{scope}`.");
    operation.insert("description".to_owned(), json!(description));
}

/// The codes that a route may answer: its own, and those that follow from its path, parameters and body.
fn problems_of(path: &str, guarded: bool, operation: &mut Map<String, Value>) -> Vec<ProblemCode> {
    use ProblemCode as P;
    let own = operation.shift_remove(OWN_PROBLEMS);
    operation.shift_remove(RUNS_ON);
    let starts = operation.shift_remove(STARTS).is_some();
    let own = own.iter().filter_map(Value::as_array).flatten().filter_map(Value::as_str);
    let mut codes: Vec<ProblemCode> = own.filter_map(ProblemCode::named).collect();
    if operation.contains_key("requestBody") {
        codes.extend([P::InvalidJson, P::RequestTimeout, P::TooLarge]);
        codes.extend([P::UnsupportedMediaType, P::InvalidRequest]);
    }
    if path.starts_with("/v1") || path == "/mcp" {
        codes.extend([P::InvalidParameter, P::NotAcceptable, P::Internal, P::Unavailable]);
    }
    if path_parameter::has_some(path) {
        codes.push(P::NotFound);
    }
    if starts {
        codes.push(P::BudgetExhausted);
    }
    if guarded {
        codes.extend([P::Unauthenticated, P::Forbidden, P::RateLimited]);
    }
    ProblemCode::ALL.iter().copied().filter(|code| codes.contains(code)).collect()
}
