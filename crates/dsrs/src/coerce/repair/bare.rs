//! Values without quotes: numbers, words, phrases. The difficulty is to find their ends.

use super::super::loose::{Loose, LooseShape};
use super::super::{Leniencies, LeniencyKind};
use super::cursor::{blank_len, past_blanks, past_comment};
use super::{Parser, ValuePosition};

/// The longest distance between paired brackets inside a phrase.
const PAIR_LIMIT: usize = 120;
/// The longest number or JSON word that is distinguished from a phrase.
const SCALAR_LIMIT: usize = 40;

/// A text as it is.
pub(super) fn plain(text: &str) -> Loose<'_> {
    Loose { source: text, shape: LooseShape::Bare(text), leniencies: Leniencies::NONE }
}

impl<'t> Parser<'t> {
    /// The value without quotes at this position.
    pub(super) fn bare(&mut self, place: ValuePosition) -> Option<Loose<'t>> {
        let start = self.at;
        let end = match self.token_end(place) {
            Some(end) => end,
            None => self.phrase_end(place),
        };
        let text = self.cut(start, end).trim_end_matches(super::cursor::is_blank);
        self.at = start + text.len();
        let mut found = plain(text);
        match kind_of(text) {
            BareKind::Json => {}
            BareKind::Python => self.add_leniency(&mut found.leniencies, LeniencyKind::Python)?,
            BareKind::Other => self.add_leniency(&mut found.leniencies, LeniencyKind::Unquoted)?,
        }
        Some(found)
    }

    /// The end of a single number or JSON word that is clearly the whole value.
    fn token_end(&self, place: ValuePosition) -> Option<usize> {
        let rest = self.bytes.get(self.at..)?;
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.');
        let len = rest.iter().position(|byte| !is_part(byte))?;
        let end = self.at + len;
        let clear = match (place, rest.get(len)?) {
            (ValuePosition::Member, b'}') | (ValuePosition::Element, b',' | b']') => true,
            (ValuePosition::Member, b',') => {
                !self.bytes.get(end + 1)?.is_ascii_digit() && self.is_member_end(end + 1)
            }
            _ => false,
        };
        (clear && is_json(self.cut(self.at, end))).then_some(end)
    }

    fn phrase_end(&self, place: ValuePosition) -> usize {
        let mut at = self.at;
        while let Some(byte) = self.bytes.get(at) {
            let ends = match byte {
                b',' => place == ValuePosition::Element || self.ends_at_comma(at),
                b';' => place == ValuePosition::Element || self.is_member_end(at + 1),
                b'}' | b']' => true,
                b')' => self.open.closed_by(b')') > 0,
                b'\n' => place == ValuePosition::Element || self.ends_with_line(at),
                b'#' | b'/' => at > self.at && self.is_comment(at),
                b' ' | b'\t' => self.is_followed_by_another(at, place),
                _ => false,
            };
            if ends {
                break;
            }
            at = match byte {
                b'(' | b'[' | b'{' => self.pair_end(at).unwrap_or(at + 1),
                b'\n' => past_blanks(self.text, at),
                _ => at + 1,
            };
        }
        at.max(self.at + 1).min(self.bytes.len())
    }

    /// Whether a comma after a member's value ends it: a key follows, or the value is complete and
    /// not the first group of `1,200`.
    fn ends_at_comma(&self, at: usize) -> bool {
        let next = self.bytes.get(past_blanks(self.text, at + 1));
        let complete = || is_scalar(self.cut(self.at, at).trim_end());
        self.is_member_end(at + 1) || (!next.is_some_and(u8::is_ascii_digit) && complete())
    }

    /// Whether a comment starts here, after a blank: `C#` and `http://` contain none.
    fn is_comment(&self, at: usize) -> bool {
        let behind_blank = self.bytes.get(at - 1).is_some_and(u8::is_ascii_whitespace);
        let before = self.cut(self.at, at).trim_end();
        let hash = is_scalar(before) || self.bytes.get(at + 1).is_none_or(u8::is_ascii_whitespace);
        behind_blank && past_comment(self.text, at, hash).is_some()
    }

    /// Whether the value ends with this line.
    fn ends_with_line(&self, at: usize) -> bool {
        let next = past_blanks(self.text, at);
        self.bytes.get(next).is_none_or(|byte| matches!(byte, b'}' | b']' | b',' | b'#'))
            || self.is_key_at(next)
            || self.cut(next, next + 2) == "//"
    }

    /// Whether a complete value precedes this blank and other data follows: the comma is missing.
    fn is_followed_by_another(&self, at: usize, place: ValuePosition) -> bool {
        let Some(next) = blank_len(self.text, at).map(|len| at + len) else { return false };
        match self.bytes.get(next) {
            Some(b'"' | b'\'' | b'`') if place == ValuePosition::Member => self.is_key_at(next),
            Some(b'"' | b'\'' | b'{' | b'[') => is_scalar(self.cut(self.at, at)),
            Some(b'-' | b'0'..=b'9') if place == ValuePosition::Element => {
                is_scalar(self.cut(self.at, at)) && !self.is_group_at(next)
            }
            Some(byte) if byte.is_ascii_alphanumeric() || *byte == b'_' => {
                let short = at - self.at <= SCALAR_LIMIT;
                let complete =
                    || short && !matches!(kind_of(self.cut(self.at, at)), BareKind::Other);
                place == ValuePosition::Member && self.is_key_at(next) && complete()
            }
            _ => false,
        }
    }

    /// Whether three digits are here, as the next group of `1 200`.
    fn is_group_at(&self, at: usize) -> bool {
        digits(self.bytes.get(at..).unwrap_or_default()).0.len() == 3
    }

    /// The position after the matching bracket, if it is close and on this line.
    pub(super) fn pair_end(&self, at: usize) -> Option<usize> {
        let near = self.bytes.get(at..(at + PAIR_LIMIT).min(self.bytes.len()))?;
        let mut depth = 0_usize;
        for (offset, byte) in near.iter().enumerate() {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth -= 1,
                b'\n' => return None,
                _ => {}
            }
            if depth == 0 {
                return Some(at + offset + 1);
            }
        }
        None
    }
}

/// The form of a text without quotes.
enum BareKind {
    /// A number, `true`, `false` or `null` in JSON spelling.
    Json,
    /// A Python word.
    Python,
    Other,
}

fn kind_of(text: &str) -> BareKind {
    match text {
        "True" | "False" | "None" => BareKind::Python,
        _ if is_json(text) => BareKind::Json,
        _ => BareKind::Other,
    }
}

/// Whether the beginning of a phrase is a number or JSON word. Called at every blank, so it only
/// checks short texts.
fn is_scalar(text: &str) -> bool {
    text.len() <= SCALAR_LIMIT && is_json(text)
}

/// Whether a text is a JSON number, boolean or null.
fn is_json(text: &str) -> bool {
    matches!(text, "true" | "false" | "null") || is_json_number(text.as_bytes())
}

fn is_json_number(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let (whole, rest) = digits(text);
    if whole.is_empty() || (whole.len() > 1 && whole.starts_with(b"0")) {
        return false;
    }
    let rest = match rest.split_first() {
        Some((b'.', behind)) => match digits(behind) {
            ([], _) => return false,
            (_, rest) => rest,
        },
        _ => rest,
    };
    let Some((b'e' | b'E', power)) = rest.split_first() else { return rest.is_empty() };
    let power = power.strip_prefix(b"-").or(power.strip_prefix(b"+")).unwrap_or(power);
    let (power, rest) = digits(power);
    !power.is_empty() && rest.is_empty()
}

fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    let len = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(len)
}
