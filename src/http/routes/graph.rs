//! `/v1/graphs`: created, validated, listed, read, replaced, deleted; and their versions.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use uuid::Uuid;

use crate::app::App;
use crate::http::protocol::answer;
use crate::http::protocol::body::{Document, PostedBody};
use crate::http::protocol::caller::Caller;
use crate::http::protocol::etag::{ETag, IfMatch, IfNoneMatch};
use crate::http::protocol::idempotency::{IdempotencyKey, once};
use crate::http::protocol::page::{PageParams, PageRequest};
use crate::http::protocol::path;
use crate::http::protocol::problem::ApiProblem;
use crate::http::protocol::query::{NoQuery, Query};
use crate::http::protocol::raw_json::RawJson;
use crate::http::views::{
    GraphDefinition, GraphItemView, GraphPage, GraphUpdateView, GraphView, ValidGraphView,
    VersionItemView, VersionPage,
};
use crate::store::graph::{GraphRef, GraphRow};

/// The kind of the tags of graph versions.
pub(crate) const GRAPH_TAG: char = 'g';

/// The tag of a graph version.
pub(crate) fn graph_tag(id: Uuid, version: i32) -> ETag {
    ETag::of(GRAPH_TAG, id, version)
}

/// Create a graph
///
/// Resolves and checks the definition, and stores it as version 1 with an untuned predictor state.
#[utoipa::path(
    post, path = "/v1/graphs", tag = "graphs",
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes repeats of the request safe")),
    request_body(content = GraphDefinition, example = json!(crate::http::routes::examples::graph())),
    responses((status = 201, description = "The graph", body = GraphView, headers(
        ("Location" = String, description = "The address of the graph"),
        ("ETag" = String, description = "The version")))),
    extensions(("x-problems" = json!(["invalid_graph", "already_exists",
        "idempotency_key_reused", "idempotency_in_progress"])))
)]
pub(crate) async fn graph_create(
    State(app): State<Arc<App>>,
    caller: Caller,
    key: IdempotencyKey,
    query: Result<NoQuery, ApiProblem>,
    PostedBody { bytes, document }: PostedBody,
) -> Response {
    let (verb, scope) = (app.clone(), caller.scope());
    let work = Box::pin(async move {
        query?;
        let row = verb.graph_create(&scope, &document?.parsed).await?;
        let location = format!("/v1/graphs/{}", row.name);
        let tag = graph_tag(row.id, row.version);
        Ok(answer::created(&location, &tag, &GraphView::from(&row)))
    });
    once(&app, &caller, key, "POST /v1/graphs".to_owned(), &bytes, work).await
}

/// Validate a graph
///
/// Resolves and checks the definition without storing it.
#[utoipa::path(
    post, path = "/v1/graphs/validate", tag = "graphs",
    request_body(content = GraphDefinition, example = json!(crate::http::routes::examples::graph())),
    responses((status = 200, description = "The resolved graph", body = ValidGraphView)),
    extensions(("x-problems" = json!(["invalid_graph"])))
)]
pub(crate) async fn graph_validate(
    State(app): State<Arc<App>>,
    caller: Caller,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let program = app.graph_check(&caller.scope(), &document.parsed).await?;
    let graph = RawJson::from(program.canonical_text().as_ref());
    Ok(answer::ok(&ValidGraphView { valid: true, graph }))
}

/// List graphs
///
/// Newest first.
#[utoipa::path(
    get, path = "/v1/graphs", tag = "graphs",
    params(PageParams),
    responses((status = 200, description = "A page", body = GraphPage))
)]
pub(crate) async fn graph_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let page = PageRequest::read(&mut query, "graphs");
    query.close()?;
    let found = app.graph_list(&caller.scope(), page.newest()).await?;
    Ok(page.respond(&found, GraphItemView::from))
}

