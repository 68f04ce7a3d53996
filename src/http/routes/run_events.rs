//! Runs as server-sent events: executions that are followed from their start, and runs that are
//! followed by id. Knows runs as events and as what an execution is answered.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use dsrs::value::Payload;
use futures_util::stream::{self, Stream};
use http_body_util::BodyExt;
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::app::json::JsonObject;
use crate::app::{
    App, BufferFollower, Ended, EventKind, EventLogFollower, FollowTarget, StreamItem, Watch,
    spawn_named,
};
use crate::http::protocol::accept::accepts_events;
use crate::http::protocol::answer;
use crate::http::protocol::caller::Caller;
use crate::http::protocol::idempotency::{IdempotencyKey, REPLAYED, ResponseFuture, once};
use crate::http::protocol::path;
use crate::http::protocol::problem::{ApiProblem, PendingProblem};
use crate::http::protocol::query::{NoQuery, plain_number};
use crate::http::protocol::refusal::run_problem;
use crate::http::protocol::status::ProblemCode;
use crate::http::routes::run::{error_json, run_json};
use crate::http::views::RunEvents;
use crate::store::run::{RunRow, RunStatus};

/// How often something is said to a reader when there is nothing to tell.
const HEARTBEAT: Duration = Duration::from_secs(15);

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Executes and streams. What ends before a run begins is answered as without streaming; a repeat
/// of an execution that has ended gets its last event.
pub(crate) async fn execute(
    app: Arc<App>,
    caller: Caller,
    key: IdempotencyKey,
    route: String,
    body: Bytes,
    work: impl FnOnce(Watch) -> ResponseFuture,
) -> Response {
    let (begun, beginning) = oneshot::channel();
    let (ended, mut ending) = oneshot::channel();
    let work = work(Watch { begun, finale, stays: key.is_given(), ended });
    let mut answering = spawn_named("a streamed execution", async move {
        let answer = once(&app, &caller, key, route, &body, work).await;
        // Whoever has read it finds the answer of a repeat.
        if let Ok(ending) = ending.try_recv() {
            ending.tell();
        }
        answer
    });
    tokio::select! {
        biased;
        Ok(watched) = beginning => events(told(watched.buffer.follow(0), watched)),
        answered = &mut answering => match answered {
            Ok(Some(answer)) => replayed(answer).await,
            _ => ApiProblem::new(ProblemCode::Internal, "the work broke off").into_response(),
        }
    }
}

/// The last event of a run that was followed, or why it has none to be trusted.
fn finale(ended: Ended<'_>, trace: bool, request_id: &str) -> (EventKind, String) {
    match ended {
        Ok((run, None)) => (EventKind::of_end(run.status), run_json(run, true, trace)),
        Ok((run, Some(failure))) => {
            (EventKind::of_end(run.status), run_problem(failure).to_json(request_id))
        }
        Err(error) => (EventKind::RunFailed, ApiProblem::from(error.clone()).to_json(request_id)),
    }
}

/// What a follower is told. Whoever stops reading lets go of what is `held`: a run that was watched
/// from its start is left so.
fn told(
    follower: BufferFollower,
    held: impl Send,
) -> impl Stream<Item = Result<Event, Infallible>> + Send {
    stream::unfold((follower, held), |(mut follower, held)| async move {
        let next = follower.next().await?;
        Some((Ok(event(&next)), (follower, held)))
    })
}

/// The same by what is written of the run.
fn logged(follower: EventLogFollower) -> impl Stream<Item = Result<Event, Infallible>> + Send {
    stream::unfold(follower, |mut follower| async move {
        let next = follower.next().await?;
        Some((Ok(event(&next)), follower))
    })
}

fn event(told: &StreamItem) -> Event {
    match told {
        StreamItem::Event(event) => sent(event.id, event.kind.as_str(), &event.data),
        StreamItem::Gap(from, to) => {
            let mut gap = JsonObject::new();
            gap.shown("from", from).shown("to", to);
            sent(*to, "gap", &gap.finish())
        }
    }
}

/// Our JSON texts have no line breaks, which events may not have.
fn sent(id: u64, kind: &'static str, data: &str) -> Event {
    Event::default().id(id.to_string()).event(kind).data(data)
}

pub(crate) fn events(
    told: impl Stream<Item = Result<Event, Infallible>> + Send + 'static,
) -> Response {
    let heartbeat = KeepAlive::new().interval(HEARTBEAT);
    let mut response = Sse::new(told).keep_alive(heartbeat).into_response();
    // Proxies that gather an answer before they pass it on would make a stream of it no more.
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    response.headers_mut().insert(unbuffered, HeaderValue::from_static("no"));
    response
}

fn one_event(id: u64, kind: EventKind, data: &str) -> Response {
    events(stream::iter([Ok(sent(id, kind.as_str(), data))]))
}

