//! `/v1/graphs`: made, validated, listed, read, replaced, deleted, and their versions.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use uuid::Uuid;

use crate::app::json::JsonObject;
use crate::app::{App, GraphUpdate, timestamp};
use crate::http::protocol::answer;
use crate::http::protocol::body::{Document, PostedBody};
use crate::http::protocol::caller::Caller;
use crate::http::protocol::etag::{ETag, IfMatch, IfNoneMatch};
use crate::http::protocol::idempotency::{IdempotencyKey, once};
use crate::http::protocol::page::{PageParams, PageRequest, key_of};
use crate::http::protocol::path;
use crate::http::protocol::problem::ApiProblem;
use crate::http::protocol::query::{NoQuery, Query};
use crate::http::protocol::raw_json::RawJson;
use crate::http::views::{Graph, GraphDefinition, GraphPage, PutGraph, ValidGraph, VersionPage};
use crate::store::graph::{self, GraphRef, GraphRow};
use crate::store::graph_version::GraphVersionRow;

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
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes repeats safe")),
    request_body(content = GraphDefinition, example = json!(crate::http::routes::examples::graph())),
    responses((status = 201, description = "The graph", body = Graph, headers(
        ("Location" = String, description = "Its address"),
        ("ETag" = String, description = "Its version")))),
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
        Ok(answer::created(
            &location,
            &graph_tag(row.id, row.version),
            &RawJson::from(graph_json(&row, None)),
        ))
    });
    once(&app, &caller, key, "POST /v1/graphs".to_owned(), &bytes, work).await
}

/// Validate a graph
///
/// Resolves and checks the definition; nothing is stored.
#[utoipa::path(
    post, path = "/v1/graphs/validate", tag = "graphs",
    request_body(content = GraphDefinition, example = json!(crate::http::routes::examples::graph())),
    responses((status = 200, description = "The resolved graph", body = ValidGraph)),
    extensions(("x-problems" = json!(["invalid_graph"])))
)]
pub(crate) async fn graph_validate(
    State(app): State<Arc<App>>,
    caller: Caller,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let program = app.graph_check(&caller.scope(), &document.parsed).await?;
    let mut object = JsonObject::with_capacity(program.canonical_text().len() + 64);
    object.raw("valid", "true").raw("graph", program.canonical_text());
    Ok(answer::ok(&RawJson::from(object.finish())))
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
    let items = found.items.into_iter().map(|item| item_json(&item));
    Ok(page.answer(items, found.next.map(key_of)))
}

/// Read a graph
///
/// The newest version, or the one asked for.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}", tag = "graphs",
    params(
        ("graph" = String, Path, description = "Name, or id"),
        ("version" = Option<u32>, Query, description = "A version other than the newest"),
        ("If-None-Match" = Option<String>, Header, description = "Answer `304` if nothing is new")),
    responses(
        (status = 200, description = "The graph", body = Graph, headers(
            ("ETag" = String, description = "Its version"))),
        (status = 304, description = "The caller has this version")),
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
/// Makes the next version and carries over what still fits of the predictor state. A definition
/// that says the same as the newest version makes no new one. Never creates a graph.
#[utoipa::path(
    put, path = "/v1/graphs/{graph}", tag = "graphs",
    params(
        ("graph" = String, Path, description = "Name, or id"),
        ("If-Match" = Option<String>, Header, description = "Only if this is the newest version")),
    request_body(content = GraphDefinition, example = json!(crate::http::routes::examples::graph())),
    responses((status = 200, description = "The newest version", body = PutGraph, headers(
        ("ETag" = String, description = "Its version")))),
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
    Ok(answer::tagged(&tag, &RawJson::from(graph_json(&put.row, Some(&carried_json(&put))))))
}

/// Delete a graph
///
/// Its runs stay readable and its name is free again.
#[utoipa::path(
    delete, path = "/v1/graphs/{graph}", tag = "graphs",
    params(
        ("graph" = String, Path, description = "Name, or id"),
        ("If-Match" = Option<String>, Header, description = "Only if this is the newest version")),
    responses((status = 204, description = "It is gone")),
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
        ("graph" = String, Path, description = "Name, or id"),
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
    let items = found.items.into_iter().map(|item| version_json(&item));
    Ok(page.answer(items, found.next))
}

/// Read one version of a graph
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/versions/{version}", tag = "graphs",
    params(
        ("graph" = String, Path, description = "Name, or id"),
        ("version" = u32, Path, description = "The version"),
        ("If-None-Match" = Option<String>, Header, description = "Answer `304` if nothing is new")),
    responses(
        (status = 200, description = "The graph at that version", body = Graph, headers(
            ("ETag" = String, description = "Its version"))),
        (status = 304, description = "The caller has this version")),
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
    answer::fresh(known, &graph_tag(row.id, row.version), &RawJson::from(graph_json(row, None)))
}

/// The definition's members, then what is read-only.
pub(crate) fn graph_json(row: &GraphRow, state: Option<&str>) -> String {
    let mut object = JsonObject::with_capacity(row.definition.len() + 512);
    object.splice(&row.definition);
    object.shown_text("id", row.id).shown("version", row.version);
    object.shown("state_version", row.state.version).text("content_hash", &row.content_hash);
    object.text("created_at", &timestamp(row.created_at));
    object.text("updated_at", &timestamp(row.updated_at));
    if let Some(state) = state {
        object.raw("state", state);
    }
    object.finish()
}

pub(crate) fn carried_json(put: &GraphUpdate) -> String {
    let quoted = |path: &Arc<str>| dsrs::value::Payload::Str(path.clone()).to_json();
    let mut object = JsonObject::new();
    object.list("carried", put.carried.carried.iter().map(quoted));
    let dropped = put.carried.dropped.iter().map(|(path, reason)| {
        let mut object = JsonObject::new();
        object.text("path", path).text("reason", reason);
        object.finish()
    });
    object.list("dropped", dropped);
    object.finish()
}

fn item_json(item: &graph::GraphSummaryRow) -> String {
    let mut object = JsonObject::new();
    object.shown_text("id", item.id).text("name", &item.name);
    object.text_or_null("description", item.description.as_deref());
    object.shown("version", item.version).shown("state_version", item.state_version);
    object.text("created_at", &timestamp(item.created_at));
    object.text("updated_at", &timestamp(item.updated_at));
    object.finish()
}

fn version_json(item: &GraphVersionRow) -> String {
    let mut object = JsonObject::new();
    object.shown("version", item.version);
    object.text_or_null("description", item.description.as_deref());
    object.shown("state_version", item.state_version).text("content_hash", &item.content_hash);
    object.text("created_at", &timestamp(item.created_at)).text("created_by", &item.created_by);
    object.finish()
}
