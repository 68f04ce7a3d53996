//! `/v1/graphs`: created, validated, listed, read, replaced, deleted; and their versions.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use uuid::Uuid;

use crate::protocol::answer;
use crate::protocol::body::Document;
use crate::protocol::caller::Caller;
use crate::protocol::etag::{ETag, IfMatch, IfNoneMatch};
use crate::protocol::keyed_post::{KeyedPost, PostedRequest};
use crate::protocol::page::{PageParams, PageRequest};
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::{NoQuery, Query};
use crate::protocol::raw_json::RawJson;
use crate::protocol::resource::ResourceRequest;
use crate::views::{
    GraphBody, GraphItemView, GraphPage, GraphUpdateView, GraphVersionBody, GraphView,
    ValidGraphView, VersionItemView, VersionPage,
};
use dsrs_app::{App, GraphUpdate};
use dsrs_store::Scope;
use dsrs_store::graph::{GraphRef, GraphRow};

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
    request_body(content = GraphBody, example = json!(crate::routes::examples::graph())),
    responses((status = 201, description = "The graph", body = GraphView, headers(
        ("Location" = String, description = "The address of the graph"),
        ("ETag" = String, description = "The version")))),
    extensions(("x-scope" = json!("write")),
        ("x-problems" = json!(["invalid_graph", "already_exists",
        "idempotency_key_reused", "idempotency_in_progress"])))
)]
pub(crate) async fn graph_create(post: KeyedPost) -> Response {
    let create = |posted: PostedRequest| async move {
        let row = posted.app.graph_create(&posted.scope, &posted.document?.parsed).await?;
        let location = format!("/v1/graphs/{}", row.name);
        Ok(answer::created(&location, &graph_tag(row.id, row.version), &GraphView::from(&row)))
    };
    post.answer("/v1/graphs".to_owned(), create).await
}

/// Validate a graph
///
/// Resolves and checks the definition without storing it.
#[utoipa::path(
    post, path = "/v1/graphs/validate", tag = "graphs",
    request_body(content = GraphBody, example = json!(crate::routes::examples::graph())),
    responses((status = 200, description = "The resolved graph", body = ValidGraphView)),
    extensions(("x-scope" = json!("read")),
        ("x-problems" = json!(["invalid_graph"])))
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
    responses((status = 200, description = "A page", body = GraphPage)),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn graph_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    query: Query,
) -> Result<Response, ApiProblem> {
    let page = PageRequest::of("graphs", query)?;
    let found = app.graph_list(&caller.scope(), page.newest()?).await?;
    Ok(page.respond(&found, GraphItemView::from))
}

/// Read a graph
///
/// The newest version, or `version`.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}", tag = "graphs",
    params(
        ("version" = Option<u32>, Query, description = "The version. Default: the newest"),
        ("If-None-Match" = Option<String>, Header, description = "Answer `304` if this version is current")),
    responses(
        (status = 200, description = "The graph", body = GraphView, headers(
            ("ETag" = String, description = "The version"))),
        (status = 304, description = "The client has this version")),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn graph_get(
    request: ResourceRequest<GraphRef>,
    known: IfNoneMatch,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let version = query.number("version");
    query.close()?;
    let row = request.app.graph_get(&request.scope, &request.resource, version).await?;
    Ok(graph_answer(&known, &row))
}

/// Replace a graph
///
/// Creates the next version and carries over the predictor state that still fits. A definition that
/// equals the newest version creates no version. Never creates a graph.
#[utoipa::path(
    put, path = "/v1/graphs/{graph}", tag = "graphs",
    params(("If-Match" = Option<String>, Header, description = "Only if this is the newest version")),
    request_body(content = GraphVersionBody, example = json!(crate::routes::examples::graph())),
    responses((status = 200, description = "The newest version", body = GraphUpdateView, headers(
        ("ETag" = String, description = "The version")))),
    extensions(("x-scope" = json!("write")),
        ("x-problems" = json!(["invalid_graph", "name_mismatch", "precondition_failed"])))
)]
pub(crate) async fn graph_put(
    request: ResourceRequest<GraphRef>,
    if_match: IfMatch,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource: graph } = request;
    let precondition = if_match.precondition(&[GRAPH_TAG]);
    Ok(updated(&app.graph_put(&scope, &graph, &document.parsed, &precondition).await?))
}

/// Delete a graph
///
/// The runs of the graph stay readable, and its name becomes available.
#[utoipa::path(
    delete, path = "/v1/graphs/{graph}", tag = "graphs",
    params(("If-Match" = Option<String>, Header, description = "Only if this is the newest version")),
    responses((status = 204, description = "The graph is deleted")),
    extensions(("x-scope" = json!("write")),
        ("x-problems" = json!(["precondition_failed"])))
)]
pub(crate) async fn graph_delete(
    request: ResourceRequest<GraphRef>,
    if_match: IfMatch,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource: graph } = request;
    app.graph_delete(&scope, &graph, &if_match.precondition(&[GRAPH_TAG])).await?;
    Ok(answer::no_content())
}

/// List a graph's versions
///
/// Newest first.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/versions", tag = "graphs",
    params(PageParams),
    responses((status = 200, description = "A page", body = VersionPage)),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn version_list(
    request: ResourceRequest<GraphRef>,
    query: Query,
) -> Result<Response, ApiProblem> {
    let GraphList { app, scope, graph, page } =
        graph_list_of(request, "graph_versions", query).await?;
    let found = app.graph_versions(&scope, graph, page.numbered()?).await?;
    Ok(page.respond(&found, VersionItemView::from))
}

/// Read one version of a graph
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/versions/{version}", tag = "graphs",
    params(("If-None-Match" = Option<String>, Header, description = "Answer `304` if this version is current")),
    responses(
        (status = 200, description = "The graph at that version", body = GraphView, headers(
            ("ETag" = String, description = "The version"))),
        (status = 304, description = "The client has this version")),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn version_get(
    known: IfNoneMatch,
    _: NoQuery,
    request: ResourceRequest<(GraphRef, i32)>,
) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource: (graph, version) } = request;
    Ok(graph_answer(&known, &app.graph_get(&scope, &graph, Some(version)).await?))
}

fn graph_answer(known: &IfNoneMatch, row: &GraphRow) -> Response {
    answer::fresh(known, &graph_tag(row.id, row.version), &GraphView::from(row))
}

/// A request for a list of what belongs to a graph.
pub(crate) struct GraphList {
    pub(crate) app: Arc<App>,
    pub(crate) scope: Scope,
    /// The id of the graph.
    pub(crate) graph: Uuid,
    pub(crate) page: PageRequest,
}

/// Reads such a request. `list` names the list in cursors.
pub(crate) async fn graph_list_of(
    request: ResourceRequest<GraphRef>,
    list: &str,
    query: Query,
) -> Result<GraphList, ApiProblem> {
    let ResourceRequest { app, scope, resource } = request;
    let graph = app.graph_id(&scope, &resource).await?;
    let page = PageRequest::of(format!("{list}/{graph}"), query)?;
    Ok(GraphList { app, scope, graph, page })
}

/// The answer to a change of a graph: the newest version.
pub(crate) fn updated(update: &GraphUpdate) -> Response {
    let tag = graph_tag(update.row.id, update.row.version);
    answer::tagged(&tag, &GraphUpdateView::from(update))
}
