//! How much of the work is measured: a search on results of an outage finds what the outage prefers, so that too
//! many rollouts without a score end the work.

use std::sync::{Arc, MutexGuard, PoisonError};

use super::Workbench;
use crate::optimize::{EarlyStop, FailureCause, Rollout, RolloutFailure};

/// The fewest rollouts of a work that its share is taken of: a part with a few examples says little.
const FEWEST: usize = 20;

/// The rollouts of the work so far.
#[derive(Debug, Default)]
pub(super) struct RolloutCounts {
    all: usize,
    unmeasured: Vec<RolloutFailure>,
}

impl Workbench {
    /// Counts the rollouts of an evaluation.
    pub(super) fn count(&self, rollouts: &[Option<Arc<Rollout>>]) {
        let mut counts = self.counts();
        counts.all += rollouts.iter().flatten().count();
        counts.unmeasured.extend(failures(rollouts.iter().flatten()).cloned());
    }

    fn counts(&self) -> MutexGuard<'_, RolloutCounts> {
        self.shared.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that enough rollouts of the work so far have a score.
    ///
    /// # Errors
    /// [`EarlyStop::Failed`] if too many do not.
    pub(super) fn check_so_far(&self) -> Result<(), EarlyStop> {
        let counts = self.counts();
        let few = self.task().max_unmeasured * FEWEST as f64;
        if counts.unmeasured.len() as f64 <= few {
            return Ok(());
        }
        self.check_share(counts.unmeasured.iter(), counts.all, "all rollouts so far")
    }

    /// Checks that enough examples of an evaluation have a score.
    ///
    /// # Errors
    /// [`EarlyStop::Failed`] if too many do not.
    pub(in crate::optimize) fn check_measured(
        &self,
        rollouts: &[Option<Arc<Rollout>>],
    ) -> Result<(), EarlyStop> {
        let made = rollouts.iter().flatten();
        self.check_share(failures(made.clone()), made.count(), "the examples")
    }

    fn check_share<'f>(
        &self,
        unmeasured: impl Iterator<Item = &'f RolloutFailure> + Clone,
        all: usize,
        what: &str,
    ) -> Result<(), EarlyStop> {
        let (count, most) = (unmeasured.clone().count(), self.task().max_unmeasured);
        if count as f64 <= most * all as f64 {
            return Ok(());
        }
        let cause = FailureCause::most_frequent(unmeasured);
        let cause = cause.map_or_else(String::new, |cause| {
            let FailureCause { failure, count } = cause;
            format!("; {count} of them with `{}`: {}", failure.code, failure.message)
        });
        let message = format!(
            "{count} of {all} of {what} have no score, more than the share of {most} that may \
             (`max_unmeasured`): they failed for reasons that are not the program's{cause}"
        );
        Err(EarlyStop::Failed(message.into()))
    }
}

fn failures<'r>(
    rollouts: impl Iterator<Item = &'r Arc<Rollout>> + Clone,
) -> impl Iterator<Item = &'r RolloutFailure> + Clone {
    rollouts.filter_map(|rollout| rollout.error.as_ref().filter(|error| error.is_unmeasured))
}
