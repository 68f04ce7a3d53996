//! Balanced objects and lists in a text, found in one pass with a stack of opening brackets.

use std::ops::Range;

/// The matching brackets of a text.
pub(super) struct Regions {
    /// The outermost pairs, in order.
    pub(super) balanced: Vec<Range<usize>>,
    /// The first opening bracket without a closing one.
    pub(super) unclosed: Option<usize>,
}

/// Finds the regions of a text. Quotes count only inside brackets and only in pairs on a line.
pub(super) fn of(text: &str) -> Regions {
    let bytes = text.as_bytes();
    let mut stack = Stack::default();
    // Quotes before this position have no partner.
    let mut barren = 0;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' => stack.open(at, b'}'),
            b'[' => stack.open(at, b']'),
            b'}' | b']' => stack.close(at, *byte),
            b'"' if at >= barren && !stack.open.is_empty() => match quoted_end(bytes, at) {
                Ok(end) => at = end,
                Err(end) => barren = end,
            },
            _ => {}
        }
        at += 1;
    }
    stack.finish(text)
}

/// The closing quote of the string that starts here, if it is in the same line; else the end of the
/// line.
fn quoted_end(bytes: &[u8], start: usize) -> Result<usize, usize> {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return Ok(at),
            b'\n' => return Err(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    Err(at)
}

#[derive(Default)]
struct Stack {
    open: Vec<(usize, u8)>,
    braces: usize,
    brackets: usize,
    balanced: Vec<Range<usize>>,
}

impl Stack {
    fn count(&mut self, closer: u8) -> &mut usize {
        if closer == b'}' { &mut self.braces } else { &mut self.brackets }
    }

    fn open(&mut self, at: usize, closer: u8) {
        self.open.push((at, closer));
        *self.count(closer) += 1;
    }

    /// Closes the nearest opening bracket of this kind and drops those of another kind inside it.
    fn close(&mut self, at: usize, closer: u8) {
        if *self.count(closer) == 0 {
            return;
        }
        while let Some((start, kind)) = self.open.pop() {
            *self.count(kind) -= 1;
            if kind == closer {
                while self.balanced.last().is_some_and(|inner| inner.start > start) {
                    self.balanced.pop();
                }
                self.balanced.push(start..at + 1);
                return;
            }
        }
    }

    /// An unclosed bracket that clearly opens an object owns all text after it.
    fn finish(mut self, text: &str) -> Regions {
        let unclosed = self.open.iter().map(|(start, _)| *start);
        let object = unclosed.clone().find(|start| opens_object(text, *start));
        if let Some(start) = object {
            self.balanced.retain(|region| region.end <= start);
        }
        Regions { unclosed: object.or(unclosed.clone().next()), balanced: self.balanced }
    }
}

fn opens_object(text: &str, start: usize) -> bool {
    let rest = text.get(start..).unwrap_or_default();
    let inside = rest.strip_prefix('{').map(str::trim_start);
    inside.is_some_and(|inside| inside.starts_with(['"', '\'']))
}
