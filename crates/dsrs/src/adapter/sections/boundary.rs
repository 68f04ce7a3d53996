//! Where sections begin and end, and when one is complete: headers taken, texts closed, the end of
//! the answer.

use std::ops::Range;

use super::{Place, Scanner, Section, Slot, Source, is_placeholder};
use crate::adapter::header::Header;
use crate::adapter::outputs::Named;
use crate::adapter::stretch::Stretch;
use crate::coerce::LeniencyKind;

impl Scanner {
    /// Takes a header at a line's start; `false` when it is none that counts.
    pub(super) fn take_header(&mut self, source: &Source<'_>, header: Header) -> bool {
        let named = source.outputs.named(source.slice(&header.name));
        let (output, spelled) = match named {
            Named::Output(index, spelled) => (Some(index), spelled),
            Named::End(spelled) => (None, spelled),
            Named::Unknown => (None, true),
        };
        let bent = !(header.exact && spelled);
        let lenient = source.allowed.has(LeniencyKind::Layout) && named != Named::Unknown;
        let anything = source.outputs.len() == 0;
        if !anything && (bent && !lenient || self.is_shown(named)) {
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

    /// Whether a header is only shown, in a fenced block of a section's text: one of a section that
    /// is there already, or that nobody asked for.
    fn is_shown(&self, named: Named) -> bool {
        let mut text = self.place == Place::Section && !self.fenced && self.stretch.is_in_fence();
        if let Named::Output(index, _) = named {
            let open = self.sections.last().and_then(|section| section.output);
            let again = open == Some(index) && self.stretch.is_only_fence();
            text &= !again && self.slots.get(index).is_some_and(|slot| slot.seen);
        }
        text && !matches!(named, Named::End(_)) && self.trust.unclosed.is_none()
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
    pub(super) fn close(&mut self, source: &Source<'_>, before_header: bool) {
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
    pub(super) fn may_end(&self, source: &Source<'_>) -> bool {
        let needs = source.outputs.iter().map(|output| output.required);
        (self.place == Place::Section || source.outputs.len() == 0)
            && needs.zip(&self.slots).all(|(required, slot)| slot.seen || !required)
    }

    pub(super) fn finish(&mut self, at: usize) {
        self.at = at;
        self.behind = at;
        self.place = Place::End;
        self.complete();
    }

    /// Marks the outputs that nothing that follows can change: closed, and everything up to the
    /// next output was seen, so that nobody will look for it in their texts.
    pub(super) fn complete(&mut self) {
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
    pub(super) fn is_doubtful(&self) -> bool {
        self.place != Place::Lead && !self.lead.is_empty() && self.trust.unclosed.is_none()
    }

    /// The text has ended. `true` when something has to be read again in another way.
    pub(super) fn end(&mut self, source: &Source<'_>) -> bool {
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

/// Whether a section holds nothing, or only what the layout shows in its place.
fn is_vain(source: &Source<'_>, output: Option<usize>, body: &Range<usize>) -> bool {
    body.is_empty() || is_placeholder(source, output, body)
}
