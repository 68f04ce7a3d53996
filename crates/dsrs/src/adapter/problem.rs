//! What is wrong with an answer: each output that is missing, has another type or breaks an assert.
//! Does not know how answers are read.

use std::fmt;
use std::sync::Arc;

use super::outputs::Output;
use crate::coerce::ParseReport;

/// An answer that does not fit: every output that is missing or has another type, or else every
/// failed assert.
#[derive(Clone, Debug, PartialEq)]
pub struct ParseError {
    /// The problems, in the schema's order. Never empty.
    pub problems: Vec<OutputProblem>,
    /// The leniencies used so far.
    pub report: ParseReport,
}

/// A problem of one output.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputProblem {
    /// The output field. `None` for the answer as a whole.
    pub field: Option<Arc<str>>,
    /// The field's name as the LM knows it.
    pub lm_name: Option<Arc<str>>,
    /// The place in the field's value.
    pub path: String,
    /// The kind of problem.
    pub kind: OutputProblemKind,
    /// What was expected and what was found.
    pub reason: String,
}

/// Kinds of problems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputProblemKind {
    /// The answer has no section of the field.
    Missing,
    /// The section's text does not fit the field's type.
    Type,
    /// A strict field is not in the requested layout.
    Layout,
    /// An assert with this label, or expression, failed.
    Assert(Arc<str>),
}

impl OutputProblem {
    /// A problem of the answer as a whole.
    pub(super) fn of_answer(reason: String) -> Self {
        Self::of_text(OutputProblemKind::Layout, String::new(), format!("the answer {reason}"))
    }

    /// A problem of a text without an output.
    pub(super) fn of_text(kind: OutputProblemKind, path: String, reason: String) -> Self {
        Self { field: None, lm_name: None, path, kind, reason }
    }

    /// A problem of an output.
    pub(super) fn of(
        output: &Output,
        kind: OutputProblemKind,
        path: String,
        reason: String,
    ) -> Self {
        let (field, lm_name) = (Some(output.name.clone()), Some(output.lm_name.clone()));
        Self { field, lm_name, path, kind, reason }
    }

    /// The reason, with the place in the value.
    #[must_use]
    pub fn message(&self) -> String {
        match self.path.as_str() {
            "" => self.reason.clone(),
            path => format!("{path}: {}", self.reason),
        }
    }
}

impl ParseError {
    /// An error of the answer as a whole.
    #[must_use]
    pub fn of_answer(reason: String) -> Self {
        let problem = OutputProblem::of_text(OutputProblemKind::Layout, String::new(), reason);
        Self { problems: vec![problem], report: ParseReport::default() }
    }

    /// The field and label of the first failed assert. `None` if the answer was not parsed
    /// completely.
    #[must_use]
    pub fn failed_assert(&self) -> Option<(&Arc<str>, &Arc<str>)> {
        self.problems.iter().find_map(|problem| match (&problem.field, &problem.kind) {
            (Some(field), OutputProblemKind::Assert(label)) => Some((field, label)),
            _ => None,
        })
    }

    /// The first problem of a field, else of the answer as a whole.
    #[must_use]
    pub fn reason(&self) -> String {
        let of_field = self.problems.iter().find(|problem| problem.field.is_some());
        of_field.or(self.problems.first()).map(OutputProblem::message).unwrap_or_default()
    }

    /// The first field with a problem.
    #[must_use]
    pub fn field(&self) -> Option<&Arc<str>> {
        self.problems.iter().find_map(|problem| problem.field.as_ref())
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.problems.iter().enumerate() {
            let separator = if position > 0 { "; " } else { "" };
            match &problem.field {
                Some(field) => write!(f, "{separator}`{field}`: {}", problem.message())?,
                None => write!(f, "{separator}{}", problem.message())?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for ParseError {}
