//! Runs as server-sent events: an execution that is streamed, and runs that are followed by id.

use std::convert::Infallible;
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::{self, Stream};
use http_body_util::BodyExt;
use serde::Serialize;

use crate::protocol::answer;
use crate::protocol::caller::Caller;
use crate::protocol::idempotency::{
    AnswerKind, IdempotencyKey, Interrupted, KeyClaim, KeyState, KeyedRequest, REPLAYED,
    catch_panic, hash_of,
};
use crate::protocol::problem::ApiProblem;
use crate::protocol::problem_view::ProblemView;
use crate::protocol::query::NoQuery;
use crate::protocol::refusal::run_problem;
use crate::protocol::resource::{ById, ResourceRequest};
use crate::protocol::sse;
use crate::protocol::status::ProblemCode;
use crate::views::{GapView, RunEvents, RunView, executed_text};
use dsrs_app::{
    App, CapacityShare, EventKind, EventStream, ExecuteRequest, FinishedRun, Followable, RequestId,
    StreamItem, StreamedExecution, spawn_named,
};
use dsrs_store::graph::GraphRef;
use dsrs_store::run::{RunRow, RunStatus};

/// A request to execute a graph and stream the events.
pub(crate) struct StreamRequest {
    pub(crate) key: IdempotencyKey,
    pub(crate) route: String,
    pub(crate) body: Bytes,
    pub(crate) graph: GraphRef,
    pub(crate) request: Result<ExecuteRequest, ApiProblem>,
}

/// The start of a streamed execution.
enum StreamStart {
    Streaming(EventStream<RunRow>),
    /// No run has started: the answer as without streaming, or the last event of an earlier run.
    Answered(Response),
}

/// Executes a graph and streams the events. Until the run has started, errors are answered as without
/// streaming. A repeat of an execution that has ended receives its last event.
pub(crate) async fn execute(app: Arc<App>, caller: Caller, request: StreamRequest) -> Response {
    let starting = spawn_named("the start of a streamed execution", start(app, caller, request));
    match starting.await.ok().flatten() {
        Some(StreamStart::Streaming(events)) => respond(events, None, run_ended),
        Some(StreamStart::Answered(response)) => response,
        None => ApiProblem::new(ProblemCode::Internal, "the execution broke off").into_response(),
    }
}

async fn start(app: Arc<App>, caller: Caller, request: StreamRequest) -> StreamStart {
    let StreamRequest { key, route, body, graph, request } = request;
    let outlives_client = key.is_given();
    let claim = match KeyedRequest::new(&app, &caller, key, route, || hash_of(&body)) {
        None => None,
        Some(keyed) => match keyed.claim().await {
            KeyState::First(claim) => Some(claim),
            KeyState::Repeated(response) => {
                return StreamStart::Answered(as_last_event(response).await);
            }
        },
    };
    let scope = caller.scope();
    let started =
        catch_panic(async { Ok(app.run_stream(&scope, &graph, request?, outlives_client).await?) });
    match started.await {
        Ok(run) => {
            let finishing = finish(run.execution, claim, caller.request_id);
            spawn_named("a streamed execution", finishing);
            StreamStart::Streaming(run.events)
        }
        Err(problem) => StreamStart::Answered(match claim {
            Some(claim) => claim.complete(problem.into_response()).await,
            None => problem.into_response(),
        }),
    }
}

/// Drives a run to its end. The answer is stored before the last event is sent: a client that has
/// read the event can repeat the request.
pub(crate) async fn finish(
    execution: StreamedExecution,
    claim: Option<KeyClaim>,
    request_id: RequestId,
) {
    let (finished, events) = execution.finish().await;
    let finished = finished.map_err(ApiProblem::from);
    let (kind, data) = match &finished {
        Ok(run) => (EventKind::of_run(run.row.status), last_event_json(run, &request_id)),
        Err(problem) => (EventKind::RunFailed, problem.to_json(&request_id)),
    };
    if let Some(claim) = claim {
        let response = finished.map_or_else(IntoResponse::into_response, |run| {
            for_repeats(finished_response(&run), &run)
        });
        claim.complete(response).await;
    }
    events.end(kind, data);
}

/// Marks the answer of a finished run with the kind of its last event, for repeats that stream, and as
/// not final if the server interrupted the run.
pub(crate) fn for_repeats(mut response: Response, run: &FinishedRun) -> Response {
    let kind = EventKind::of_run(run.row.status).as_str().to_owned();
    let marks = response.extensions_mut();
    marks.insert(AnswerKind(kind));
    if run.is_interrupted {
        marks.insert(Interrupted);
    }
    response
}

