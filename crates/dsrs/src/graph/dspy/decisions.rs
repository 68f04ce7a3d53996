//! Decisions as DSPy's files have them: outputs of the predictor itself, whose rules are in `fields` and whose demos have
//! evidence under their names. Knows no graph.

use std::borrow::Cow;
use std::sync::Arc;

use crate::predict::{Decision, DecisionKind, DecisionRules, DynPredictor, read_rules};
use crate::problem::{At, Problems};
use crate::read;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::value::{Map, Payload};

/// The member of a predictor with the settings of its decisions.
pub(super) const FIELDS: &str = "fields";

/// The members of these settings that are rules.
const RULES: [&str; 3] = ["threshold", "cuts", "weights"];

/// The evidence of a bool, and of the others.
const NOUL: &str = "noul";
const PROBABILITY: &str = "probability";
const PROBABILITIES: &str = "probabilities";

/// The signature as DSPy has it: with decisions in place of evidence.
pub(super) fn file_schema<'p>(predictor: &'p dyn DynPredictor) -> Cow<'p, SignatureSchema> {
    let (schema, decisions) = (predictor.schema().as_ref(), predictor.decisions());
    if decisions.is_empty() {
        return Cow::Borrowed(schema);
    }
    let decided = |asked: &FieldSchema| {
        let found = decisions.iter().find(|decision| decision.evidence == asked.name);
        found.map_or_else(|| asked.clone(), |decision| decision.field.clone())
    };
    let outputs = schema.outputs.iter().map(decided).collect();
    Cow::Owned(SignatureSchema { outputs, ..schema.clone() })
}

/// A demo of a file with evidence under the names of the predictor. A decision without evidence is named by its place.
pub(super) fn with_evidence(
    demo: &Map,
    predictor: &dyn DynPredictor,
    at: &At<'_>,
    ignored: &mut Vec<String>,
) -> Map {
    let mut given = demo.clone();
    let asks_words = |decision: &&Decision| predictor.schema().output(&decision.evidence).is_some();
    for decision in predictor.decisions().iter().filter(asks_words) {
        let name = &decision.field.name;
        let Some(value) = given.shift_remove(name).filter(|value| !value.is_null()) else {
            continue;
        };
        match evidence(&value, &decision.kind) {
            Some(evidence) => drop(given.insert(decision.evidence.clone(), evidence.clone())),
            None => ignored.push(at.key(name).pointer()),
        }
    }
    given
}

fn evidence<'v>(value: &'v Payload, kind: &DecisionKind) -> Option<&'v Payload> {
    let members = value.as_map()?;
    match kind {
        DecisionKind::Bool => members.get(NOUL).or_else(|| members.get(PROBABILITY)),
        DecisionKind::Choice(_) | DecisionKind::Score(_) => members.get(PROBABILITIES),
    }
}

/// An output of a demo as a file has it.
pub(super) fn file_output(
    name: &Arc<str>,
    value: &Payload,
    decisions: &[Decision],
) -> (Arc<str>, Payload) {
    let Some(decision) = decisions.iter().find(|decision| decision.evidence == *name) else {
        return (name.clone(), value.clone());
    };
    let member = if decision.kind == DecisionKind::Bool { NOUL } else { PROBABILITIES };
    let evidence = Map::from_iter([(Arc::from(member), value.clone())]);
    (decision.field.name.clone(), Payload::map(evidence))
}

/// The rules in `fields`, and the places of what has no meaning here.
pub(super) fn rules(
    fields: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> (DecisionRules, Vec<String>) {
    let (mut given, mut ignored) = (Map::new(), Vec::new());
    for (output, settings) in read::map(fields, at, problems).into_iter().flatten() {
        let at = at.key(output);
        let Some(settings) = read::map(settings, &at, problems) else { continue };
        let mut rule = Map::new();
        for (name, value) in settings {
            if RULES.contains(&name.as_ref()) {
                rule.insert(name.clone(), value.clone());
            } else if !value.is_null() {
                ignored.push(at.key(name).pointer());
            }
        }
        if !rule.is_empty() {
            given.insert(output.clone(), Payload::map(rule));
        }
    }
    let rules = read_rules(&Payload::map(given), at, problems);
    (rules.unwrap_or_default(), ignored)
}

/// The rules of a state as `fields`; `None` if there are none.
pub(super) fn file_rules(rules: &DecisionRules) -> Option<Payload> {
    let members = rules.iter().map(|(output, rule)| (output.clone(), rule.to_payload()));
    (!rules.is_empty()).then(|| Payload::map(members.collect()))
}
