//! Which text of an answer belongs to which output, once a pass has come to its end: the sections,
//! then whatever mending finds of the outputs that have none. What a pass called complete stays as
//! it is. Knows nothing of values.

use std::ops::Range;

use super::header;
use super::headless::{self, Whole};
use super::outputs::{Named, Output, Outputs};
use super::sections::{Scanner, Source, is_placeholder};
use super::settle::{self, Part, Settled};
use super::worn;
use crate::coerce::LeniencyKind;
use crate::types::TypeIR;

/// Which text belongs to which output.
pub(super) struct Reading {
    pub(super) parts: Vec<Option<Part>>,
    /// Outputs that were read from one piece of data instead.
    pub(super) whole: Option<Whole>,
    /// Text before the first part that belongs to nothing.
    pub(super) unused: Range<usize>,
}

impl Reading {
    pub(super) fn of(scanner: &Scanner, source: &Source<'_>) -> Self {
        let parts = (0..source.outputs.len()).map(|index| part(scanner, source, index)).collect();
        let mut reading = Self { parts, whole: None, unused: scanner.lead().clone() };
        let lenient = source.allowed.has(LeniencyKind::Layout);
        let headless = scanner.sections().iter().all(|section| section.output.is_none());
        match (reading.parts.iter().all(Option::is_some), lenient) {
            (true, _) => {}
            (false, true) if headless => headless::read(&mut reading, source),
            (false, true) => reading.mend(scanner, source),
            (false, false) if headless => reading.unused = 0..0,
            (false, false) => {}
        }
        reading
    }

    /// The value of an output.
    pub(super) fn settle(&mut self, index: usize, output: &Output, source: &Source<'_>) -> Settled {
        match self.whole.as_mut().and_then(|whole| whole.take(index)) {
            Some(settled) => settled,
            None => settle::settle(source, output, self.part(index)),
        }
    }

    fn part(&self, index: usize) -> Option<&Part> {
        self.parts.get(index)?.as_ref()
    }

    /// Looks for the outputs without a section in the texts that may still be divided.
    fn mend(&mut self, scanner: &Scanner, source: &Source<'_>) {
        self.unused = self.divide(source, scanner.lead().clone(), true);
        for section in scanner.sections() {
            let Some(index) = section.output.filter(|index| !scanner.is_complete(*index)) else {
                continue;
            };
            let kept = self.divide(source, section.body.clone(), false);
            if let Some(Some(part)) = self.parts.get_mut(index)
                && part.body.end != kept.end
                && part.body.start == kept.start
            {
                (part.body, part.broken) = (kept, None);
            }
        }
        self.take_lead(source.outputs);
    }

    /// Gives what follows worn-down headers in a text to the outputs that they name; answers what
    /// stands before them. `begins_line` says that the text counts as the beginning of a line.
    pub(super) fn divide(
        &mut self,
        source: &Source<'_>,
        region: Range<usize>,
        begins_line: bool,
    ) -> Range<usize> {
        let mut missing: Vec<bool> = self.parts.iter().map(Option::is_none).collect();
        let fresh = begins_line || is_line_start(source, region.start);
        let found = worn::find(source.slice(&region), source.outputs, &mut missing, fresh);
        let starts = found.iter().map(|worn| region.start + worn.span.start);
        let ends = starts.clone().skip(1).chain([region.end]);
        for (worn, end) in found.iter().zip(ends) {
            let Named::Output(index, _) = worn.named else { continue };
            if let Some(slot @ None) = self.parts.get_mut(index) {
                let body = trimmed(source, region.start + worn.span.end..end);
                let broken = broken_header(source, &body);
                *slot = Some(Part { body, bent: true, broken });
            }
        }
        let first = found.first().map_or(region.end, |worn| region.start + worn.span.start);
        trimmed(source, region.start..first)
    }

    /// A first text whose header was forgotten.
    fn take_lead(&mut self, outputs: &Outputs) {
        let is_text = outputs.get(0).is_some_and(|output| output.ty.ir == TypeIR::Str);
        if let Some(slot @ None) = self.parts.first_mut()
            && is_text
            && !self.unused.is_empty()
        {
            let body = std::mem::replace(&mut self.unused, 0..0);
            *slot = Some(Part { body, bent: true, broken: None });
        }
    }
}

/// The section of an output, unless it holds only what the layout shows in its place.
pub(super) fn part(scanner: &Scanner, source: &Source<'_>, index: usize) -> Option<Part> {
    let section = scanner.section(index)?;
    if is_placeholder(source, Some(index), &section.body) {
        return None;
    }
    let body = section.body.clone();
    let broken = broken_header(source, &body);
    Some(Part { body, bent: section.bent, broken })
}

/// Where a header begins that broke off with the answer.
fn broken_header(source: &Source<'_>, body: &Range<usize>) -> Option<usize> {
    if !source.ended || !source.rest(body.end).trim().is_empty() {
        return None;
    }
    header::broken(source.slice(body)).map(|start| body.start + start)
}

fn is_line_start(source: &Source<'_>, at: usize) -> bool {
    let before = source.slice(&(0..at)).trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with('\n')
}

fn trimmed(source: &Source<'_>, range: Range<usize>) -> Range<usize> {
    let text = source.slice(&range);
    let end = range.start + text.trim_end().len();
    let start = range.start + (text.len() - text.trim_start().len());
    start.min(end)..end
}
