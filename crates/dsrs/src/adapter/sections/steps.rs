//! The steps of a pass over the text: line starts, brackets inside of lines, reasoning blocks. Each
//! decides on a few bytes, or waits for more.

use super::{Place, Scanner, Slot, Source};
use crate::adapter::header::{self, Found};
use crate::adapter::outputs::Named;
use crate::adapter::reasoning::{self, Tag};
use crate::adapter::stretch::Stretch;
use crate::adapter::worn;
use crate::coerce::LeniencyKind;

impl Scanner {
    /// Reads on as far as the text decides.
    pub(in crate::adapter) fn advance(&mut self, source: &Source<'_>) {
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
            match reasoning::opening(text, &source.outputs.reasoning, source.ended) {
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
            match reasoning::opening(rest, &source.outputs.reasoning, source.ended) {
                Found::Unsure => return false,
                Found::Yes((tag, length)) => return self.enter(tag, 0, length),
                Found::No => {}
            }
        }
        if self.trust.orphans && (self.place == Place::Lead || self.is_doubtful()) {
            match reasoning::closing(rest, &source.outputs.reasoning, source.ended) {
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
        while self.reasoning.last().is_some_and(|block| block.end > self.lead_start) {
            self.reasoning.pop();
        }
        self.reasoning.push(self.lead_start..end);
        self.sections.clear();
        self.slots.fill(Slot::default());
        self.place = Place::Lead;
        (self.fenced, self.fence) = (false, false);
        self.go_on(end);
        self.begin_lead(end);
        true
    }

    pub(super) fn begin_lead(&mut self, at: usize) {
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
}
