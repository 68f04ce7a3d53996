//! The position of the parser, and skipping of blanks and comments.

use super::super::{Leniencies, LeniencyKind};
use super::Parser;

/// Blanks, and the zero-width characters that come with copied text.
pub(in crate::coerce) fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}' | '\u{2060}')
}

/// The length of the blank at a position, if there is one.
pub(super) fn blank_len(text: &str, at: usize) -> Option<usize> {
    match *text.as_bytes().get(at)? {
        b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => Some(1),
        0..=0x7f => None,
        _ => text.get(at..)?.chars().next().filter(|c| is_blank(*c)).map(char::len_utf8),
    }
}

/// The position after the blanks at a position.
pub(super) fn past_blanks(text: &str, mut at: usize) -> usize {
    while let Some(len) = blank_len(text, at) {
        at += len;
    }
    at
}

/// The position after the comment that starts at a position. `hash`: `#` starts a comment.
pub(super) fn past_comment(text: &str, at: usize, hash: bool) -> Option<usize> {
    let rest = text.as_bytes().get(at..)?;
    let line = || rest.iter().position(|byte| *byte == b'\n').map_or(text.len(), |len| at + len);
    match rest {
        [b'/', b'/', ..] => Some(line()),
        [b'#', ..] if hash => Some(line()),
        [b'/', b'*', inside @ ..] => {
            let len = inside.windows(2).position(|pair| pair == b"*/");
            Some(len.map_or(text.len(), |len| at + 2 + len + 2))
        }
        _ => None,
    }
}

impl<'t> Parser<'t> {
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// The text between two positions.
    pub(super) fn cut(&self, from: usize, to: usize) -> &'t str {
        self.text.get(from..to).unwrap_or_default()
    }

    /// Skips blanks and comments.
    pub(super) fn space(&mut self, leniencies: &mut Leniencies) -> Option<()> {
        loop {
            self.at = past_blanks(self.text, self.at);
            match self.peek() {
                Some(b'/' | b'#') => match past_comment(self.text, self.at, self.is_hash_comment())
                {
                    Some(end) => {
                        self.add_leniency(leniencies, LeniencyKind::Comment)?;
                        self.at = end;
                    }
                    None => return Some(()),
                },
                _ => return Some(()),
            }
        }
    }

    /// Whether `#` before a key, value or comma starts a comment and not a value such as `#1` or
    /// `#fff`: a blank follows it, or the rest of its line does not look like a list.
    fn is_hash_comment(&self) -> bool {
        const LINE_LIMIT: usize = 120;
        let rest = self.bytes.get(self.at + 1..).unwrap_or_default();
        if !rest.first().is_some_and(u8::is_ascii_alphanumeric) {
            return true;
        }
        let line = rest.iter().take(LINE_LIMIT).take_while(|byte| **byte != b'\n');
        let before = self.bytes.get(..self.at).unwrap_or_default();
        let leads = before.iter().rev().find(|byte| !matches!(byte, b' ' | b'\t'));
        let is_value = leads.is_some_and(|byte| matches!(byte, b':' | b'=' | b'>'))
            || line.clone().any(|byte| matches!(byte, b',' | b']' | b'}' | b')'))
            || (leads == Some(&b'\n') && self.open.closed_by(b']') > 0);
        !is_value
    }
}
