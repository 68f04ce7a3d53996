//! An answer's text to the outputs of a schema: which text belongs to which field, then each text
//! to a value of its type, then the constraints. Knows neither who asked nor whether to ask again.

use std::fmt;
use std::sync::Arc;

use super::checks::{CheckOutcome, Checks, Verdict};
use super::notes;
use super::outputs::{Output, Outputs};
use super::reading::Reading;
use super::sections::{Scanner, Source};
use super::settle::Settled;
use crate::coerce::{Leniencies, Report, TEXT_LIMIT};
use crate::types::ConstraintKind;
use crate::value::{Fields, Payload};

/// How many asserts of one output that do not hold are told one by one.
const ASSERTS_TOLD: usize = 50;

/// What an answer said.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedOutput {
    /// The outputs, of their types and in the schema's order.
    pub fields: Fields,
    /// The slips that were mended.
    pub report: Report,
    /// The outcomes of the checks.
    pub checks: Vec<CheckOutcome>,
}

/// What a text says as one value.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedValue {
    /// The value, of its type.
    pub value: Payload,
    /// The slips that were mended.
    pub report: Report,
}

/// An answer that does not fit: every output that is missing, of another type or, when all were
/// read, breaks an assert.
#[derive(Clone, Debug, PartialEq)]
pub struct ParseError {
    /// What does not fit, in the schema's order. Never empty.
    pub misfits: Vec<Misfit>,
    /// The slips that were mended so far.
    pub report: Report,
}

/// One output that does not fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Misfit {
    /// The output field; `None` when it is the answer as a whole.
    pub field: Option<Arc<str>>,
    /// The field's name as the LM knows it.
    pub lm_name: Option<Arc<str>>,
    /// Where in the field's value.
    pub path: String,
    /// What kind of misfit.
    pub kind: MisfitKind,
    /// What was expected and what was found.
    pub reason: String,
}

/// Kinds of misfit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MisfitKind {
    /// The answer has no section of the field.
    Missing,
    /// The section's text does not fit the field's type.
    Type,
    /// It stands there, but not in the layout as asked for, where that is demanded.
    Layout,
    /// An assert of this label, or expression, does not hold.
    Assert(Arc<str>),
}

impl Misfit {
    /// Something that is wrong with the answer as a whole.
    pub(super) fn of_answer(reason: String) -> Self {
        Self::of_text(MisfitKind::Layout, String::new(), format!("the answer {reason}"))
    }

    /// Something that is wrong with a text of which no output is known.
    pub(super) fn of_text(kind: MisfitKind, path: String, reason: String) -> Self {
        Self { field: None, lm_name: None, path, kind, reason }
    }

    /// Something that is wrong with an output.
    pub(super) fn of(output: &Output, kind: MisfitKind, path: String, reason: String) -> Self {
        let (field, lm_name) = (Some(output.name.clone()), Some(output.lm_name.clone()));
        Self { field, lm_name, path, kind, reason }
    }

    /// What is wrong, with the place in the value.
    #[must_use]
    pub fn told(&self) -> String {
        match self.path.as_str() {
            "" => self.reason.clone(),
            path => format!("{path}: {}", self.reason),
        }
    }
}

impl ParsedOutput {
    /// Outputs that were not read from a text.
    #[must_use]
    pub fn of(fields: Fields) -> Self {
        Self { fields, report: Report::default(), checks: Vec::new() }
    }
}

impl ParseError {
    /// An answer that is wrong as a whole.
    #[must_use]
    pub fn of_answer(reason: String) -> Self {
        let misfit = Misfit::of_text(MisfitKind::Layout, String::new(), reason);
        Self { misfits: vec![misfit], report: Report::default() }
    }

    /// The first failed assert: its field and label. `None` when something did not even parse.
    #[must_use]
    pub fn failed_assert(&self) -> Option<(&Arc<str>, &Arc<str>)> {
        self.misfits.iter().find_map(|misfit| match (&misfit.field, &misfit.kind) {
            (Some(field), MisfitKind::Assert(label)) => Some((field, label)),
            _ => None,
        })
    }

    /// What is wrong with the first field that does not fit, or with the answer as a whole.
    #[must_use]
    pub fn reason(&self) -> String {
        let of_field = self.misfits.iter().find(|misfit| misfit.field.is_some());
        of_field.or(self.misfits.first()).map(Misfit::told).unwrap_or_default()
    }

