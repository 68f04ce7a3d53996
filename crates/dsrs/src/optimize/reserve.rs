//! The part of a budget that is reserved for the last measurement, so that a search that spends its
//! whole budget can still measure its result. Estimated from earlier measurements, not from current
//! usage, so that a restarted search ends at the same point.

use super::Evaluation;
use crate::lm::{Budget, BudgetReserve, Usage};

/// The expected cost of the last measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastMeasurement {
    /// The number of examples.
    examples: usize,
    /// The maximum reserve: half of the budget that the first measurement left.
    most: BudgetReserve,
}

impl LastMeasurement {
    /// Expects as many examples as the first measurement had.
    pub(super) fn like(first: &Evaluation, budget: &Budget) -> Self {
        let used = used(first);
        let half = |limit: u64, used: u64| limit.saturating_sub(used) / 2;
        let tokens = used.input_tokens + used.output_tokens;
        let cost = budget.cost.map(|limit| (limit - used.cost.unwrap_or(0.0)).max(0.0) / 2.0);
        let usage = Usage {
            lm_calls: budget.lm_calls.map_or(u64::MAX, |limit| half(limit, used.lm_calls)),
            input_tokens: budget.tokens.map_or(u64::MAX, |limit| half(limit, tokens)),
            cost: Some(cost.unwrap_or(f64::MAX)),
            ..Usage::default()
        };
        let seconds = budget.seconds.map_or(f64::MAX, |limit| limit / 2.0);
        Self { examples: first.len(), most: BudgetReserve { usage, seconds } }
    }

    /// The initial reserve. Includes a margin, because candidates with demos use more tokens.
    pub(super) fn at_first(&self, first: &Evaluation, at_once: usize) -> BudgetReserve {
        self.bounded(first, at_once, 1.25, 3.0)
    }

    /// The reserve for a candidate with this evaluation.
    pub(super) fn of(&self, tried: &Evaluation, at_once: usize) -> BudgetReserve {
        self.bounded(tried, at_once, 1.1, 1.25)
    }

    /// The scaled usage of an evaluation, by factors for calls and for the rest, up to the maximum.
    fn bounded(&self, tried: &Evaluation, at_once: usize, calls: f64, rest: f64) -> BudgetReserve {
        let scale = self.examples as f64 / tried.len().max(1) as f64;
        let (used, most) = (used(tried), &self.most.usage);
        let count = |count: u64, times: f64| (count as f64 * scale * times).ceil() as u64;
        let usage = Usage {
            lm_calls: count(used.lm_calls, calls).min(most.lm_calls),
            input_tokens: count(used.input_tokens + used.output_tokens, rest)
                .min(most.input_tokens),
            cost: used.cost.map(|cost| (cost * scale * rest).min(most.cost.unwrap_or(f64::MAX))),
            ..Usage::default()
        };
        let took = tried.rollouts.iter().map(|rollout| rollout.took.as_secs_f64()).sum::<f64>();
        let seconds = took * scale * 1.5 / at_once.max(1) as f64;
        BudgetReserve { usage, seconds: seconds.min(self.most.seconds) }
    }
}

/// The usage of an evaluation, judging included.
fn used(evaluation: &Evaluation) -> Usage {
    let mut usage = evaluation.usage();
    evaluation.rollouts.iter().for_each(|rollout| usage += rollout.judging);
    usage
}
