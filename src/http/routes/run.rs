//! Runs: executed at `/v1/graphs/{graph}/execute`, listed and read at `/v1/runs`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use dsrs::problem::{At, Code, Problems};
use dsrs::read::{Object, boolean, count};
use dsrs::value::Payload;

use crate::app::json::JsonObject;
use crate::app::{App, ExecuteRequest, FinishedRun, timestamp};
use crate::http::protocol::accept::prefers_events;
use crate::http::protocol::answer;
use crate::http::protocol::body::{Document, PostedBody};
use crate::http::protocol::caller::Caller;
use crate::http::protocol::idempotency::{IdempotencyKey, once};
use crate::http::protocol::page::{PageParams, PageRequest, key_of};
use crate::http::protocol::path;
use crate::http::protocol::problem::ApiProblem;
use crate::http::protocol::problem_view::ProblemView;
use crate::http::protocol::query::{NoQuery, Query};
use crate::http::protocol::raw_json::RawJson;
use crate::http::protocol::refusal::run_problem;
use crate::http::routes::background_run::accepted;
use crate::http::routes::run_events::{self, StreamRequest};
use crate::http::views::{ExecuteBody, Executed, Run, RunEvents, RunPage};
use crate::store::graph::{GraphRef, VersionSelection};
use crate::store::run::{RunFilter, RunRow, RunStatus, RunSummaryRow};

/// Execute a graph
///
/// Runs the graph to its end and answers the run. A run that fails is answered with its problem,
/// which names `run_id`, `node` and `predictor`, and is recorded with it. With
/// `Accept: text/event-stream` the run is told while it goes on, the texts of fields as they
/// arrive, and the last event carries what would have been answered.
#[utoipa::path(
    post, path = "/v1/graphs/{graph}/execute", tag = "runs",
    params(
        ("graph" = String, Path, description = "Name, or id"),
        ("Idempotency-Key" = Option<String>, Header, description = "Makes repeats safe")),
    request_body(content = ExecuteBody, example = json!(crate::http::routes::examples::execute())),
    responses(
        (status = 200, description = "The run, or its events", content(
            (Executed = "application/json"), (RunEvents = "text/event-stream"))),
        (status = 202, description = "The run, which waits for a value", body = Executed,
            headers(("Location" = String, description = "Where the run is read")))),
    extensions(("x-problems" = json!(["not_found", "invalid_input", "state_mismatch",
        "unknown_model", "no_model", "missing_graph", "tools_unsupported", "program_failed",
        "sandbox_failed", "op_failed", "parse_error", "constraint_failed", "reward_failed", "invalid_value",
        "run_cancelled", "rate_limited", "lm_error", "timeout", "idempotency_key_reused",
        "idempotency_in_progress"])), ("x-runs-on" = json!("connection")))
)]
pub(crate) async fn run_execute(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(graph): Path<String>,
    key: IdempotencyKey,
    headers: HeaderMap,
    query: Result<NoQuery, ApiProblem>,
    PostedBody { bytes, document }: PostedBody,
) -> Response {
    let route = format!("POST /v1/graphs/{}/execute", graph.escape_debug());
    let (verb, scope) = (app.clone(), caller.scope());
    let request_id = caller.request_id.clone();
    let request = move || {
        query?;
        read_request(&document?, request_id)
    };
    let graph = GraphRef::parse(&graph);
    if prefers_events(&headers) {
        let request = StreamRequest { key, route, body: bytes, graph, request: request() };
        return run_events::execute(app, caller, request).await;
    }
    let has_key = key.is_given();
    let work = Box::pin(async move {
        let run = verb.run_execute(&scope, &graph, request()?).await?;
        let response = finished_response(&run);
        Ok(if has_key { run_events::with_kind(response, &run) } else { response })
    });
    once(&app, &caller, key, route, &bytes, work).await
}

/// The answer of an execution.
pub(crate) fn finished_response(finished: &FinishedRun) -> Response {
    let FinishedRun { row, failure, with_trace } = finished;
    match failure {
        Some(failure) => run_problem(failure).into_response(),
        None if row.status == RunStatus::Waiting => accepted(row, run_json(row, true, *with_trace)),
        None => answer::ok(&RawJson::from(run_json(row, true, *with_trace))),
    }
}

pub(crate) fn read_request(
    document: &Document,
    request_id: Arc<str>,
) -> Result<ExecuteRequest, ApiProblem> {
    let (mut request, faults) = document.read(|object| {
        let inputs = object.required("inputs", |payload, _, _| Some(payload.clone()));
        let pick = read_pick(object);
        let trace = object.optional("trace", boolean);
        let timeout = object.optional("timeout_ms", millis);
        Some(ExecuteRequest {
            inputs: inputs?,
            pick: pick?,
            trace: trace.unwrap_or(false),
            timeout,
            request_id,
            faults: Problems::new(),
        })
    })?;
    request.faults = faults;
    Ok(request)
}

/// Reads `version` and `state_version`; `None` when one of them is not a version.
pub(crate) fn read_pick(object: &mut Object<'_, '_, '_>) -> Option<VersionSelection> {
    let known = object.problems().len();
    let version = object.optional("version", version);
    let state_version = object.optional("state_version", self::version);
    (object.problems().len() == known).then_some(VersionSelection { version, state_version })
}

