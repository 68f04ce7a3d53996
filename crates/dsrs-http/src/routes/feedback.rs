//! `/v1/runs/{id}/feedback`: scores, comments and corrected outputs, given, listed and deleted; and the mean scores of
//! a graph.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use crate::protocol::answer;
use crate::protocol::caller::Caller;
use crate::protocol::keyed_post::{KeyedPost, PostedRequest};
use crate::protocol::page::{PageParams, PageRequest};
use crate::protocol::path;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::{NoQuery, Query};
use crate::routes::run::time;
use crate::views::{FeedbackBody, FeedbackPage, FeedbackView, GraphScoreView, GraphScoresView};
use dsrs_app::App;
use dsrs_store::feedback::FeedbackRow;
use dsrs_store::feedback_summary::ScorePeriod;
use dsrs_store::graph::GraphRef;

/// Give feedback on a run
///
/// A score with a name, a comment, or corrected outputs, which may be some of the outputs of the graph and are
/// checked against their types. A score replaces the one of the same name, `source` and `user_id`; it has the same
/// id then, and the answer is `200`. A run takes feedback in any status, 1000 pieces at most; not in the archive. The
/// id may also be the one that the OpenAI-compatible routes answered: `chatcmpl-…`, `resp_…` or `msg_…`.
#[utoipa::path(
    post, path = "/v1/runs/{id}/feedback", tag = "runs",
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes repeats of the request safe")),
    request_body(content = FeedbackBody, example = json!(crate::routes::examples::feedback())),
    responses(
        (status = 201, description = "The feedback", body = FeedbackView),
        (status = 200, description = "The feedback, which has replaced an earlier one", body = FeedbackView)),
    extensions(("x-scope" = json!("execute")), ("x-problems" = json!(["run_archived", "rate_limited",
        "idempotency_key_reused", "idempotency_in_progress"])))
)]
pub(crate) async fn feedback_give(Path(id): Path<String>, post: KeyedPost) -> Response {
    let path = format!("/v1/runs/{}/feedback", id.escape_debug());
    let give = |posted: PostedRequest| async move {
        let run = path::run(&id)?;
        let request = posted.document?.request()?;
        let answer = posted.slot.answer(stored);
        let row = posted.app.feedback_put(&posted.scope, run, request, answer).await?;
        Ok(stored(&row))
    };
    post.answer(path, give).await
}

fn stored(row: &FeedbackRow) -> Response {
    let is_new = row.created_at == row.updated_at;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    answer::json(status, &FeedbackView::from(row))
}

/// List the feedback on a run
///
/// Newest first, scores of online evaluations included.
#[utoipa::path(
    get, path = "/v1/runs/{id}/feedback", tag = "runs",
    params(PageParams),
    responses((status = 200, description = "A page", body = FeedbackPage)),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn feedback_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    query: Query,
) -> Result<Response, ApiProblem> {
    let run = path::run(&id)?;
    let page = PageRequest::of(format!("feedback/{run}"), query)?;
    let found = app.feedback_list(&caller.scope(), run, page.newest()?).await?;
    Ok(page.respond(&found, FeedbackView::from))
}

/// Delete feedback
#[utoipa::path(
    delete, path = "/v1/runs/{id}/feedback/{feedback}", tag = "runs",
    responses((status = 204, description = "The feedback is deleted")),
    extensions(("x-scope" = json!("execute")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn feedback_delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((id, feedback)): Path<(String, String)>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    app.feedback_delete(&caller.scope(), path::run(&id)?, path::id(&feedback)?).await?;
    Ok(answer::no_content())
}

/// Read the mean scores of a graph
///
/// By graph version, name and source, the newest version first; categories are counted. At most 1000 rows.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/scores", tag = "runs",
    params(
        ("since" = Option<String>, Query, description = "Of runs that were created at this time (RFC 3339) or later"),
        ("until" = Option<String>, Query, description = "Of runs that were created before this time (RFC 3339)")),
    responses((status = 200, description = "The scores", body = GraphScoresView)),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn graph_scores(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let period = ScorePeriod {
        since: query.read("since", "an RFC 3339 time", time),
        until: query.read("until", "an RFC 3339 time", time),
    };
    query.close()?;
    let scores = app.graph_scores(&caller.scope(), &GraphRef::parse(&graph), period).await?;
    Ok(answer::ok(&GraphScoresView { items: scores.iter().map(GraphScoreView::from).collect() }))
}
