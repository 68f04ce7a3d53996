//! The board of an optimization: every candidate that was tried, its parents and its scores. Knows
//! nothing of how candidates are found.

use std::collections::HashMap;
use std::sync::Arc;

use super::candidate::CandidateHash;
use super::{Candidate, Evaluation, FailureCause};
use crate::lm::Usage;

/// The number of a candidate on its board; 0 is the original program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrialId(pub usize);

/// A candidate that was tried.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Its place on the board.
    pub id: TrialId,
    /// The candidate.
    pub candidate: Arc<Candidate>,
    /// The candidates it was made from.
    pub parents: Vec<TrialId>,
    /// A short description of how it was made.
    pub origin: Arc<str>,
    /// Its score on the whole valset, if it was evaluated on it.
    pub full: Option<TrialScore>,
    /// Its scores on parts of the valset, one per evaluation.
    pub partial: Vec<TrialScore>,
    /// Whether it is known not to build: a value in it does not fit. Such a candidate fails on every
    /// example at no cost, and is never the best.
    pub unfit: bool,
    /// Why most of the rollouts of its last evaluation without a score failed, or most of the failed ones.
    pub cause: Option<FailureCause>,
}

/// The score of a candidate on some examples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialScore {
    /// The number of measured examples.
    pub examples: usize,
    /// The mean of their scores.
    pub mean: f64,
    /// The value that candidates are selected by: the mean, less the weighted cost.
    pub objective: f64,
    /// The number of rollouts that failed for a reason of the program.
    pub failures: usize,
    /// The number of examples without a score, for reasons that are not the program's.
    pub unmeasured: usize,
    /// The usage of the program over all examples.
    pub usage: Usage,
}

/// The weight of the cost of a candidate against its score.
///
/// The objective of a candidate is its mean score, less `weight` times its relative extra cost over
/// the original program: at a weight of 0.1, a candidate that costs twice as much must score 0.1
/// more. Cost is money if all models have prices, else tokens, else calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CostWeight {
    /// The weight; at 0 only scores count.
    pub weight: f64,
    /// The cost of the original program per example.
    pub base: f64,
}

impl CostWeight {
    /// A weight relative to the usage of a program in an evaluation.
    #[must_use]
    pub fn of(weight: f64, base: &Evaluation) -> Self {
        Self { weight, base: per_example(&base.usage(), base.measured().count()) }
    }

    fn objective(&self, mean: f64, usage: &Usage, examples: usize) -> f64 {
        if self.weight == 0.0 || self.base <= 0.0 {
            return mean;
        }
        mean - self.weight * (per_example(usage, examples) / self.base - 1.0)
    }
}

fn per_example(usage: &Usage, examples: usize) -> f64 {
    let tokens = usage.input_tokens + usage.output_tokens;
    let all = match usage.cost {
        Some(cost) if cost > 0.0 => cost,
        _ if tokens > 0 => tokens as f64,
        _ => usage.lm_calls as f64,
    };
    all / examples.max(1) as f64
}

/// All candidates that were tried.
#[derive(Debug, Default)]
pub(super) struct Board {
    trials: Vec<Trial>,
    by_hash: HashMap<CandidateHash, TrialId>,
    weight: CostWeight,
}

impl Board {
    /// Enters a candidate once; returns its number and whether it is new.
    pub(super) fn enter(
        &mut self,
        candidate: Candidate,
        parents: &[TrialId],
        origin: Arc<str>,
    ) -> (TrialId, bool) {
        let id = TrialId(self.trials.len());
        let found = *self.by_hash.entry(candidate.hash()).or_insert(id);
        if found == id {
            let (parents, candidate) = (parents.to_vec(), Arc::new(candidate));
            let (full, partial, unfit) = (None, Vec::new(), false);
            let cause = None;
            self.trials.push(Trial { id, candidate, parents, origin, full, partial, unfit, cause });
        }
        (found, found == id)
    }

    pub(super) fn weigh(&mut self, weight: CostWeight) {
        self.weight = weight;
        for trial in &mut self.trials {
            for scored in trial.full.iter_mut().chain(&mut trial.partial) {
                scored.objective = weight.objective(scored.mean, &scored.usage, scored.examples);
            }
        }
    }

    pub(super) fn score(&mut self, id: TrialId, evaluation: &Evaluation, all: bool) -> TrialScore {
        let (mean, usage) = (evaluation.mean(), evaluation.usage());
        let (examples, unmeasured) = (evaluation.measured().count(), evaluation.unmeasured());
        let objective = self.weight.objective(mean, &usage, examples);
        let failures = evaluation.failures();
        let scored = TrialScore { examples, mean, objective, failures, unmeasured, usage };
        if let Some(trial) = self.trials.get_mut(id.0) {
            trial.unfit |= evaluation.is_unfit();
            trial.cause = evaluation.cause();
            match all {
                true => trial.full = Some(scored),
                false => trial.partial.push(scored),
            }
        }
        scored
    }

    pub(super) fn get(&self, id: TrialId) -> Option<&Trial> {
        self.trials.get(id.0)
    }

    pub(super) fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// The candidate with the best objective on the whole valset, of those that build; the first of
    /// equals.
    pub(super) fn best(&self) -> Option<&Trial> {
        let fit = self.trials.iter().filter(|trial| !trial.unfit);
        let tried = fit.filter_map(|trial| Some((trial, trial.full?.objective)));
        let better = |best: Option<(_, f64)>, next: (_, f64)| match best {
            Some((_, objective)) if objective >= next.1 => best,
            _ => Some(next),
        };
        tried.fold(None, better).map(|(trial, _)| trial)
    }
}
