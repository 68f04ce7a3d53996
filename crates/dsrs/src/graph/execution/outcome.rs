//! How a run of a graph ended, and each of its nodes. Knows nothing of how it came to that.

use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;

use crate::lm::Usage;
use crate::predict::{PredictError, PredictErrorKind, Span};
use crate::value::{Fields, Payload};

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// The graph's outputs, or the failure that ended the run.
    pub outputs: Result<Fields, RunError>,
    /// Every node by name, in the graph's order.
    pub nodes: IndexMap<Arc<str>, NodeOutcome>,
    /// The sum over all LM calls.
    pub usage: Usage,
    /// Everything that happened, in the order in which it started.
    pub spans: Vec<Span>,
}

impl Outcome {
    /// Whether nothing has failed, and all that is left waits for values from outside.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.outputs.as_ref().is_err_and(RunError::waits)
    }
}

/// The failure that ended a run.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{error}")]
pub struct RunError {
    /// The node that failed; `None` when the run as a whole was stopped before any node started.
    pub node: Option<Arc<str>>,
    /// Why.
    #[source]
    pub error: PredictError,
}

impl RunError {
    /// Whether it is none, and the run waits for a value from outside.
    pub(super) fn waits(&self) -> bool {
        self.error.kind == PredictErrorKind::Waiting
    }
}

/// How a node ended.
#[derive(Clone, Debug)]
pub struct NodeOutcome {
    /// How it stands.
    pub status: NodeStatus,
    /// When it started, counted from the run's start.
    pub started: Option<Duration>,
    /// How long it took.
    pub duration: Option<Duration>,
    /// What it gave.
    pub outputs: Option<Payload>,
    /// Why it failed.
    pub error: Option<PredictError>,
}

impl NodeOutcome {
    /// Of a node that has not started.
    pub(super) const fn pending() -> Self {
        let (started, duration, outputs, error) = (None, None, None, None);
        Self { status: NodeStatus::Pending, started, duration, outputs, error }
    }

    /// The same when the run has ended, `elapsed` after its start.
    pub(super) fn at_the_end(mut self, elapsed: Duration) -> Self {
        match self.status {
            NodeStatus::Pending => self.status = NodeStatus::Skipped,
            NodeStatus::Running | NodeStatus::Waiting => {
                self.status = NodeStatus::Cancelled;
                self.duration = self.started.map(|started| elapsed.saturating_sub(started));
            }
            _ => {}
        }
        self
    }
}

/// Where a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeStatus {
    /// Not started.
    Pending,
    /// At work.
    Running,
    /// Done.
    Succeeded,
    /// Failed.
    Failed,
    /// Never started, because the run ended before, or because what it needs failed.
    Skipped,
    /// Stopped at work, because the run ended.
    Cancelled,
    /// Parked until a value comes from outside.
    Waiting,
}

impl NodeStatus {
    /// As clients see it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
            Self::Waiting => "waiting",
        }
    }
}
