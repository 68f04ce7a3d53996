//! Reads the value of one output from its text. Knows one output at a time.

use std::ops::Range;

use super::nested_object;
use super::outputs::Output;
use super::problem::{OutputProblem, OutputProblemKind};
use super::sections::AnswerText;
use crate::coerce::{self, Leniencies, LeniencyKind, ParseReport, Path};
use crate::types::TypeIR;
use crate::value::Payload;

/// The text that belongs to one output.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FieldText {
    pub(super) body: Range<usize>,
    /// Whether the layout was degraded where the text was found.
    pub(super) degraded: bool,
    /// The start of a header at the end of the text that the end of the answer cuts off.
    pub(super) broken: Option<usize>,
}

/// The value of one output, or what is wrong with it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FieldResult {
    pub(super) value: Result<Payload, OutputProblem>,
    pub(super) report: ParseReport,
}

/// Reads the value of an output from its text.
pub(super) fn read(
    source: &AnswerText<'_>,
    output: &Output,
    part: Option<&FieldText>,
) -> FieldResult {
    let mut report = ParseReport::default();
    let value = match part {
        None => absent(output, &mut report),
        Some(part) if output.strict && part.degraded => Err(layout_problem(output)),
        Some(part) => read_text(source, output, part, &mut report),
    };
    report.name_field(&output.name);
    FieldResult { value, report }
}

/// The value of an output that was left out: its default, or null.
fn absent(output: &Output, report: &mut ParseReport) -> Result<Payload, OutputProblem> {
    if output.is_reasoning {
        // Native reasoning may stand for it, which is not in the text.
        return Ok(Payload::Null);
    }
    coerce::absent(&output.ty, output.default.as_ref(), report).map_err(|error| {
        OutputProblem::of(output, OutputProblemKind::Missing, error.path, error.reason)
    })
}

/// The error of a strict output that is not under the requested header.
pub(super) fn layout_problem(output: &Output) -> OutputProblem {
    let reason = format!("must be under its header `[[ ## {} ## ]]`", output.lm_name);
    OutputProblem::of(output, OutputProblemKind::Layout, String::new(), reason)
}

/// The text of an output without a header that is cut off.
pub(super) fn text_range(source: &AnswerText<'_>, part: &FieldText) -> Range<usize> {
    let broken = part.broken.filter(|_| source.allowed.has(LeniencyKind::Unclosed));
    let range = part.body.start..broken.unwrap_or(part.body.end);
    range.start..range.start + source.slice(&range).trim_end().len()
}

fn read_text(
    source: &AnswerText<'_>,
    output: &Output,
    part: &FieldText,
    report: &mut ParseReport,
) -> Result<Payload, OutputProblem> {
    let allowed = if output.strict { Leniencies::STRICT } else { source.allowed };
    let broken = part.broken.filter(|_| allowed.has(LeniencyKind::Unclosed));
    let text = source.slice(&(part.body.start..broken.unwrap_or(part.body.end))).trim_end();
    // An empty section of an optional output counts as absent.
    let value = if text.is_empty() && !output.required && output.ty.ir != TypeIR::Str {
        absent(output, report)?
    } else {
        coerce::coerce(text, &output.ty, allowed, report)
            .or_else(|error| nested_object::read(output, text, allowed, report).ok_or(error))
            .map_err(|error| {
                OutputProblem::of(output, OutputProblemKind::Type, error.path, error.reason)
            })?
    };
    if let Some(start) = broken {
        let read = source.slice(&(start..part.body.end));
        report.add(&Path::Root, LeniencyKind::Unclosed, read, &Payload::Null);
    }
    if part.degraded {
        report.add(&Path::Root, LeniencyKind::Layout, text, &value);
    }
    Ok(value)
}
