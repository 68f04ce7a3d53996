//! The best rule of one decision on the trainset: rules are compared by the scores of known runs, and the program runs where
//! a decision was not seen yet. Knows no other decisions.

use std::sync::Arc;

use super::candidates::{RuleInGap, cuts, thresholds, weights};
use super::runs::ExampleRuns;
use crate::optimize::{Candidate, EarlyStop, Example, Workbench};
use crate::predict::{Decision, DecisionKind, DecisionRule, Evidence};

/// A gain below this is rounding.
const GAIN: f64 = 1e-9;

/// The search for the rule of one decision.
pub(super) struct Fit<'b> {
    bench: &'b Workbench,
    candidate: &'b Candidate,
    path: &'b Arc<str>,
    decision: &'b Decision,
    start: DecisionRule,
    /// The examples with a score, and their runs.
    examples: Vec<(&'b Example, ExampleRuns)>,
}

impl<'b> Fit<'b> {
    /// Runs the candidate on the trainset. What was run before costs nothing.
    pub(super) async fn observe(
        bench: &'b Workbench,
        candidate: &'b Candidate,
        path: &'b Arc<str>,
        decision: &'b Decision,
    ) -> Result<Self, EarlyStop> {
        let state = candidate.state.0.get(path);
        let own = state.and_then(|state| state.decisions.get(&decision.field.name)).cloned();
        let start = own.unwrap_or_else(|| decision.default_rule());
        let all: Vec<&Example> = bench.train().iter().collect();
        let evaluation = bench.evaluate(candidate, &all, None).await?;
        let observed =
            all.into_iter().zip(&evaluation.rollouts).filter_map(|(example, rollout)| {
                let mut runs = ExampleRuns::default();
                runs.add(rollout, path, (decision, &start)).then_some((example, runs))
            });
        let examples = observed.collect();
        Ok(Self { bench, candidate, path, decision, start, examples })
    }

    /// A rule that scores better than the current one, if there is one.
    pub(super) async fn rule(mut self) -> Result<Option<DecisionRule>, EarlyStop> {
        let mut best = self.start.clone();
        for position in 0..self.numbers() {
            let tried = self.tried(&best, position);
            for (rule, _) in &tried {
                self.learn(rule).await?;
            }
            if let Some(better) = self.better(&best, tried) {
                best = better;
            }
        }
        Ok(Some(best).filter(|rule| *rule != self.start))
    }

    /// The best of these rules, if it is better than `now`. Of equal ones that in the widest gap: it has the most room on
    /// either side.
    fn better(&self, now: &DecisionRule, tried: Vec<RuleInGap>) -> Option<DecisionRule> {
        let mut found: Option<(f64, RuleInGap)> = None;
        for (rule, width) in tried {
            let total = self.total(&rule);
            let is_better = found.as_ref().is_none_or(|(most, (_, widest))| {
                total > most + GAIN || (total > most - GAIN && width > *widest)
            });
            if is_better {
                found = Some((total, (rule, width)));
            }
        }
        let (total, (rule, _)) = found?;
        (total > self.total(now) + GAIN).then_some(rule)
    }

    /// How many numbers the rule has.
    fn numbers(&self) -> usize {
        match &self.decision.kind {
            DecisionKind::Bool => 1,
            DecisionKind::Choice(options) => options.len(),
            DecisionKind::Score(levels) => levels.saturating_sub(1),
        }
    }

    /// The rules that differ from `now` in one number.
    fn tried(&self, now: &DecisionRule, position: usize) -> Vec<RuleInGap> {
        let evidence: Vec<&Evidence> =
            self.examples.iter().flat_map(|(_, runs)| runs.evidence()).collect();
        match now {
            DecisionRule::Threshold(_) => thresholds(&evidence),
            DecisionRule::Cuts(now) => cuts(&evidence, now, position),
            DecisionRule::Weights(now) => {
                weights(&evidence, &self.decision.labels(), now, position)
            }
        }
    }

    /// The sum of the scores under a rule.
    fn total(&self, rule: &DecisionRule) -> f64 {
        self.examples.iter().filter_map(|(_, runs)| runs.score(self.decision, rule)).sum()
    }

    /// Runs the examples whose decisions under a rule no known run has. One that has no score then counts for no rule.
    async fn learn(&mut self, rule: &DecisionRule) -> Result<(), EarlyStop> {
        let unknown = |(_, runs): &&(_, ExampleRuns)| runs.score(self.decision, rule).is_none();
        let new: Vec<&Example> =
            self.examples.iter().filter(unknown).map(|(example, _)| *example).collect();
        if new.is_empty() {
            return Ok(());
        }
        let output = self.decision.field.name.clone();
        let candidate = self
            .candidate
            .with(self.path, |state| drop(state.decisions.insert(output, rule.clone())));
        let evaluation = self.bench.evaluate(&candidate, &new, None).await?;
        for (example, rollout) in new.into_iter().zip(&evaluation.rollouts) {
            let place = self.examples.iter().position(|(known, _)| known.id == example.id);
            let Some(place) = place else { continue };
            let runs = self.examples.get_mut(place).map(|(_, runs)| runs);
            let learnt =
                runs.is_some_and(|runs| runs.add(rollout, self.path, (self.decision, rule)));
            if !learnt {
                self.examples.remove(place);
            }
        }
        Ok(())
    }
}
