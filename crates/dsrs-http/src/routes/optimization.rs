//! Optimizations: started at `/v1/graphs/{graph}/optimizations`; listed, read, followed, cancelled
//! and activated at `/v1/optimizations`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;

use crate::protocol::answer;
use crate::protocol::caller::Caller;
use crate::protocol::etag::IfMatch;
use crate::protocol::keyed_post::{KeyedPost, PostedRequest};
use crate::protocol::page::{PageParams, PageRequest};
use crate::protocol::path;
use crate::protocol::problem::ApiProblem;
use crate::protocol::query::{NoQuery, Query, plain_number};
use crate::protocol::resource::{ById, ResourceRequest};
use crate::protocol::sse;
use crate::routes::job::{self, JobResource};
use crate::routes::run_events;
use crate::routes::state::STATE_TAG;
use crate::views::{
    OptimizationBody, OptimizationCandidateItemView, OptimizationCandidatePage,
    OptimizationCandidateView, OptimizationEvents, OptimizationPage, OptimizationView,
};
use dsrs_app::{App, EventKind, OptimizationRequest, Optimizations};
use dsrs_store::graph::GraphRef;
use dsrs_store::optimization::OptimizationRow;

impl JobResource for Optimizations {
    const COLLECTION: &'static str = "optimizations";

    type View<'r> = OptimizationView<'r>;
}

/// Optimize a graph
///
/// An optimizer of `GET /v1/optimizers` searches for instructions, demos or a graph structure that
/// score better on examples. The server checks the config, the metric and every example before it
/// accepts the request. A trainset alone is split by the seed: one half trains, one quarter selects
/// candidates, and one quarter is held out to measure the result. With a valset, half of it is held
/// out. A set has at most 10,000 examples. An example that fails because of the provider, the time or a budget has
/// no score and is tried once more; if more than `max_unmeasured` stay without one, or not one proposal was made, the
/// optimization fails. A worker runs the optimization within its budget. The
/// result is stored as a version that is not active. With another `activate` than `never` the key needs
/// the scope `write`, too.
#[utoipa::path(
    post, path = "/v1/graphs/{graph}/optimizations", tag = "optimizations",
    params(("Idempotency-Key" = Option<String>, Header, description = "Makes retries safe: repeated requests return the first answer")),
    request_body(content = OptimizationBody, example = json!(crate::routes::examples::optimization())),
    responses((status = 202, description = "The accepted optimization",
        body = OptimizationView,
        headers(("Location" = String, description = "The address of the optimization")))),
    extensions(("x-scope" = json!("execute")), ("x-starts" = json!("job")),
        ("x-problems" = json!(["state_mismatch", "idempotency_key_reused", "idempotency_in_progress"])))
)]
pub(crate) async fn optimization_start(Path(graph): Path<String>, post: KeyedPost) -> Response {
    let accept = |graph: GraphRef, posted: PostedRequest, commit| async move {
        let most = posted.app.worker.batch_concurrency;
        let request = OptimizationRequest::read(&posted.document?.parsed, most, posted.request_id)?;
        Ok(posted.app.optimization_start(&posted.identity, &graph, request, commit).await?)
    };
    job::start::<Optimizations, _>(graph, post, accept).await
}

/// List optimizations
///
/// Newest first.
#[utoipa::path(
    get, path = "/v1/optimizations", tag = "optimizations",
    params(
        ("graph" = Option<String>, Query, description = "Only optimizations of this graph: its name or id"),
        PageParams),
    responses((status = 200, description = "A page", body = OptimizationPage)),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")),
        ("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn optimization_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let (scope, graph) = (caller.scope(), query.name("graph"));
    let graph = match &graph {
        Some(graph) => Some(app.graph_id(&scope, &GraphRef::parse(graph)).await?),
        None => None,
    };
    let list = graph.map_or_else(|| "optimizations".into(), |id| format!("optimizations of {id}"));
    let page = PageRequest::read(&mut query, list);
    query.close()?;
    let found = app.optimization_list(&scope, graph, page.newest()?).await?;
    Ok(page.respond(&found, OptimizationView::listed))
}

/// Read an optimization
///
/// The status and the cost so far. After the end also: the scores of the original program and of the
/// best candidate on the held-out examples, the confidence interval of the gain, the changes, the
/// version that the result was stored as, and whether that version is active.
#[utoipa::path(
    get, path = "/v1/optimizations/{id}", tag = "optimizations",
    responses((status = 200, description = "The optimization", body = OptimizationView)),
    extensions(("x-scope" = json!("read")), ("x-runs-on" = json!("service")))
)]
pub(crate) async fn optimization_get(_: NoQuery, request: ById) -> Result<Response, ApiProblem> {
    job::get::<Optimizations>(request).await
}

