//! The text of one output to its value. Knows one output at a time and nothing of the others.

use std::ops::Range;

use super::answer::{Misfit, MisfitKind};
use super::outputs::Output;
use super::sections::Source;
use super::unwrapped;
use crate::coerce::{self, Leniencies, LeniencyKind, Path, Report};
use crate::types::TypeIR;
use crate::value::Payload;

/// The text that belongs to one output.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) body: Range<usize>,
    /// Whether the layout had to be mended to find it.
    pub(super) bent: bool,
    /// A header at its end that broke off with the answer.
    pub(super) broken: Option<usize>,
}

/// What became of one output.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settled {
    pub(super) value: Result<Payload, Misfit>,
    pub(super) report: Report,
}

/// The value of an output from its text.
pub(super) fn settle(source: &Source<'_>, output: &Output, part: Option<&Part>) -> Settled {
    let mut report = Report::default();
    let value = match part {
        None => absent(output, &mut report),
        Some(part) if output.strict && part.bent => Err(bent(output)),
        Some(part) => read(source, output, part, &mut report),
    };
    report.name_field(&output.name);
    Settled { value, report }
}

/// What stands in for an output that was left out.
pub(super) fn absent(output: &Output, report: &mut Report) -> Result<Payload, Misfit> {
    coerce::absent(&output.ty, output.default.as_ref(), report)
        .map_err(|error| Misfit::of(output, MisfitKind::Missing, error.path, error.reason))
}

/// The refusal of a strict output whose layout was not kept.
pub(super) fn bent(output: &Output) -> Misfit {
    let reason = format!("must stand under its header `[[ ## {} ## ]]`", output.lm_name);
    Misfit::of(output, MisfitKind::Layout, String::new(), reason)
}

/// The text of a part, without a header that broke off.
pub(super) fn text(source: &Source<'_>, part: &Part) -> Range<usize> {
    let broken = part.broken.filter(|_| source.allowed.has(LeniencyKind::Unclosed));
    let range = part.body.start..broken.unwrap_or(part.body.end);
    range.start..range.start + source.slice(&range).trim_end().len()
}

fn read(
    source: &Source<'_>,
    output: &Output,
    part: &Part,
    report: &mut Report,
) -> Result<Payload, Misfit> {
    let allowed = if output.strict { Leniencies::STRICT } else { source.allowed };
    let broken = part.broken.filter(|_| allowed.has(LeniencyKind::Unclosed));
    let text = source.slice(&(part.body.start..broken.unwrap_or(part.body.end))).trim_end();
    // Under a header that nothing follows, something optional was left out.
    let value = if text.is_empty() && !output.required && output.ty.ir != TypeIR::Str {
        absent(output, report)?
    } else {
        coerce::coerce(text, &output.ty, allowed, report)
            .or_else(|error| unwrapped::read(output, text, allowed, report).ok_or(error))
            .map_err(|error| Misfit::of(output, MisfitKind::Type, error.path, error.reason))?
    };
    if let Some(start) = broken {
        let read = source.slice(&(start..part.body.end));
        report.add(&Path::Root, LeniencyKind::Unclosed, read, &Payload::Null);
    }
    if part.bent {
        report.add(&Path::Root, LeniencyKind::Layout, text, &value);
    }
    Ok(value)
}
