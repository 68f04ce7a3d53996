//! Runs in the background: started at `/v1/graphs/{graph}/runs`, cancelled and resumed under
//! `/v1/runs/{id}`.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use dsrs::graph::ResumeDecision;
use dsrs::problem::Problems;
use dsrs::read::shared_text;

use crate::app::json::JsonObject;
use crate::app::{App, ResumeOutcome, ResumeRequest, SignalRequest};
use crate::http::protocol::answer;
use crate::http::protocol::body::{Document, PostedBody};
use crate::http::protocol::caller::Caller;
use crate::http::protocol::idempotency::{IdempotencyKey, once};
use crate::http::protocol::path;
use crate::http::protocol::problem::ApiProblem;
use crate::http::protocol::query::NoQuery;
use crate::http::protocol::raw_json::RawJson;
use crate::http::routes::run::{millis, read_pick, read_request, run_json};
use crate::http::views::{ExecuteBody, ResumeBody, ResumedRun, Run, SignalBody};
use crate::store::graph::GraphRef;
use crate::store::run::RunRow;

/// Run a graph in the background
///
/// Answers as soon as the run is stored, with its place; a worker takes it from there, and another
/// goes on from the last finished nodes should that one end. `trace` is taken and of no effect: a
/// run that is read always has its trace.
#[utoipa::path(
    post, path = "/v1/graphs/{graph}/runs", tag = "runs",
    params(
        ("graph" = String, Path, description = "Name, or id"),
        ("Idempotency-Key" = Option<String>, Header, description = "Makes repeats safe")),
    request_body(content = ExecuteBody, example = json!(crate::http::routes::examples::execute())),
    responses((status = 202, description = "The run, which is accepted", body = Run,
        headers(("Location" = String, description = "Where the run is read")))),
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
        Ok(accepted(&run, run_json(&run, false, true)))
    });
    once(&app, &caller, key, route, &bytes, work).await
}

/// Cancel a run
///
/// One that waits is cancelled at once; one that is worked on, here or by another server, is told to
/// stop, with its requests to models. Answers the run once it has ended; should whoever works on it
/// not answer, the run as it stands, which ends when its lease does.
#[utoipa::path(
    post, path = "/v1/runs/{id}/cancel", tag = "runs",
    params(("id" = String, Path, description = "The run's id")),
    responses((status = 200, description = "The run", body = Run)),
    extensions(("x-problems" = json!(["not_found", "run_finished"])))
)]
pub(crate) async fn run_cancel(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let run = app.run_cancel(&caller.scope(), path::id(&id)?).await?;
    Ok(answer::ok(&RawJson::from(run_json(&run, false, true))))
}

/// Resume a run
///
/// Puts a run that failed or was cancelled back to work, from the nodes that had finished; what it
/// cost so far stays in its record. With another `version` or `state_version` those nodes count
/// whose strategy, signature, config, LM settings, predictor state and sources are what they were;
/// `resumed` says so node by node.
#[utoipa::path(
    post, path = "/v1/runs/{id}/resume", tag = "runs",
    params(
        ("id" = String, Path, description = "The run's id"),
        ("Idempotency-Key" = Option<String>, Header, description = "Makes repeats safe")),
    request_body(content = ResumeBody, example = json!(crate::http::routes::examples::resume())),
    responses((status = 202, description = "The run, which goes on", body = ResumedRun,
        headers(("Location" = String, description = "Where the run is read")))),
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
        Ok(accepted(&resumed.run, resumed_json(&resumed)))
    });
    once(&app, &caller, key, route, &bytes, work).await
}

/// Signal a run
///
/// Gives a node that waits (strategy `await`) its value, checked against the node's outputs; the run
/// goes on with it.
#[utoipa::path(
    post, path = "/v1/runs/{id}/signal", tag = "runs",
    params(
        ("id" = String, Path, description = "The run's id"),
        ("Idempotency-Key" = Option<String>, Header, description = "Makes repeats safe")),
    request_body(content = SignalBody, example = json!(crate::http::routes::examples::signal())),
    responses((status = 202, description = "The run, which goes on", body = Run,
        headers(("Location" = String, description = "Where the run is read")))),
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
        Ok(accepted(&run, run_json(&run, false, true)))
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

fn resumed_json(resumed: &ResumeOutcome) -> String {
    let mut nodes = JsonObject::new();
    for (name, verdict) in &resumed.nodes {
        let mut node = JsonObject::new();
        match verdict {
            ResumeDecision::Reuse => node.text("verdict", "kept").raw("reason", "null"),
            ResumeDecision::Rerun(reason) => node.text("verdict", "again").text("reason", reason),
        };
        nodes.raw(name, &node.finish());
    }
    let mut object = JsonObject::new();
    object.splice(&run_json(&resumed.run, false, true)).raw("resumed", &nodes.finish());
    object.finish()
}

/// The answer of a run that will be worked on, with its place.
pub(crate) fn accepted(run: &RunRow, text: String) -> Response {
    let mut response = answer::json(StatusCode::ACCEPTED, &RawJson::from(text));
    if let Ok(place) = HeaderValue::from_str(&format!("/v1/runs/{}", run.id)) {
        response.headers_mut().insert(header::LOCATION, place);
    }
    response
}
