//! What is told of a run while it goes on: nodes that start and end, texts of fields as they
//! arrive. Knows nothing of who listens.

use std::sync::Arc;
use std::time::Duration;

use super::{PredictError, SpanId};
use crate::lm::Usage;
use crate::value::Fields;

/// One thing that is told of a run.
#[derive(Clone, Copy, Debug)]
pub enum RunEvent<'e> {
    /// A node has begun.
    NodeStarted {
        /// Its name.
        node: &'e Arc<str>,
    },
    /// More of the text of a predictor's output. All texts of an output under one span, since the
    /// last [`Self::NodeRetry`] of it, together are its value where its type is `str`, else the text
    /// that its value is read from.
    NodeDelta {
        /// Whose.
        of: Speaker<'e>,
        /// The output.
        field: &'e Arc<str>,
        /// The new text.
        text: &'e str,
    },
    /// A predictor's LM is asked again, or its answer proves to be another than it seemed: what was
    /// told under this span is void.
    NodeRetry {
        /// Whose.
        of: Speaker<'e>,
        /// The number of the request, counted from 1.
        attempt: u32,
        /// Why.
        reason: &'e str,
    },
    /// A node is done.
    NodeCompleted {
        /// Its name.
        node: &'e Arc<str>,
        /// What it gives.
        outputs: &'e Fields,
        /// What its LM calls used.
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

/// One call of a predictor: calls of the same predictor at the same time differ by their spans.
#[derive(Clone, Copy, Debug)]
pub struct Speaker<'e> {
    /// The node.
    pub node: &'e Arc<str>,
    /// The predictor's path within it.
    pub predictor: &'e Arc<str>,
    /// The span of the call.
    pub span: SpanId,
}

/// Hears what is told of a run, on the thread of the run: it must be quick and never wait.
pub trait RunListener: Send + Sync {
    /// Takes one event.
    fn hear(&self, event: RunEvent<'_>);
}
