//! The text of each output in an answer, and outputs read from one object instead. Does not know
//! how the texts were found, nor what values they hold.

use std::ops::Range;

use super::degraded_header;
use super::field_value::{self, FieldResult, FieldText};
use super::header;
use super::object_outputs::ObjectOutputs;
use super::outputs::{HeaderTarget, Output};
use super::sections::{AnswerText, Scanner, is_placeholder};

/// The texts of all outputs.
pub(super) struct FieldTexts {
    pub(super) parts: Vec<Option<FieldText>>,
    /// Outputs that were read from one object instead.
    pub(super) object: Option<ObjectOutputs>,
    /// Text before the first part that belongs to no output.
    pub(super) unused: Range<usize>,
}

impl FieldTexts {
    /// The text of each section, once the scanner has reached the end of the answer.
    pub(super) fn of_sections(scanner: &Scanner, source: &AnswerText<'_>) -> Self {
        let outputs = 0..source.outputs.len();
        let parts = outputs.map(|index| section_text(scanner, source, index)).collect();
        Self { parts, object: None, unused: scanner.lead().clone() }
    }

    /// The value of an output.
    pub(super) fn value(
        &mut self,
        index: usize,
        output: &Output,
        source: &AnswerText<'_>,
    ) -> FieldResult {
        match self.object.as_mut().and_then(|object| object.take(index)) {
            Some(result) => result,
            None => field_value::read(source, output, self.part(index)),
        }
    }

    fn part(&self, index: usize) -> Option<&FieldText> {
        self.parts.get(index)?.as_ref()
    }

    /// Splits a region of the answer at degraded headers and assigns the text after each one to the
    /// output that it names. Returns the text before the first one. `begins_line`: treat the region
    /// as the beginning of a line.
    pub(super) fn divide(
        &mut self,
        source: &AnswerText<'_>,
        region: Range<usize>,
        begins_line: bool,
    ) -> Range<usize> {
        let mut missing: Vec<bool> = self.parts.iter().map(Option::is_none).collect();
        let begins_line = begins_line || is_line_start(source, region.start);
        let text = source.slice(&region);
        let headers = degraded_header::find(text, source.outputs, &mut missing, begins_line);
        let starts = headers.iter().map(|header| region.start + header.span.start);
        let ends = starts.clone().skip(1).chain([region.end]);
        for (header, end) in headers.iter().zip(ends) {
            let HeaderTarget::Output(index, _) = header.target else { continue };
            if let Some(slot @ None) = self.parts.get_mut(index) {
                let body = trimmed(source, region.start + header.span.end..end);
                let broken = broken_header(source, &body);
                *slot = Some(FieldText { body, degraded: true, broken });
            }
        }
        let first = headers.first().map_or(region.end, |header| region.start + header.span.start);
        trimmed(source, region.start..first)
    }
}

/// The text of an output's section. `None` if the section holds only the placeholder of the layout.
pub(super) fn section_text(
    scanner: &Scanner,
    source: &AnswerText<'_>,
    index: usize,
) -> Option<FieldText> {
    let section = scanner.section(index)?;
    if is_placeholder(source, Some(index), &section.body) {
        return None;
    }
    let body = section.body.clone();
    let broken = broken_header(source, &body);
    Some(FieldText { body, degraded: section.degraded, broken })
}

/// The start of a header that is cut off by the end of the answer.
fn broken_header(source: &AnswerText<'_>, body: &Range<usize>) -> Option<usize> {
    if !source.ended || !source.rest(body.end).trim().is_empty() {
        return None;
    }
    header::broken(source.slice(body)).map(|start| body.start + start)
}

fn is_line_start(source: &AnswerText<'_>, at: usize) -> bool {
    let before = source.slice(&(0..at)).trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with('\n')
}

fn trimmed(source: &AnswerText<'_>, range: Range<usize>) -> Range<usize> {
    let text = source.slice(&range);
    let end = range.start + text.trim_end().len();
    let start = range.start + (text.len() - text.trim_start().len());
    start.min(end)..end
}
