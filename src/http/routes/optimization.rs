//! Optimizations: started at `/v1/graphs/{graph}/optimizations`, listed, read, followed, cancelled
//! and promoted at `/v1/optimizations`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use dsrs::lm::Budget;
use dsrs::problem::{At, Code, Problems};
use dsrs::read::{Object, count, number, shared_text};
use dsrs::value::Payload;

use crate::app::{Activate, App, DatasetRef, EventKind, OptimizationRequest};
use crate::http::protocol::answer;
use crate::http::protocol::body::{Document, PostedBody};
use crate::http::protocol::caller::Caller;
use crate::http::protocol::etag::IfMatch;
use crate::http::protocol::idempotency::{IdempotencyKey, once};
use crate::http::protocol::page::{PageParams, PageRequest};
use crate::http::protocol::path;
use crate::http::protocol::problem::ApiProblem;
use crate::http::protocol::query::{NoQuery, Query, plain_number};
use crate::http::protocol::sse;
use crate::http::routes::run::{millis, read_pick};
use crate::http::routes::run_events;
use crate::http::routes::state::STATE_TAG;
use crate::http::views::{
    OptimizationBody, OptimizationCandidateItemView, OptimizationCandidatePage,
    OptimizationCandidateView, OptimizationEvents, OptimizationPage, OptimizationView,
};
use crate::store::graph::GraphRef;
use crate::store::optimization::OptimizationRow;

/// Optimize a graph
///
/// An optimizer of `GET /v1/optimizers` looks for instructions, demos or another structure with which
/// the graph scores better on examples. All is checked before it is accepted: the config, the metric,
/// every example. A trainset alone is split by the seed: half is trained on, a quarter chosen by, and
/// a quarter held out, on which only the result is measured; of a trainset and a valset, half of the
/// valset is held out. A set holds 10,000 examples at most. A worker does it within the budget; what
/// is found is stored as a version that is not in force.
#[utoipa::path(
    post, path = "/v1/graphs/{graph}/optimizations", tag = "optimizations",
    params(
        ("graph" = String, Path, description = "Name, or id"),
        ("Idempotency-Key" = Option<String>, Header, description = "Makes repeats safe")),
    request_body(content = OptimizationBody, example = json!(crate::http::routes::examples::optimization())),
    responses((status = 202, description = "The optimization, which is accepted",
        body = OptimizationView,
        headers(("Location" = String, description = "Where it is read")))),
    extensions(("x-problems" = json!(["not_found", "state_mismatch", "idempotency_key_reused",
        "idempotency_in_progress"])))
)]
pub(crate) async fn optimization_start(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    key: IdempotencyKey,
    query: Result<NoQuery, ApiProblem>,
    PostedBody { bytes, document }: PostedBody,
) -> Response {
    let route = format!("POST /v1/graphs/{}/optimizations", graph.escape_debug());
    let (verb, scope) = (app.clone(), caller.scope());
    let request_id = caller.request_id.clone();
    let work = Box::pin(async move {
        query?;
        let request = read_request(&document?, verb.worker.batch_concurrency, request_id)?;
        let graph = GraphRef::parse(&graph);
        let found = Box::pin(verb.optimization_start(&scope, &graph, request)).await?;
        Ok(accepted(&found))
    });
    once(&app, &caller, key, route, &bytes, work).await
}

fn read_request(
    document: &Document,
    most: u32,
    request_id: Arc<str>,
) -> Result<OptimizationRequest, ApiProblem> {
    let (mut request, faults) = document.read(|object| {
        let optimizer = object.required("optimizer", shared_text);
        let config = object.optional("config", |payload, _, _| Some(payload.clone()));
        let metric = object.required("metric", |payload, _, _| Some(payload.clone()));
        let trainset = object.required("trainset", DatasetRef::read);
        let valset = object.optional("valset", DatasetRef::read);
        let testset = object.optional("testset", DatasetRef::read);
        let budget = object.optional("budget", read_budget);
        let activate = object.optional("activate", read_activate);
        let seed = object.optional("seed", count);
        let concurrency = object.optional("concurrency", |payload, at, problems| {
            read_concurrency(payload, most, at, problems)
        });
        let prompt_model = object.optional("prompt_model", shared_text);
        let timeout = object.optional("timeout_ms", millis);
        let pick = read_pick(object);
        Some(OptimizationRequest {
            pick: pick?,
            optimizer,
            config,
            metric,
            trainset,
            valset,
            testset,
            budget: budget.unwrap_or_default(),
            activate: activate.unwrap_or_default(),
            seed: seed.unwrap_or(0),
            concurrency,
            prompt_model,
            timeout,
            request_id,
            faults: Problems::new(),
        })
    })?;
    request.faults = faults;
    Ok(request)
}