/// Read a graph
///
/// The newest version, or `version`.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}", tag = "graphs",
    params(
        ("graph" = String, Path, description = "Name or id of the graph"),
        ("version" = Option<u32>, Query, description = "The version. Default: the newest"),
        ("If-None-Match" = Option<String>, Header, description = "Answer `304` if this version is current")),
    responses(
        (status = 200, description = "The graph", body = GraphView, headers(
            ("ETag" = String, description = "The version"))),
        (status = 304, description = "The client has this version")),
    extensions(("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn graph_get(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    known: IfNoneMatch,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let version = query.number("version");
    query.close()?;
    let row = app.graph_get(&caller.scope(), &GraphRef::parse(&graph), version).await?;
    Ok(graph_answer(&known, &row))
}

/// Replace a graph
///
/// Creates the next version and carries over the predictor state that still fits. A definition that
/// equals the newest version creates no version. Never creates a graph.
#[utoipa::path(
    put, path = "/v1/graphs/{graph}", tag = "graphs",
    params(
        ("graph" = String, Path, description = "Name or id of the graph"),
        ("If-Match" = Option<String>, Header, description = "Only if this is the newest version")),
    request_body(content = GraphDefinition, example = json!(crate::http::routes::examples::graph())),
    responses((status = 200, description = "The newest version", body = GraphUpdateView, headers(
        ("ETag" = String, description = "The version")))),
    extensions(("x-problems" = json!(["not_found", "invalid_graph", "name_mismatch",
        "precondition_failed"])))
)]
pub(crate) async fn graph_put(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    if_match: IfMatch,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let precondition = if_match.precondition(&[GRAPH_TAG]);
    let graph = GraphRef::parse(&graph);
    let put = app.graph_put(&caller.scope(), &graph, &document.parsed, &precondition).await?;
    let tag = graph_tag(put.row.id, put.row.version);
    Ok(answer::tagged(&tag, &GraphUpdateView::from(&put)))
}

/// Delete a graph
///
/// Its runs stay readable, and its name becomes available.
#[utoipa::path(
    delete, path = "/v1/graphs/{graph}", tag = "graphs",
    params(
        ("graph" = String, Path, description = "Name or id of the graph"),
        ("If-Match" = Option<String>, Header, description = "Only if this is the newest version")),
    responses((status = 204, description = "The graph is deleted")),
    extensions(("x-problems" = json!(["not_found", "precondition_failed"])))
)]
pub(crate) async fn graph_delete(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    if_match: IfMatch,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let precondition = if_match.precondition(&[GRAPH_TAG]);
    app.graph_delete(&caller.scope(), &GraphRef::parse(&graph), &precondition).await?;
    Ok(answer::no_content())
}

/// List a graph's versions
///
/// Newest first.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/versions", tag = "graphs",
    params(
        ("graph" = String, Path, description = "Name or id of the graph"),
        PageParams),
    responses((status = 200, description = "A page", body = VersionPage)),
    extensions(("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn version_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let graph = app.graph_id(&caller.scope(), &GraphRef::parse(&graph)).await?;
    let page = PageRequest::read(&mut query, format!("graph_versions/{graph}"));
    query.close()?;
    let found = app.graph_versions(&caller.scope(), graph, page.numbered()).await?;
    Ok(page.respond(&found, VersionItemView::from))
}

/// Read one version of a graph
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/versions/{version}", tag = "graphs",
    params(
        ("graph" = String, Path, description = "Name or id of the graph"),
        ("version" = u32, Path, description = "The version"),
        ("If-None-Match" = Option<String>, Header, description = "Answer `304` if this version is current")),
    responses(
        (status = 200, description = "The graph at that version", body = GraphView, headers(
            ("ETag" = String, description = "The version"))),
        (status = 304, description = "The client has this version")),
    extensions(("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn version_get(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((graph, version)): Path<(String, String)>,
    known: IfNoneMatch,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let version = path::version(&version)?;
    let row = app.graph_get(&caller.scope(), &GraphRef::parse(&graph), Some(version)).await?;
    Ok(graph_answer(&known, &row))
}

fn graph_answer(known: &IfNoneMatch, row: &GraphRow) -> Response {
    answer::fresh(known, &graph_tag(row.id, row.version), &GraphView::from(row))
}
