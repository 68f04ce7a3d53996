//! Reads the outputs of a schema from the text of an answer: assigns texts to fields, reads each
//! text as a value of its type, then checks the constraints. Does not know callers and does not
//! decide about another request.

use super::assignment::assign;
use super::checks::{CheckOutcome, Checks, Verdict};
use super::field_texts::FieldTexts;
use super::field_value::FieldResult;
use super::outputs::{Output, Outputs};
use super::problem::{OutputProblem, OutputProblemKind, ParseError};
use super::sections::{AnswerText, Scanner};
use super::whole_answer;
use crate::coerce::{Leniencies, ParseReport, TEXT_LIMIT};
use crate::types::ConstraintKind;
use crate::value::{Fields, Payload};

/// How many failed asserts of one output are listed.
const LISTED_ASSERTS: usize = 50;

/// The outputs of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedOutput {
    /// The outputs, of their types and in the schema's order.
    pub fields: Fields,
    /// The leniencies that were needed.
    pub report: ParseReport,
    /// The outcomes of the checks.
    pub checks: Vec<CheckOutcome>,
}

/// A text read as one value.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedValue {
    /// The value, of its type.
    pub value: Payload,
    /// The leniencies that were needed.
    pub report: ParseReport,
}

impl ParsedOutput {
    /// Outputs that were not read from a text.
    #[must_use]
    pub fn of(fields: Fields) -> Self {
        Self { fields, report: ParseReport::default(), checks: Vec::new() }
    }
}

/// Reads a complete answer.
pub(super) fn parse(
    outputs: &Outputs,
    checks: &Checks,
    text: &str,
    allowed: Leniencies,
) -> Result<ParsedOutput, ParseError> {
    if text.len() > TEXT_LIMIT {
        return Err(too_long());
    }
    let source = AnswerText { text, outputs, allowed, ended: true };
    let mut scanner = Scanner::new(outputs, allowed);
    scanner.advance(&source);
    conclude(&scanner, &source, checks, assign(&scanner, &source), Vec::new())
}

/// The error for an answer that is too long to be read.
pub(super) fn too_long() -> ParseError {
    let reason = format!("is longer than {} MiB", TEXT_LIMIT >> 20);
    ParseError { problems: vec![OutputProblem::of_answer(reason)], report: ParseReport::default() }
}

/// The outputs of an answer, once the scanner has reached its end. `known` holds the results of
/// outputs that were read while the answer arrived.
pub(super) fn conclude(
    scanner: &Scanner,
    source: &AnswerText<'_>,
    checks: &Checks,
    mut texts: FieldTexts,
    mut known: Vec<Option<FieldResult>>,
) -> Result<ParsedOutput, ParseError> {
    let mut problems = Vec::new();
    let mut report = whole_answer::report(scanner, source, &mut texts, &mut problems);
    let mut fields = Fields::with_capacity(source.outputs.len());
    for (index, output) in source.outputs.iter().enumerate() {
        let known = known.get_mut(index).and_then(Option::take);
        let result = known.unwrap_or_else(|| texts.value(index, output, source));
        report.append(result.report);
        match result.value {
            Ok(value) => drop(fields.insert(output.name.clone(), output.without_fence(value))),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(ParseError { problems, report });
    }
    judge(source.outputs, checks, fields, report)
}

fn judge(
    outputs: &Outputs,
    checks: &Checks,
    fields: Fields,
    report: ParseReport,
) -> Result<ParsedOutput, ParseError> {
    let (mut outcomes, mut problems) = (Vec::new(), Vec::new());
    for (index, output) in outputs.iter().enumerate() {
        let value = fields.get(&output.name).unwrap_or(&Payload::Null);
        let verdicts = checks.judge(index, value);
        let (asserts, checks): (Vec<_>, Vec<_>) =
            verdicts.into_iter().partition(|verdict| verdict.kind == ConstraintKind::Assert);
        outcomes.extend(checks.into_iter().map(|verdict| CheckOutcome {
            field: output.name.clone(),
            label: verdict.label,
            passed: verdict.passed,
        }));
        problems.extend(failed_asserts(Some(output), asserts));
    }
    if problems.is_empty() {
        return Ok(ParsedOutput { fields, report, checks: outcomes });
    }
    Err(ParseError { problems, report })
}

/// The problems of failed asserts: the first ones are listed, the others counted.
pub(super) fn failed_asserts(
    output: Option<&Output>,
    mut asserts: Vec<Verdict>,
) -> Vec<OutputProblem> {
    asserts.retain(|verdict| !verdict.passed);
    let unlisted = asserts.len().saturating_sub(LISTED_ASSERTS);
    asserts.truncate(LISTED_ASSERTS);
    let mut problems: Vec<OutputProblem> =
        asserts.into_iter().map(|verdict| failed_assert(output, verdict)).collect();
    if let Some(last) = problems.last_mut().filter(|_| unlisted > 0) {
        last.reason.push_str(&format!("; and {unlisted} more do not hold"));
    }
    problems
}

fn failed_assert(output: Option<&Output>, verdict: Verdict) -> OutputProblem {
    let why = verdict.reason.map_or_else(String::new, |reason| format!(" ({reason})"));
    let reason = format!("must hold, but does not: `{}`{why}", verdict.label);
    let kind = OutputProblemKind::Assert(verdict.label);
    match output {
        Some(output) => OutputProblem::of(output, kind, verdict.path, reason),
        None => OutputProblem::of_text(kind, verdict.path, reason),
    }
}
