//! One forward pass over an answer that may still be arriving: what it has found and where it
//! stands. What is decided is never taken back, but where reasoning turns out to have been marked
//! badly. Knows names and nothing of types.

mod boundary;
mod steps;

use std::ops::Range;

use indexmap::IndexMap;

use super::outputs::Outputs;
use super::reasoning::Tag;
use super::stretch::Stretch;
use crate::coerce::{Leniencies, LeniencyKind};

/// What a pass reads.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    /// The answer so far.
    pub(super) text: &'a str,
    pub(super) outputs: &'a Outputs,
    pub(super) allowed: Leniencies,
    /// Whether nothing follows.
    pub(super) ended: bool,
}

impl<'a> Source<'a> {
    pub(super) fn rest(&self, at: usize) -> &'a str {
        self.text.get(at..).unwrap_or_default()
    }

    pub(super) fn slice(&self, range: &Range<usize>) -> &'a str {
        self.text.get(range.clone()).unwrap_or_default()
    }
}

/// A header with the text under it.
#[derive(Debug)]
pub(super) struct Section {
    /// The output it stands for; `None` for one that was not asked for, or not again.
    pub(super) output: Option<usize>,
    /// Where its header begins.
    pub(super) head: usize,
    pub(super) name: Range<usize>,
    /// Its text, trimmed; to be trusted once the section is closed.
    pub(super) body: Range<usize>,
    /// Whether the layout around it is not as asked for.
    pub(super) bent: bool,
}

/// What is known of one output.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    section: Option<usize>,
    /// It has a section that holds something, or whose end is not known yet.
    seen: bool,
    /// Its section will not change, whatever follows.
    complete: bool,
}

/// Where a pass stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before the first section.
    Lead,
    /// In the last section.
    Section,
    /// Behind the end mark.
    End,
}

/// How marks of reasoning are taken.
#[derive(Clone, Copy, Debug)]
struct Trust {
    /// Whether blocks are skipped; no longer so behind one that never ends.
    blocks: bool,
    /// Whether a close without an opening makes what stands before it reasoning.
    orphans: bool,
    /// Sections were given up for such a close, which may have been part of a text.
    given_up: bool,
    /// Where a block before the sections begins that was never closed.
    unclosed: Option<usize>,
}

/// A pass on its way.
#[derive(Debug)]
pub(super) struct Scanner {
    /// Everything before is decided.
    at: usize,
    /// Where the line begins, and whether its beginning is still to be looked at.
    line: usize,
    fresh: bool,
    place: Place,
    /// Where the text behind the end mark begins, once there is one.
    behind: usize,
    /// What stands before the first section, once that is known.
    lead: Range<usize>,
    lead_start: usize,
    stretch: Stretch,
    sections: Vec<Section>,
    slots: Vec<Slot>,
    /// The outputs that are complete, in the order in which they became so.
    completed: Vec<usize>,
    /// An open reasoning block: its mark and where it begins.
    block: Option<(&'static Tag, usize)>,
    trust: Trust,
    /// Whether a fence around sections is open here, and whether there was one at all.
    fenced: bool,
    fence: bool,
    reasoning: Vec<Range<usize>>,
    /// Text beside the sections.
    prose: Vec<Range<usize>>,
}

impl Scanner {
    pub(super) fn new(outputs: &Outputs, allowed: Leniencies) -> Self {
        let reads = allowed.has(LeniencyKind::Reasoning);
        Self {
            at: 0,
            line: 0,
            fresh: true,
            place: Place::Lead,
            behind: 0,
            lead: 0..0,
            lead_start: 0,
            stretch: Stretch::at(0),
            sections: Vec::with_capacity(outputs.len()),
            slots: vec![Slot::default(); outputs.len()],
            completed: Vec::new(),
            block: None,
            trust: Trust { blocks: reads, orphans: reads, given_up: false, unclosed: None },
            fenced: false,
            fence: false,
            reasoning: Vec::new(),
            prose: Vec::new(),
        }
    }
}

/// What a pass has found.
impl Scanner {
    pub(super) fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The section of an output.
    pub(super) fn section(&self, output: usize) -> Option<&Section> {
        self.sections.get(self.slots.get(output)?.section?)
    }

    /// The outputs that nothing that follows can change, in the order in which they became so.
    pub(super) fn completed(&self) -> &[usize] {
        &self.completed
    }

    /// Whether nothing that follows can change an output.
    pub(super) fn is_complete(&self, output: usize) -> bool {
        self.slots.get(output).is_some_and(|slot| slot.complete)
    }

    /// The output whose text is arriving, and as much of it as is certain: nothing before it is
    /// missing, so that none of it can belong elsewhere.
    pub(super) fn open(&self) -> Option<(usize, Range<usize>)> {
        if self.place != Place::Section || self.is_doubtful() || self.trust.unclosed.is_some() {
            return None;
        }
        let output = self.sections.last()?.output?;
        let certain = self.slots.iter().take(output).all(|slot| slot.seen);
        certain.then(|| (output, self.stretch.settled()))
    }

    /// Where the answer proper begins, while no section has.
    pub(super) fn lead_start(&self) -> Option<usize> {
        let is_lead = self.place == Place::Lead && self.block.is_none();
        (is_lead && self.trust.unclosed.is_none()).then_some(self.lead_start)
    }

    /// The text before the first section, or all of it if there is none.
    pub(super) const fn lead(&self) -> &Range<usize> {
        &self.lead
    }

    /// The reasoning that was skipped, in no order.
    pub(super) fn reasoning(&self) -> &[Range<usize>] {
        &self.reasoning
    }

    /// Text before reasoning blocks.
    pub(super) fn prose(&self) -> &[Range<usize>] {
        &self.prose
    }

    /// Where the text behind the end mark begins.
    pub(super) fn behind(&self) -> Option<usize> {
        (self.place == Place::End).then_some(self.behind)
    }

    /// Whether there was a fence around sections.
    pub(super) const fn in_fence(&self) -> bool {
        self.fence
    }

    /// Whether the answer ended before its reasoning did.
    pub(super) fn is_all_reasoning(&self) -> bool {
        self.trust.unclosed.is_some() && self.sections.is_empty()
    }
}

/// Whether a section holds only what the layout shows in its place.
pub(super) fn is_placeholder(
    source: &Source<'_>,
    output: Option<usize>,
    body: &Range<usize>,
) -> bool {
    let inside = source.slice(body).strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let name = output.and_then(|index| source.outputs.get(index)).map(|output| &*output.lm_name);
    inside.is_some() && inside == name
}

/// The sections by the names in their headers; the first of a name counts.
pub(super) fn by_header(text: &str) -> IndexMap<String, String> {
    let outputs = Outputs::none();
    let source = Source { text, outputs: &outputs, allowed: Leniencies::ALL, ended: true };
    let mut scanner = Scanner::new(&outputs, Leniencies::ALL);
    scanner.advance(&source);
    let mut found = IndexMap::new();
    for section in scanner.sections() {
        let name = source.slice(&section.name).to_owned();
        found.entry(name).or_insert_with(|| source.slice(&section.body).to_owned());
    }
    found
}
