//! A streamed chat completion: requested in the best mode that the server supports, and read until
//! the answer is complete. Later failures of the connection do not matter. Knows the format of
//! neither requests nor answers.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt};
use tokio::time::timeout;

use super::OpenAi;
use super::chunks::Chunks;
use super::reply::NoReply;
use super::request::ResponseMode;
use crate::lm::failure;
use crate::lm::http::{HttpAnswer, HttpError, HttpPost};
use crate::lm::sse::{SseEvent, SseFault, SseReader};
use crate::lm::{DeltaSink, LmError, LmErrorKind, LmReply, LmRequest};

/// How long to wait for the end of the HTTP body after the last event, so that the connection can be
/// reused.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(50);

/// How long to wait for the usage after the finish reason. Some servers neither send it nor end the stream.
const USAGE_TIMEOUT: Duration = Duration::from_secs(2);

/// The modes, best first.
const MODES: [ResponseMode; 3] =
    [ResponseMode::StreamWithUsage, ResponseMode::Stream, ResponseMode::Whole];

/// The best mode that a server supports, as far as it is known.
#[derive(Default)]
pub(super) struct StreamSupport(AtomicU8);

impl StreamSupport {
    fn best(&self) -> usize {
        usize::from(self.0.load(Ordering::Relaxed))
    }

    /// The server has accepted this mode after it refused the better ones.
    fn accepted(&self, mode: usize) {
        self.0.fetch_max(u8::try_from(mode).unwrap_or_default(), Ordering::Relaxed);
    }
}

impl OpenAi {
    /// Streams an answer. If the server sends a whole answer anyway, that answer is accepted.
    pub(super) async fn streamed_reply(
        &self,
        request: &LmRequest,
        mut deltas: DeltaSink<'_>,
    ) -> Result<LmReply, LmError> {
        let mut number = self.stream_support.best();
        let mut trial = self.begin_trial();
        loop {
            let mode = MODES.get(number).copied().unwrap_or(ResponseMode::Whole);
            let (params, omitted) = trial.supported(&request.params);
            let answer = match self.send(self.post(request, &params, &trial, mode)?).await? {
                StreamedResponse::Stream(events) => {
                    self.stream_support.accepted(number);
                    let reply = self.read_events(events, &mut deltas, request).await?;
                    return Ok(LmReply { omitted, ..reply });
                }
                StreamedResponse::Whole(answer) => answer,
            };
            if failure::refuses_stream(answer.status, &answer.body, mode.members()) {
                number += 1;
                continue;
            }
            if trial.learn(answer.status, &answer.body, &params) {
                continue;
            }
            let reply = LmReply { omitted, ..self.reply(&answer, request)? };
            self.stream_support.accepted(number);
            deltas.send(&reply.text);
            return Ok(reply);
        }
    }

    async fn send(&self, post: HttpPost<'_>) -> Result<StreamedResponse<'_>, LmError> {
        let failed = |error| self.endpoint.transport_error(error);
        let answer = self.endpoint.http.open(post).await.map_err(failed)?;
        if answer.status == 200 && answer.is_events {
            let reader = SseReader::new(self.answer_bytes);
            return Ok(StreamedResponse::Stream(Events { body: answer.body, reader }));
        }
        answer.whole(self.answer_bytes).await.map(StreamedResponse::Whole).map_err(failed)
    }

    /// Reads the events up to the end of the answer. A failure after that is ignored.
    async fn read_events(
        &self,
        mut events: Events<'_>,
        deltas: &mut DeltaSink<'_>,
        request: &LmRequest,
    ) -> Result<LmReply, LmError> {
        let mut chunks = Chunks::new(self.answer_bytes);
        loop {
            let event = match next_event(&mut events, &chunks).await {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(_) if chunks.are_finished() => break,
                Err(error) => return Err(self.event_error(error)),
            };
            match chunks.push(&event, deltas) {
                Ok(()) => {}
                Err(NoReply::BrokenEvent(_)) if chunks.are_finished() => break,
                Err(why) => return Err(self.no_reply(why, 200, &event.data, request)),
            }
            if chunks.are_done() {
                // If the server ends the body too late, only the connection is lost.
                let _ = timeout(DRAIN_TIMEOUT, events.drain()).await;
                return chunks
                    .finish(&self.endpoint.model)
                    .map_err(|why| self.no_reply(why, 200, "", request));
            }
        }
        // The last event counts without a blank line after it, unless it was cut off.
        if let Some(event) = events.reader.rest()
            && let Err(NoReply::Error) = chunks.push(&event, deltas)
        {
            return Err(self.no_reply(NoReply::Error, 200, &event.data, request));
        }
        chunks.finish(&self.endpoint.model).map_err(|why| self.no_reply(why, 200, "", request))
    }

    fn event_error(&self, error: EventError) -> LmError {
        match error {
            EventError::Http(error) => self.endpoint.transport_error(error),
            EventError::Events(SseFault::TooLarge) => {
                self.endpoint.transport_error(HttpError::TooLarge)
            }
            EventError::Events(SseFault::NotText) => {
                let text = "the answer is not a stream of events in UTF-8".to_owned();
                self.endpoint.error(LmErrorKind::Malformed, text)
            }
        }
    }
}

/// The next event. Behind the finish reason, the end of the stream is not waited for.
async fn next_event(
    events: &mut Events<'_>,
    chunks: &Chunks,
) -> Result<Option<SseEvent>, EventError> {
    if !chunks.are_finished() {
        return events.next().await;
    }
    let wait = if chunks.have_usage() { DRAIN_TIMEOUT } else { USAGE_TIMEOUT };
    timeout(wait, events.next()).await.unwrap_or(Ok(None))
}

/// The answer to a request for a stream.
enum StreamedResponse<'c> {
    Stream(Events<'c>),
    Whole(HttpAnswer),
}

/// The events of an answer.
struct Events<'c> {
    body: BoxStream<'c, Result<Bytes, HttpError>>,
    reader: SseReader,
}

/// Why there is no next event.
enum EventError {
    Http(HttpError),
    Events(SseFault),
}

impl Events<'_> {
    async fn next(&mut self) -> Result<Option<SseEvent>, EventError> {
        loop {
            if let Some(event) = self.reader.next().map_err(EventError::Events)? {
                return Ok(Some(event));
            }
            match self.body.next().await {
                Some(piece) => self.reader.feed(piece.map_err(EventError::Http)?),
                None => return Ok(None),
            }
        }
    }

    /// Reads the rest of the HTTP body, so that the connection can be reused.
    async fn drain(mut self) {
        while let Some(Ok(_)) = self.body.next().await {}
    }
}
