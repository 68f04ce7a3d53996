//! Starts and ends sections, and marks them complete.

use std::ops::Range;

use super::{AnswerText, OutputState, Position, Scanner, Section, is_placeholder};
use crate::adapter::header::Header;
use crate::adapter::outputs::HeaderTarget;
use crate::adapter::section_text::SectionText;
use crate::coerce::LeniencyKind;

impl Scanner {
    /// Accepts a header at the start of a line. Returns false if the header does not count.
    pub(super) fn take_header(&mut self, source: &AnswerText<'_>, header: Header) -> bool {
        let named = source.outputs.resolve(source.slice(&header.name));
        let (output, spelled) = match named {
            HeaderTarget::Output(index, spelled) => (Some(index), spelled),
            HeaderTarget::End(spelled) => (None, spelled),
            HeaderTarget::Unknown => (None, true),
        };
        let degraded = !(header.exact && spelled);
        let lenient = source.allowed.has(LeniencyKind::Layout) && named != HeaderTarget::Unknown;
        let anything = source.outputs.len() == 0;
        if !anything && (degraded && !lenient || self.is_shown(named)) {
            return false;
        }
        self.close(source, true);
        if matches!(named, HeaderTarget::End(_)) && self.may_end(source) {
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
        self.sections.push(Section { output, head, name: header.name, body: end..end, degraded });
        self.place = Position::Section;
        self.section_text = SectionText::at(end);
        self.at = end;
        self.fresh = false;
        self.complete();
        true
    }

    /// Whether a header is only quoted, in a fenced block in the text of a section: it names a
    /// section that exists or was not requested.
    fn is_shown(&self, named: HeaderTarget) -> bool {
        let mut text =
            self.place == Position::Section && !self.fenced && self.section_text.is_in_fence();
        if let HeaderTarget::Output(index, _) = named {
            let open = self.sections.last().and_then(|section| section.output);
            let again = open == Some(index) && self.section_text.is_only_fence();
            text &= !again && self.slots.get(index).is_some_and(|slot| slot.seen);
        }
        text && !matches!(named, HeaderTarget::End(_)) && self.trust.unclosed.is_none()
    }

    /// In unclosed reasoning, the last round of sections counts.
    fn begin_again(&mut self, output: Option<usize>) {
        let first = self.sections.first().and_then(|section| section.output);
        if self.trust.unclosed.is_some() && first.is_some() && first == output {
            self.sections.clear();
            self.slots.fill(OutputState::default());
        }
    }

    /// Ends the current text, before a header or at the end of the answer.
    pub(super) fn close(&mut self, source: &AnswerText<'_>, before_header: bool) {
        let strip = source.allowed.has(LeniencyKind::Fenced);
        let closed = self.section_text.close(before_header, self.fenced, strip);
        self.fenced = closed.fenced;
        self.fence |= closed.fenced;
        self.reasoning.extend(closed.block);
        match (self.place, self.sections.last_mut()) {
            (Position::Section, Some(section)) => {
                let index = section.output;
                let empty = is_empty_section(source, section.output, &closed.body);
                section.body = closed.body;
                if let Some(slot) = index.and_then(|index| self.slots.get_mut(index)) {
                    slot.seen = !empty;
                }
            }
            _ => self.lead = closed.body,
        }
    }

    /// Whether an end mark may end the answer here: no required output is missing.
    pub(super) fn may_end(&self, source: &AnswerText<'_>) -> bool {
        let needs = source.outputs.iter().map(|output| output.required);
        (self.place == Position::Section || source.outputs.len() == 0)
            && needs.zip(&self.slots).all(|(required, slot)| slot.seen || !required)
    }

    pub(super) fn finish(&mut self, at: usize) {
        self.at = at;
        self.behind = at;
        self.place = Position::End;
        self.complete();
    }

    /// Marks final outputs: closed ones for which all outputs up to the next one were seen, so that
    /// no missing output can be in their text.
    pub(super) fn complete(&mut self) {
        if self.is_doubtful() || self.trust.unclosed.is_some() {
            return;
        }
        let count = self.slots.len();
        let seen = self.slots.iter().take_while(|slot| slot.seen).count();
        let open = self.sections.len() - usize::from(self.place == Position::Section);
        for (index, slot) in self.slots.iter_mut().enumerate().take(seen) {
            let closed = slot.section.is_some_and(|section| section < open);
            if closed && !slot.complete && seen >= count.min(index + 2) {
                slot.complete = true;
                self.completed.push(index);
            }
        }
    }

    /// Whether the sections may still turn out to be a draft, because text before them may be
    /// reasoning.
    pub(super) fn is_doubtful(&self) -> bool {
        self.place != Position::Lead && !self.lead.is_empty() && self.trust.unclosed.is_none()
    }

    /// Handles the end of the text. Returns true if a part has to be read again with other rules.
    pub(super) fn end(&mut self, source: &AnswerText<'_>) -> bool {
        if let Some((_, start)) = self.block.take() {
            (self.trust.blocks, self.trust.orphans) = (false, false);
            self.at = start;
            self.fresh = false;
            if self.place == Position::Lead {
                self.trust.unclosed = Some(start);
                let before = self.section_text.close(false, false, false).body;
                self.prose.extend((!before.is_empty()).then_some(before));
                self.begin_lead(start);
            }
            return true;
        }
        if self.trust.abandoned && self.sections.is_empty() {
            *self = Self::new(source.outputs, source.allowed);
            self.trust.orphans = false;
            return true;
        }
        if self.place != Position::End {
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

/// Whether a section is empty or contains only the placeholder of the layout.
fn is_empty_section(source: &AnswerText<'_>, output: Option<usize>, body: &Range<usize>) -> bool {
    body.is_empty() || is_placeholder(source, output, body)
}
