//! `PATCH /v1/graphs/{graph}` and the difference between two versions, as lists of edits.

use axum::response::Response;

use crate::protocol::answer;
use crate::protocol::body::Document;
use crate::protocol::etag::IfMatch;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::{NoQuery, Query};
use crate::protocol::resource::ResourceRequest;
use crate::routes::graph::{GRAPH_TAG, updated};
use crate::views::{GraphEdits, GraphUpdateView, VersionDiffView};
use dsrs_store::graph::GraphRef;

/// Edit a graph
///
/// Applies edits to the newest version, in order, and checks the result. Either all edits make one new
/// version, with the predictor state carried over, or the answer names every problem at its edit.
#[utoipa::path(
    patch, path = "/v1/graphs/{graph}", tag = "graphs",
    params(("If-Match" = Option<String>, Header, description = "Only if this is the newest version")),
    request_body(content = GraphEdits, example = json!(crate::routes::examples::edits())),
    responses((status = 200, description = "The newest version", body = GraphUpdateView, headers(
        ("ETag" = String, description = "The version")))),
    extensions(("x-scope" = json!("write")),
        ("x-problems" = json!(["invalid_graph", "precondition_failed"])))
)]
pub(crate) async fn graph_patch(
    request: ResourceRequest<GraphRef>,
    if_match: IfMatch,
    _: NoQuery,
    body: Document,
) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource: graph } = request;
    let precondition = if_match.precondition(&[GRAPH_TAG]);
    Ok(updated(&app.graph_patch(&scope, &graph, &body.parsed, &precondition).await?))
}

/// Compare two versions of a graph
///
/// The edits that lead from another version to this one, and the same as lines of text.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/versions/{version}/diff", tag = "graphs",
    params(
        ("version" = u32, Path, description = "The version that the edits lead to"),
        ("against" = Option<i32>, Query, minimum = 1, description = "The version that they start from. Default: the previous one")),
    responses((status = 200, description = "The difference", body = VersionDiffView)),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn version_diff(
    request: ResourceRequest<(GraphRef, i32)>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource: (graph, new) } = request;
    let against = query.number("against");
    query.close()?;
    let old = against.unwrap_or_else(|| new.saturating_sub(1).max(1));
    let diff = app.graph_diff(&scope, &graph, old, new).await?;
    Ok(answer::ok(&VersionDiffView::new(old, new, &diff)))
}
