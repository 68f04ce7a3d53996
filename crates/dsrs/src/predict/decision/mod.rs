//! Decisions: outputs of a node that follow from probabilities by a rule, which is part of the state of a predictor. Knows
//! probabilities and rules; does not know how an LM is asked for probabilities.

mod document;
mod evidence;
mod logprobs;
mod rule;

use std::sync::Arc;

use crate::signature::FieldSchema;
use crate::value::Payload;

pub(crate) use document::read_rules;
pub(super) use document::rules_to_payload;
pub use evidence::Evidence;
pub(crate) use logprobs::AnswerWords;
pub(super) use rule::check_rules;
pub(crate) use rule::misfit_rules;
pub use rule::{DecisionRule, DecisionRules};

/// One output that is decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The output of the node.
    pub field: FieldSchema,
    /// The name of the predictor's output that holds the evidence.
    pub evidence: Arc<str>,
    /// What is decided.
    pub kind: DecisionKind,
}

/// What is decided.
#[derive(Clone, Debug, PartialEq)]
pub enum DecisionKind {
    /// True or false, by a threshold of the probability that it is true.
    Bool,
    /// One of several values, by the probability of each.
    Choice(Vec<ChoiceOption>),
    /// One of several ordered levels, from 0, by the probability of each.
    Score(usize),
}

/// One value that may be chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct ChoiceOption {
    /// Its name in evidence and in rules.
    pub label: Arc<str>,
    /// The value of the output.
    pub value: Payload,
}

impl Decision {
    /// The names of the options, or the numbers of the levels; none of a bool.
    #[must_use]
    pub fn labels(&self) -> Vec<Arc<str>> {
        match &self.kind {
            DecisionKind::Bool => Vec::new(),
            DecisionKind::Choice(options) => options.iter().map(|it| it.label.clone()).collect(),
            DecisionKind::Score(levels) => (0..*levels).map(|it| it.to_string().into()).collect(),
        }
    }

    /// The rule that counts where the state has none.
    #[must_use]
    pub fn default_rule(&self) -> DecisionRule {
        match &self.kind {
            DecisionKind::Bool => DecisionRule::Threshold(0.5),
            DecisionKind::Choice(_) => {
                DecisionRule::Weights(self.labels().into_iter().map(|label| (label, 1.0)).collect())
            }
            DecisionKind::Score(levels) => {
                DecisionRule::Cuts((1..*levels).map(|level| level as f64 - 0.5).collect())
            }
        }
    }

    /// The value of the output. A rule that is none of this kind counts as the default.
    ///
    /// # Errors
    /// If the weights leave no option.
    pub fn decide(
        &self,
        evidence: &Evidence,
        rule: Option<&DecisionRule>,
    ) -> Result<Payload, String> {
        match (&self.kind, evidence, rule) {
            (DecisionKind::Bool, Evidence::Probability(found), rule) => {
                let threshold = rule.and_then(DecisionRule::threshold).unwrap_or(0.5);
                Ok(Payload::Bool(*found >= threshold))
            }
            (DecisionKind::Choice(options), Evidence::Distribution(found), rule) => {
                chosen(options, found, rule)
            }
            (DecisionKind::Score(_), Evidence::Distribution(_), Some(DecisionRule::Cuts(cuts))) => {
                let mean = evidence.mean();
                Ok(level(cuts.iter().filter(|cut| mean >= **cut).count()))
            }
            (DecisionKind::Score(_), Evidence::Distribution(_), _) => {
                self.decide(evidence, Some(&self.default_rule()))
            }
            _ => Err("the evidence is of another kind".to_owned()),
        }
    }
}

fn level(level: usize) -> Payload {
    Payload::Int(i64::try_from(level).unwrap_or(i64::MAX))
}

/// The option with the highest weighted probability; of equal ones, that with the highest probability, then the first.
fn chosen(
    options: &[ChoiceOption],
    probabilities: &[f64],
    rule: Option<&DecisionRule>,
) -> Result<Payload, String> {
    let weighted = options.iter().zip(probabilities).map(|(option, probability)| {
        let weight = rule.map_or(1.0, |rule| rule.weight(&option.label));
        (option, *probability * weight, *probability)
    });
    let better = |one: &(_, f64, f64), other: &(_, f64, f64)| {
        other.1 > one.1 || (other.1 == one.1 && other.2 > one.2)
    };
    let best = weighted.reduce(|best, next| if better(&best, &next) { next } else { best });
    match best {
        Some((option, score, _)) if score > 0.0 => Ok(option.value.clone()),
        _ => Err("the weights of the state leave no option with a probability above 0".to_owned()),
    }
}
