//! Progress events of a running optimization. Knows no listener.

use super::{Trial, TrialId, TrialScore};

/// An event of a running optimization.
#[derive(Clone, Copy, Debug)]
pub enum ProgressEvent<'p> {
    /// A new phase begins.
    Phase(&'p str),
    /// A candidate was entered.
    Candidate(&'p Trial),
    /// A candidate was evaluated.
    Scored {
        /// Which one.
        trial: TrialId,
        /// Its score.
        scored: &'p TrialScore,
        /// Whether on the whole valset.
        full: bool,
        /// Whether it is the best so far.
        best: bool,
    },
    /// Rollouts of the current evaluation completed.
    Rollouts {
        /// The number of completed rollouts.
        done: usize,
        /// The number of all rollouts.
        of: usize,
    },
}

/// Receives the events of a running optimization. Must not block.
pub trait ProgressListener: Send + Sync {
    /// Receives the next event.
    fn receive(&self, progress: ProgressEvent<'_>);
}

/// Ignores all events.
pub struct NoopListener;

impl ProgressListener for NoopListener {
    fn receive(&self, _: ProgressEvent<'_>) {}
}
