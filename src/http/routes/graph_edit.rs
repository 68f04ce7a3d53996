//! `PATCH /v1/graphs/{graph}` and the difference of two versions: graphs as lists of edits.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;

use crate::app::App;
use crate::app::json::JsonObject;
use crate::http::protocol::answer;
use crate::http::protocol::body::Document;
use crate::http::protocol::caller::Caller;
use crate::http::protocol::etag::IfMatch;
use crate::http::protocol::path;
use crate::http::protocol::problem::ApiProblem;
use crate::http::protocol::query::{NoQuery, Query};
use crate::http::protocol::raw_json::RawJson;
use crate::http::routes::graph::{GRAPH_TAG, carried_json, graph_json, graph_tag};
use crate::http::views::{GraphEdits, PutGraph, VersionDiff};
use crate::store::graph::GraphRef;

/// Edit a graph
///
/// Applies edits to the newest version, in order, and checks what comes out. All or nothing: one
/// new version, with the predictor state that carries over, or every problem at its edit.
#[utoipa::path(
    patch, path = "/v1/graphs/{graph}", tag = "graphs",
    params(
        ("graph" = String, Path, description = "Name, or id"),
        ("If-Match" = Option<String>, Header, description = "Only if this is the newest version")),
    request_body(content = GraphEdits, example = json!(crate::http::routes::examples::edits())),
    responses((status = 200, description = "The newest version", body = PutGraph, headers(
        ("ETag" = String, description = "Its version")))),
    extensions(("x-problems" = json!(["not_found", "invalid_graph", "precondition_failed"])))
)]
pub(crate) async fn graph_patch(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    if_match: IfMatch,
    _: NoQuery,
    body: Document,
) -> Result<Response, ApiProblem> {
    let precondition = if_match.precondition(&[GRAPH_TAG]);
    let graph = GraphRef::parse(&graph);
    let put = app.graph_patch(&caller.scope(), &graph, &body.parsed, &precondition).await?;
    let tag = graph_tag(put.row.id, put.row.version);
    Ok(answer::tagged(&tag, &RawJson::from(graph_json(&put.row, Some(&carried_json(&put))))))
}

/// Compare two versions of a graph
///
/// The edits that make this version of another one, and the same as lines to read.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/versions/{version}/diff", tag = "graphs",
    params(
        ("graph" = String, Path, description = "Name, or id"),
        ("version" = u32, Path, description = "The version that the edits lead to"),
        ("against" = Option<u32>, Query, description = "The version that they start from; the one before if not given")),
    responses((status = 200, description = "The difference", body = VersionDiff)),
    extensions(("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn version_diff(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((graph, version)): Path<(String, String)>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let against = query.number("against");
    query.close()?;
    let new = path::version(&version)?;
    let old = against.unwrap_or_else(|| new.saturating_sub(1).max(1));
    let diff = app.graph_diff(&caller.scope(), &GraphRef::parse(&graph), old, new).await?;
    let mut object = JsonObject::new();
    object.shown("from", old).shown("to", new);
    object.raw("edits", &diff.edits.to_payload().to_json()).text("text", &diff.text);
    Ok(answer::ok(&RawJson::from(object.finish())))
}
