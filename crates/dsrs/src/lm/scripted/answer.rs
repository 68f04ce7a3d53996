//! One answer of a script, and how it is sent in deltas. Knows no requests.

use std::sync::Arc;
use std::time::Duration;

use crate::lm::{DeltaSink, LmError, LmErrorKind, LmReply};

/// Bytes of a delta.
const DELTA: usize = 5;

/// One answer of a script: a text, a reply, a failure or silence, at once or after a delay.
///
/// ```
/// use std::time::Duration;
/// use dsrs::lm::{ScriptedAnswer, LmErrorKind};
///
/// let slow = ScriptedAnswer::from("hello").after(Duration::from_millis(200));
/// let busy = ScriptedAnswer::fail(LmErrorKind::RateLimited, "too many requests").status(429);
/// # let _ = (slow, busy, ScriptedAnswer::hang());
/// ```
#[derive(Clone, Debug)]
pub struct ScriptedAnswer {
    pub(super) outcome: ScriptedOutcome,
    pub(super) delay: Duration,
    pause: Duration,
}

/// What an answer is.
#[derive(Clone, Debug)]
pub(super) enum ScriptedOutcome {
    Text(Arc<str>),
    Reply(LmReply),
    Failure(LmError),
    Broken(Arc<str>, LmError),
    Silence,
}

impl ScriptedAnswer {
    /// A failure of a kind.
    #[must_use]
    pub fn fail(kind: LmErrorKind, message: impl Into<String>) -> Self {
        LmError { kind, message: message.into(), status: None, retry_after: None }.into()
    }

    /// No answer at all.
    #[must_use]
    pub const fn hang() -> Self {
        Self::now(ScriptedOutcome::Silence)
    }

    /// A failure after the first part of an answer.
    #[must_use]
    pub fn broken(
        text: impl Into<Arc<str>>,
        kind: LmErrorKind,
        message: impl Into<String>,
    ) -> Self {
        let error = LmError { kind, message: message.into(), status: None, retry_after: None };
        Self::now(ScriptedOutcome::Broken(text.into(), error))
    }

    /// The same answer with a pause before each of its deltas, if it is streamed.
    #[must_use]
    pub const fn pausing(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// The same answer after a delay.
    #[must_use]
    pub const fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The same failure with an HTTP status. Other answers do not change.
    #[must_use]
    pub const fn status(mut self, status: u16) -> Self {
        if let ScriptedOutcome::Failure(error) = &mut self.outcome {
            error.status = Some(status);
        }
        self
    }

    /// The same failure with a time to wait. Other answers do not change.
    #[must_use]
    pub const fn retry_after(mut self, wait: Duration) -> Self {
        if let ScriptedOutcome::Failure(error) = &mut self.outcome {
            error.retry_after = Some(wait);
        }
        self
    }

    const fn now(outcome: ScriptedOutcome) -> Self {
        Self { outcome, delay: Duration::ZERO, pause: Duration::ZERO }
    }
}

impl From<&str> for ScriptedAnswer {
    fn from(text: &str) -> Self {
        Self::now(ScriptedOutcome::Text(text.into()))
    }
}

impl From<String> for ScriptedAnswer {
    fn from(text: String) -> Self {
        Self::now(ScriptedOutcome::Text(text.into()))
    }
}

impl From<LmReply> for ScriptedAnswer {
    fn from(reply: LmReply) -> Self {
        Self::now(ScriptedOutcome::Reply(reply))
    }
}

impl From<LmError> for ScriptedAnswer {
    fn from(error: LmError) -> Self {
        Self::now(ScriptedOutcome::Failure(error))
    }
}

impl ScriptedAnswer {
    /// Sends the text of the answer in deltas.
    pub(super) async fn send(&self, deltas: &mut DeltaSink<'_>) {
        let text: &str = match &self.outcome {
            ScriptedOutcome::Text(text) | ScriptedOutcome::Broken(text, _) => text,
            ScriptedOutcome::Reply(reply) => &reply.text,
            ScriptedOutcome::Failure(_) | ScriptedOutcome::Silence => "",
        };
        for delta in deltas_of(text) {
            if !self.pause.is_zero() {
                tokio::time::sleep(self.pause).await;
            }
            deltas.send(delta);
        }
    }
}

/// Splits a text into deltas.
fn deltas_of(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let (piece, rest) = text.split_at(text.ceil_char_boundary(DELTA.min(text.len())));
        text = rest;
        Some(piece).filter(|piece| !piece.is_empty())
    })
}
