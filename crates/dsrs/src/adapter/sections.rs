//! One forward pass over an answer that may still be arriving: reasoning blocks, headers at line
//! starts, the end mark. What is decided is never taken back, but where reasoning turns out to have
//! been marked badly. Knows names and nothing of types.

use std::ops::Range;

use super::header::{self, Found, Header};
use super::outputs::{Named, Outputs};
use super::reasoning::{self, Tag};
use super::stretch::Stretch;
use super::worn;
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

    /// Reads on as far as the text decides.
    pub(super) fn advance(&mut self, source: &Source<'_>) {
        loop {
            while self.goes_on() && self.step(source) {}
            if !source.ended || !self.end(source) {
                return;
            }
        }
    }

    /// Behind the end mark only a close of reasoning matters, where the sections may be a draft.
    fn goes_on(&self) -> bool {
        self.place != Place::End || (self.trust.orphans && self.is_doubtful())
    }

    /// One step; `false` when more text is needed.
    fn step(&mut self, source: &Source<'_>) -> bool {
        match self.block {
            Some((tag, start)) => self.in_block(source, tag, start),
            None if self.fresh && self.place != Place::End => self.line_start(source),
            None => self.in_line(source),
        }
    }

    fn line_start(&mut self, source: &Source<'_>) -> bool {
        let rest = source.rest(self.at);
        match header::at_line_start(rest, source.ended) {
            Found::Unsure => return false,
            Found::Yes(header) => {
                if self.take_header(source, header.moved(self.at)) {
                    return true;
                }
            }
            Found::No => {}
        }
        let indent = rest.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let text = rest.get(indent..).unwrap_or_default();
        if self.place == Place::Section && self.trust.blocks && text.starts_with('<') {
            match reasoning::opening(text, source.outputs.names(), source.ended) {
                Found::Unsure => return false,
                Found::Yes((tag, length)) => return self.enter(tag, indent, length),
                Found::No => {}
            }
        }
        if !source.ended && !self.doubt_label(source, rest) {
            return false;
        }
        if text.starts_with("```") {
            self.stretch.fence();
        }
        self.fresh = false;
        true
    }

    /// Marks a line that may yet be taken for a worn-down header; `false` when that needs more text.
    fn doubt_label(&mut self, source: &Source<'_>, rest: &str) -> bool {
        let missing = |named: Named| self.is_missing(named);
        if self.slots.iter().all(|slot| slot.seen) {
            return true;
        }
        match worn::at_line_start(rest, source.outputs, &missing, false) {
            Found::Unsure => return false,
            Found::Yes(_) => self.stretch.doubt(),
            Found::No => {}
        }
        true
    }

    fn is_missing(&self, named: Named) -> bool {
        match named {
            Named::Output(index, _) => self.slots.get(index).is_some_and(|slot| !slot.seen),
            Named::End(_) => true,
            Named::Unknown => false,
        }
    }

    fn in_line(&mut self, source: &Source<'_>) -> bool {
        let rest = source.rest(self.at);
        let stop = rest.bytes().position(|byte| matches!(byte, b'\n' | b'[' | b'<'));
        let piece = rest.get(..stop.unwrap_or(rest.len())).unwrap_or_default();
        self.take(piece);
        match rest.as_bytes().get(piece.len()) {
            None => false,
            Some(b'\n') => {
                self.at += 1;
                self.line = self.at;
                self.fresh = true;
                self.stretch.line_ends();
                true
            }
            Some(b'[') if self.place != Place::End => self.bracket(source),
            Some(_) => self.angle(source),
        }
    }

    fn take(&mut self, piece: &str) {
        self.stretch.take(self.at, piece);
        self.at += piece.len();
    }

    /// A bracket inside of a line: an end mark once everything was seen, else a mention.
    fn bracket(&mut self, source: &Source<'_>) -> bool {
        let rest = source.rest(self.at);
        match header::in_brackets(rest, source.ended) {
            Found::Unsure => return false,
            Found::Yes(header) => {
                let header = header.moved(self.at);
                let named = source.outputs.named(source.slice(&header.name));
                let lenient = source.allowed.has(LeniencyKind::Layout);
                if matches!(named, Named::End(_)) && lenient && self.may_end(source) {
                    self.close(source, true);
                    if let Some(section) = self.sections.last_mut() {
                        section.bent = true;
                    }
                    self.finish(header.span.end);
                    return true;
                }
                if self.is_missing(named) {
                    self.stretch.doubt();
                }
            }
            Found::No => {}
        }
        self.reasoning_mark(source, rest)
    }

    fn angle(&mut self, source: &Source<'_>) -> bool {
        let rest = source.rest(self.at);
        self.reasoning_mark(source, rest)
    }

    /// A bracket that may open or close reasoning, or is just one.
    fn reasoning_mark(&mut self, source: &Source<'_>, rest: &str) -> bool {
        if self.place == Place::Lead && self.trust.blocks {
            match reasoning::opening(rest, source.outputs.names(), source.ended) {
                Found::Unsure => return false,
                Found::Yes((tag, length)) => return self.enter(tag, 0, length),
                Found::No => {}
            }
        }
        if self.trust.orphans && (self.place == Place::Lead || self.is_doubtful()) {
            match reasoning::closing(rest, source.outputs.names(), source.ended) {
                Found::Unsure => return false,
                Found::Yes(length) => return self.orphan(source, length),
                Found::No => {}
            }
        }
        let piece = rest.get(..1).unwrap_or_default();
        self.take(piece);
        true
    }

    fn enter(&mut self, tag: &'static Tag, indent: usize, length: usize) -> bool {
        self.block = Some((tag, self.at + indent));
        self.at += indent + length;
        true
    }

    fn in_block(&mut self, source: &Source<'_>, tag: &'static Tag, start: usize) -> bool {
        let rest = source.rest(self.at);
        let Some(close) = tag.find_close(rest) else {
            let part = source.text.len().saturating_sub(tag.longest_part_of_close());
            self.at = source.text.floor_char_boundary(part.max(self.at));
            return false;
        };
        let end = self.at + close.end;
        self.block = None;
        self.go_on(end);
        if self.place == Place::Section {
            self.reasoning.extend(self.stretch.skip(start..end));
            return true;
        }
        let before = self.stretch.close(false, false, false).body;
        self.prose.extend((!before.is_empty()).then_some(before));
        self.reasoning.push(start..end);
        self.begin_lead(end);
        true
    }

    /// A close of reasoning that nothing opened: all before it was reasoning.
    fn orphan(&mut self, source: &Source<'_>, length: usize) -> bool {
        let before = source.slice(&(self.line..self.at));
        self.trust.given_up = !self.sections.is_empty() && !before.trim().is_empty();
        let end = self.at + length;
        self.reasoning.retain(|block| block.end <= self.lead_start);
        self.reasoning.push(self.lead_start..end);
        self.sections.clear();
        self.slots.fill(Slot::default());
        self.place = Place::Lead;
        (self.fenced, self.fence) = (false, false);
        self.go_on(end);
        self.begin_lead(end);
        true
    }

    fn begin_lead(&mut self, at: usize) {
        self.lead_start = at;
        self.lead = at..at;
        self.stretch = Stretch::at(at);
    }

    /// Goes on as if a line began here.
    const fn go_on(&mut self, at: usize) {
        self.at = at;
        self.line = at;
        self.fresh = true;
    }

    /// Takes a header at a line's start; `false` when it is none that counts.
    fn take_header(&mut self, source: &Source<'_>, header: Header) -> bool {
        let named = source.outputs.named(source.slice(&header.name));
        let (output, spelled) = match named {
            Named::Output(index, spelled) => (Some(index), spelled),
            Named::End(spelled) => (None, spelled),
            Named::Unknown => (None, true),
        };
        let bent = !(header.exact && spelled);
        let lenient = source.allowed.has(LeniencyKind::Layout) && named != Named::Unknown;
        let anything = source.outputs.len() == 0;
        if bent && !lenient && !anything {
            return false;
        }
        self.close(source, true);
        if matches!(named, Named::End(_)) && self.may_end(source) {
            self.finish(header.span.end);
            return true;
        }
        self.begin_again(output);
        let slot = output.and_then(|index| self.slots.get_mut(index)).filter(|slot| !slot.seen);
        let output = output.filter(|_| slot.is_some());
        if let Some(slot) = slot {
            let earlier = slot.section.replace(self.sections.len());
            slot.seen = true;
            if let Some(earlier) = earlier.and_then(|index| self.sections.get_mut(index)) {
                earlier.output = None;
            }
        }
        let (head, end) = (header.span.start, header.span.end);
        self.sections.push(Section { output, head, name: header.name, body: end..end, bent });
        self.place = Place::Section;
        self.stretch = Stretch::at(end);
        self.at = end;
        self.fresh = false;
        self.complete();
        true
    }

    /// In reasoning that was never closed, the last round of sections counts.
    fn begin_again(&mut self, output: Option<usize>) {
        let first = self.sections.first().and_then(|section| section.output);
        if self.trust.unclosed.is_some() && first.is_some() && first == output {
            self.sections.clear();
            self.slots.fill(Slot::default());
        }
    }

    /// Ends what is being read, before a header or with the text.
    fn close(&mut self, source: &Source<'_>, before_header: bool) {
        let strip = source.allowed.has(LeniencyKind::Fenced);
        let closed = self.stretch.close(before_header, self.fenced, strip);
        self.fenced = closed.fenced;
        self.fence |= closed.fenced;
        self.reasoning.extend(closed.block);
        match (self.place, self.sections.last_mut()) {
            (Place::Section, Some(section)) => {
                let index = section.output;
                let vain = is_vain(source, section.output, &closed.body);
                section.body = closed.body;
                if let Some(slot) = index.and_then(|index| self.slots.get_mut(index)) {
                    slot.seen = !vain;
                }
            }
            _ => self.lead = closed.body,
        }
    }

    /// Whether an end mark may end the answer here: nothing that is needed is missing.
    fn may_end(&self, source: &Source<'_>) -> bool {
        let needs = source.outputs.iter().map(|output| output.required);
        (self.place == Place::Section || source.outputs.len() == 0)
            && needs.zip(&self.slots).all(|(required, slot)| slot.seen || !required)
    }

    fn finish(&mut self, at: usize) {
        self.at = at;
        self.behind = at;
        self.place = Place::End;
        self.complete();
    }

    /// Marks the outputs that nothing that follows can change: closed, and everything up to the
    /// next output was seen, so that nobody will look for it in their texts.
    fn complete(&mut self) {
        if self.is_doubtful() || self.trust.unclosed.is_some() {
            return;
        }
        let count = self.slots.len();
        let seen = self.slots.iter().take_while(|slot| slot.seen).count();
        let open = self.sections.len() - usize::from(self.place == Place::Section);
        for (index, slot) in self.slots.iter_mut().enumerate().take(seen) {
            let closed = slot.section.is_some_and(|section| section < open);
            if closed && !slot.complete && seen >= count.min(index + 2) {
                slot.complete = true;
                self.completed.push(index);
            }
        }
    }

    /// Whether the sections may yet turn out to be a draft: text that may be reasoning precedes.
    fn is_doubtful(&self) -> bool {
        self.place != Place::Lead && !self.lead.is_empty() && self.trust.unclosed.is_none()
    }

    /// The text has ended. `true` when something has to be read again in another way.
    fn end(&mut self, source: &Source<'_>) -> bool {
        if let Some((_, start)) = self.block.take() {
            (self.trust.blocks, self.trust.orphans) = (false, false);
            self.at = start;
            self.fresh = false;
            if self.place == Place::Lead {
                self.trust.unclosed = Some(start);
                let before = self.stretch.close(false, false, false).body;
                self.prose.extend((!before.is_empty()).then_some(before));
                self.begin_lead(start);
            }
            return true;
        }
        if self.trust.given_up && self.sections.is_empty() {
            *self = Self::new(source.outputs, source.allowed);
            self.trust.orphans = false;
            return true;
        }
        if self.place != Place::End {
            self.close(source, false);
        }
        if let Some(start) = self.trust.unclosed {
            let end = self.sections.first().map_or(source.text.len(), |first| first.head);
            self.reasoning.push(start..end);
            self.lead = start..start;
        }
        false
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

/// Whether a section holds nothing, or only what the layout shows in its place.
fn is_vain(source: &Source<'_>, output: Option<usize>, body: &Range<usize>) -> bool {
    body.is_empty() || is_placeholder(source, output, body)
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
pub(super) fn by_header(text: &str) -> Vec<(String, String)> {
    let outputs = Outputs::none();
    let source = Source { text, outputs: &outputs, allowed: Leniencies::ALL, ended: true };
    let mut scanner = Scanner::new(&outputs, Leniencies::ALL);
    scanner.advance(&source);
    let mut found: Vec<(String, String)> = Vec::new();
    for section in &scanner.sections {
        let name = source.slice(&section.name);
        if !found.iter().any(|(known, _)| known == name) {
            found.push((name.to_owned(), source.slice(&section.body).to_owned()));
        }
    }
    found
}