    /// The first field that does not fit.
    #[must_use]
    pub fn field(&self) -> Option<&Arc<str>> {
        self.misfits.iter().find_map(|misfit| misfit.field.as_ref())
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, misfit) in self.misfits.iter().enumerate() {
            let separator = if position > 0 { "; " } else { "" };
            match &misfit.field {
                Some(field) => write!(f, "{separator}`{field}`: {}", misfit.told())?,
                None => write!(f, "{separator}{}", misfit.told())?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for ParseError {}

/// Reads a whole answer.
pub(super) fn parse(
    outputs: &Outputs,
    checks: &Checks,
    text: &str,
    allowed: Leniencies,
) -> Result<ParsedOutput, ParseError> {
    if text.len() > TEXT_LIMIT {
        return Err(too_long());
    }
    let source = Source { text, outputs, allowed, ended: true };
    let mut scanner = Scanner::new(outputs, allowed);
    scanner.advance(&source);
    conclude(&scanner, &source, checks, Reading::of(&scanner, &source), Vec::new())
}

/// The refusal of an answer that is not read at all.
pub(super) fn too_long() -> ParseError {
    let reason = format!("is longer than {} MiB", TEXT_LIMIT >> 20);
    ParseError { misfits: vec![Misfit::of_answer(reason)], report: Report::default() }
}

/// What an answer said, once a pass has come to its end; `known` are the outputs that were settled
/// on the way.
pub(super) fn conclude(
    scanner: &Scanner,
    source: &Source<'_>,
    checks: &Checks,
    mut reading: Reading,
    mut known: Vec<Option<Settled>>,
) -> Result<ParsedOutput, ParseError> {
    let mut misfits = Vec::new();
    let mut report = notes::tell(scanner, source, &mut reading, &mut misfits);
    let mut fields = Fields::with_capacity(source.outputs.len());
    for (index, output) in source.outputs.iter().enumerate() {
        let known = known.get_mut(index).and_then(Option::take);
        let settled = known.unwrap_or_else(|| reading.settle(index, output, source));
        report.append(settled.report);
        match settled.value {
            Ok(value) => drop(fields.insert(output.name.clone(), value)),
            Err(misfit) => misfits.push(misfit),
        }
    }
    if !misfits.is_empty() {
        return Err(ParseError { misfits, report });
    }
    judge(source.outputs, checks, fields, report)
}

fn judge(
    outputs: &Outputs,
    checks: &Checks,
    fields: Fields,
    report: Report,
) -> Result<ParsedOutput, ParseError> {
    let (mut outcomes, mut misfits) = (Vec::new(), Vec::new());
    for (index, output) in outputs.iter().enumerate() {
        let value = fields.get(&output.name).unwrap_or(&Payload::Null);
        let verdicts = checks.judge(index, &output.ty.ir, &output.ty.defs, value);
        let (asserts, checks): (Vec<_>, Vec<_>) =
            verdicts.into_iter().partition(|verdict| verdict.kind == ConstraintKind::Assert);
        outcomes.extend(checks.into_iter().map(|verdict| CheckOutcome {
            field: output.name.clone(),
            label: verdict.label,
            passed: verdict.passed,
        }));
        misfits.extend(broken(Some(output), asserts));
    }
    if misfits.is_empty() {
        return Ok(ParsedOutput { fields, report, checks: outcomes });
    }
    Err(ParseError { misfits, report })
}

/// What is wrong where asserts do not hold: the first are told one by one, the others counted.
pub(super) fn broken(output: Option<&Output>, mut asserts: Vec<Verdict>) -> Vec<Misfit> {
    asserts.retain(|verdict| !verdict.passed);
    let untold = asserts.len().saturating_sub(ASSERTS_TOLD);
    asserts.truncate(ASSERTS_TOLD);
    let mut misfits: Vec<Misfit> =
        asserts.into_iter().map(|verdict| one_broken(output, verdict)).collect();
    if let Some(last) = misfits.last_mut().filter(|_| untold > 0) {
        last.reason.push_str(&format!("; and {untold} more do not hold"));
    }
    misfits
}

fn one_broken(output: Option<&Output>, verdict: Verdict) -> Misfit {
    let why = verdict.reason.map_or_else(String::new, |reason| format!(" ({reason})"));
    let reason = format!("must hold, but does not: `{}`{why}", verdict.label);
    let kind = MisfitKind::Assert(verdict.label);
    match output {
        Some(output) => Misfit::of(output, kind, verdict.path, reason),
        None => Misfit::of_text(kind, verdict.path, reason),
    }
}