fn read_budget(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Budget> {
    let mut object = Object::open(payload, at, problems)?;
    let budget = Budget {
        lm_calls: object.optional("lm_calls", positive_count),
        tokens: object.optional("tokens", positive_count),
        cost: object.optional("cost", positive),
        seconds: object.optional("seconds", positive),
    };
    object.close();
    Some(budget)
}

fn positive_count(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<u64> {
    let found = count(payload, at, problems)?;
    if found == 0 {
        problems.add(at, Code::InvalidValue, "expected 1 or more");
    }
    (found > 0).then_some(found)
}

fn positive(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<f64> {
    let found = number(payload, at, problems)?;
    let fits = found.is_finite() && found > 0.0;
    if !fits {
        problems.add(at, Code::InvalidValue, "expected a number above 0");
    }
    fits.then_some(found)
}

fn read_activate(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Activate> {
    let word = shared_text(payload, at, problems)?;
    let found = Activate::parse(&word);
    if found.is_none() {
        let known = Activate::ALL.map(|when| format!("`{}`", when.as_str())).join(" or ");
        problems.add(at, Code::InvalidValue, format!("expected {known}, found `{word}`"));
    }
    found
}

fn read_concurrency(
    payload: &Payload,
    most: u32,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<u32> {
    let found = count(payload, at, problems)?;
    let fitting = u32::try_from(found).ok().filter(|found| (1..=most).contains(found));
    if fitting.is_none() {
        let detail = format!(
            "expected a whole number from 1 to {most} (`worker.batch_concurrency`), found {found}"
        );
        problems.add(at, Code::InvalidValue, detail);
    }
    fitting
}

/// List optimizations
///
/// Newest first.
#[utoipa::path(
    get, path = "/v1/optimizations", tag = "optimizations",
    params(
        ("graph" = Option<String>, Query, description = "Only those of this graph: name, or id"),
        PageParams),
    responses((status = 200, description = "A page", body = OptimizationPage)),
    extensions(("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn optimization_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let (scope, graph) = (caller.scope(), query.text("graph"));
    let graph = match &graph {
        Some(graph) => Some(app.graph_id(&scope, &GraphRef::parse(graph)).await?),
        None => None,
    };
    let list = graph.map_or_else(|| "optimizations".into(), |id| format!("optimizations of {id}"));
    let page = PageRequest::read(&mut query, list);
    query.close()?;
    let found = app.optimization_list(&scope, graph, page.cursor(), page.limit).await?;
    Ok(page.respond(&found, OptimizationView::listed))
}

/// Read an optimization
///
/// Where it stands and what it has paid for so far. Once it has ended: the scores of the program as it
/// was and of the best on the held-out examples, side by side with the interval of the gain, what is
/// different, the version that it was stored as, and whether that is in force.
#[utoipa::path(
    get, path = "/v1/optimizations/{id}", tag = "optimizations",
    params(("id" = String, Path, description = "The optimization's id")),
    responses((status = 200, description = "The optimization", body = OptimizationView)),
    extensions(("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn optimization_get(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let found = app.optimization_get(&caller.scope(), path::id(&id)?).await?;
    Ok(answer::ok(&OptimizationView::from(&found)))
}

/// Follow an optimization
///
/// Server-sent events: `optimization.started`, `.phase`, `.candidate`, `.scored`, `.progress` (now
/// and then, with what was paid for), and at the end `.completed`, `.failed` or `.cancelled` with the
/// optimization as it is read. `Last-Event-ID` goes on behind that event, on any server. An attempt
/// that goes on from another's tells from `optimization.started` again.
#[utoipa::path(
    get, path = "/v1/optimizations/{id}/events", tag = "optimizations",
    params(
        ("id" = String, Path, description = "The optimization's id"),
        ("Last-Event-ID" = Option<u64>, Header, description = "The last event that was read")),
    responses((status = 200, description = "The events", body = OptimizationEvents,
        content_type = "text/event-stream"),
        (status = 204, description = "It has ended, and its last event was read")),
    extensions(("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn optimization_events(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let (id, seen) = (path::id(&id)?, sse::last_event_id(&headers)?);
    let events = app.optimization_follow(&caller.scope(), id, seen).await?;
    Ok(events.map_or_else(answer::no_content, |events| run_events::respond(events, ended)))
}

/// The last event of an optimization, from its record.
fn ended(row: &OptimizationRow) -> (EventKind, String) {
    (EventKind::of_optimization(row.status), answer::to_text(&OptimizationView::from(row)))
}

/// Cancel an optimization
///
/// Requests under way are stopped. What was found stays: the candidates, and the best so far as a
/// version that is not in force. Answers the optimization once it has ended; should whoever works on
/// it not answer, the optimization as it stands, which ends when its lease does.
#[utoipa::path(
    post, path = "/v1/optimizations/{id}/cancel", tag = "optimizations",
    params(("id" = String, Path, description = "The optimization's id")),
    responses((status = 200, description = "The optimization", body = OptimizationView)),
    extensions(("x-problems" = json!(["not_found", "run_finished"])))
)]
pub(crate) async fn optimization_cancel(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let found = app.optimization_cancel(&caller.scope(), path::id(&id)?).await?;
    Ok(answer::ok(&OptimizationView::from(&found)))
}

/// Put in force what an optimization found
///
/// As a state version, or as a graph version where the optimizer changed the graph. Refused with
/// `412` when the graph has a newer version than the optimization began with; and when another state
/// is in force than it was measured against, unless `If-Match` names that one.
#[utoipa::path(
    post, path = "/v1/optimizations/{id}/activate", tag = "optimizations",
    params(
        ("id" = String, Path, description = "The optimization's id"),
        ("If-Match" = Option<String>, Header, description = "Only if this state is in force")),
    responses((status = 200, description = "The optimization", body = OptimizationView)),
    extensions(("x-problems" = json!(["not_found", "run_unfinished", "nothing_found",
        "precondition_failed"])))
)]
pub(crate) async fn optimization_activate(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    if_match: IfMatch,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let id = path::id(&id)?;
    let precondition = if_match.is_given().then(|| if_match.precondition(&[STATE_TAG]));
    let found =
        Box::pin(app.optimization_activate(&caller.scope(), id, precondition.as_ref())).await?;
    Ok(answer::ok(&OptimizationView::from(&found)))
}

/// List the candidates of an optimization
///
/// All that were tried, in their order, while it goes on and after: what each was made from and how
/// it did. Number 0 is the program as it was.
#[utoipa::path(
    get, path = "/v1/optimizations/{id}/candidates", tag = "optimizations",
    params(
        ("id" = String, Path, description = "The optimization's id"),
        PageParams),
    responses((status = 200, description = "A page", body = OptimizationCandidatePage)),
    extensions(("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn optimization_candidate_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let id = path::id(&id)?;
    let page = PageRequest::read(&mut query, format!("candidates of {id}"));
    query.close()?;
    let after = page.number();
    let found = app.optimization_candidates(&caller.scope(), id, after, page.limit).await?;
    Ok(page.respond(&found, OptimizationCandidateItemView::from))
}

/// Read a candidate of an optimization
///
/// With its state, its graph where that is another, and what turns the program as it was into it.
#[utoipa::path(
    get, path = "/v1/optimizations/{id}/candidates/{number}", tag = "optimizations",
    params(
        ("id" = String, Path, description = "The optimization's id"),
        ("number" = u32, Path, description = "The candidate's number")),
    responses((status = 200, description = "The candidate", body = OptimizationCandidateView)),
    extensions(("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn optimization_candidate_get(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path((id, wanted)): Path<(String, String)>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let id = path::id(&id)?;
    let missing = || ApiProblem::not_found(format!("there is no candidate `{wanted}`"));
    let number = plain_number(&wanted).ok_or_else(missing)?;
    let (found, diff) = Box::pin(app.optimization_candidate(&caller.scope(), id, number)).await?;
    Ok(answer::ok(&OptimizationCandidateView::new(&found, &diff)))
}

/// The answer to an optimization that a worker will run, with its address.
fn accepted(found: &OptimizationRow) -> Response {
    let location = format!("/v1/optimizations/{}", found.id);
    answer::accepted(&location, &OptimizationView::from(found))
}
