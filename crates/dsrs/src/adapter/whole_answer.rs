//! Reports on an answer as a whole: skipped reasoning, text beside the sections, fences around
//! them, sections that were not requested. Does not know values.

use std::ops::Range;

use super::field_texts::FieldTexts;
use super::outputs::HeaderTarget;
use super::problem::OutputProblem;
use super::sections::{AnswerText, Scanner, Section};
use crate::coerce::{LeniencyKind, ParseReport, Path, shorten};
use crate::value::Payload;

/// The leniencies of the answer as a whole; adds a problem for each one that is not allowed.
pub(super) fn report(
    scanner: &Scanner,
    source: &AnswerText<'_>,
    texts: &mut FieldTexts,
    problems: &mut Vec<OutputProblem>,
) -> ParseReport {
    let mut report = ParseReport::default();
    let mut note = |path: &Path<'_>, kind: LeniencyKind, read: &str| {
        report.add(path, kind, read, &Payload::Null);
    };
    for block in in_order(scanner.reasoning().to_vec()) {
        note(&Path::Root, LeniencyKind::Reasoning, source.slice(&block));
    }
    for range in prose(scanner, source, texts) {
        let text = source.slice(&range);
        if source.allowed.has(LeniencyKind::Prose) {
            note(&Path::Root, LeniencyKind::Prose, text);
        } else {
            let reason = format!("has text beside its sections: `{}`", shorten(text));
            problems.push(OutputProblem::of_answer(reason));
        }
    }
    if scanner.in_fence() {
        note(&Path::Root, LeniencyKind::Fenced, "```");
    }
    for section in extra_sections(scanner, source) {
        let name = source.slice(&section.name);
        if source.allowed.has(LeniencyKind::ExtraSection) {
            note(&Path::Root.member(name), LeniencyKind::ExtraSection, source.slice(&section.body));
        } else {
            problems.push(OutputProblem::of_answer(not_requested(source, name)));
        }
    }
    if scanner.is_all_reasoning() {
        problems.push(OutputProblem::of_answer("ends inside of its reasoning".to_owned()));
    }
    if let Some(object) = &mut texts.object {
        report.append(std::mem::take(&mut object.around));
    }
    report
}

fn not_requested(source: &AnswerText<'_>, name: &str) -> String {
    match source.outputs.resolve(name) {
        HeaderTarget::Unknown => format!("has a section `{name}` that was not asked for"),
        _ => format!("has the section `{name}` more than once"),
    }
}

/// Text that belongs to no output.
fn prose(scanner: &Scanner, source: &AnswerText<'_>, texts: &FieldTexts) -> Vec<Range<usize>> {
    let behind = scanner.behind().map_or(0..0, |start| {
        let text = source.rest(start);
        let text = text.strip_prefix(|c: char| c.is_whitespace()).unwrap_or(text);
        let close = text.trim_start().strip_prefix("```").filter(|_| scanner.in_fence());
        let text = close.unwrap_or(text).trim();
        let end = source.text.trim_end().len();
        end - text.len()..end
    });
    let found = scanner.prose().iter().cloned().chain([texts.unused.clone(), behind]);
    in_order(found.filter(|range| !range.is_empty()).collect())
}

/// Sections that were not requested, or are repeated. An end mark in last place is no extra section.
fn extra_sections<'s>(
    scanner: &'s Scanner,
    source: &AnswerText<'_>,
) -> impl Iterator<Item = &'s Section> {
    let last = scanner.sections().len().saturating_sub(1);
    let is_end = |section: &Section| {
        matches!(source.outputs.resolve(source.slice(&section.name)), HeaderTarget::End(_))
    };
    let extra = move |(index, section): &(usize, &Section)| {
        section.output.is_none() && !(*index == last && section.body.is_empty() && is_end(section))
    };
    scanner.sections().iter().enumerate().filter(extra).map(|(_, section)| section)
}

fn in_order(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    ranges
}
