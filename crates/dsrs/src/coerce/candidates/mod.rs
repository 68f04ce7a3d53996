//! The parts of a text that may be the data: the whole text, each fenced block, each object or list
//! in prose. Every part is parsed a fixed number of times, whatever the text contains.

mod fences;
mod regions;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::ops::Range;

use super::loose::{Loose, LooseShape};
use super::{Leniencies, LeniencyKind, repair};
use fences::Fence;

/// How many blocks and pieces in prose are tried from each end of a text.
const FROM_EACH_END: usize = 256;

/// A piece of a text that may be the data.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidate<'t> {
    pub(super) data: Loose<'t>,
    /// The leniencies needed to find it in the text.
    pub(super) how: Leniencies,
    /// Whether it is several pieces of the text as one list.
    pub(super) several: bool,
}

/// The candidates, most likely first. A text that is completely an object, a list or a quoted
/// string is the only candidate. Otherwise the whole text comes first, as `Bare`; then fenced
/// blocks, also as `Bare`; then objects and lists in prose, each alone and all together as a
/// `List`.
pub(super) fn of(text: &str, allowed: Leniencies) -> Vec<Candidate<'_>> {
    let mut finder = Finder { allowed, candidates: Vec::new() };
    if !finder.whole(text, Leniencies::NONE) || finder.is_cut_off() {
        finder.blocks(text);
    }
    finder.candidates
}

struct Finder<'t> {
    allowed: Leniencies,
    candidates: Vec<Candidate<'t>>,
}

impl<'t> Finder<'t> {
    /// Adds the text as one candidate. Returns whether it is an object, a list or a quoted string.
    fn whole(&mut self, text: &'t str, how: Leniencies) -> bool {
        let data = repair::parse(text, self.allowed)
            .or_else(|| repair::parse_sequence(text, self.allowed))
            .unwrap_or_else(|| repair::as_bare_text(text));
        let is_data = !matches!(data.shape, LooseShape::Bare(_));
        self.candidates.push(Candidate { data, how, several: false });
        is_data
    }

    /// Whether the first candidate is unclosed, so that it may be no data.
    fn is_cut_off(&self) -> bool {
        self.candidates
            .first()
            .is_some_and(|first| first.data.leniencies.has(LeniencyKind::Unclosed))
    }

    /// Adds the content of fenced blocks, then data in prose.
    fn blocks(&mut self, text: &'t str) {
        let fences = fences::of(text);
        let first = self.candidates.len();
        for fence in ends(&fences) {
            self.block(text, fence);
        }
        self.amid(text, 0..text.len(), &fences, Leniencies::NONE);
        self.together(text, first);
    }

    fn block(&mut self, text: &'t str, fence: &Fence) {
        let mut how = Leniencies::NONE.with(LeniencyKind::Fenced);
        if !fence.closed {
            how = how.with(LeniencyKind::Unclosed);
        }
        let inside = text.get(fence.inside.clone()).unwrap_or_default();
        if inside.trim().is_empty() || !self.allowed.covers(how) {
            return;
        }
        if !self.whole(inside, how) {
            self.amid(text, fence.inside.clone(), &[], how);
        }
    }

    /// Adds objects and lists in a part of a text, except those inside its fenced blocks.
    fn amid(&mut self, text: &'t str, part: Range<usize>, fences: &[Fence], how: Leniencies) {
        let how = how.with(LeniencyKind::Prose);
        let inside = text.get(part).unwrap_or_default();
        if !self.allowed.covers(how) || !inside.contains(['{', '[']) {
            return;
        }
        let regions = regions::of(inside);
        let mut balanced = regions.balanced;
        balanced.retain(|region| !fences::hold(fences, region));
        for region in ends(&balanced) {
            self.piece(inside.get(region.clone()).unwrap_or_default(), how);
        }
        let remainder = regions.unclosed.map(|start| start..inside.len());
        let fresh = |rest: &Range<usize>| rest.start > 0 && !fences::hold(fences, rest);
        if let Some(remainder) = remainder.filter(fresh) {
            self.piece(inside.get(remainder).unwrap_or_default(), how);
        }
    }

    fn piece(&mut self, text: &'t str, how: Leniencies) {
        if let Some(data) = repair::parse(text, self.allowed) {
            self.candidates.push(Candidate { data, how, several: false });
        }
    }

    /// Adds all single objects as a list; likewise all lists.
    fn together(&mut self, text: &'t str, first: usize) {
        let found = self.candidates.get(first..).unwrap_or_default();
        let objects = list_of(text, found, |one| matches!(one.shape, LooseShape::Map(_)));
        let lists = list_of(text, found, |one| matches!(one.shape, LooseShape::List(_)));
        self.candidates.extend(objects.into_iter().chain(lists));
    }
}

/// Several candidates as one list. `None` if some may be missing.
fn list_of<'t>(
    text: &'t str,
    found: &[Candidate<'t>],
    is_one: impl Fn(&Loose<'t>) -> bool,
) -> Option<Candidate<'t>> {
    let mut pieces: Vec<&Candidate<'t>> = found.iter().filter(|one| is_one(&one.data)).collect();
    pieces.sort_by_key(|one| (start_of(one), Reverse(end_of(one))));
    let mut end = 0;
    pieces.retain(|one| {
        let apart = end <= start_of(one);
        end = end.max(end_of(one));
        apart
    });
    if pieces.len() < 2 || pieces.len() >= FROM_EACH_END {
        return None;
    }
    let how = pieces.iter().fold(Leniencies::NONE, |how, one| how.and(one.how));
    let elements = pieces.into_iter().map(|one| one.data.clone()).collect();
    let data =
        Loose { source: text, shape: LooseShape::List(elements), leniencies: Leniencies::NONE };
    Some(Candidate { data, how, several: true })
}

/// The start of a candidate, as an address: all candidates are parts of one text.
fn start_of(one: &Candidate<'_>) -> usize {
    one.data.source.as_ptr() as usize
}

fn end_of(one: &Candidate<'_>) -> usize {
    start_of(one) + one.data.source.len()
}

/// The first and last items of a long list.
fn ends<T>(all: &[T]) -> impl Iterator<Item = &T> {
    let last = all.len().saturating_sub(FROM_EACH_END).max(FROM_EACH_END);
    all.iter().take(FROM_EACH_END).chain(all.iter().skip(last))
}
