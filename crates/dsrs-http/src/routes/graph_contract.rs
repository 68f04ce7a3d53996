//! `/v1/graphs/{graph}/openapi.json`: the contract of one graph as an OpenAPI document.

use std::sync::Arc;

use axum::Extension;
use axum::response::Response;

use crate::protocol::answer;
use crate::protocol::etag::IfNoneMatch;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::NoQuery;
use crate::protocol::resource::ResourceRequest;
use crate::routes::graph::graph_tag;
use crate::views::{GraphContract, Json, ServerDocument};
use dsrs_app::App;
use dsrs_store::Scope;
use dsrs_store::graph::GraphRef;

/// Read the OpenAPI document of a graph
///
/// The routes that run the graph, with its inputs and outputs as schemas: a client generated from it is
/// typed by the newest version of the graph.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/openapi.json", tag = "graphs",
    params(("If-None-Match" = Option<String>, Header, description = "Answer `304` if this version is current")),
    responses(
        (status = 200, description = "An OpenAPI document", body = Json,
            headers(("ETag" = String, description = "The version")),
            example = json!({"openapi": "3.1.0", "info": {"title": "support-reply", "version": "1"}, "paths": {}})),
        (status = 304, description = "The client has this version")),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn graph_contract(
    known: IfNoneMatch,
    Extension(server): Extension<ServerDocument>,
    _: NoQuery,
    request: ResourceRequest<GraphRef>,
) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource: graph } = request;
    contract(&app, &scope, &graph, None, &server, &known).await
}

/// Read the OpenAPI document of one version of a graph
///
/// The same for one version: requests name it, so that a newer version changes nothing for the client.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/versions/{version}/openapi.json", tag = "graphs",
    params(("If-None-Match" = Option<String>, Header, description = "Answer `304` if this version is current")),
    responses(
        (status = 200, description = "An OpenAPI document", body = Json,
            headers(("ETag" = String, description = "The version")),
            example = json!({"openapi": "3.1.0", "info": {"title": "support-reply", "version": "1"}, "paths": {}})),
        (status = 304, description = "The client has this version")),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn version_contract(
    known: IfNoneMatch,
    Extension(server): Extension<ServerDocument>,
    _: NoQuery,
    request: ResourceRequest<(GraphRef, i32)>,
) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource: (graph, version) } = request;
    contract(&app, &scope, &graph, Some(version), &server, &known).await
}

async fn contract(
    app: &Arc<App>,
    scope: &Scope,
    graph: &GraphRef,
    version: Option<i32>,
    server: &ServerDocument,
    known: &IfNoneMatch,
) -> Result<Response, ApiProblem> {
    let row = app.graph_get(scope, graph, version).await?;
    let program = app.program_of(scope, &row).await?;
    let signature = program.signature();
    let contract = GraphContract {
        name: &row.name,
        version: row.version,
        is_pinned: version.is_some(),
        signature: &signature,
    };
    Ok(answer::fresh(known, &graph_tag(row.id, row.version), &contract.document(server)))
}
