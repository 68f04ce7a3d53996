//! Rules of decisions as JSON: `{output: {"threshold": …}}`, `{"cuts": […]}` or `{"weights": {label: …}}`. Whether they
//! fit the decisions of a predictor is checked when the state is loaded.

use std::sync::Arc;

use super::{DecisionRule, DecisionRules};
use crate::problem::{At, Code, Problems};
use crate::read::{self, Object};
use crate::value::{Map, Payload};

/// Reads the rules of a state.
pub(crate) fn read_rules(
    payload: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<DecisionRules> {
    let found = read::members(payload, at, problems, |_, rule, at, problems| {
        read_rule(rule, at, problems)
    })?;
    Some(found.into_iter().collect())
}

fn read_rule(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<DecisionRule> {
    let mut object = Object::open(payload, at, problems)?;
    let threshold = object.optional("threshold", probability);
    let cuts =
        object.optional("cuts", |cuts, at, problems| read::list(cuts, at, problems, read::number));
    let weights = object.optional("weights", |weights, at, problems| {
        read::members(weights, at, problems, |_, weight, at, problems| factor(weight, at, problems))
    });
    object.close();
    let rules = [
        threshold.map(DecisionRule::Threshold),
        cuts.map(DecisionRule::Cuts),
        weights.map(|weights| DecisionRule::Weights(weights.into_iter().collect())),
    ];
    let mut rules = rules.into_iter().flatten();
    match (rules.next(), rules.next()) {
        (Some(rule), None) => Some(rule),
        (None, _) if payload.as_map().is_some_and(|members| !members.is_empty()) => None,
        _ => {
            let detail = "expected one of `threshold`, `cuts` and `weights`";
            problems.add(at, Code::InvalidValue, detail);
            None
        }
    }
}

fn probability(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<f64> {
    let found = read::number(payload, at, problems)?;
    if (0.0..=1.0).contains(&found) {
        return Some(found);
    }
    let detail = format!("expected a number from 0 to 1, found {found}");
    problems.add(at, Code::InvalidValue, detail);
    None
}

fn factor(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<f64> {
    let found = read::number(payload, at, problems)?;
    if found >= 0.0 && found.is_finite() {
        return Some(found);
    }
    problems.add(at, Code::InvalidValue, format!("expected a number from 0, found {found}"));
    None
}

/// The rules as a document; `None` if there are none.
pub(in crate::predict) fn rules_to_payload(rules: &DecisionRules) -> Option<Payload> {
    let members: Map =
        rules.iter().map(|(output, rule)| (output.clone(), rule.to_payload())).collect();
    (!members.is_empty()).then(|| Payload::map(members))
}

impl DecisionRule {
    /// The rule as a document.
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        let value = match self {
            Self::Threshold(threshold) => Payload::Float(*threshold),
            Self::Cuts(cuts) => Payload::list(cuts.iter().copied().map(Payload::Float).collect()),
            Self::Weights(weights) => Payload::map(
                weights.iter().map(|(label, it)| (label.clone(), Payload::Float(*it))).collect(),
            ),
        };
        Payload::map(Map::from_iter([(Arc::from(self.name()), value)]))
    }
}
