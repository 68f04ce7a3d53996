//! Observes the requests of runs to models while they happen, for metrics. Does not know who observes.

use std::time::Duration;

use super::{LmErrorKind, Usage};

/// Receives what happens between runs and models, on the threads of the runs. It must be quick and must
/// never block.
pub trait LmObserver: Send + Sync {
    /// Receives a request that was answered or has failed. One whose future was dropped is not reported.
    fn attempted(&self, attempt: &LmAttempt<'_>);

    /// Receives the kind of a leniency with which an answer was read.
    fn repaired(&self, kind: &'static str);
}

/// One request to a model.
#[derive(Clone, Copy, Debug)]
pub struct LmAttempt<'a> {
    /// The alias of the model.
    pub alias: &'a str,
    /// Whether the same request was sent to the same model before.
    pub is_retry: bool,
    /// Whether the model is a fallback of another one that failed.
    pub is_fallback: bool,
    /// Whether the reply was stored, so that no request was sent.
    pub is_stored: bool,
    /// How long the request waited for its turn.
    pub queued: Duration,
    /// How long the model took.
    pub duration: Duration,
    /// When the first text of the answer arrived, if the answer was streamed.
    pub first_token: Option<Duration>,
    /// The usage, or why it failed.
    pub result: Result<&'a Usage, LmErrorKind>,
}
