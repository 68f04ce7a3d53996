//! `/v1/graphs/{graph}/online-evaluation`: metrics that judge a share of the runs of a graph.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;

use crate::protocol::answer;
use crate::protocol::body::Document;
use crate::protocol::caller::Caller;
use crate::protocol::etag::{ETag, IfMatch};
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::NoQuery;
use crate::views::{OnlineEvaluationBody, OnlineEvaluationView};
use dsrs_app::App;
use dsrs_store::graph::GraphRef;
use dsrs_store::online_evaluation::OnlineEvaluationRow;

/// The kind of the tags of online evaluations.
const ONLINE_EVALUATION_TAG: char = 'o';

fn tag_of(row: &OnlineEvaluationRow) -> ETag {
    ETag::of(ONLINE_EVALUATION_TAG, row.id, row.revision)
}

/// Set the online evaluation of a graph
///
/// A share of the runs that succeed is judged in the background, within the budget of a day. The scores are feedback of
/// the source `online`: they are shown with runs, filter lists, and are in usage, metrics and the webhook event
/// `score.below`. Runs that the budget does not cover stay without scores. It replaces what was set before.
#[utoipa::path(
    put, path = "/v1/graphs/{graph}/online-evaluation", tag = "evaluations",
    params(("If-Match" = Option<String>, Header, description = "The `ETag` that must be current; `*`: one must be set")),
    request_body(content = OnlineEvaluationBody, example = json!(crate::routes::examples::online_evaluation())),
    responses((status = 200, description = "The online evaluation", body = OnlineEvaluationView, headers(
        ("ETag" = String, description = "The revision")))),
    extensions(("x-scope" = json!("write")),
        ("x-problems" = json!(["precondition_failed"])))
)]
pub(crate) async fn online_evaluation_put(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    if_match: IfMatch,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let request = document.request()?;
    let (scope, graph) = (caller.scope(), GraphRef::parse(&graph));
    let precondition = if_match.precondition(&[ONLINE_EVALUATION_TAG]);
    let row = Box::pin(app.online_evaluation_put(&scope, &graph, request, &precondition)).await?;
    Ok(answer::tagged(&tag_of(&row), &OnlineEvaluationView::from(&row)))
}

/// Read the online evaluation of a graph
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/online-evaluation", tag = "evaluations",
    responses((status = 200, description = "The online evaluation", body = OnlineEvaluationView, headers(
        ("ETag" = String, description = "The revision: changes of clients count, spending does not")))),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn online_evaluation_get(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let row = app.online_evaluation_get(&caller.scope(), &GraphRef::parse(&graph)).await?;
    Ok(answer::tagged(&tag_of(&row), &OnlineEvaluationView::from(&row)))
}

/// Remove the online evaluation of a graph
///
/// The scores stay.
#[utoipa::path(
    delete, path = "/v1/graphs/{graph}/online-evaluation", tag = "evaluations",
    params(("If-Match" = Option<String>, Header, description = "The `ETag` that must be current")),
    responses((status = 204, description = "The graph has no online evaluation")),
    extensions(("x-scope" = json!("write")),
        ("x-problems" = json!(["precondition_failed"])))
)]
pub(crate) async fn online_evaluation_delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    if_match: IfMatch,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let (scope, graph) = (caller.scope(), GraphRef::parse(&graph));
    let precondition = if_match.precondition(&[ONLINE_EVALUATION_TAG]);
    app.online_evaluation_delete(&scope, &graph, &precondition).await?;
    Ok(answer::no_content())
}
