//! One stretch of an answer, from a header to the next: where its text begins and ends when the
//! blank ends, fences around headers and reasoning at its ends are left out. It grows with the text
//! and looks at every byte once. Knows nothing of names.

use std::ops::Range;

/// A stretch of text that is being read. All places but `start` are ends of text: behind the last
/// character that is not blank.
#[derive(Debug, Default)]
pub(super) struct Stretch {
    /// Where it begins, reasoning at its head left out.
    pub(super) start: usize,
    /// From the first to behind the last character that is not blank.
    ink: Option<Range<usize>>,
    /// Lines that open or close a fence.
    fences: usize,
    /// Where the text before the last two fence lines ends, if nothing but fence lines follows.
    tail: [Option<usize>; 2],
    on_fence: bool,
    /// A reasoning block that nothing has followed yet, and where the text before it ends.
    block: Option<(usize, Range<usize>)>,
    /// Where the text ends that cannot belong elsewhere.
    doubt: Option<usize>,
}

/// What a stretch holds once its end is known.
pub(super) struct Closed {
    /// Its text, trimmed.
    pub(super) body: Range<usize>,
    /// A reasoning block at its end.
    pub(super) block: Option<Range<usize>>,
    /// Whether a fence around sections is open behind it.
    pub(super) fenced: bool,
}

impl Stretch {
    pub(super) fn at(start: usize) -> Self {
        Self { start, ..Self::default() }
    }

    pub(super) const fn is_blank(&self) -> bool {
        self.ink.is_none()
    }

    /// Whether a fence that was opened in its text is open here.
    pub(super) const fn is_in_fence(&self) -> bool {
        self.fences % 2 == 1
    }

    /// Whether it holds the line that opened a fence, and nothing else.
    pub(super) fn is_only_fence(&self) -> bool {
        self.fences == 1 && self.tail[1] == Some(self.start)
    }

    fn end(&self) -> usize {
        self.ink.as_ref().map_or(self.start, |ink| ink.end)
    }

    /// Takes in a piece of a line that begins at `at`.
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

    /// A line that opens or closes a fence begins here.
    pub(super) fn fence(&mut self) {
        self.fences += 1;
        self.tail = [self.tail[1], Some(self.end())];
        self.on_fence = true;
    }

    pub(super) const fn line_ends(&mut self) {
        self.on_fence = false;
    }

    /// A reasoning block was read; one at the head is left out at once and answered.
    pub(super) fn skip(&mut self, block: Range<usize>) -> Option<Range<usize>> {
        if self.is_blank() {
            self.start = block.end;
            return Some(block);
        }
        self.block = Some((self.end(), block));
        None
    }

    /// What follows may turn out to belong elsewhere.
    pub(super) fn doubt(&mut self) {
        let end = self.end();
        self.doubt.get_or_insert(end);
    }

    /// What is known to be of its text, wherever it ends.
    pub(super) fn settled(&self) -> Range<usize> {
        let Some(ink) = self.ink.clone() else { return self.start..self.start };
        let tail = self.tail[0].or(self.tail[1]);
        let block = self.block.as_ref().map(|(end, _)| *end);
        let limits = [tail, block, self.doubt].into_iter().flatten();
        ink.start..limits.fold(ink.end, usize::min).max(ink.start)
    }

    /// Ends it, before a header or with the text. `fenced` says whether a fence around sections was
    /// open before it, `strip` whether such fences may be left out.
    pub(super) fn close(&self, before_header: bool, fenced: bool, strip: bool) -> Closed {
        let block = self.block.as_ref().map(|(_, block)| block.clone());
        let Some(ink) = self.ink.clone() else {
            return Closed { body: self.start..self.start, block, fenced };
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
        Closed { body: ink.start..end.max(ink.start), block, fenced: open }
    }
}
