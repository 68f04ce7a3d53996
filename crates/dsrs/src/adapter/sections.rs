//! One forward pass over an answer that may still be arriving: its state and results. Decisions are
//! final, except where reasoning turns out to be marked wrongly. Does not know types.

mod boundary;
mod steps;

use std::ops::Range;

use indexmap::IndexMap;

use super::outputs::Outputs;
use super::reasoning::ReasoningTag;
use super::section_text::SectionText;
use crate::coerce::{Leniencies, LeniencyKind};

/// The input of a pass.
#[derive(Clone, Copy)]
pub(super) struct AnswerText<'a> {
    /// The answer so far.
    pub(super) text: &'a str,
    pub(super) outputs: &'a Outputs,
    pub(super) allowed: Leniencies,
    /// Whether the answer is complete.
    pub(super) ended: bool,
}

impl<'a> AnswerText<'a> {
    pub(super) fn rest(&self, at: usize) -> &'a str {
        self.text.get(at..).unwrap_or_default()
    }

    pub(super) fn slice(&self, range: &Range<usize>) -> &'a str {
        self.text.get(range.clone()).unwrap_or_default()
    }
}

/// A header and the text below it.
#[derive(Debug)]
pub(super) struct Section {
    /// Its output. `None` if the section was not requested or is repeated.
    pub(super) output: Option<usize>,
    /// The start of its header.
    pub(super) head: usize,
    pub(super) name: Range<usize>,
    /// Its text, trimmed; final once the section is closed.
    pub(super) body: Range<usize>,
    /// Whether the layout around it is degraded.
    pub(super) degraded: bool,
}

/// The state of one output.
#[derive(Clone, Copy, Debug, Default)]
struct OutputState {
    section: Option<usize>,
    /// Its section has content, or has not ended yet.
    seen: bool,
    /// Its section is final.
    complete: bool,
}

/// The part of the answer that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// Before the first section.
    Lead,
    /// In the last section.
    Section,
    /// After the end mark.
    End,
}

/// How reasoning tags are interpreted.
#[derive(Clone, Copy, Debug)]
struct ReasoningRules {
    /// Whether blocks are skipped. Off after a block that never ends.
    blocks: bool,
    /// Whether a closing tag without an opening one makes the text before it reasoning.
    orphans: bool,
    /// Sections were dropped because of such a closing tag, which may have been text.
    abandoned: bool,
    /// The start of an unclosed block before the sections.
    unclosed: Option<usize>,
}

/// A pass over an answer.
#[derive(Debug)]
pub(super) struct Scanner {
    /// Everything before this position is decided.
    at: usize,
    /// The start of the line, and whether the start is still to be scanned.
    line: usize,
    fresh: bool,
    place: Position,
    /// The start of the text after the end mark.
    behind: usize,
    /// The text before the first section, once it is known.
    lead: Range<usize>,
    lead_start: usize,
    section_text: SectionText,
    sections: Vec<Section>,
    slots: Vec<OutputState>,
    /// The complete outputs, in the order in which they became complete.
    completed: Vec<usize>,
    /// An open reasoning block: its tag and start.
    block: Option<(&'static ReasoningTag, usize)>,
    trust: ReasoningRules,
    /// Whether a fence around sections is open, and whether there was one.
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
            place: Position::Lead,
            behind: 0,
            lead: 0..0,
            lead_start: 0,
            section_text: SectionText::at(0),
            sections: Vec::with_capacity(outputs.len()),
            slots: vec![OutputState::default(); outputs.len()],
            completed: Vec::new(),
            block: None,
            trust: ReasoningRules {
                blocks: reads,
                orphans: reads,
                abandoned: false,
                unclosed: None,
            },
            fenced: false,
            fence: false,
            reasoning: Vec::new(),
            prose: Vec::new(),
        }
    }
}

/// The results of a pass.
impl Scanner {
    pub(super) fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The section of an output.
    pub(super) fn section(&self, output: usize) -> Option<&Section> {
        self.sections.get(self.slots.get(output)?.section?)
    }

    /// The final outputs, in the order in which they became final.
    pub(super) fn completed(&self) -> &[usize] {
        &self.completed
    }

    /// Whether an output is final.
    pub(super) fn is_complete(&self, output: usize) -> bool {
        self.slots.get(output).is_some_and(|slot| slot.complete)
    }

    /// The output whose text is arriving, with the certain part of it. `None` if an earlier output
    /// is missing, since the text may then belong to that one.
    pub(super) fn open(&self) -> Option<(usize, Range<usize>)> {
        if self.place != Position::Section || self.is_doubtful() || self.trust.unclosed.is_some() {
            return None;
        }
        let output = self.sections.last()?.output?;
        let certain = self.slots.iter().take(output).all(|slot| slot.seen);
        certain.then(|| (output, self.section_text.certain()))
    }

    /// The start of the answer without reasoning, before the first section.
    pub(super) fn lead_start(&self) -> Option<usize> {
        let is_lead = self.place == Position::Lead && self.block.is_none();
        (is_lead && self.trust.unclosed.is_none()).then_some(self.lead_start)
    }

    /// The text before the first section, or all text if there is none.
    pub(super) const fn lead(&self) -> &Range<usize> {
        &self.lead
    }

    /// The skipped reasoning, unordered.
    pub(super) fn reasoning(&self) -> &[Range<usize>] {
        &self.reasoning
    }

    /// Text before reasoning blocks.
    pub(super) fn prose(&self) -> &[Range<usize>] {
        &self.prose
    }

    /// The start of the text after the end mark.
    pub(super) fn behind(&self) -> Option<usize> {
        (self.place == Position::End).then_some(self.behind)
    }

    /// Whether there was a fence around sections.
    pub(super) const fn in_fence(&self) -> bool {
        self.fence
    }

    /// Whether the answer ended inside of its reasoning.
    pub(super) fn is_all_reasoning(&self) -> bool {
        self.trust.unclosed.is_some() && self.sections.is_empty()
    }
}

/// Whether a section contains only the placeholder of the layout.
pub(super) fn is_placeholder(
    source: &AnswerText<'_>,
    output: Option<usize>,
    body: &Range<usize>,
) -> bool {
    let inside = source.slice(body).strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let name = output.and_then(|index| source.outputs.get(index)).map(|output| &*output.lm_name);
    inside.is_some() && inside == name
}

/// The sections by the names in their headers; only the first of a name counts.
pub(super) fn by_header(text: &str) -> IndexMap<String, String> {
    let outputs = Outputs::none();
    let source = AnswerText { text, outputs: &outputs, allowed: Leniencies::ALL, ended: true };
    let mut scanner = Scanner::new(&outputs, Leniencies::ALL);
    scanner.advance(&source);
    let mut found = IndexMap::new();
    for section in scanner.sections() {
        let name = source.slice(&section.name).to_owned();
        found.entry(name).or_insert_with(|| source.slice(&section.body).to_owned());
    }
    found
}
