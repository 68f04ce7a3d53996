//! The board of an optimization: every candidate that was tried, where it came from and how it did.
//! Knows scores, and nothing of how candidates are found.

use std::collections::HashMap;
use std::sync::Arc;

use super::candidate::CandidateHash;
use super::{Candidate, Evaluation};
use crate::lm::Usage;

/// Names a candidate on its board, counted from 0, which is the program as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrialId(pub usize);

/// A candidate that was tried.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Its place on the board.
    pub id: TrialId,
    /// What was tried.
    pub candidate: Arc<Candidate>,
    /// The candidates it was made from.
    pub parents: Vec<TrialId>,
    /// What was done to make it, in a few words.
    pub origin: Arc<str>,
    /// How it did on all examples that candidates are chosen by, if it was tried on all of them.
    pub full: Option<TrialScore>,
    /// How it did on some of them, each time that it was tried on some.
    pub partial: Vec<TrialScore>,
}

/// How a candidate did on some examples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialScore {
    /// How many examples.
    pub examples: usize,
    /// The mean of the scores.
    pub mean: f64,
    /// What is compared when candidates are chosen: the mean, less what its cost weighs.
    pub objective: f64,
    /// How many rollouts failed.
    pub failures: usize,
    /// What the program used, over all of them.
    pub usage: Usage,
}

/// How much the cost of a candidate weighs against its scores.
///
/// The objective of a candidate is its mean score, less `weight` times how much more it costs than
/// the program as it was: at a weight of 0.1, a candidate that costs twice as much must score 0.1
/// more. Cost is money where all models have prices, else tokens, else calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CostWeight {
    /// The weight; at 0 only scores count.
    pub weight: f64,
    /// What the program as it was used for each example.
    pub base: f64,
}

impl CostWeight {
    /// A weight against what a program used in an evaluation.
    #[must_use]
    pub fn of(weight: f64, base: &Evaluation) -> Self {
        Self { weight, base: per_example(&base.usage(), base.len()) }
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
    /// Puts a candidate on the board, once; says where it is, and whether it is new.
    pub(super) fn enter(
        &mut self,
        candidate: Candidate,
        parents: &[TrialId],
        origin: Arc<str>,
    ) -> (TrialId, bool) {
        let id = TrialId(self.trials.len());
        let found = *self.by_hash.entry(candidate.hash()).or_insert(id);
        if found == id {
            let (parents, partial) = (parents.to_vec(), Vec::new());
            let candidate = Arc::new(candidate);
            self.trials.push(Trial { id, candidate, parents, origin, full: None, partial });
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
        let examples = evaluation.len();
        let objective = self.weight.objective(mean, &usage, examples);
        let failures = evaluation.failures();
        let scored = TrialScore { examples, mean, objective, failures, usage };
        if let Some(trial) = self.trials.get_mut(id.0) {
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

    /// The candidate with the best objective over all examples; of equals the first.
    pub(super) fn best(&self) -> Option<&Trial> {
        let tried = self.trials.iter().filter_map(|trial| Some((trial, trial.full?.objective)));
        let better = |best: Option<(_, f64)>, next: (_, f64)| match best {
            Some((_, objective)) if objective >= next.1 => best,
            _ => Some(next),
        };
        tried.fold(None, better).map(|(trial, _)| trial)
    }
}
