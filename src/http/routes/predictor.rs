//! `/v1/graphs/{graph}/predictors`: every predictor by path, and rendering without an LM call.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use dsrs::lm::Message;
use dsrs::predict::{DynPredictor, state_to_payload};
use dsrs::read::text;
use dsrs::signature::signature_to_payload;
use dsrs::value::Payload;

use crate::app::json::JsonObject;
use crate::app::{self, App, StateDocument, StateRequest};
use crate::http::protocol::answer;
use crate::http::protocol::body::Document;
use crate::http::protocol::caller::Caller;
use crate::http::protocol::etag::{IfMatch, IfNoneMatch};
use crate::http::protocol::page::{PageParams, PageRequest, slice};
use crate::http::protocol::problem::ApiProblem;
use crate::http::protocol::query::{NoQuery, Query};
use crate::http::protocol::raw_json::RawJson;
use crate::http::routes::run::read_pick;
use crate::http::routes::state::{STATE_TAG, state_tag};
use crate::http::views::{Predictor, PredictorPage, PredictorState, RenderRequest, Rendered};
use crate::store::graph::GraphRef;

/// List a graph's predictors
///
/// Of the newest version, with the state in force, in the graph's order.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/predictors", tag = "state",
    params(
        ("graph" = String, Path, description = "Name, or id"),
        PageParams),
    responses((status = 200, description = "A page", body = PredictorPage)),
    extensions(("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn predictor_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let view = app.predictor_view(&caller.scope(), &GraphRef::parse(&graph)).await?;
    let page = PageRequest::read(&mut query, format!("predictors/{}", view.graph));
    query.close()?;
    let all = view.program.predictors();
    let (items, next) = slice(&all, &page, |(path, _)| path.as_str());
    let items = items.iter().map(|(path, found)| predictor_json(path, *found));
    Ok(page.answer(items, next))
}

/// Read one predictor
///
/// Its path is one percent-encoded segment: `triage`, `reply.predict`.
#[utoipa::path(
    get, path = "/v1/graphs/{graph}/predictors/{path}", tag = "state",
    params(
        ("graph" = String, Path, description = "Name, or id"),
        ("path" = String, Path, description = "The predictor's path"),
        ("If-None-Match" = Option<String>, Header, description = "Answer `304` if nothing is new")),
    responses(
        (status = 200, description = "The predictor", body = Predictor, headers(
            ("ETag" = String, description = "The state version in force"))),
        (status = 304, description = "The caller has this version")),
    extensions(("x-problems" = json!(["not_found"])))
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
    Ok(answer::fresh(&known, &tag, &RawJson::from(predictor_json(path, *predictor))))
}

/// Change one predictor
///
/// Replaces the members that are given and leaves the others; null is their default. Makes a new
/// state version and puts it in force, unless it says the same as the one that is.
#[utoipa::path(
    patch, path = "/v1/graphs/{graph}/predictors/{path}", tag = "state",
    params(
        ("graph" = String, Path, description = "Name, or id"),
        ("path" = String, Path, description = "The predictor's path"),
        ("If-Match" = Option<String>, Header, description = "Only if this state is in force")),
    request_body(content = PredictorState, example = json!(crate::http::routes::examples::predictor())),
    responses((status = 200, description = "The predictor", body = Predictor, headers(
        ("ETag" = String, description = "The state version in force")))),
    extensions(("x-problems" = json!(["not_found", "invalid_state", "precondition_failed"])))
)]
pub(crate) async fn predictor_patch(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((graph, path)): Path<(String, String)>,
    if_match: IfMatch,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let change = &without_shown(&document.parsed.payload);
    let state = StateDocument::Patch { path: &path, change };
    let request = StateRequest { document: state, faults: document.parsed.duplicates.clone() };
    let precondition = if_match.precondition(&[STATE_TAG]);
    let graph = GraphRef::parse(&graph);
    let view = app.state_put(&caller.scope(), &graph, request, &precondition).await?.view;
    let predictors = view.program.predictors();
    let found = predictors.iter().find(|(known, _)| *known == path);
    let told = found.map(|(path, predictor)| predictor_json(path, *predictor));
    Ok(answer::tagged(
        &state_tag(view.graph, view.row.version),
        &RawJson::from(told.unwrap_or_default()),
    ))
}

/// What is to be changed, without what only an answer tells.
fn without_shown(body: &Payload) -> Payload {
    let Payload::Map(members) = body else { return body.clone() };
    let told = |name: &str| ["path", "node", "schema"].contains(&name);
    let own = members.iter().filter(|(name, _)| !told(name));
    Payload::map(own.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Render a node's messages
///
/// The exact chat messages that each predictor of the node would send, without an LM call.
/// `inputs` are those of the node. Where calls choose the nearest demos, the first ones stand for
/// them.
#[utoipa::path(
    post, path = "/v1/graphs/{graph}/render", tag = "graphs",
    params(("graph" = String, Path, description = "Name, or id")),
    request_body(content = RenderRequest, example = json!(crate::http::routes::examples::render())),
    responses((status = 200, description = "Messages by predictor path", body = Rendered)),
    extensions(("x-problems" = json!(["not_found", "invalid_input", "state_mismatch"])))
)]
pub(crate) async fn graph_render(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    _: NoQuery,
    document: Document,
) -> Result<Response, ApiProblem> {
    let ((node, inputs, pick), faults) = document.read(|object| {
        let inputs = object.required("inputs", |payload, _, _| Some(payload));
        let node = object.required("node", text);
        let pick = read_pick(object);
        Some((node?, inputs?, pick?))
    })?;
    let request = app::NodeRenderRequest { node, inputs, pick, faults };
    let graph = GraphRef::parse(&graph);
    let rendered = app.graph_render(&caller.scope(), &graph, request).await?;
    let mut predictors = JsonObject::with_capacity(1024);
    for (path, messages) in &rendered {
        let mut rendered = JsonObject::with_capacity(1024);
        rendered.list("messages", messages.iter().map(message_json));
        predictors.raw(path, &rendered.finish());
    }
    let mut object = JsonObject::new();
    object.raw("predictors", &predictors.finish());
    Ok(answer::ok(&RawJson::from(object.finish())))
}

/// A predictor's member of a state, defaults spelled out.
pub(crate) fn state_member_json(predictor: &dyn DynPredictor) -> String {
    let mut object = JsonObject::new();
    object.splice(&state_to_payload(predictor.state()).to_json());
    object.text("effective_instruction", predictor.instruction());
    object.finish()
}

fn predictor_json(path: &str, predictor: &dyn DynPredictor) -> String {
    let mut object = JsonObject::with_capacity(1024);
    object.text("path", path);
    object.text("node", path.split('.').next().unwrap_or(path));
    object.raw("schema", &signature_to_payload(predictor.schema()).to_json());
    object.splice(&state_member_json(predictor));
    object.finish()
}

fn message_json(message: &Message) -> String {
    // A message is two texts, which always have a JSON form.
    serde_json::to_string(message).unwrap_or_default()
}
