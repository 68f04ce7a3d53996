//! The OpenAPI document: generated from the routes and their views, completed with the problems that
//! each route may answer, from the status table.

use serde_json::{Map, Value, json};
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};

use crate::http::protocol::parameter;
use crate::http::protocol::problem_view::ProblemView;
use crate::http::protocol::route::{RUNS_ON, SCOPE, STARTS, declared_scope};
use crate::http::protocol::status::ProblemCode;
use crate::store::key_scope::KeyScope;

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
    components(schemas(ProblemView)),
    modifiers(&Bearer),
    tags(
        (name = "graphs", description = "Typed graphs and their versions"),
        (name = "runs", description = "Executions and their records"),
        (name = "batches", description = "One graph over many items"),
        (name = "datasets", description = "Examples in immutable versions"),
        (name = "evaluations", description = "The quality of a graph on examples, and comparisons"),
        (name = "optimizations", description = "Search for better prompts and graphs with examples"),
        (name = "state", description = "The instructions and demos of the predictors of a graph"),
        (name = "strategies", description = "The strategies, models and types of the server"),
        (name = "keys", description = "API keys and workspaces"),
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

/// The complete document of the routes. `complete_schemas` completes the schemas of the views.
pub(crate) fn complete(
    routes: &utoipa::openapi::OpenApi,
    complete_schemas: impl FnOnce(&mut Map<String, Value>),
) -> Value {
    let mut document = serde_json::to_value(routes).unwrap_or_default();
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    for (path, item) in paths.into_iter().flatten() {
        for operation in item.as_object_mut().into_iter().flat_map(Map::values_mut) {
            if let Some(operation) = operation.as_object_mut() {
                complete_operation(path, operation);
            }
        }
    }
    let schemas = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut);
    if let Some(schemas) = schemas {
        complete_schemas(schemas);
    }
    document
}

fn complete_operation(path: &str, operation: &mut Map<String, Value>) {
    let guarded = path.starts_with("/v1") || path == "/metrics";
    if guarded {
        require_scope(operation);
    }
    parameter::complete(operation);
    let codes = problems_of(path, guarded, operation);
    let responses = operation.entry("responses").or_insert_with(|| json!({}));
    let Some(responses) = responses.as_object_mut() else { return };
    for code in codes {
        let status = code.status().as_u16().to_string();
        let response = responses.entry(status).or_insert_with(empty_problem);
        add_example(response, code);
    }
    responses.sort_keys();
}

/// Shows which scope a key needs. A server without keys requires none.
fn require_scope(operation: &mut Map<String, Value>) {
    let declared = declared_scope(&Value::Object(operation.clone()));
    let scope = declared.unwrap_or(KeyScope::Admin).as_str();
    operation.remove(SCOPE);
    operation.insert("security".to_owned(), json!([{"key": [scope]}, {}]));
    let before = operation.get("description").and_then(Value::as_str).unwrap_or_default();
    let and = if before.is_empty() { "" } else { "\n\n" };
    let description = format!("{before}{and}Needs the scope `{scope}`.");
    operation.insert("description".to_owned(), json!(description));
}

/// The codes that a route may answer: its own, and those that follow from its parameters and body.
fn problems_of(path: &str, guarded: bool, operation: &mut Map<String, Value>) -> Vec<ProblemCode> {
    use ProblemCode as P;
    let own = operation.remove(OWN_PROBLEMS);
    operation.remove(RUNS_ON);
    let starts = operation.remove(STARTS).is_some();
    let own = own.iter().filter_map(Value::as_array).flatten().filter_map(Value::as_str);
    let mut codes: Vec<ProblemCode> = own.filter_map(ProblemCode::named).collect();
    if operation.contains_key("requestBody") {
        codes.extend([P::InvalidJson, P::RequestTimeout, P::TooLarge]);
        codes.extend([P::UnsupportedMediaType, P::InvalidRequest]);
    }
    if path.starts_with("/v1") {
        codes.extend([P::InvalidParameter, P::NotAcceptable, P::Internal, P::Unavailable]);
    }
    if starts {
        codes.push(P::BudgetExhausted);
    }
    if guarded {
        codes.extend([P::Unauthenticated, P::Forbidden, P::RateLimited]);
    }
    ProblemCode::ALL.iter().copied().filter(|code| codes.contains(code)).collect()
}

fn empty_problem() -> Value {
    json!({
        "description": "",
        "content": {"application/problem+json": {
            "schema": {"$ref": "#/components/schemas/Problem"},
            "examples": {}
        }}
    })
}

fn add_example(response: &mut Value, code: ProblemCode) {
    if let Some(description) = response.get_mut("description") {
        let before = description.as_str().unwrap_or_default();
        let and = if before.is_empty() { "" } else { "; " };
        *description = json!(format!("{before}{and}`{}`: {}", code.as_str(), code.title()));
    }
    let examples = response.pointer_mut("/content/application~1problem+json/examples");
    if let Some(examples) = examples.and_then(Value::as_object_mut) {
        examples.insert(code.as_str().to_owned(), json!({"value": example(code)}));
    }
}

fn example(code: ProblemCode) -> Value {
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
    json!({
        "type": format!("urn:dsrs:problem:{}", code.as_str()),
        "title": code.title(),
        "status": code.status().as_u16(),
        "detail": "what is wrong and how to fix it",
        "code": code.as_str(),
        "errors": errors,
        "request_id": "01990d5e-7c1c-7b7e-9d8a-0c2f0f1f2f3f"
    })
}

fn item(pointer: &str, code: &str, detail: &str) -> Value {
    json!([{"pointer": pointer, "code": code, "detail": detail}])
}