/// Follow an optimization
///
/// Server-sent events: `optimization.started`, `.phase`, `.candidate`, `.scored` and `.progress`
/// (periodically, with the usage). The last event, `.completed`, `.failed` or `.cancelled`, carries
/// the optimization. `Last-Event-ID` continues after that event, on any server. A new attempt starts
/// again with `optimization.started`.
#[utoipa::path(
    get, path = "/v1/optimizations/{id}/events", tag = "optimizations",
    params(("Last-Event-ID" = Option<u64>, Header, description = "The last event that the client has received")),
    responses((status = 200, description = "The events", body = OptimizationEvents,
        content_type = "text/event-stream"),
        (status = 204, description = "The optimization has ended and the client has received its last event")),
    extensions(("x-scope" = json!("read")),
        ("x-problems" = json!(["rate_limited"])))
)]
pub(crate) async fn optimization_events(
    _: NoQuery,
    request: ById,
    headers: HeaderMap,
) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource: id } = request;
    let seen = sse::last_event_id(&headers)?;
    let permit = app.follower_place(&scope)?;
    Ok(run_events::followed(app.optimization_follow(&scope, id, seen).await?, permit, ended))
}

/// The last event of an optimization, from its record.
fn ended(row: &OptimizationRow) -> (EventKind, String) {
    (EventKind::of_optimization(row.status), answer::to_text(&OptimizationView::from(row)))
}

/// Cancel an optimization
///
/// Running requests are stopped. The candidates remain, and the best so far is stored as a version
/// that is not active. Returns the optimization once it has ended. If its worker does not respond,
/// returns the optimization as it is; it ends when the lease of the worker expires.
#[utoipa::path(
    post, path = "/v1/optimizations/{id}/cancel", tag = "optimizations",
    responses((status = 200, description = "The optimization", body = OptimizationView)),
    extensions(("x-scope" = json!("execute")), ("x-runs-on" = json!("service")),
        ("x-problems" = json!(["run_finished"])))
)]
pub(crate) async fn optimization_cancel(_: NoQuery, request: ById) -> Result<Response, ApiProblem> {
    job::cancel::<Optimizations>(request).await
}

/// Activate the result of an optimization
///
/// Activates a state version, or creates a graph version if the optimizer changed the graph. Answers
/// `412` if the graph has a newer version than the optimization started from, or if a different state
/// than the measured one is active, unless `If-Match` names that state.
#[utoipa::path(
    post, path = "/v1/optimizations/{id}/activate", tag = "optimizations",
    params(("If-Match" = Option<String>, Header, description = "Proceed only if this state is active")),
    responses((status = 200, description = "The optimization", body = OptimizationView)),
    extensions(("x-scope" = json!("write")),
        ("x-problems" = json!(["run_unfinished", "nothing_found", "precondition_failed"])))
)]
pub(crate) async fn optimization_activate(
    if_match: IfMatch,
    _: NoQuery,
    request: ById,
) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource: id } = request;
    let precondition = if_match.is_given().then(|| if_match.precondition(&[STATE_TAG]));
    let found = Box::pin(app.optimization_activate(&scope, id, precondition.as_ref())).await?;
    Ok(answer::ok(&OptimizationView::from(&found)))
}

/// List the candidates of an optimization
///
/// All candidates so far, in their order: what each was made from, and its scores. Number 0 is the
/// original program.
#[utoipa::path(
    get, path = "/v1/optimizations/{id}/candidates", tag = "optimizations",
    params(PageParams),
    responses((status = 200, description = "A page", body = OptimizationCandidatePage)),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn optimization_candidate_list(
    request: ById,
    query: Query,
) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource: id } = request;
    let page = PageRequest::of(format!("candidates of {id}"), query)?;
    let found = app.optimization_candidates(&scope, id, page.numbered()?).await?;
    Ok(page.respond(&found, OptimizationCandidateItemView::from))
}

/// Read a candidate of an optimization
///
/// With its state, its graph if it changes the graph, and the changes from the original program.
#[utoipa::path(
    get, path = "/v1/optimizations/{id}/candidates/{number}", tag = "optimizations",
    responses((status = 200, description = "The candidate", body = OptimizationCandidateView)),
    extensions(("x-scope" = json!("read")))
)]
pub(crate) async fn optimization_candidate_get(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((id, number)): Path<(String, String)>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let id = path::id(&id)?;
    let missing = || ApiProblem::not_found(format!("there is no candidate `{number}`"));
    let number = plain_number(&number).ok_or_else(missing)?;
    let (found, diff) = Box::pin(app.optimization_candidate(&caller.scope(), id, number)).await?;
    Ok(answer::ok(&OptimizationCandidateView::new(&found, &diff)))
}
