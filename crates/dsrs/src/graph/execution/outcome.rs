//! The outcome of a run and of each of its nodes. Knows nothing of the executor.

use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;

use crate::lm::Usage;
use crate::predict::{NodePause, PredictError, PredictErrorKind, Span};
use crate::value::{Fields, Payload};

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The graph's outputs, or the failure that ended the run.
    pub outputs: Result<Fields, RunError>,
    /// Every node by name, in the graph's order.
    pub nodes: IndexMap<Arc<str>, NodeOutcome>,
    /// The sum over all LM calls.
    pub usage: Usage,
    /// The trace, in the order in which spans started.
    pub spans: Vec<Span>,
}

impl Outcome {
    /// Whether nothing failed and the remaining nodes wait for signals.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.outputs.as_ref().is_err_and(RunError::waits)
    }
}

/// The failure that ended a run.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{error}")]
pub struct RunError {
    /// The node that failed; `None` if the run stopped before any node started.
    pub node: Option<Arc<str>>,
    /// Why.
    #[source]
    pub error: PredictError,
}

// A module that runs a graph fails as the graph does.
impl From<RunError> for PredictError {
    fn from(failed: RunError) -> Self {
        failed.error
    }
}

impl RunError {
    /// Whether the run did not fail but waits for a signal.
    pub(super) fn waits(&self) -> bool {
        matches!(self.error.kind, PredictErrorKind::Waiting { .. })
    }
}

/// The outcome of a node.
#[derive(Clone, Debug)]
pub struct NodeOutcome {
    /// Its status.
    pub status: NodeStatus,
    /// When it started, relative to the start of the run.
    pub started: Option<Duration>,
    /// How long it took.
    pub duration: Option<Duration>,
    /// Its outputs.
    pub outputs: Option<Payload>,
    /// Why it failed.
    pub error: Option<PredictError>,
    /// What it waits for, if it waits in the middle of its work.
    pub pause: Option<Arc<NodePause>>,
}

impl NodeOutcome {
    /// The outcome of a node that has not started.
    pub(super) const fn pending() -> Self {
        let (started, duration, outputs, error) = (None, None, None, None);
        Self { status: NodeStatus::Pending, started, duration, outputs, error, pause: None }
    }

    /// The final outcome once the run ended, `elapsed` after its start.
    pub(super) fn at_the_end(mut self, elapsed: Duration) -> Self {
        match self.status {
            NodeStatus::Pending => self.status = NodeStatus::Skipped,
            NodeStatus::Running | NodeStatus::Waiting => {
                self.status = NodeStatus::Cancelled;
                self.duration = self.started.map(|started| elapsed.saturating_sub(started));
                self.pause = None;
            }
            _ => {}
        }
        self
    }
}

/// The status of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeStatus {
    /// Not started.
    Pending,
    /// Running.
    Running,
    /// Completed.
    Succeeded,
    /// Failed.
    Failed,
    /// Never started, because the run ended or a source failed.
    Skipped,
    /// Stopped while running, because the run ended.
    Cancelled,
    /// Parked until it receives a signal.
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