/// An answer that was given before, as the last event of its run. One that is not of a run stays as
/// it is.
async fn replayed(answer: Response) -> Response {
    if answer.extensions().get::<PendingProblem>().is_some() {
        return answer;
    }
    let (parts, body) = answer.into_parts();
    // Our answers are whole texts: collecting them cannot fail.
    let body = body.collect().await.map(|found| found.to_bytes()).unwrap_or_default();
    let text = String::from_utf8_lossy(&body);
    let kind = match parts.status {
        StatusCode::OK => Some(EventKind::RunCompleted),
        StatusCode::ACCEPTED => Some(EventKind::RunWaiting),
        StatusCode::CONFLICT if is_of_run(&text) => Some(EventKind::RunCancelled),
        _ if is_of_run(&text) => Some(EventKind::RunFailed),
        _ => None,
    };
    let Some(kind) = kind else { return Response::from_parts(parts, Body::from(body)) };
    let mut response = one_event(1, kind, &text);
    if let Some(mark) = parts.headers.get(REPLAYED) {
        response.headers_mut().insert(REPLAYED, mark.clone());
    }
    response
}

/// Whether a problem is one of a run.
fn is_of_run(text: &str) -> bool {
    let problem = Payload::from_json(text);
    matches!(problem, Ok(Payload::Map(problem)) if problem.contains_key("run_id"))
}

/// Follow a run
///
/// Server-sent events of a run under way, here or on another server, or of one that has ended: the
/// last event carries what an execution would have been answered. `Last-Event-ID` goes on behind
/// that event; events that are gone by then are told as a `gap`, and where the last one was read
/// the answer is `204`. Executions are told of here while they are streamed, runs in the background
/// always.
#[utoipa::path(
    get, path = "/v1/runs/{id}/events", tag = "runs",
    params(
        ("id" = String, Path, description = "The run's id"),
        ("Last-Event-ID" = Option<u64>, Header, description = "The last event that was read")),
    responses((status = 200, description = "The events", body = RunEvents,
        content_type = "text/event-stream"),
        (status = 204, description = "The run has ended, and its last event was read")),
    extensions(("x-problems" = json!(["not_found"])))
)]
pub(crate) async fn run_events(
    State(app): State<Arc<App>>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    _: NoQuery,
) -> Result<Response, ApiProblem> {
    let (id, seen) = (path::id(&id)?, seen_by(&headers)?);
    if let Some(buffer) = app.run_event_buffer(&caller.scope(), id) {
        if buffer.has_told_all(seen) {
            return Ok(answer::no_content());
        }
        return Ok(events(told(buffer.follow(seen), ())));
    }
    follow(&app, &caller, id, seen, FollowTarget::Run(end_json)).await
}

/// The last event that a reader of events has seen.
pub(crate) fn seen_by(headers: &HeaderMap) -> Result<u64, ApiProblem> {
    events_wanted(headers)?;
    last_event_id(headers)
}

/// Follows what is written of something, from behind an event.
pub(crate) async fn follow(
    app: &Arc<App>,
    caller: &Caller,
    id: Uuid,
    seen: u64,
    followed: FollowTarget,
) -> Result<Response, ApiProblem> {
    Ok(match app.follow(&caller.scope(), id, seen, followed).await? {
        Some(follower) => events(logged(follower)),
        None => answer::no_content(),
    })
}

/// Refuses whoever takes no events.
pub(crate) fn events_wanted(headers: &HeaderMap) -> Result<(), ApiProblem> {
    if accepts_events(headers) {
        return Ok(());
    }
    let detail = "this route answers text/event-stream; let `Accept` allow it";
    Err(ApiProblem::new(ProblemCode::NotAcceptable, detail))
}

fn last_event_id(headers: &HeaderMap) -> Result<u64, ApiProblem> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(0) };
    let number = value.to_str().ok().and_then(|text| plain_number(text.trim()));
    number.ok_or_else(|| {
        ApiProblem::parameter("`Last-Event-ID` is the `id` of an event, a whole number")
    })
}

/// What an execution would have been answered, from the record.
fn end_json(run: &RunRow) -> String {
    match run.status {
        RunStatus::Succeeded => run_json(run, true, false),
        _ => error_json(run.error.as_deref()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_to_go_on_from_is_a_whole_number() {
        let read = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(LAST_EVENT_ID, HeaderValue::from_static(text));
            last_event_id(&headers).ok()
        };
        assert_eq!(last_event_id(&HeaderMap::new()).ok(), Some(0));
        assert_eq!((read("17"), read(" 3 ")), (Some(17), Some(3)));
        assert_eq!((read("-1"), read("x"), read("")), (None, None, None));
    }

    #[tokio::test(start_paused = true)]
    async fn a_comment_keeps_a_stream_alive_on_which_nothing_is_told() {
        let start = tokio::time::Instant::now();
        let mut body = events(stream::pending()).into_body();
        let said = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!((said.as_ref(), start.elapsed()), (&b":\n\n"[..], HEARTBEAT));
    }
}
