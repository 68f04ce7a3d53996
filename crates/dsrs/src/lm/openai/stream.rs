//! A chat completion that is heard while it comes: asked for in the form that the server takes, and
//! read until the answer is whole, whatever becomes of the connection behind it. Knows neither the
//! format of requests nor that of answers.

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt};
use tokio::time::timeout;

use super::OpenAi;
use super::chunks::Chunks;
use super::wire::{NoReply, ResponseMode};
use crate::lm::failure;
use crate::lm::http::{HttpAnswer, HttpError};
use crate::lm::sse::{SseEvent, SseFault, SseReader};
use crate::lm::{DeltaSink, LmError, LmErrorKind, LmReply, LmRequest};

/// How long the end of HTTP may take behind the end of the answer, for the sake of connections that
/// can be used again, as those of TLS are.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(50);

/// What a server takes of the ways to be asked for an answer, known once it has refused one.
#[derive(Default)]
pub(super) struct StreamSupport(AtomicU8);

/// The ways, best first.
const MODES: [ResponseMode; 3] =
    [ResponseMode::StreamWithUsage, ResponseMode::Stream, ResponseMode::Whole];

impl StreamSupport {
    fn best(&self) -> usize {
        usize::from(self.0.load(Ordering::Relaxed))
    }

    /// A way that the server has taken: better ones need not be tried again.
    fn took(&self, way: usize) {
        self.0.fetch_max(u8::try_from(way).unwrap_or_default(), Ordering::Relaxed);
    }
}

impl OpenAi {
    /// An answer in pieces. One that a server does not stream, against what it was asked for, is
    /// taken as it is.
    pub(super) async fn stream_reply(
        &self,
        request: &LmRequest,
        heard: DeltaSink<'_>,
    ) -> Result<LmReply, LmError> {
        let mut way = self.stream_support.best();
        loop {
            let mode = MODES.get(way).copied().unwrap_or(ResponseMode::Whole);
            let answer = match self.send(request, mode).await? {
                StreamedResponse::Stream(events) => {
                    self.stream_support.took(way);
                    return self.listen(events, heard).await;
                }
                StreamedResponse::Whole(answer) => answer,
            };
            if failure::refuses_stream(answer.status, &answer.body, mode.names()) {
                way += 1;
                continue;
            }
            let reply = self.reply(&answer, request)?;
            self.stream_support.took(way);
            heard(&reply.text);
            return Ok(reply);
        }
    }

    async fn send(
        &self,
        request: &LmRequest,
        mode: ResponseMode,
    ) -> Result<StreamedResponse<'_>, LmError> {
        let body = self.body(request, mode)?;
        let unanswered = |error| self.endpoint.unanswered(error);
        let answer = self.endpoint.http.open(body, mode.accept()).await.map_err(unanswered)?;
        if answer.status == 200 && answer.is_events {
            let reader = SseReader::new(self.answer_bytes);
            return Ok(StreamedResponse::Stream(Events { body: answer.body, reader }));
        }
        answer.whole(self.answer_bytes).await.map(StreamedResponse::Whole).map_err(unanswered)
    }

    /// Hears an answer to its end. What fails behind that does not make it less of an answer.
    async fn listen(
        &self,
        mut events: Events<'_>,
        heard: DeltaSink<'_>,
    ) -> Result<LmReply, LmError> {
        let mut chunks = Chunks::new(self.answer_bytes);
        loop {
            let event = match events.next().await {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(_) if chunks.are_finished() => break,
                Err(error) => return Err(self.event_error(error)),
            };
            chunks.take(&event, heard).map_err(|why| self.no_reply(why, 200, &event.data))?;
            if chunks.are_done() {
                // A server that is slow to end, or does not, loses the connection and nothing else.
                let _ = timeout(DRAIN_TIMEOUT, events.drain()).await;
                return chunks
                    .finish(&self.endpoint.model)
                    .map_err(|why| self.no_reply(why, 200, ""));
            }
        }
        // What was not ended by a blank line counts, if it was not cut off.
        if let Some(event) = events.reader.rest()
            && let Err(NoReply::Error) = chunks.take(&event, heard)
        {
            return Err(self.no_reply(NoReply::Error, 200, &event.data));
        }
        chunks.finish(&self.endpoint.model).map_err(|why| self.no_reply(why, 200, ""))
    }

    fn event_error(&self, error: EventError) -> LmError {
        match error {
            EventError::Http(error) => self.endpoint.unanswered(error),
            EventError::Events(SseFault::TooLarge) => self.endpoint.unanswered(HttpError::TooLarge),
            EventError::Events(SseFault::NotText) => {
                let text = "the answer is not a stream of events in UTF-8".to_owned();
                self.endpoint.error(LmErrorKind::Malformed, text)
            }
        }
    }
}

/// What a server answers.
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

    /// Reads to the end of HTTP, so that the connection can be used again.
    async fn drain(mut self) {
        while let Some(Ok(_)) = self.body.next().await {}
    }
}
