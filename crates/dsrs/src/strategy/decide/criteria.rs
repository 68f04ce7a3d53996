//! Which outputs of a signature are decided, and what their answers mean. Knows no probabilities.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::predict::{ChoiceOption, Decision, DecisionKind};
use crate::problem::{At, Code, Problems};
use crate::read::{self, listed, nearest};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{Literal, ResolvedType, TypeShape, brief, resolve};
use crate::value::{Payload, is_identifier};

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

/// Finds the decisions of a signature.
pub(super) struct DecisionReader<'r> {
    pub(super) base: &'r SignatureSchema,
    /// The outputs that the config names.
    pub(super) named: Option<&'r [String]>,
}

impl DecisionReader<'_> {
    /// The decisions in the order of the outputs, each with its criteria; `at` is the place of the node.
    pub(super) fn read(
        &self,
        criteria: &IndexMap<String, Payload>,
        at: &At<'_>,
    ) -> Result<Vec<(Decision, Criteria)>, Problems> {
        let config = at.key("config");
        let mut problems = Problems::new();
        self.check_names(criteria, &config, &mut problems);
        let mut decisions = Vec::new();
        for field in &self.base.outputs {
            let given = criteria.get(field.name.as_ref());
            let place = config.key("criteria");
            let place = place.key(&field.name);
            if let Some(found) = self.decision(field, given, (&config, &place), &mut problems) {
                check_added(self.base, &found.0, &at.key("signature"), &mut problems);
                decisions.push(found);
            }
        }
        if decisions.is_empty() && problems.is_empty() {
            let detail = "nothing is decided: give the signature an output that is a bool, an enum, or an int with \
                          criteria in the config; or use predict";
            problems.add(&at.key("signature"), Code::InvalidSignature, detail);
        }
        problems.or(decisions)
    }

    /// Reports names in the config that are no outputs.
    fn check_names(
        &self,
        criteria: &IndexMap<String, Payload>,
        config: &At<'_>,
        problems: &mut Problems,
    ) {
        let known = || self.base.outputs.iter().map(|field| field.name.as_ref());
        let mut check = |name: &str, at: &At<'_>| {
            if known().any(|known| known == name) {
                return;
            }
            let hint = nearest(name, known())
                .map_or_else(String::new, |name| format!("did you mean `{name}`? "));
            let detail =
                format!("there is no output `{name}`; {hint}there are {}", listed(known()));
            problems.add(at, Code::UnknownField, detail);
        };
        for name in criteria.keys() {
            check(name, &config.key("criteria").key(name));
        }
        for (position, name) in self.named.unwrap_or_default().iter().enumerate() {
            check(name, &config.key("decisions").index(position));
        }
    }

    fn decision(
        &self,
        field: &FieldSchema,
        given: Option<&Payload>,
        (config, at): (&At<'_>, &At<'_>),
        problems: &mut Problems,
    ) -> Option<(Decision, Criteria)> {
        let named = self.named.is_some_and(|all| all.iter().any(|name| **name == *field.name));
        let wanted = named || given.is_some();
        if self.named.is_some() && !wanted {
            return None;
        }
        let resolved = resolve(&field.ty, &self.base.defs);
        let (kind, criteria) = match &resolved.shape {
            TypeShape::Bool => {
                let options =
                    ["true", "false"].map(|label| (Arc::from(label), AnswerName::default()));
                let criteria = with_meanings(options.into_iter().collect(), given, at, problems);
                (DecisionKind::Bool, criteria)
            }
            TypeShape::Int if given.is_some() => {
                let criteria = levels(given?, at, problems)?;
                (DecisionKind::Score(criteria.len()), criteria)
            }
            _ => match choice(&resolved) {
                Some((options, own)) => {
                    check_options(&options, config, field, problems);
                    let criteria = with_meanings(own, given, at, problems);
                    (DecisionKind::Choice(options), criteria)
                }
                None if wanted => {
                    let detail = format!(
                        "`{}` is `{}`: only a bool, an enum, literals, or an int with the list of its levels is decided",
                        field.name,
                        brief(&field.ty)
                    );
                    problems.add(at, Code::InvalidConfig, detail);
                    return None;
                }
                None => return None,
            },
        };
        let many = if kind == DecisionKind::Bool { "probability" } else { "probabilities" };
        let evidence = format!("{}_{many}", field.name).into();
        Some((Decision { field: field.clone(), evidence, kind }, criteria))
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
    at: &At<'_>,
    field: &FieldSchema,
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

/// Reports an added output whose name is taken or too long.
fn check_added(base: &SignatureSchema, decision: &Decision, at: &At<'_>, problems: &mut Problems) {
    let mean = super::mean_name(&decision.field.name);
    let added = [
        Some(&decision.evidence),
        matches!(decision.kind, DecisionKind::Score(_)).then_some(&mean),
    ];
    for added in added.into_iter().flatten() {
        let taken = base.inputs.iter().chain(&base.outputs).any(|field| field.name == *added);
        if taken {
            let detail = format!(
                "`{added}` is an output that decide adds; rename the signature's own field"
            );
            problems.add(at, Code::DuplicateName, detail);
        } else if !is_identifier(added) {
            let detail = format!(
                "decide adds the output `{added}`, whose name is too long; shorten `{}`",
                decision.field.name
            );
            problems.add(at, Code::InvalidName, detail);
        }
    }
}
