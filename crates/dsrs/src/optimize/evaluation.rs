//! An evaluation: the rollouts of one candidate on some examples, and their statistics.

use std::sync::Arc;

use super::Rollout;
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

    /// The scores, in order.
    #[must_use]
    pub fn scores(&self) -> Vec<f64> {
        self.rollouts.iter().map(|rollout| rollout.value()).collect()
    }

    /// The mean score; 0 without examples.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self.len() {
            0 => 0.0,
            count => {
                self.rollouts.iter().map(|rollout| rollout.value()).sum::<f64>() / count as f64
            }
        }
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

    /// The number of failed rollouts.
    #[must_use]
    pub fn failures(&self) -> usize {
        self.rollouts.iter().filter(|rollout| rollout.error.is_some()).count()
    }
}
