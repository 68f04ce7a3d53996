//! The signature that the LM sees, with probabilities in place of the decisions, and that of the node, with both. Knows no
//! rules.

use std::sync::Arc;

use indexmap::IndexMap;

use super::criteria::Criteria;
use super::mean_name;
use crate::predict::{AnswerWords, Decision, DecisionKind};
use crate::signature::{FieldPath, FieldSchema, SignatureSchema};
use crate::types::{Class, ClassField, Literal, TypeIR};

/// The signature of the predictor.
pub(super) fn evidence_schema(
    base: &SignatureSchema,
    decisions: &[(Decision, Criteria)],
) -> SignatureSchema {
    let outputs = base.outputs.iter().map(|field| {
        let found = decisions.iter().find(|(decision, _)| decision.field.name == field.name);
        found.map_or_else(|| field.clone(), |(decision, criteria)| evidence(decision, criteria))
    });
    SignatureSchema { outputs: outputs.collect(), ..base.clone() }
}

/// The signature of a predictor that writes the answers themselves: criteria are in the descriptions, a score is one of its
/// levels.
pub(super) fn answer_schema(
    base: &SignatureSchema,
    decisions: &[(Decision, Criteria)],
) -> SignatureSchema {
    let outputs = base.outputs.iter().map(|field| {
        let found = decisions.iter().find(|(decision, _)| decision.field.name == field.name);
        found.map_or_else(|| field.clone(), |(decision, criteria)| answer(decision, criteria))
    });
    SignatureSchema { outputs: outputs.collect(), ..base.clone() }
}

fn answer(decision: &Decision, criteria: &Criteria) -> FieldSchema {
    let mut field = decision.field.clone();
    if let DecisionKind::Score(levels) = decision.kind {
        let levels = (0..i64::try_from(levels).unwrap_or_default()).map(Literal::Int);
        field.ty = TypeIR::union(levels.map(TypeIR::Literal));
    }
    let meanings = criteria.iter().filter_map(|(label, answer)| {
        let word = answer.alias.as_ref().unwrap_or(label);
        Some(format!("{word} means: {}", answer.meaning.as_deref()?.trim()))
    });
    let own = field.description.as_deref().map(|own| own.trim().to_owned());
    let text = own.into_iter().chain(meanings).collect::<Vec<_>>().join("; ");
    field.description = (!text.is_empty()).then(|| text.into());
    field
}

/// What the LM may write for each answer.
pub(super) fn answer_words(criteria: &Criteria) -> AnswerWords {
    criteria.iter().map(|(label, answer)| answer.alias.as_ref().unwrap_or(label).clone()).collect()
}

/// The signature of the node: each decision after its evidence.
pub(super) fn node_schema(
    base: &SignatureSchema,
    decisions: &[(Decision, Criteria)],
) -> SignatureSchema {
    let mut outputs = Vec::with_capacity(base.outputs.len() + decisions.len());
    for field in &base.outputs {
        let found = decisions.iter().find(|(decision, _)| decision.field.name == field.name);
        if let Some((decision, criteria)) = found {
            outputs.push(stated(evidence(decision, criteria), &decision.kind));
            if let DecisionKind::Score(_) = decision.kind {
                let mut mean = FieldSchema::of(mean_name(&field.name), TypeIR::Float);
                mean.description = Some("the mean level".into());
                outputs.push(mean);
            }
        }
        outputs.push(field.clone());
    }
    SignatureSchema { outputs, ..base.clone() }
}

/// Evidence as an output of the node. Any label of a distribution can be selected, whether it is a name or not.
fn stated(mut evidence: FieldSchema, kind: &DecisionKind) -> FieldSchema {
    if *kind != DecisionKind::Bool {
        evidence.ty = TypeIR::dict(TypeIR::Float);
    }
    evidence
}

/// The output of the predictor in place of a decision.
fn evidence(decision: &Decision, criteria: &Criteria) -> FieldSchema {
    let field = &decision.field;
    let ty = match decision.kind {
        DecisionKind::Bool => TypeIR::Float,
        DecisionKind::Choice(_) | DecisionKind::Score(_) => distribution(criteria),
    };
    let alias = field.alias.as_ref().map(|alias| {
        let suffix = decision.evidence.strip_prefix(&*field.name).unwrap_or_default();
        format!("{alias}{suffix}").into()
    });
    FieldSchema {
        name: decision.evidence.clone(),
        alias,
        ty,
        description: Some(description(decision, criteria).into()),
        format: None,
        language: None,
        reasoning: false,
        default: None,
        constraints: Vec::new(),
        strict: false,
        path: FieldPath(vec![decision.evidence.clone()]),
    }
}

/// A number for each answer.
fn distribution(criteria: &Criteria) -> TypeIR {
    let members = criteria.iter().map(|(label, answer)| {
        let (description, alias) = (answer.meaning.clone(), answer.alias.clone());
        (label.clone(), ClassField { description, alias, ..ClassField::of(TypeIR::Float) })
    });
    let fields: IndexMap<Arc<str>, ClassField> = members.collect();
    TypeIR::Class(Arc::new(Class { description: None, fields }))
}

fn description(decision: &Decision, criteria: &Criteria) -> String {
    let name = decision.field.lm_name();
    let asked = match decision.kind {
        DecisionKind::Bool => format!("the probability, from 0 to 1, that `{name}` is true"),
        DecisionKind::Choice(_) => format!("the probability of each value of `{name}`, together 1"),
        DecisionKind::Score(_) => format!("the probability of each level of `{name}`, together 1"),
    };
    let own = decision.field.description.as_deref().map(|own| format!(": {}", own.trim()));
    let meanings = criteria.iter().filter(|_| decision.kind == DecisionKind::Bool);
    let meanings = meanings.filter_map(|(label, answer)| {
        Some(format!("; {label} means: {}", answer.meaning.as_deref()?.trim()))
    });
    format!("{asked}{}{}", own.unwrap_or_default(), meanings.collect::<String>())
}
