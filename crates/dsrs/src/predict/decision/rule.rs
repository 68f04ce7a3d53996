//! The rules of decisions, and whether they fit the decisions of a predictor. Knows no evidence.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{Decision, DecisionKind};
use crate::problem::{At, Code, Problems};
use crate::read::{listed, nearest};

/// How a decision follows from its evidence.
#[derive(Clone, Debug, PartialEq)]
pub enum DecisionRule {
    /// True from this probability.
    Threshold(f64),
    /// The mean levels from which each level after the first counts.
    Cuts(Vec<f64>),
    /// What the probability of each option is multiplied with before one is chosen; 1 where there is none.
    Weights(IndexMap<Arc<str>, f64>),
}

/// Rules by output. A decision without one has the default.
pub type DecisionRules = IndexMap<Arc<str>, DecisionRule>;

impl DecisionRule {
    /// The threshold, if it is one.
    #[must_use]
    pub const fn threshold(&self) -> Option<f64> {
        match self {
            Self::Threshold(threshold) => Some(*threshold),
            Self::Cuts(_) | Self::Weights(_) => None,
        }
    }

    /// The weight of an option.
    #[must_use]
    pub fn weight(&self, label: &str) -> f64 {
        match self {
            Self::Weights(weights) => weights.get(label).copied().unwrap_or(1.0),
            Self::Threshold(_) | Self::Cuts(_) => 1.0,
        }
    }

    /// Its name in documents.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Threshold(_) => "threshold",
            Self::Cuts(_) => "cuts",
            Self::Weights(_) => "weights",
        }
    }
}

/// The rules that do not fit these decisions, each with the reason.
pub(crate) fn misfit_rules(
    decisions: &[Decision],
    rules: &DecisionRules,
) -> Vec<(Arc<str>, String)> {
    let problem = |(output, rule): (&Arc<str>, &DecisionRule)| {
        let (one, mut problems) = ([(output.clone(), rule.clone())], Problems::new());
        check_rules(decisions, &IndexMap::from(one), &At::Root, &mut problems);
        let reason = problems.iter().next()?.detail.clone();
        Some((output.clone(), reason))
    };
    rules.iter().filter_map(problem).collect()
}

/// Reports the rules that do not fit these decisions; `at` is the place of the rules.
pub(in crate::predict) fn check_rules(
    decisions: &[Decision],
    rules: &DecisionRules,
    at: &At<'_>,
    problems: &mut Problems,
) {
    for (output, rule) in rules {
        let at = at.key(output);
        match decisions.iter().find(|decision| decision.field.name == *output) {
            Some(decision) => check_rule(decision, rule, &at, problems),
            None => problems.add(&at, Code::UnknownField, unknown(decisions, output)),
        }
    }
}

fn unknown(decisions: &[Decision], output: &str) -> String {
    if decisions.is_empty() {
        return "this predictor decides nothing: only a node of the strategy `decide` has rules"
            .to_owned();
    }
    let known = || decisions.iter().map(|decision| decision.field.name.as_ref());
    let hint = nearest(output, known())
        .map_or_else(String::new, |known| format!("did you mean `{known}`? "));
    format!("`{output}` is not decided; {hint}decided: {}", listed(known()))
}

fn check_rule(decision: &Decision, rule: &DecisionRule, at: &At<'_>, problems: &mut Problems) {
    let wanted = decision.default_rule();
    let (own, wanted) = (rule.name(), wanted.name());
    if own != wanted {
        let detail = format!("`{}` is decided by `{wanted}`, not by `{own}`", decision.field.name);
        problems.add(&at.key(own), Code::InvalidValue, detail);
        return;
    }
    let reason = match (&decision.kind, rule) {
        (DecisionKind::Score(levels), DecisionRule::Cuts(cuts)) => check_cuts(cuts, *levels),
        (DecisionKind::Choice(_), DecisionRule::Weights(weights)) => {
            return check_weights(&decision.labels(), weights, &at.key(own), problems);
        }
        _ => return,
    };
    if let Some(reason) = reason {
        problems.add(&at.key(own), Code::InvalidValue, reason);
    }
}

fn check_cuts(cuts: &[f64], levels: usize) -> Option<String> {
    let last = levels.saturating_sub(1);
    let within = cuts.iter().all(|cut| *cut > 0.0 && *cut < last as f64);
    let rising = cuts.iter().zip(cuts.iter().skip(1)).all(|(one, next)| one < next);
    let fits = cuts.len() == last && within && rising;
    (!fits).then(|| {
        format!(
            "expected {last} numbers between 0 and {last}, each above the one before it: from each, \
             the next of the {levels} levels counts"
        )
    })
}

fn check_weights(
    labels: &[Arc<str>],
    weights: &IndexMap<Arc<str>, f64>,
    at: &At<'_>,
    problems: &mut Problems,
) {
    for label in weights.keys().filter(|label| !labels.contains(label)) {
        let hint = nearest(label, labels.iter().map(AsRef::as_ref))
            .map_or_else(String::new, |known| format!("did you mean `{known}`? "));
        let known = listed(labels.iter().map(AsRef::as_ref));
        let detail = format!("there is no option `{label}`; {hint}options: {known}");
        problems.add(&at.key(label), Code::UnknownField, detail);
    }
    if labels.iter().all(|label| weights.get(label).is_some_and(|weight| *weight <= 0.0)) {
        problems.add(at, Code::InvalidValue, "at least one weight is above 0");
    }
}
