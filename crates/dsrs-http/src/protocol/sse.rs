//! Server-sent events: the answer, its heartbeat, `Last-Event-ID`. Knows no event.

use std::convert::Infallible;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::Stream;

use crate::protocol::problem::ApiProblem;
use crate::protocol::query::plain_number;

/// How often a comment is sent while there are no events.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// The header that names the last event that a client has read.
pub(crate) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// A stream of events as an answer.
pub(crate) fn respond(
    events: impl Stream<Item = Result<Event, Infallible>> + Send + 'static,
) -> Response {
    let heartbeat = KeepAlive::new().interval(HEARTBEAT);
    let mut response = Sse::new(events).keep_alive(heartbeat).into_response();
    // A proxy that buffers an answer would delay its events.
    let unbuffered = HeaderName::from_static("x-accel-buffering");
    response.headers_mut().insert(unbuffered, HeaderValue::from_static("no"));
    response
}

/// An event. Our JSON has no line breaks, which the data of an event may not have.
pub(crate) fn event(id: u64, kind: &str, data: &str) -> Event {
    Event::default().id(id.to_string()).event(kind).data(data)
}

/// The last event that a client has read; 0 for none.
pub(crate) fn last_event_id(headers: &HeaderMap) -> Result<u64, ApiProblem> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(0) };
    let number = value.to_str().ok().and_then(|text| plain_number(text.trim()));
    let number = number.filter(|number| i64::try_from(*number).is_ok());
    number.ok_or_else(|| {
        ApiProblem::parameter("`Last-Event-ID` must be the `id` of an event, a whole number")
    })
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http_body_util::BodyExt;

    use super::*;

    #[test]
    fn the_last_event_id_is_a_whole_number() {
        let read = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(LAST_EVENT_ID, HeaderValue::from_static(text));
            last_event_id(&headers).ok()
        };
        assert_eq!(last_event_id(&HeaderMap::new()).ok(), Some(0));
        assert_eq!((read("17"), read(" 3 ")), (Some(17), Some(3)));
        assert_eq!((read("-1"), read("x"), read("")), (None, None, None));
        assert_eq!(read("9223372036854775807"), Some(9_223_372_036_854_775_807));
        assert_eq!(read("9223372036854775808"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_comment_keeps_a_stream_without_events_alive() {
        let start = tokio::time::Instant::now();
        let mut body = respond(stream::pending()).into_body();
        let sent = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!((sent.as_ref(), start.elapsed()), (&b":\n\n"[..], HEARTBEAT));
    }
}