fn version(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<i32> {
    let found = count(payload, at, problems)?;
    let version = i32::try_from(found).ok().filter(|version| *version > 0);
    if version.is_none() {
        problems.add(at, Code::InvalidValue, format!("versions count from 1, found {found}"));
    }
    version
}

pub(crate) fn millis(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Duration> {
    let found = count(payload, at, problems)?;
    if found == 0 {
        problems.add(at, Code::InvalidValue, "expected 1 or more milliseconds");
        return None;
    }
    Some(Duration::from_millis(found))
}

/// List runs
///
/// Newest first; inputs, outputs, nodes and trace are left out.
#[utoipa::path(
    get, path = "/v1/runs", tag = "runs",
    params(
        ("graph" = Option<String>, Query, description = "Only runs of this graph, by name or id"),
        ("status" = Option<String>, Query, description = "Only runs of this status"),
        ("since" = Option<String>, Query, description = "Created at this time (RFC 3339) or later"),
        ("until" = Option<String>, Query, description = "Created before this time (RFC 3339)"),
        PageParams),
    responses((status = 200, description = "A page", body = RunPage))
)]
pub(crate) async fn run_list(
    State(app): State<Arc<App>>,
    caller: Caller,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let page = PageRequest::read(&mut query, "runs");
    let statuses = "queued, running, waiting, succeeded, failed or cancelled";
    let filter = RunFilter {
        graph: query.text("graph").map(|graph| GraphRef::parse(&graph)),
        status: query.read("status", statuses, RunStatus::parse),
        since: query.read("since", "an RFC 3339 time", time),
        until: query.read("until", "an RFC 3339 time", time),
    };
    query.close()?;
    let found = app.run_list(&caller.scope(), &filter, page.newest()).await?;
    let items = found.items.into_iter().map(|item| item_json(&item));
    Ok(page.answer(items, found.next.map(key_of)))
}

fn time(text: &str) -> Option<DateTime<Utc>> {
    // A `+` that was not percent-encoded arrives as a space.
    let text = text.replace(' ', "+");
    DateTime::parse_from_rfc3339(&text).ok().map(|time| time.with_timezone(&Utc))
}

/// Read a run
///
/// Whole, with its trace; of one that has not ended, what there is so far. Runs of deleted graphs stay
/// readable. With `include=provenance` it says of each output, down to the field, which nodes,
/// parameters, inputs and LM calls it came from; this is worked out when it is asked for.
#[utoipa::path(
    get, path = "/v1/runs/{id}", tag = "runs",
    params(
        ("id" = String, Path, description = "The run's id"),
        ("include" = Option<String>, Query, description = "`provenance`: where outputs came from")),
    responses((status = 200, description = "The run", body = Run)),
    extensions(("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn run_get(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    mut query: Query,
) -> Result<Response, ApiProblem> {
    let includes = query.read("include", "`provenance`", included);
    query.close()?;
    let scope = caller.scope();
    let run = Arc::new(app.run_get(&scope, path::id(&id)?).await?);
    let provenance = match includes {
        Some(()) => Some(Box::pin(app.run_provenance(&scope, run.clone())).await?),
        None => None,
    };
    let mut object = run_object(&run, false, true);
    if let Some(provenance) = provenance {
        object.raw("provenance", &provenance);
    }
    Ok(answer::ok(&RawJson::from(object.finish())))
}

/// What an answer is to have beside the resource: words with commas between them, of which there is
/// one so far.
fn included(words: &str) -> Option<()> {
    words.split(',').all(|word| word == "provenance").then_some(())
}

/// The run resource; its documents are pasted as they are.
pub(crate) fn run_json(run: &RunRow, names_run_id: bool, with_trace: bool) -> String {
    run_object(run, names_run_id, with_trace).finish()
}

fn run_object(run: &RunRow, names_run_id: bool, with_trace: bool) -> JsonObject {
    let trace = if with_trace { run.trace.len() } else { 0 };
    let mut object = JsonObject::with_capacity(1024 + run.inputs.len() + run.nodes.len() + trace);
    object.shown_text("id", run.id);
    if names_run_id {
        object.shown_text("run_id", run.id);
    }
    object.text("graph", &run.graph_name).shown("version", run.graph_version);
    object.shown("state_version", run.state_version).text("status", run.status.as_str());
    object.raw("inputs", &run.inputs).raw_or_null("outputs", run.outputs.as_deref());
    object.raw("error", &error_json(run.error.as_deref())).raw("usage", &run.usage);
    times(&mut object, run.created_at, run.started_at, run.finished_at, run.duration_ms);
    object.raw("nodes", &run.nodes);
    if with_trace {
        object.raw("trace", &run.trace);
    }
    object
}

fn item_json(run: &RunSummaryRow) -> String {
    let mut object = JsonObject::new();
    object.shown_text("id", run.id);
    object.text("graph", &run.graph_name).shown("version", run.graph_version);
    object.shown("state_version", run.state_version).text("status", run.status.as_str());
    object.raw("error", &error_json(run.error.as_deref())).raw("usage", &run.usage);
    times(&mut object, run.created_at, run.started_at, run.finished_at, run.duration_ms);
    object.finish()
}

fn times(
    object: &mut JsonObject,
    created: DateTime<Utc>,
    started: Option<DateTime<Utc>>,
    finished: Option<DateTime<Utc>>,
    duration: Option<i64>,
) {
    object.text("created_at", &timestamp(created));
    object.text_or_null("started_at", started.map(timestamp).as_deref());
    object.text_or_null("finished_at", finished.map(timestamp).as_deref());
    object.shown_or_null("duration_ms", duration);
}

/// A recorded failure as the problem that the client received.
pub(crate) fn error_json(recorded: Option<&str>) -> String {
    let view = recorded.map(ProblemView::recorded);
    serde_json::to_string(&view).unwrap_or_default()
}