/// A stored answer as the last event of its run. An answer of no run stays as it is.
async fn as_last_event(mut response: Response) -> Response {
    let Some(AnswerKind(kind)) = response.extensions_mut().remove::<AnswerKind>() else {
        return response;
    };
    let (parts, body) = response.into_parts();
    // Stored answers are complete texts: collecting them cannot fail.
    let body = body.collect().await.map(|found| found.to_bytes()).unwrap_or_default();
    let event = sse::event(1, &kind, &String::from_utf8_lossy(&body));
    let mut response = sse::respond(stream::iter([Ok(event)]));
    if let Some(mark) = parts.headers.get(REPLAYED) {
        response.headers_mut().insert(REPLAYED, mark.clone());
    }
    response
}

/// The answer of an execution, as the data of its last event.
fn last_event_json(run: &FinishedRun, request_id: &str) -> String {
    match &run.failure {
        Some(failure) => run_problem(failure).to_json(request_id),
        None => executed_text(&run.row, run.with_trace),
    }
}

/// The answer of an execution.
pub(crate) fn finished_response(run: &FinishedRun) -> Response {
    let row = &run.row;
    match &run.failure {
        Some(failure) => run_problem(failure).into_response(),
        None if row.status == RunStatus::Waiting => {
            let view = RunView::executed(row, run.with_trace);
            answer::accepted(&format!("/v1/runs/{}", row.id), &view)
        }
        None => answer::ok_text(executed_text(row, run.with_trace)),
    }
}

fn json_text(view: &impl Serialize) -> String {
    // Fails only for maps with keys that are not text; no view has one.
    serde_json::to_string(view).unwrap_or_default()
}

/// Answers a stream of events. `ended` renders the record of what has ended.
pub(crate) fn respond<R: Followable + 'static>(
    events: EventStream<R>,
    permit: Option<CapacityShare>,
    ended: fn(&R) -> (EventKind, String),
) -> Response {
    sse::respond(rendered(events, permit, ended))
}

/// Answers the events of what is followed; `None` if none are left.
pub(crate) fn followed<R: Followable + 'static>(
    events: Option<EventStream<R>>,
    permit: CapacityShare,
    ended: fn(&R) -> (EventKind, String),
) -> Response {
    events.map_or_else(answer::no_content, |events| respond(events, Some(permit), ended))
}

fn rendered<R: Followable>(
    events: EventStream<R>,
    permit: Option<CapacityShare>,
    ended: fn(&R) -> (EventKind, String),
) -> impl Stream<Item = Result<Event, Infallible>> + Send {
    stream::unfold((events, permit), move |(mut events, permit)| async move {
        let event = match events.next().await? {
            StreamItem::Event(event) => sse::event(event.id, event.kind.as_str(), &event.data),
            StreamItem::Gap(from, to) => sse::event(to, "gap", &json_text(&GapView { from, to })),
            StreamItem::Ended(id, record) => {
                let (kind, data) = ended(&record);
                sse::event(id, kind.as_str(), &data)
            }
        };
        Some((Ok(event), (events, permit)))
    })
}

/// Follow a run
///
/// Server-sent events of a run in progress on any server, or of a run that has ended: the data of the
/// last event is what an execution would have been answered. With `Last-Event-ID` the stream
/// continues after that event. Events that are no longer stored are reported as a `gap`. The answer
/// is `204` if the client has read the last event. Executions can be followed while they are
/// streamed, background runs always.
#[utoipa::path(
    get, path = "/v1/runs/{id}/events", tag = "runs",
    params(("Last-Event-ID" = Option<u64>, Header, description = "The last event that was read")),
    responses((status = 200, description = "The events", body = RunEvents,
        content_type = "text/event-stream"),
        (status = 204, description = "The run has ended, and its last event was read")),
    extensions(("x-scope" = json!("read")),
        ("x-problems" = json!(["rate_limited"])))
)]
pub(crate) async fn run_events(
    _: NoQuery,
    request: ById,
    headers: HeaderMap,
) -> Result<Response, ApiProblem> {
    let ResourceRequest { app, scope, resource: id } = request;
    let seen = sse::last_event_id(&headers)?;
    let permit = app.follower_place(&scope)?;
    Ok(followed(app.run_follow(&scope, id, seen).await?, permit, run_ended))
}

/// The last event of a run, from its record.
fn run_ended(run: &RunRow) -> (EventKind, String) {
    let data = match run.status {
        RunStatus::Succeeded => executed_text(run, false),
        _ => json_text(&run.error.as_deref().map(ProblemView::recorded)),
    };
    (EventKind::of_run(run.status), data)
}
