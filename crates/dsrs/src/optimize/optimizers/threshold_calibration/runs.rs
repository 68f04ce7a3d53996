//! What an example scores under a rule: known from a run in which the rule decides the same. Knows no candidates.

use crate::optimize::Rollout;
use crate::predict::{Decision, DecisionRule, Evidence};
use crate::value::Payload;

/// The known runs of one example, each with other decisions.
#[derive(Default)]
pub(super) struct ExampleRuns(Vec<DecidedRun>);

/// A run: the evidence of each call of the predictor, what was decided, and the score.
struct DecidedRun {
    evidence: Vec<Evidence>,
    decided: Vec<Payload>,
    score: f64,
}

impl ExampleRuns {
    /// Adds a run under a rule. False if nothing can be learnt from it.
    pub(super) fn add(
        &mut self,
        rollout: &Rollout,
        path: &str,
        (decision, rule): (&Decision, &DecisionRule),
    ) -> bool {
        if !rollout.is_measured() {
            return false;
        }
        let calls = rollout.calls.iter().filter(|call| *call.predictor == *path);
        let stated = calls.map(|call| call.outputs.get(&decision.evidence));
        let read = |found: Option<&Payload>| decision.evidence(found.unwrap_or(&Payload::Null));
        let evidence: Result<Vec<Evidence>, String> = stated.map(read).collect();
        let Ok(evidence) = evidence else { return false };
        let decided: Result<Vec<Payload>, String> =
            evidence.iter().map(|it| decision.decide(it, Some(rule))).collect();
        let Ok(decided) = decided else { return false };
        self.0.push(DecidedRun { evidence, decided, score: rollout.value() });
        true
    }

    /// The score under a rule, if a known run has the same decisions. It then is the same run: up to each decision the same
    /// requests were sent, and replies are recorded.
    pub(super) fn score(&self, decision: &Decision, rule: &DecisionRule) -> Option<f64> {
        let same = |run: &&DecidedRun| {
            let mut calls = run.evidence.iter().zip(&run.decided);
            calls.all(|(evidence, decided)| {
                decision.decide(evidence, Some(rule)).is_ok_and(|value| value == *decided)
            })
        };
        self.0.iter().find(same).map(|run| run.score)
    }

    /// The evidence of the first run.
    pub(super) fn evidence(&self) -> &[Evidence] {
        self.0.first().map_or(&[], |run| &run.evidence)
    }
}
