//! `/v1/graphs/{graph}/predictors`: the predictors of a graph by path, and rendered prompts.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use dsrs::problem::{At, Problems};
use dsrs::read::{map, text};
use dsrs::value::Payload;

use crate::protocol::answer;
use crate::protocol::body::Document;
use crate::protocol::caller::Caller;
use crate::protocol::etag::{IfMatch, IfNoneMatch};
use crate::protocol::page::{PageParams, PageRequest, slice};
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::{NoQuery, Query};
use crate::protocol::resource::ResourceRequest;
use crate::routes::state::{STATE_TAG, state_tag};
use crate::views::{PredictorPage, PredictorPatch, PredictorView, RenderRequest, RenderedView};
use dsrs_app::run_request::read_pick;
use dsrs_app::{App, NodeRenderRequest, StateDocument, StateRequest};
use dsrs_store::graph::GraphRef;

/// List a graph's predictors
///
/// The predictors of the newest version with its active state, in the order of the graph.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/predictors", tag = "state",
    params(PageParams),
    responses((status = 200, description = "A page", body = PredictorPage)),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn predictor_list(
    request: ResourceRequest<GraphRef>,
    query: Query,
) -> Result<Response, ApiProblem> {
    let view = request.app.predictor_view(&request.scope, &request.resource).await?;
    let page = PageRequest::of(format!("predictors/{}", view.graph), query)?;
    let all = view.program.predictors();
    let (items, next) = slice(&all, &page, |(path, _)| path.as_str());
    let items = items.iter().map(|(path, found)| PredictorView::new(path, *found));
    Ok(answer::ok(&page.view(items, next)))
}

/// Read one predictor
///
/// The path of the predictor is one percent-encoded segment: `triage`, `reply.predict`.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/predictors/{path}", tag = "state",
    params(("If-None-Match" = Option<String>, Header, description = "Answer `304` if this version is current")),
    responses(
        (status = 200, description = "The predictor", body = PredictorView, headers(
            ("ETag" = String, description = "The active state version"))),
        (status = 304, description = "The client has this version")),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn predictor_get(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((graph, path)): Path<(String, String)>,
    known: IfNoneMatch,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let view = app.predictor_view(&caller.scope(), &GraphRef::parse(&graph)).await?;
    let predictors = view.program.predictors();
    let found = predictors.iter().find(|(known, _)| *known == path);
    let Some((path, predictor)) = found else {
        let detail = format!("graph `{graph}` has no predictor `{path}`");
        return Err(ApiProblem::not_found(detail));
    };
    let tag = state_tag(view.graph, view.state_version);
    Ok(answer::fresh(&known, &tag, &PredictorView::new(path, *predictor)))
}

/// Change one predictor
///
/// Replaces the members in the request and leaves the others; null sets the default. Creates a state
/// version and activates it, unless it equals the active one.
#[utoipa::path(
    patch, path = "/v1/graphs/{graph}/predictors/{path}", tag = "state",
    params(("If-Match" = Option<String>, Header, description = "Only if this state is active")),
    request_body(content = PredictorPatch, example = json!(crate::routes::examples::predictor())),
    responses((status = 200, description = "The predictor", body = PredictorView, headers(
        ("ETag" = String, description = "The active state version")))),
    extensions(("x-scope" = json!("write")),
        ("x-problems" = json!(["invalid_state", "precondition_failed"])))
)]
pub(crate) async fn predictor_patch(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((graph, path)): Path<(String, String)>,
    if_match: IfMatch,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let change = &without_read_only(&document.parsed.payload);
    let state = StateDocument::Patch { path: &path, change };
    let request = StateRequest { document: state, faults: document.parsed.duplicates.clone() };
    let precondition = if_match.precondition(&[STATE_TAG]);
    let graph = GraphRef::parse(&graph);
    let view = app.state_put(&caller.scope(), &graph, request, &precondition).await?.view;
    let predictors = view.program.predictors();
    let found = predictors.iter().find(|(known, _)| *known == path);
    let found = found.map(|(path, predictor)| PredictorView::new(path, *predictor));
    Ok(answer::tagged(&state_tag(view.graph, view.row.version), &found))
}

/// The change without the members that are read-only.
fn without_read_only(body: &Payload) -> Payload {
    let Payload::Map(members) = body else { return body.clone() };
    let is_read_only = |name: &str| ["path", "node", "schema"].contains(&name);
    let own = members.iter().filter(|(name, _)| !is_read_only(name));
    Payload::map(own.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// The same for changes by path.
fn without_read_only_members(changes: &Payload) -> Payload {
    let Payload::Map(changes) = changes else { return changes.clone() };
    let own = changes.iter().map(|(path, change)| (path.clone(), without_read_only(change)));
    Payload::map(own.collect())
}

/// Render a node's messages
///
/// The exact chat messages that each predictor of the node would send, without an LM call. `inputs` are
/// those of the node. If calls choose the nearest demos, the first demos are rendered instead. `predictors`
/// contains changes of the state that are not stored: the prompt of an edit before it is saved.
#[utoipa::path(
    post, path = "/v1/graphs/{graph}/render", tag = "graphs",
    request_body(content = RenderRequest, example = json!(crate::routes::examples::render())),
    responses((status = 200, description = "Messages by predictor path", body = RenderedView)),
    extensions(("x-scope" = json!("read")),
        ("x-problems" = json!(["invalid_input", "invalid_state", "state_mismatch"])))
)]
pub(crate) async fn graph_render(
    resource: ResourceRequest<GraphRef>,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let ((node, inputs, pick, changes), faults) = document.read(|object| {
        let inputs = object.required("inputs", |payload, _, _| Some(payload));
        let node = object.required("node", text);
        let pick = read_pick(object);
        let changes = object.optional("predictors", whole_map);
        Some((node?, inputs?, pick?, changes))
    })?;
    let changes = changes.map(without_read_only_members);
    let request = NodeRenderRequest { node, inputs, pick, changes: changes.as_ref(), faults };
    let ResourceRequest { app, scope, resource: graph } = resource;
    let rendered = app.graph_render(&scope, &graph, request).await?;
    Ok(answer::ok(&RenderedView::from(&rendered)))
}

/// A value that is an object.
fn whole_map<'v>(found: &'v Payload, at: &At<'_>, problems: &mut Problems) -> Option<&'v Payload> {
    map(found, at, problems).map(|_| found)
}
