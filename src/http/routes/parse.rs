//! `/v1/parse`: the parser of the LM's answers as a tool.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use crate::app::App;
use crate::app::json::JsonObject;
use crate::http::protocol::answer;
use crate::http::protocol::body::Document;
use crate::http::protocol::problem::ApiProblem;
use crate::http::protocol::query::NoQuery;
use crate::http::protocol::raw_json::RawJson;
use crate::http::views::{ParseAnswer, ParseRequest};

/// Parse a text
///
/// Reads a text as a value of a type, or a whole answer of an LM as the outputs of a signature, and
/// reports every leniency that it took. A text that does not fit is `parse_error`, or
/// `constraint_failed` where an assert does not hold; both carry the report so far.
#[utoipa::path(
    post, path = "/v1/parse", tag = "strategies",
    request_body(content = ParseRequest, example = json!(crate::http::routes::examples::parse())),
    responses((status = 200, description = "What it says", body = ParseAnswer)),
    extensions(("x-problems" = json!(["parse_error", "constraint_failed"])))
)]
pub(crate) async fn parse(
    State(app): State<Arc<App>>,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let parsed = app.parse(&document.parsed)?;
    let mut object = JsonObject::with_capacity(1024);
    object.raw("value", &parsed.value.to_json());
    object.raw("report", &parsed.report.to_payload().to_json());
    Ok(answer::ok(&RawJson::from(object.finish())))
}
