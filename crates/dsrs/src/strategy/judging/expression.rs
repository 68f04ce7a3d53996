//! Scoring by an expression over the judged values.

use std::collections::BTreeSet;

use super::judging_error;
use super::values::{JudgedFields, JudgedKind, JudgedValues, ValueGroup};
use crate::expr::Expression;
use crate::predict::PredictError;
use crate::problem::{At, Code, Problem, Problems};
use crate::read::{listed, nearest};

/// An expression over inputs, outputs and expected values.
pub(crate) struct ExpressionScorer {
    expression: Expression,
    /// The groups that it reads.
    groups: Vec<ValueGroup>,
    /// The members of `expected` that it needs.
    expected: Vec<String>,
}

impl ExpressionScorer {
    pub(super) fn read(
        source: &str,
        view: JudgedFields<'_>,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let expression = Expression::compile(source).map_err(|error| Problem {
            pointer: at.pointer(),
            code: Code::InvalidConfig,
            detail: format!("the expression cannot be read: {error}"),
        })?;
        let asked: BTreeSet<(&str, Option<&str>)> =
            expression.uses().iter().map(|used| (&*used.name, used.member.as_deref())).collect();
        let mut groups = Vec::new();
        let mut expected = Vec::new();
        for (name, member) in asked {
            let Some(group) = group(name, view.sight, at, &mut problems) else { continue };
            if !groups.contains(&group) {
                groups.push(group);
            }
            let Some(field) = member else { continue };
            check(group, field, view, at, &mut problems);
            if group == ValueGroup::Expected && !expression.may_be_absent(name, member) {
                expected.push(field.to_owned());
            }
        }
        problems.or(Self { expression, groups, expected })
    }

    pub(super) fn of(&self, shown: JudgedValues<'_>) -> Result<f64, PredictError> {
        let there = |name: &String| {
            shown
                .fields(ValueGroup::Expected)
                .is_some_and(|fields| fields.contains_key(name.as_str()))
        };
        // Undefined equals nothing: the example would silently score as wrong.
        if let Some(name) = self.expected.iter().find(|name| !there(name)) {
            let source = self.expression.source();
            return Err(judging_error(format!(
                "the expression `{source}` asks for `expected.{name}`, which the example does not \
                 have"
            )));
        }
        let values: Vec<_> =
            self.groups.iter().map(|group| (group.name(), shown.whole(*group))).collect();
        let found = self.expression.number(values.iter().map(|(name, value)| (*name, value)));
        found.map_err(|error| {
            judging_error(format!("the expression `{}` failed: {error}", self.expression.source()))
        })
    }

    pub(super) fn describe(&self) -> String {
        format!("the Jinja expression `{}`", self.expression.source())
    }
}

/// The group of a name; an unknown one is reported.
fn group(
    root: &str,
    sight: JudgedKind,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<ValueGroup> {
    let groups = sight.groups();
    let found = groups.iter().find(|group| group.name() == root).copied();
    if found.is_none() {
        let known = || groups.iter().map(|group| group.name());
        let hint = nearest(root, known())
            .map_or_else(String::new, |name| format!("did you mean `{name}`? "));
        let detail = format!("`{root}` is unknown here; {hint}there are {}", listed(known()));
        problems.add(at, Code::UnknownField, detail);
    }
    found
}

/// Reports a field that a group does not have.
fn check(
    group: ValueGroup,
    field: &str,
    view: JudgedFields<'_>,
    at: &At<'_>,
    problems: &mut Problems,
) {
    let Some(fields) = view.fields(group) else { return };
    let known = || fields.iter().map(|field| field.name.as_ref());
    if known().any(|name| name == field) {
        return;
    }
    let hint =
        nearest(field, known()).map_or_else(String::new, |name| format!("did you mean `{name}`? "));
    let detail =
        format!("`{}` has no `{field}`; {hint}known ones: {}", group.name(), listed(known()));
    problems.add(at, Code::UnknownField, detail);
}
