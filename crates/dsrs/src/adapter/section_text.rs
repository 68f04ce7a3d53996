//! The text of one section, from a header to the next: its bounds without blanks, without fences
//! around headers and without reasoning at either end. Reads every byte once as the text grows.
//! Does not know names.

use std::ops::Range;

/// The text of a section so far. All positions except `start` are ends: after the last character
/// that is not blank.
#[derive(Debug, Default)]
pub(super) struct SectionText {
    /// The start, after reasoning at the beginning.
    pub(super) start: usize,
    /// From the first character that is not blank to the end of the last one.
    ink: Option<Range<usize>>,
    /// The number of fence lines.
    fences: usize,
    /// The end of the text before each of the last two fence lines, if only fence lines follow.
    tail: [Option<usize>; 2],
    on_fence: bool,
    /// A reasoning block at the end, with the end of the text before it.
    block: Option<(usize, Range<usize>)>,
    /// The end of the text that cannot belong to another output.
    doubt: Option<usize>,
}

/// The final text of a section.
pub(super) struct SectionEnd {
    /// The text, trimmed.
    pub(super) body: Range<usize>,
    /// A reasoning block at the end.
    pub(super) block: Option<Range<usize>>,
    /// Whether a fence around sections is open after it.
    pub(super) fenced: bool,
}

impl SectionText {
    pub(super) fn at(start: usize) -> Self {
        Self { start, ..Self::default() }
    }

    pub(super) const fn is_blank(&self) -> bool {
        self.ink.is_none()
    }

    /// Whether a fence in the text is open.
    pub(super) const fn is_in_fence(&self) -> bool {
        self.fences % 2 == 1
    }

    /// Whether it contains only an opening fence line.
    pub(super) fn is_only_fence(&self) -> bool {
        self.fences == 1 && self.tail[1] == Some(self.start)
    }

    fn end(&self) -> usize {
        self.ink.as_ref().map_or(self.start, |ink| ink.end)
    }

    /// Adds a piece of a line that begins at `at`.
    pub(super) fn take(&mut self, at: usize, piece: &str) {
        let trimmed = piece.trim_end();
        let end = at + trimmed.len();
        let start = end - trimmed.trim_start().len();
        if start == end {
            return;
        }
        self.ink.get_or_insert(start..end).end = end;
        self.block = None;
        if !self.on_fence {
            self.tail = [None, None];
        }
    }

    /// Adds the start of a fence line.
    pub(super) fn fence(&mut self) {
        self.fences += 1;
        self.tail = [self.tail[1], Some(self.end())];
        self.on_fence = true;
    }

    pub(super) const fn line_ends(&mut self) {
        self.on_fence = false;
    }

    /// Adds a reasoning block. Returns a block at the beginning, which is left out at once.
    pub(super) fn skip(&mut self, block: Range<usize>) -> Option<Range<usize>> {
        if self.is_blank() {
            self.start = block.end;
            return Some(block);
        }
        self.block = Some((self.end(), block));
        None
    }

    /// Marks the rest as possibly belonging to another output.
    pub(super) fn doubt(&mut self) {
        let end = self.end();
        self.doubt.get_or_insert(end);
    }

    /// The part of the text that is certain, wherever the section ends.
    pub(super) fn certain(&self) -> Range<usize> {
        let Some(ink) = self.ink.clone() else { return self.start..self.start };
        let tail = self.tail[0].or(self.tail[1]);
        let block = self.block.as_ref().map(|(end, _)| *end);
        let limits = [tail, block, self.doubt].into_iter().flatten();
        ink.start..limits.fold(ink.end, usize::min).max(ink.start)
    }

    /// Ends the section before a header or at the end of the text. `fenced`: a fence around
    /// sections was open before it. `strip`: such fences may be left out.
    pub(super) fn close(&self, before_header: bool, fenced: bool, strip: bool) -> SectionEnd {
        let block = self.block.as_ref().map(|(_, block)| block.clone());
        let Some(ink) = self.ink.clone() else {
            return SectionEnd { body: self.start..self.start, block, fenced };
        };
        let mut end = self.block.as_ref().map_or(ink.end, |(end, _)| *end);
        let mut open = fenced;
        match self.tail {
            _ if !strip => {}
            [_, Some(last)] if self.is_in_fence() && (before_header || fenced) => {
                end = end.min(last);
                open = !fenced;
            }
            [Some(last), Some(_)] if !self.is_in_fence() && fenced && before_header => {
                end = end.min(last)
            }
            _ => {}
        }
        SectionEnd { body: ink.start..end.max(ink.start), block, fenced: open }
    }
}
