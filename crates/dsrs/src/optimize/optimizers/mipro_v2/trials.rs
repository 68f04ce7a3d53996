//! The search: tries combinations of instructions and demos one after the other; each depends on
//! the results of those before. The most promising are evaluated on the whole valset. Knows nothing
//! of the origin of instructions and demos.

use std::sync::Arc;

use super::demos::DemoSets;
use super::plan::{Minibatch, MiproPlan};
use super::tpe::{Combo, ScoredCombo, Tpe};
use crate::optimize::{Candidate, EarlyStop, Trial, TrialId, Workbench};

/// The choices for one predictor. The first of each is the current one.
pub(super) struct PredictorChoices {
    pub(super) path: Arc<str>,
    pub(super) instructions: Vec<Arc<str>>,
    pub(super) demo_sets: DemoSets,
}

/// A running search.
pub(super) struct TrialSearch<'s> {
    bench: &'s Workbench,
    choices: &'s [PredictorChoices],
    tpe: Tpe,
    /// Combinations in the order in which they were tried; one may be there several times.
    tried: Vec<(Combo, TrialId)>,
}

impl<'s> TrialSearch<'s> {
    /// Starts with the original program on the whole valset.
    pub(super) async fn begin(
        bench: &'s Workbench,
        choices: &'s [PredictorChoices],
        startup: usize,
    ) -> Result<Self, EarlyStop> {
        let counts = |one: &PredictorChoices| [one.instructions.len(), one.demo_sets.len()];
        let counts: Vec<usize> = choices.iter().flat_map(counts).collect();
        let unchanged = vec![0; counts.len()];
        bench.full(bench.start()).await?;
        let tried = vec![(unchanged, bench.start())];
        Ok(Self { bench, choices, tpe: Tpe { choices: counts, startup }, tried })
    }

    /// Tries as many combinations as are planned, or all that there are.
    pub(super) async fn run(mut self, plan: &MiproPlan) -> Result<TrialId, EarlyStop> {
        // Minibatches since a combination was last tried on the whole valset.
        let mut since = 0;
        for number in 1..=plan.trials {
            let Some((combo, id)) = self.next(number) else { break };
            self.tried.push((combo, id));
            let Some(minibatch) = plan.minibatch else {
                self.bench.full(id).await?;
                continue;
            };
            self.bench.partial(id, &drawn(self.bench, &minibatch, number)).await?;
            since += 1;
            if since == minibatch.full_eval_steps {
                self.try_most_promising().await?;
                since = 0;
            }
        }
        if since > 0 {
            self.try_most_promising().await?;
        }
        Ok(self.bench.best().map_or(self.bench.start(), |best| best.id))
    }

    /// Another combination and its candidate: an untried one, or, if all were tried, one without a
    /// full evaluation.
    fn next(&self, number: usize) -> Option<(Combo, TrialId)> {
        let (mut tried, mut known): (Vec<ScoredCombo>, Vec<Combo>) = (Vec::new(), Vec::new());
        for (combo, id) in &self.tried {
            let Some(trial) = self.bench.trial(*id) else { continue };
            tried.push((combo.clone(), estimate(&trial)));
            known.extend(trial.full.map(|_| combo.clone()));
        }
        let all: Vec<Combo> = self.tried.iter().map(|(combo, _)| combo.clone()).collect();
        let mut rng = self.bench.rng(&format!("trial {number}"));
        let new = self.tpe.next(&mut rng, &tried, &all);
        let combo = new.or_else(|| self.tpe.next(&mut rng, &tried, &known))?;
        let (candidate, origin) = self.made(&combo);
        Some((combo, self.bench.enter(candidate, &[self.bench.start()], origin)))
    }

    /// The candidate of a combination, and its origin.
    fn made(&self, combo: &Combo) -> (Candidate, String) {
        let mut candidate = Candidate::clone(&self.bench.candidate(self.bench.start()));
        let mut changes = Vec::new();
        for (one, chosen) in self.choices.iter().zip(combo.chunks(2)) {
            let [instruction, demos] = chosen else { continue };
            let new_instruction = one.instructions.get(*instruction).filter(|_| *instruction > 0);
            let new_demos = one.demo_sets.get(*demos).filter(|_| *demos > 0);
            if new_instruction.is_some() || new_demos.is_some() {
                candidate = candidate.with(&one.path, |state| {
                    state.instruction = new_instruction.cloned().or(state.instruction.take());
                    state.demos = new_demos.cloned().unwrap_or(std::mem::take(&mut state.demos));
                });
                changes.push(format!("`{}`: instruction {instruction}, demos {demos}", one.path));
            }
        }
        (candidate, changes.join("; "))
    }

    /// Evaluates the best combination without a full evaluation on the whole valset.
    async fn try_most_promising(&self) -> Result<(), EarlyStop> {
        let open = self.tried.iter().filter_map(|(_, id)| self.bench.trial(*id));
        let open = open.filter(|trial| trial.full.is_none());
        let better = |best: Option<(f64, TrialId)>, next: Trial| match best {
            Some(best) if best.0 >= estimate(&next) => Some(best),
            _ => Some((estimate(&next), next.id)),
        };
        if let Some((_, id)) = open.fold(None, better) {
            self.bench.full(id).await?;
        }
        Ok(())
    }
}

/// The known score of a candidate: its mean on the whole valset, or else the mean over its
/// minibatches.
fn estimate(trial: &Trial) -> f64 {
    if let Some(full) = trial.full {
        return full.objective;
    }
    let examples: usize = trial.partial.iter().map(|scored| scored.examples).sum();
    let sum: f64 =
        trial.partial.iter().map(|scored| scored.objective * scored.examples as f64).sum();
    sum / examples.max(1) as f64
}

/// The examples of a minibatch, by their places in the valset.
fn drawn(bench: &Workbench, minibatch: &Minibatch, number: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..bench.val().len()).collect();
    bench.rng(&format!("minibatch {number}")).shuffle(&mut places);
    places.truncate(minibatch.size);
    places.sort_unstable();
    places
}
