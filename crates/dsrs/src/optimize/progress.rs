//! What is told of an optimization while it goes on. Knows nothing of who listens.

use super::{Trial, TrialId, TrialScore};

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub enum ProgressEvent<'p> {
    /// Another stretch of the work begins.
    Phase(&'p str),
    /// A candidate is to be tried.
    Candidate(&'p Trial),
    /// A candidate was tried.
    Scored {
        /// Which one.
        trial: TrialId,
        /// How it did.
        scored: &'p TrialScore,
        /// On all examples that candidates are chosen by.
        full: bool,
        /// Whether no other has done better so far.
        best: bool,
    },
    /// Of the evaluation under way, so many rollouts have ended.
    Rollouts {
        /// How many have ended.
        done: usize,
        /// Of how many.
        of: usize,
    },
}

/// Hears of an optimization while it goes on. Must not block.
pub trait ProgressListener: Send + Sync {
    /// Hears of the next thing that happened.
    fn hear(&self, progress: ProgressEvent<'_>);
}

/// Nobody listens.
pub struct NoopListener;

impl ProgressListener for NoopListener {
    fn hear(&self, _: ProgressEvent<'_>) {}
}
