//! The answers of a decision, and what they mean. Knows no probabilities and no other decisions.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::predict::{ChoiceOption, DecisionKind};
use crate::problem::{At, Code, Problems};
use crate::read::{self, listed};
use crate::signature::FieldSchema;
use crate::types::{Literal, ResolvedType, TypeShape};
use crate::value::Payload;

/// The most levels of a score.
const LEVELS: usize = 10;

/// The most options of a choice.
const OPTIONS: usize = 100;

/// What an answer means, by option: `true` and `false`, a label, or the number of a level.
pub(super) type Criteria = IndexMap<Arc<str>, AnswerName>;

/// What an LM sees of one answer.
#[derive(Clone, Debug, Default)]
pub(super) struct AnswerName {
    /// What it means.
    pub(super) meaning: Option<Arc<str>>,
    /// The name that the LM sees instead of the label.
    pub(super) alias: Option<Arc<str>>,
}

/// What an output of this type decides, with what the config says about its answers; `None` if it decides nothing.
pub(super) fn kind_of(
    ty: &ResolvedType<'_>,
    field: &FieldSchema,
    given: Option<&Payload>,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<(DecisionKind, Criteria)> {
    match (&ty.shape, given) {
        (TypeShape::Bool, _) => {
            let options = ["true", "false"].map(|label| (Arc::from(label), AnswerName::default()));
            let options = options.into_iter().collect();
            Some((DecisionKind::Bool, with_meanings(options, given, at, problems)))
        }
        (TypeShape::Int, Some(given)) => {
            // A list that cannot be read is reported; the kind only has to be that of a score.
            let criteria = levels(given, at, problems).unwrap_or_default();
            Some((DecisionKind::Score(criteria.len()), criteria))
        }
        _ => {
            let (options, own) = choice(ty)?;
            check_options(&options, field, at, problems);
            Some((DecisionKind::Choice(options), with_meanings(own, given, at, problems)))
        }
    }
}

/// The options of an enum or of literals, with what the type says about them.
fn choice(ty: &ResolvedType<'_>) -> Option<(Vec<ChoiceOption>, Criteria)> {
    match &ty.shape {
        TypeShape::Enum(known) => {
            let members = known.members.iter();
            let options = members.clone().map(|(name, _)| ChoiceOption {
                label: name.clone(),
                value: Payload::Str(name.clone()),
            });
            let named = members.map(|(name, member)| {
                let (meaning, alias) = (member.description.clone(), member.alias.clone());
                (name.clone(), AnswerName { meaning, alias })
            });
            Some((options.collect(), named.collect()))
        }
        TypeShape::Union(members) => {
            let options: Option<Vec<_>> = members.iter().map(|it| literal(&it.shape)).collect();
            let options = options?;
            let named = options.iter().map(|it| (it.label.clone(), AnswerName::default()));
            let named = named.collect();
            Some((options, named))
        }
        _ => None,
    }
}

fn literal(shape: &TypeShape<'_>) -> Option<ChoiceOption> {
    let TypeShape::Literal(literal) = shape else { return None };
    Some(match literal {
        Literal::Str(text) => {
            ChoiceOption { label: text.clone(), value: Payload::Str(text.clone()) }
        }
        Literal::Int(number) => {
            ChoiceOption { label: number.to_string().into(), value: Payload::Int(*number) }
        }
        Literal::Bool(truth) => {
            ChoiceOption { label: truth.to_string().into(), value: Payload::Bool(*truth) }
        }
    })
}

/// Evidence has one member for each label.
fn check_options(
    options: &[ChoiceOption],
    field: &FieldSchema,
    at: &At<'_>,
    problems: &mut Problems,
) {
    let mut labels: Vec<&str> = options.iter().map(|option| option.label.as_ref()).collect();
    labels.sort_unstable();
    let name = &field.name;
    if let Some(twice) = labels.windows(2).find(|two| two.first() == two.last()) {
        let label = twice.first().copied().unwrap_or_default();
        let detail = format!("`{name}` has two options that both read `{label}`; make them differ");
        problems.add(at, Code::InvalidConfig, detail);
    }
    if labels.len() > OPTIONS {
        let count = labels.len();
        let detail = format!("`{name}` has {count} options; at most {OPTIONS} are decided between");
        problems.add(at, Code::TooLarge, detail);
    }
}

/// The options with the meanings that the config gives them.
fn with_meanings(
    mut options: Criteria,
    given: Option<&Payload>,
    at: &At<'_>,
    problems: &mut Problems,
) -> Criteria {
    let Some(given) = given else { return options };
    let Some(members) = read::map(given, at, problems) else { return options };
    for (label, meaning) in members {
        let at = at.key(label);
        let known = listed(options.keys().map(AsRef::as_ref));
        match options.get_mut(label) {
            Some(option) => {
                option.meaning =
                    read::shared_text(meaning, &at, problems).or(option.meaning.take());
            }
            None => {
                let detail = format!("there is no answer `{label}`; answers: {known}");
                problems.add(&at, Code::UnknownField, detail);
            }
        }
    }
    options
}

/// The levels of a score with their meanings, by their numbers.
fn levels(given: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Criteria> {
    let texts = read::list(given, at, problems, read::shared_text)?;
    if !(2..=LEVELS).contains(&texts.len()) {
        let detail = format!("a score has 2 to {LEVELS} levels, here are {}", texts.len());
        problems.add(at, Code::InvalidConfig, detail);
        return None;
    }
    let meanings = texts.into_iter().enumerate().map(|(level, meaning)| {
        (level.to_string().into(), AnswerName { meaning: Some(meaning), alias: None })
    });
    Some(meanings.collect())
}
