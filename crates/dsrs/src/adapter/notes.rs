//! What is told of an answer as a whole: reasoning that was skipped, text beside the sections,
//! fences around them, sections that nobody asked for. Knows nothing of values.

use std::ops::Range;

use super::answer::Misfit;
use super::outputs::Named;
use super::reading::Reading;
use super::sections::{Scanner, Section, Source};
use crate::coerce::{LeniencyKind, Path, Report, shorten};
use crate::value::Payload;

/// The report so far, and what of it is not allowed.
pub(super) fn tell(
    scanner: &Scanner,
    source: &Source<'_>,
    reading: &mut Reading,
    misfits: &mut Vec<Misfit>,
) -> Report {
    let mut report = Report::default();
    let mut note = |path: &Path<'_>, kind: LeniencyKind, read: &str| {
        report.add(path, kind, read, &Payload::Null);
    };
    for block in in_order(scanner.reasoning().to_vec()) {
        note(&Path::Root, LeniencyKind::Reasoning, source.slice(&block));
    }
    for range in prose(scanner, source, reading) {
        let text = source.slice(&range);
        if source.allowed.has(LeniencyKind::Prose) {
            note(&Path::Root, LeniencyKind::Prose, text);
        } else {
            let reason = format!("has text beside its sections: `{}`", shorten(text));
            misfits.push(Misfit::of_answer(reason));
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
            misfits.push(Misfit::of_answer(unasked(source, name)));
        }
    }
    if scanner.is_all_reasoning() {
        misfits.push(Misfit::of_answer("ends inside of its reasoning".to_owned()));
    }
    if let Some(whole) = &mut reading.whole {
        report.append(std::mem::take(&mut whole.around));
    }
    report
}

fn unasked(source: &Source<'_>, name: &str) -> String {
    match source.outputs.named(name) {
        Named::Unknown => format!("has a section `{name}` that was not asked for"),
        _ => format!("has the section `{name}` more than once"),
    }
}

/// Text that belongs to no output.
fn prose(scanner: &Scanner, source: &Source<'_>, reading: &Reading) -> Vec<Range<usize>> {
    let behind = scanner.behind().map_or(0..0, |start| {
        let text = source.rest(start);
        let text = text.strip_prefix(|c: char| c.is_whitespace()).unwrap_or(text);
        let close = text.trim_start().strip_prefix("```").filter(|_| scanner.in_fence());
        let text = close.unwrap_or(text).trim();
        let end = source.text.trim_end().len();
        end - text.len()..end
    });
    let found = scanner.prose().iter().cloned().chain([reading.unused.clone(), behind]);
    in_order(found.filter(|range| !range.is_empty()).collect())
}

/// Sections that were not asked for, or not again; an end mark that merely came last is none.
fn extra_sections<'s>(
    scanner: &'s Scanner,
    source: &Source<'_>,
) -> impl Iterator<Item = &'s Section> {
    let last = scanner.sections().len().saturating_sub(1);
    let is_end = |section: &Section| {
        matches!(source.outputs.named(source.slice(&section.name)), Named::End(_))
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
