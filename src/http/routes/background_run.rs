//! Background runs: started at `/v1/graphs/{graph}/runs`; cancelled, resumed and signalled under
//! `/v1/runs/{id}`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use dsrs::problem::Problems;
use dsrs::read::shared_text;

use crate::app::{App, ResumeRequest, SignalRequest};
use crate::http::protocol::answer;
use crate::http::protocol::body::{Document, PostedBody};
use crate::http::protocol::caller::Caller;
use crate::http::protocol::idempotency::{IdempotencyKey, once};
use crate::http::protocol::path;
use crate::http::protocol::problem::ApiProblem;
use crate::http::protocol::query::NoQuery;
use crate::http::routes::run::{millis, read_pick, read_request};
use crate::http::views::{ExecuteBody, ResumeBody, ResumedRunView, RunView, SignalBody};
use crate::store::graph::GraphRef;
use crate::store::run::RunRow;

/// Run a graph in the background
///
/// Answers as soon as the run is stored, with its address. A worker executes it; if that worker
/// fails, another continues after the completed nodes. `trace` has no effect: a run that is read always
/// has its trace.
#[utoipa::path(
    post, path = "/v1/graphs/{graph}/runs", tag = "runs",
    params(
        ("graph" = String, Path, description = "Name or id of the graph"),
        ("Idempotency-Key" = Option<String>, Header, description = "Makes repeats of the request safe")),
    request_body(content = ExecuteBody, example = json!(crate::http::routes::examples::execute())),
    responses((status = 202, description = "The queued run", body = RunView,
        headers(("Location" = String, description = "The address of the run")))),
    extensions(("x-problems" = json!(["not_found", "invalid_input", "state_mismatch",
        "idempotency_key_reused", "idempotency_in_progress"])))
)]
pub(crate) async fn run_start(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    key: IdempotencyKey,
    query: Result<NoQuery, ApiProblem>,
    PostedBody { bytes, document }: PostedBody,
) -> Response {
    let route = format!("POST /v1/graphs/{}/runs", graph.escape_debug());
    let (verb, scope) = (app.clone(), caller.scope());
    let request_id = caller.request_id.clone();
    let work = Box::pin(async move {
        query?;
        let request = read_request(&document?, request_id)?;
        let run = verb.run_start(&scope, &GraphRef::parse(&graph), request).await?;
        Ok(accepted(&run))
    });
    once(&app, &caller, key, route, &bytes, work).await
}

/// Cancel a run
///
/// A queued or waiting run is cancelled at once. The worker of a running one, on any server, cancels it
/// with its requests to models. Answers the run once it has ended. If the worker does not react in
/// time, the answer is the run with its current status; it ends when its lease expires.
#[utoipa::path(
    post, path = "/v1/runs/{id}/cancel", tag = "runs",
    params(("id" = String, Path, description = "The id of the run")),
    responses((status = 200, description = "The run", body = RunView)),
    extensions(("x-problems" = json!(["not_found", "run_finished"])))
)]
pub(crate) async fn run_cancel(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let run = app.run_cancel(&caller.scope(), path::id(&id)?).await?;
    Ok(answer::ok(&RunView::from(&run)))
}

/// Resume a run
///
/// Continues a run that failed or was cancelled after its completed nodes. Its cost so far stays in
/// the record. With another `version` or `state_version`, a completed node counts if its strategy,
/// signature, config, LM settings, predictor state and sources are the same; `resumed` lists the
/// nodes.
#[utoipa::path(
    post, path = "/v1/runs/{id}/resume", tag = "runs",
    params(
        ("id" = String, Path, description = "The id of the run"),
        ("Idempotency-Key" = Option<String>, Header, description = "Makes repeats of the request safe")),
    request_body(content = ResumeBody, example = json!(crate::http::routes::examples::resume())),
    responses((status = 202, description = "The queued run", body = ResumedRunView,
        headers(("Location" = String, description = "The address of the run")))),
    extensions(("x-problems" = json!(["not_found", "invalid_input", "state_mismatch",
        "run_finished", "run_unfinished", "idempotency_key_reused", "idempotency_in_progress"])))
)]
pub(crate) async fn run_resume(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    key: IdempotencyKey,
    query: Result<NoQuery, ApiProblem>,
    PostedBody { bytes, document }: PostedBody,
) -> Response {
    let route = format!("POST /v1/runs/{}/resume", id.escape_debug());
    let (verb, scope) = (app.clone(), caller.scope());
    let request_id = caller.request_id.clone();
    let work = Box::pin(async move {
        query?;
        let id = path::id(&id)?;
        let request = read_resume(&document?, request_id)?;
        let resumed = verb.run_resume(&scope, id, request).await?;
        Ok(answer::accepted(&address(&resumed.run), &ResumedRunView::from(&resumed)))
    });
    once(&app, &caller, key, route, &bytes, work).await
}

/// Signal a run
///
/// Sends a waiting node (strategy `await`) its value, which is checked against the outputs of the
/// node. The run continues with it.
#[utoipa::path(
    post, path = "/v1/runs/{id}/signal", tag = "runs",
    params(
        ("id" = String, Path, description = "The id of the run"),
        ("Idempotency-Key" = Option<String>, Header, description = "Makes repeats of the request safe")),
    request_body(content = SignalBody, example = json!(crate::http::routes::examples::signal())),
    responses((status = 202, description = "The queued run", body = RunView,
        headers(("Location" = String, description = "The address of the run")))),
    extensions(("x-problems" = json!(["not_found", "invalid_input", "run_finished",
        "run_unfinished", "node_not_waiting", "idempotency_key_reused",
        "idempotency_in_progress"])))
)]
pub(crate) async fn run_signal(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    key: IdempotencyKey,
    query: Result<NoQuery, ApiProblem>,
    PostedBody { bytes, document }: PostedBody,
) -> Response {
    let route = format!("POST /v1/runs/{}/signal", id.escape_debug());
    let (verb, scope) = (app.clone(), caller.scope());
    let work = Box::pin(async move {
        query?;
        let id = path::id(&id)?;
        let run = verb.run_signal(&scope, id, read_signal(&document?)?).await?;
        Ok(accepted(&run))
    });
    once(&app, &caller, key, route, &bytes, work).await
}

fn read_signal(document: &Document) -> Result<SignalRequest, ApiProblem> {
    let (mut request, faults) = document.read(|object| {
        let node = object.required("node", shared_text);
        let value = object.required("value", |payload, _, _| Some(payload.clone()));
        Some(SignalRequest { node: node?, value: value?, faults: Problems::new() })
    })?;
    request.faults = faults;
    Ok(request)
}

fn read_resume(document: &Document, request_id: Arc<str>) -> Result<ResumeRequest, ApiProblem> {
    let (mut request, faults) = document.read(|object| {
        let pick = read_pick(object);
        let timeout = object.optional("timeout_ms", millis);
        Some(ResumeRequest { pick: pick?, timeout, request_id, faults: Problems::new() })
    })?;
    request.faults = faults;
    Ok(request)
}

/// The answer of a queued run.
fn accepted(run: &RunRow) -> Response {
    answer::accepted(&address(run), &RunView::from(run))
}

fn address(run: &RunRow) -> String {
    format!("/v1/runs/{}", run.id)
}
