//! Events of a run in progress: nodes that start and end, deltas of fields. Does not know
//! listeners.

use std::sync::Arc;
use std::time::Duration;

use super::{PredictError, SpanId};
use crate::lm::Usage;
use crate::value::Fields;

/// An event of a run.
#[derive(Clone, Copy, Debug)]
pub enum RunEvent<'e> {
    /// A node has begun.
    NodeStarted {
        /// Its name.
        node: &'e Arc<str>,
    },
    /// More text of a predictor's output. All deltas of an output under one span since its last
    /// [`Self::NodeRetry`] together are its value if its type is `str`, else the text that the
    /// value is parsed from.
    NodeDelta {
        /// The call of the predictor.
        call: PredictorCallId<'e>,
        /// The output.
        field: &'e Arc<str>,
        /// The new text.
        text: &'e str,
    },
    /// A predictor's LM is asked again, or its answer turned out to be a different one: all deltas
    /// under this span are void.
    NodeRetry {
        /// The call of the predictor.
        call: PredictorCallId<'e>,
        /// The number of the request, from 1.
        attempt: u32,
        /// Why.
        reason: &'e str,
    },
    /// A node has completed.
    NodeCompleted {
        /// Its name.
        node: &'e Arc<str>,
        /// Its outputs.
        outputs: &'e Fields,
        /// The usage of its LM calls.
        usage: Usage,
        /// How long it took.
        duration: Duration,
    },
    /// A node has failed.
    NodeFailed {
        /// Its name.
        node: &'e Arc<str>,
        /// Why.
        error: &'e PredictError,
        /// How long it took.
        duration: Duration,
    },
}

/// Identifies a call of a predictor. Concurrent calls of the same predictor differ by span.
#[derive(Clone, Copy, Debug)]
pub struct PredictorCallId<'e> {
    /// The node.
    pub node: &'e Arc<str>,
    /// The predictor's path within it.
    pub predictor: &'e Arc<str>,
    /// The span of the call.
    pub span: SpanId,
}

/// Receives the events of a run on the thread of the run. It must be quick and must never block. A
/// closure is one: see [`Ctx::listen`](super::Ctx::listen).
pub trait RunListener: Send + Sync {
    /// Receives one event.
    fn receive(&self, event: RunEvent<'_>);
}

impl<F: Fn(RunEvent<'_>) + Send + Sync> RunListener for F {
    fn receive(&self, event: RunEvent<'_>) {
        self(event);
    }
}

/// A listener of a context, and those before it.
pub(super) struct ListenerPair<L> {
    pub(super) listener: L,
    pub(super) earlier: Arc<dyn RunListener>,
}

impl<L: RunListener> RunListener for ListenerPair<L> {
    fn receive(&self, event: RunEvent<'_>) {
        self.listener.receive(event);
        self.earlier.receive(event);
    }
}
