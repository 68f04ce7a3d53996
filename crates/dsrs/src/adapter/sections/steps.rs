//! The steps of a pass: line starts, brackets inside of lines, reasoning blocks. Each step decides
//! on a few bytes or waits for more.

use super::{AnswerText, OutputState, Position, Scanner};
use crate::adapter::degraded_header;
use crate::adapter::header::{self, ScanResult};
use crate::adapter::outputs::HeaderTarget;
use crate::adapter::reasoning::{self, ReasoningTag};
use crate::adapter::section_text::SectionText;
use crate::coerce::LeniencyKind;

impl Scanner {
    /// Reads as far as the text so far allows.
    pub(in crate::adapter) fn advance(&mut self, source: &AnswerText<'_>) {
        loop {
            while self.continues() && self.step(source) {}
            if !source.ended || !self.end(source) {
                return;
            }
        }
    }

    /// After the end mark, only a closing reasoning tag matters, if the sections may be a draft.
    fn continues(&self) -> bool {
        self.place != Position::End || (self.trust.orphans && self.is_doubtful())
    }

    /// One step. Returns false if more text is needed.
    fn step(&mut self, source: &AnswerText<'_>) -> bool {
        match self.block {
            Some((tag, start)) => self.in_block(source, tag, start),
            None if self.fresh && self.place != Position::End => self.line_start(source),
            None => self.in_line(source),
        }
    }

    fn line_start(&mut self, source: &AnswerText<'_>) -> bool {
        let rest = source.rest(self.at);
        match header::at_line_start(rest, source.ended) {
            ScanResult::Incomplete => return false,
            ScanResult::Match(header) => {
                if self.take_header(source, header.moved(self.at)) {
                    return true;
                }
            }
            ScanResult::NoMatch => {}
        }
        let indent = rest.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let text = rest.get(indent..).unwrap_or_default();
        if self.place == Position::Section && self.trust.blocks && text.starts_with('<') {
            match reasoning::opening(text, &source.outputs.reasoning, source.ended) {
                ScanResult::Incomplete => return false,
                ScanResult::Match((tag, length)) => return self.enter(tag, indent, length),
                ScanResult::NoMatch => {}
            }
        }
        if !source.ended && !self.doubt_label(source, rest) {
            return false;
        }
        if text.starts_with("```") {
            self.section_text.fence();
        }
        self.fresh = false;
        true
    }

    /// Marks a line that may be a degraded header. Returns false if more text is needed.
    fn doubt_label(&mut self, source: &AnswerText<'_>, rest: &str) -> bool {
        let missing = |named: HeaderTarget| self.is_missing(named);
        if self.slots.iter().all(|slot| slot.seen) {
            return true;
        }
        match degraded_header::at_line_start(rest, source.outputs, &missing, false) {
            ScanResult::Incomplete => return false,
            ScanResult::Match(_) => self.section_text.doubt(),
            ScanResult::NoMatch => {}
        }
        true
    }

    fn is_missing(&self, named: HeaderTarget) -> bool {
        match named {
            HeaderTarget::Output(index, _) => self.slots.get(index).is_some_and(|slot| !slot.seen),
            HeaderTarget::End(_) => true,
            HeaderTarget::Unknown => false,
        }
    }

    fn in_line(&mut self, source: &AnswerText<'_>) -> bool {
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
                self.section_text.line_ends();
                true
            }
            Some(b'[') if self.place != Position::End => self.bracket(source),
            Some(_) => self.angle(source),
        }
    }

    fn take(&mut self, piece: &str) {
        self.section_text.take(self.at, piece);
        self.at += piece.len();
    }

    /// A bracket inside of a line: an end mark if all outputs were seen, else text.
    fn bracket(&mut self, source: &AnswerText<'_>) -> bool {
        let rest = source.rest(self.at);
        match header::in_brackets(rest, source.ended) {
            ScanResult::Incomplete => return false,
            ScanResult::Match(header) => {
                let header = header.moved(self.at);
                let named = source.outputs.resolve(source.slice(&header.name));
                let lenient = source.allowed.has(LeniencyKind::Layout);
                if matches!(named, HeaderTarget::End(_)) && lenient && self.may_end(source) {
                    self.close(source, true);
                    if let Some(section) = self.sections.last_mut() {
                        section.degraded = true;
                    }
                    self.finish(header.span.end);
                    return true;
                }
                if self.is_missing(named) {
                    self.section_text.doubt();
                }
            }
            ScanResult::NoMatch => {}
        }
        self.reasoning_mark(source, rest)
    }

    fn angle(&mut self, source: &AnswerText<'_>) -> bool {
        let rest = source.rest(self.at);
        self.reasoning_mark(source, rest)
    }

    /// A bracket that may begin a reasoning tag.
    fn reasoning_mark(&mut self, source: &AnswerText<'_>, rest: &str) -> bool {
        if self.place == Position::Lead && self.trust.blocks {
            match reasoning::opening(rest, &source.outputs.reasoning, source.ended) {
                ScanResult::Incomplete => return false,
                ScanResult::Match((tag, length)) => return self.enter(tag, 0, length),
                ScanResult::NoMatch => {}
            }
        }
        if self.trust.orphans && (self.place == Position::Lead || self.is_doubtful()) {
            match reasoning::closing(rest, &source.outputs.reasoning, source.ended) {
                ScanResult::Incomplete => return false,
                ScanResult::Match(length) => return self.orphan(source, length),
                ScanResult::NoMatch => {}
            }
        }
        let piece = rest.get(..1).unwrap_or_default();
        self.take(piece);
        true
    }

    fn enter(&mut self, tag: &'static ReasoningTag, indent: usize, length: usize) -> bool {
        self.block = Some((tag, self.at + indent));
        self.at += indent + length;
        true
    }

    fn in_block(
        &mut self,
        source: &AnswerText<'_>,
        tag: &'static ReasoningTag,
        start: usize,
    ) -> bool {
        let rest = source.rest(self.at);
        let Some(close) = tag.find_close(rest) else {
            let part = source.text.len().saturating_sub(tag.longest_part_of_close());
            self.at = source.text.floor_char_boundary(part.max(self.at));
            return false;
        };
        let end = self.at + close.end;
        self.block = None;
        self.continue_at(end);
        if self.place == Position::Section {
            self.reasoning.extend(self.section_text.skip(start..end));
            return true;
        }
        let before = self.section_text.close(false, false, false).body;
        self.prose.extend((!before.is_empty()).then_some(before));
        self.reasoning.push(start..end);
        self.begin_lead(end);
        true
    }

    /// A closing reasoning tag without an opening one: all text before it was reasoning.
    fn orphan(&mut self, source: &AnswerText<'_>, length: usize) -> bool {
        let before = source.slice(&(self.line..self.at));
        self.trust.abandoned = !self.sections.is_empty() && !before.trim().is_empty();
        let end = self.at + length;
        while self.reasoning.last().is_some_and(|block| block.end > self.lead_start) {
            self.reasoning.pop();
        }
        self.reasoning.push(self.lead_start..end);
        self.sections.clear();
        self.slots.fill(OutputState::default());
        self.place = Position::Lead;
        (self.fenced, self.fence) = (false, false);
        self.continue_at(end);
        self.begin_lead(end);
        true
    }

    pub(super) fn begin_lead(&mut self, at: usize) {
        self.lead_start = at;
        self.lead = at..at;
        self.section_text = SectionText::at(at);
    }

    /// Continues as if a line began here.
    const fn continue_at(&mut self, at: usize) {
        self.at = at;
        self.line = at;
        self.fresh = true;
    }
}
