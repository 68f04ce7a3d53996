//! `/v1/parse`: the parser of LM answers as a tool.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use crate::protocol::answer;
use crate::protocol::body::Document;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::NoQuery;
use crate::views::{ParseRequest, ParseView};
use dsrs_app::App;

/// Parse a text
///
/// Parses a text as a value of a type, or a whole answer of an LM as the outputs of a signature, and
/// reports every leniency that the parser used. The error is `parse_error`, or `constraint_failed` if an
/// assert fails; both include the report so far.
#[utoipa::path(
    post, path = "/v1/parse", tag = "strategies",
    request_body(content = ParseRequest, example = json!(crate::routes::examples::parse())),
    responses((status = 200, description = "The parsed text", body = ParseView)),
    extensions(("x-scope" = json!("read")),
        ("x-problems" = json!(["parse_error", "constraint_failed"])))
)]
pub(crate) async fn parse(
    State(app): State<Arc<App>>,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    Ok(answer::ok(&ParseView::from(app.parse(&document.parsed)?)))
}
