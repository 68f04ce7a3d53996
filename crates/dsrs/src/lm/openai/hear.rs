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
use super::wire::{NoReply, Wanted};
use crate::lm::failure;
use crate::lm::http::{HttpAnswer, HttpError};
use crate::lm::sse::{SseEvent, SseFault, SseReader};
use crate::lm::{Heard, LmError, LmErrorKind, LmReply, LmRequest};

/// How long the end of HTTP may take behind the end of the answer, for the sake of connections that
/// can be used again, as those of TLS are.
const FAREWELL: Duration = Duration::from_millis(50);

/// What a server takes of the ways to be asked for an answer, known once it has refused one.
#[derive(Default)]
pub(super) struct Taken(AtomicU8);

/// The ways, best first.
const WAYS: [Wanted; 3] = [Wanted::PiecesAndUsage, Wanted::Pieces, Wanted::Whole];

impl Taken {
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
    pub(super) async fn hear(
        &self,
        request: &LmRequest,
        heard: Heard<'_>,
    ) -> Result<LmReply, LmError> {
        let mut way = self.taken.best();
        loop {
            let wanted = WAYS.get(way).copied().unwrap_or(Wanted::Whole);
            let answer = match self.send(request, wanted).await? {
                Sent::Pieces(events) => {
                    self.taken.took(way);
                    return self.listen(events, heard).await;
                }
                Sent::Whole(answer) => answer,
            };
            if failure::refuses_stream(answer.status, &answer.body, wanted.names()) {
                way += 1;
                continue;
            }
            let reply = self.reply(&answer, request)?;
            self.taken.took(way);
            heard(&reply.text);
            return Ok(reply);
        }
    }

    async fn send(&self, request: &LmRequest, wanted: Wanted) -> Result<Sent<'_>, LmError> {
        let body = self.body(request, wanted)?;
        let unanswered = |error| self.endpoint.unanswered(error);
        let answer = self.endpoint.http.open(body, wanted.accept()).await.map_err(unanswered)?;
        if answer.status == 200 && answer.is_events {
            let reader = SseReader::new(self.answer_bytes);
            return Ok(Sent::Pieces(Events { body: answer.body, reader }));
        }
        answer.whole(self.answer_bytes).await.map(Sent::Whole).map_err(unanswered)
    }

    /// Hears an answer to its end. What fails behind that does not make it less of an answer.
    async fn listen(&self, mut events: Events<'_>, heard: Heard<'_>) -> Result<LmReply, LmError> {
        let mut chunks = Chunks::new(self.answer_bytes);
        loop {
            let event = match events.next().await {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(_) if chunks.are_finished() => break,
                Err(error) => return Err(self.unheard(error)),
            };
            chunks.take(&event, heard).map_err(|why| self.no_reply(why, 200, &event.data))?;
            if chunks.are_done() {
                // A server that is slow to end, or does not, loses the connection and nothing else.
                let _ = timeout(FAREWELL, events.drain()).await;
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

    fn unheard(&self, error: Unheard) -> LmError {
        match error {
            Unheard::Http(error) => self.endpoint.unanswered(error),
            Unheard::Events(SseFault::TooLarge) => self.endpoint.unanswered(HttpError::TooLarge),
            Unheard::Events(SseFault::NotText) => {
                let text = "the answer is not a stream of events in UTF-8".to_owned();
                self.endpoint.error(LmErrorKind::Malformed, text)
            }
        }
    }
}

/// What a server answers.
enum Sent<'c> {
    Pieces(Events<'c>),
    Whole(HttpAnswer),
}

/// The events of an answer.
struct Events<'c> {
    body: BoxStream<'c, Result<Bytes, HttpError>>,
    reader: SseReader,
}

/// Why there is no next event.
enum Unheard {
    Http(HttpError),
    Events(SseFault),
}

impl Events<'_> {
    async fn next(&mut self) -> Result<Option<SseEvent>, Unheard> {
        loop {
            if let Some(event) = self.reader.next().map_err(Unheard::Events)? {
                return Ok(Some(event));
            }
            match self.body.next().await {
                Some(piece) => self.reader.feed(piece.map_err(Unheard::Http)?),
                None => return Ok(None),
            }
        }
    }

    /// Reads to the end of HTTP, so that the connection can be used again.
    async fn drain(mut self) {
        while let Some(Ok(_)) = self.body.next().await {}
    }
}
