//! What is told of an optimization while it goes on. Knows nothing of who listens.

use super::{Scored, Trial, TrialId};

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'p> {
    /// Another stretch of the work begins.
    Phase(&'p str),
    /// A candidate is to be tried.
    Candidate(&'p Trial),
    /// A candidate was tried.
    Scored {
        /// Which one.
        trial: TrialId,
        /// How it did.
        scored: &'p Scored,
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
pub trait Listener: Send + Sync {
    /// Hears of the next thing that happened.
    fn hear(&self, progress: Progress<'_>);
}

/// Nobody listens.
pub struct Deaf;

impl Listener for Deaf {
    fn hear(&self, _: Progress<'_>) {}
}
