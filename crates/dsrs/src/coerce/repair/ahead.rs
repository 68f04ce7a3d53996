//! Looks ahead a bounded number of bytes, to distinguish closing quotes and separating commas from
//! those inside of a text.

use super::cursor::past_blanks;
use super::{LeniencyKind, Parser, ValuePosition, quote};

/// How far the end of a key is searched.
const KEY_LIMIT: usize = 80;
/// How many comments are skipped.
const COMMENTS: usize = 2;
/// The longest such comment.
const COMMENT_LIMIT: usize = 240;

impl Parser<'_> {
    /// Whether a quote that ends here closes its string, judged by the text that follows. `inner`:
    /// a quotation inside the string is open.
    pub(super) fn may_end_at(&self, end: usize, place: ValuePosition, inner: bool) -> bool {
        if !self.allowed.has(LeniencyKind::Escape) {
            return true;
        }
        let next = self.past_space(end);
        let Some(byte) = self.bytes.get(next) else { return true };
        match (place, byte) {
            (ValuePosition::Root | ValuePosition::Key, _) => true,
            (_, b'}' | b']' | b')') => self.may_close_at(next),
            (ValuePosition::Member, b',' | b';') => self.is_member_end(next + 1),
            (ValuePosition::Member, _) => next > end && self.is_key_at(next),
            (ValuePosition::Element, b',' | b';') => !inner || self.is_element_at(next + 1),
            (ValuePosition::Element, b':') => !inner,
            (ValuePosition::Element, _) => {
                let broken = self.cut(end, next).contains('\n');
                broken || (next > end && !inner && self.is_element_at(next))
            }
        }
    }

    /// Whether brackets here can be closing ones: they match the open ones, and valid data follows.
    fn may_close_at(&self, at: usize) -> bool {
        let mut open = self.open;
        let mut at = at;
        while let Some(byte @ (b'}' | b']' | b')')) = self.bytes.get(at) {
            if open.closed_by(*byte) == 0 {
                break;
            }
            *open.of(*byte) -= 1;
            at = past_blanks(self.text, at + 1);
        }
        if open.depth() == self.open.depth() {
            // It matches no open bracket: a typo, or part of the text.
            return self.bytes.get(at) != Some(&b')');
        }
        match self.bytes.get(at) {
            None | Some(b',' | b';' | b'}' | b']' | b')') => true,
            Some(b'/' | b'#') => self.past_near_comment(at).is_some(),
            Some(byte) if open.depth() == 0 => {
                *byte != b'"' || self.bytes.get(at - 1) == Some(&b' ')
            }
            Some(_) => self.is_key_at(at) || self.is_element_at(at),
        }
    }

    /// Whether the next member or the end follows a comma.
    pub(super) fn is_member_end(&self, at: usize) -> bool {
        let next = self.past_space(at);
        match self.bytes.get(next) {
            None | Some(b'}' | b']' | b',' | b';') => true,
            Some(_) => {
                self.is_key_at(next)
                    || self.is_key_without_colon_at(next)
                    || self.unclosed_key_end(next).is_some()
                    || self.is_cut_key_at(next)
            }
        }
    }

    /// Whether a quoted key and its value follow with only blanks between them.
    pub(super) fn is_key_without_colon_at(&self, at: usize) -> bool {
        let Some(quote) = quote::at(self.text, at) else { return false };
        let Some(end) = self.quoted_key_end(at + quote.opener_len(), quote) else { return false };
        let next = past_blanks(self.text, end);
        let starts = |byte: &u8| matches!(byte, b'"' | b'{' | b'[' | b'-' | b'0'..=b'9');
        next > end && self.bytes.get(next).is_some_and(starts)
    }

    /// Whether a quoted key that starts here is cut off by the end of the text.
    fn is_cut_key_at(&self, at: usize) -> bool {
        let Some(quote) = quote::at(self.text, at) else { return false };
        let rest = self.bytes.get(at + quote.opener_len()..).unwrap_or_default();
        rest.len() < KEY_LIMIT && !rest.iter().any(|b| quote.may_close_with(*b) || *b == b'\n')
    }

    /// Whether an element other than a word starts here.
    fn is_element_at(&self, at: usize) -> bool {
        let next = self.past_space(at);
        match self.bytes.get(next) {
            None => true,
            Some(byte) => {
                matches!(byte, b'{' | b'[' | b'(' | b']' | b'}' | b'-' | b'0'..=b'9' | b',')
                    || quote::at(self.text, next).is_some()
                    || ["true", "false", "null", "None", "True", "False"]
                        .iter()
                        .any(|word| self.text.get(next..).is_some_and(|t| t.starts_with(word)))
            }
        }
    }

    /// Whether the braces contain elements instead of members: their first item is no key.
    pub(super) fn is_set_at(&self, at: usize) -> bool {
        let next = self.past_space(at);
        let end = match (self.bytes.get(next), quote::at(self.text, next)) {
            (None | Some(b'}'), _) => None,
            (Some(b'{' | b'[' | b'('), _) => return !self.is_key_at(next),
            (_, Some(quote)) => self.quoted_key_end(next + quote.opener_len(), quote),
            (Some(_), None) => self.bare_element_end(next),
        };
        let behind = end.and_then(|end| self.bytes.get(past_blanks(self.text, end)));
        matches!(behind, Some(b',' | b'}'))
    }

    fn bare_element_end(&self, at: usize) -> Option<usize> {
        let near = self.bytes.get(at..(at + KEY_LIMIT).min(self.bytes.len()))?;
        let is_end = |b: &u8| matches!(b, b',' | b'}' | b':' | b'=' | b'"' | b'\n' | b'/' | b'#');
        near.iter().position(is_end).map(|len| at + len)
    }

    /// Whether a key and its colon start here.
    pub(super) fn is_key_at(&self, at: usize) -> bool {
        let end = match quote::at(self.text, at) {
            Some(quote) => self.quoted_key_end(at + quote.opener_len(), quote),
            None => self.bare_key_end(at).map(|end| end + usize::from(self.is_stray_quote_at(end))),
        };
        end.is_some_and(|end| self.is_colon_at(past_blanks(self.text, end)))
    }

    /// Whether a quote and the colon of a key are here: the quote before the key is missing.
    pub(super) fn is_stray_quote_at(&self, at: usize) -> bool {
        self.bytes.get(at) == Some(&b'"') && self.is_colon_at(past_blanks(self.text, at + 1))
    }

    /// The end of a key in quotes that starts here, if they are not closed before its colon:
    /// `"a: 1`.
    pub(super) fn unclosed_key_end(&self, at: usize) -> Option<usize> {
        let quote = quote::at(self.text, at)?;
        let end = self.bare_key_end(at + quote.opener_len())?;
        let value = past_blanks(self.text, end + 1);
        let starts = |byte: &u8| matches!(byte, b'"' | b'\'' | b'{' | b'[' | b'-' | b'0'..=b'9');
        let is_key = self.is_colon_at(end) && self.bytes.get(value).is_some_and(starts);
        is_key.then_some(end)
    }

    fn quoted_key_end(&self, from: usize, quote: &quote::QuotePair) -> Option<usize> {
        let near = self.bytes.get(from..(from + KEY_LIMIT).min(self.bytes.len()))?;
        let offset = near.iter().position(|byte| quote.may_close_with(*byte) || *byte == b'\n')?;
        quote.close_at(self.text, from + offset)
    }

    /// The end of a key without quotes: a word, a number, a date or a tuple.
    fn bare_key_end(&self, at: usize) -> Option<usize> {
        let rest = self.text.get(at..)?;
        match rest.chars().next()? {
            '(' | '[' => return self.pair_end(at),
            '0'..='9' | '-' => return self.number_key_end(at),
            first if first.is_alphabetic() || matches!(first, '_' | '$') => {}
            _ => return None,
        }
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '.');
        let mut near = rest.char_indices().take_while(|(len, _)| *len < KEY_LIMIT);
        near.find(|(_, c)| !is_part(*c)).map(|(len, _)| at + len)
    }

    /// The end of a number or date as a key. The time `3:15` is one only among other numbers.
    fn number_key_end(&self, at: usize) -> Option<usize> {
        let near = self.bytes.get(at..(at + KEY_LIMIT).min(self.bytes.len()))?;
        let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
        let len = near.iter().position(|byte| !is_part(byte))?;
        let has_digit = near.get(..len)?.iter().any(u8::is_ascii_digit);
        let behind_colon = self.bytes.get(past_blanks(self.text, at + len) + 1);
        let is_time = behind_colon.is_some_and(u8::is_ascii_digit) && !self.number_keys;
        (has_digit && !is_time).then_some(at + len)
    }

    /// Whether a separator between key and value is here, but not the colon of `http://`.
    pub(super) fn is_colon_at(&self, at: usize) -> bool {
        let rest = self.bytes.get(at..).unwrap_or_default();
        match rest {
            [b':', b'/', b'/', ..] | [b'=', b'=', ..] => false,
            [b':' | b'=', ..] => true,
            _ => false,
        }
    }

    /// The position after the comment here. A long comment counts as the rest of the text.
    fn past_near_comment(&self, at: usize) -> Option<usize> {
        let near = self.bytes.get(at..(at + COMMENT_LIMIT).min(self.bytes.len()))?;
        let len = match near {
            [b'/', b'*', inside @ ..] => {
                inside.windows(2).position(|pair| pair == b"*/").map(|len| len + 4)
            }
            [b'/', b'/', ..] | [b'#', ..] => near.iter().position(|byte| *byte == b'\n'),
            _ => return None,
        };
        Some(len.map_or(self.bytes.len(), |len| at + len))
    }

    /// The position after blanks and a few comments.
    fn past_space(&self, at: usize) -> usize {
        let mut at = past_blanks(self.text, at);
        for _ in 0..COMMENTS {
            let Some(end) = self.past_near_comment(at) else { return at };
            at = past_blanks(self.text, end);
        }
        at
    }
}
