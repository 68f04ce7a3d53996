//! An evaluation: the rollouts of one candidate on some examples, and their statistics.

use std::sync::Arc;

use super::{FailureCause, Rollout};
use crate::lm::Usage;

/// Rollouts, in the order of their examples.
#[derive(Clone, Debug, Default)]
pub struct Evaluation {
    /// One per example.
    pub rollouts: Vec<Arc<Rollout>>,
}

impl Evaluation {
    /// The number of examples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rollouts.len()
    }

    /// Whether there are no examples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rollouts.is_empty()
    }

    /// The measured rollouts.
    pub fn measured(&self) -> impl Iterator<Item = &Arc<Rollout>> {
        self.rollouts.iter().filter(|rollout| rollout.is_measured())
    }

    /// The number of examples without a score, for reasons that are not the program's.
    #[must_use]
    pub fn unmeasured(&self) -> usize {
        self.len() - self.measured().count()
    }

    /// The scores, in order. An unmeasured example counts as the mean of the measured ones, so that it makes no
    /// candidate better or worse than another.
    #[must_use]
    pub fn scores(&self) -> Vec<f64> {
        let mean = self.mean();
        let score =
            |rollout: &Arc<Rollout>| if rollout.is_measured() { rollout.value() } else { mean };
        self.rollouts.iter().map(score).collect()
    }

    /// The scores of the examples that both evaluations have measured, in order. Both are of the same examples.
    #[must_use]
    pub fn paired_with(&self, other: &Self) -> (Vec<f64>, Vec<f64>) {
        let pairs = self.rollouts.iter().zip(&other.rollouts);
        let measured = pairs.filter(|(one, other)| one.is_measured() && other.is_measured());
        measured.map(|(one, other)| (one.value(), other.value())).unzip()
    }

    /// The mean score of the measured examples; 0 without any.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let (mut sum, mut count) = (0.0, 0_usize);
        for rollout in self.measured() {
            sum += rollout.value();
            count += 1;
        }
        if count == 0 { 0.0 } else { sum / count as f64 }
    }

    /// The usage of the program over all examples, without judging.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        self.rollouts.iter().for_each(|rollout| sum += rollout.usage);
        sum
    }

    /// Whether the candidate does not build, so that nothing ran.
    #[must_use]
    pub fn is_unfit(&self) -> bool {
        self.rollouts.iter().any(|rollout| rollout.is_unfit())
    }

    /// The number of rollouts that failed for a reason of the program.
    #[must_use]
    pub fn failures(&self) -> usize {
        self.measured().filter(|rollout| rollout.error.is_some()).count()
    }

    /// Why most of the rollouts without a score failed; if all have one, why most of the failed ones did.
    #[must_use]
    pub fn cause(&self) -> Option<FailureCause> {
        let errors = || self.rollouts.iter().filter_map(|rollout| rollout.error.as_ref());
        let unmeasured = errors().filter(|error| error.is_unmeasured);
        FailureCause::most_frequent(unmeasured).or_else(|| FailureCause::most_frequent(errors()))
    }
}
