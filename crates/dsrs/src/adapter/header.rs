//! One header, `[[ ## name ## ]]`, at one place of a text that may still be arriving. Does not know
//! which names are requested.

use std::ops::Range;

/// The name that ends an answer.
pub(super) const COMPLETED: &str = "completed";

/// The most bytes between the brackets of a header: a name of 63 and marks around it.
const NAME_LIMIT: usize = 96;

/// The most bytes of emphasis and indentation before a header, and of emphasis after it.
const MARKS_LIMIT: usize = 48;

/// The most bytes of a header.
const LONGEST: usize = NAME_LIMIT + MARKS_LIMIT + 4;

/// The result of a match at one place of a text.
pub(super) enum ScanResult<T> {
    /// The text matches.
    Match(T),
    /// The text does not match, whatever follows.
    NoMatch,
    /// More text is needed to decide.
    Incomplete,
}

/// A header.
pub(super) struct Header {
    /// The name between its marks.
    pub(super) name: Range<usize>,
    /// The whole header, including the marks around it.
    pub(super) span: Range<usize>,
    /// Written as requested, except for spaces and the spelling of the name.
    pub(super) exact: bool,
}

impl Header {
    /// The same header, with positions moved to the right.
    pub(super) fn moved(self, by: usize) -> Self {
        let by_that = |range: Range<usize>| range.start + by..range.end + by;
        Self { name: by_that(self.name), span: by_that(self.span), exact: self.exact }
    }
}

/// The header at the start of the line that `text` begins with.
pub(super) fn at_line_start(text: &str, ended: bool) -> ScanResult<Header> {
    let near = text.as_bytes().get(..MARKS_LIMIT).unwrap_or(text.as_bytes());
    let Some(marks) = near.iter().position(|byte| !is_mark(*byte)) else {
        return if ended || near.len() == MARKS_LIMIT {
            ScanResult::NoMatch
        } else {
            ScanResult::Incomplete
        };
    };
    let (before, rest) = text.split_at(marks);
    match in_brackets(rest, ended) {
        ScanResult::Match(header) => {
            let mut header = header.moved(marks);
            header.span.start = 0;
            header.exact &= before.trim().is_empty();
            ScanResult::Match(header)
        }
        other => other,
    }
}

/// The header whose brackets `text` begins with.
pub(super) fn in_brackets(text: &str, ended: bool) -> ScanResult<Header> {
    let Some(inside) = text.strip_prefix("[[") else {
        return if !ended && text == "[" { ScanResult::Incomplete } else { ScanResult::NoMatch };
    };
    let bytes = inside.as_bytes();
    let near = bytes.get(..NAME_LIMIT).unwrap_or(bytes);
    let Some(length) = near.iter().position(|byte| matches!(byte, b']' | b'[' | b'\n')) else {
        return if ended || near.len() == NAME_LIMIT {
            ScanResult::NoMatch
        } else {
            ScanResult::Incomplete
        };
    };
    match (bytes.get(length), bytes.get(length + 1)) {
        (Some(b']'), Some(b']')) => {}
        (Some(b']'), None) if !ended => return ScanResult::Incomplete,
        _ => return ScanResult::NoMatch,
    }
    let Some((name, exact)) = inside.get(..length).and_then(name_in) else {
        return ScanResult::NoMatch;
    };
    let behind = bytes.get(length + 2..).unwrap_or_default();
    let marks = behind.iter().take(MARKS_LIMIT).take_while(|byte| is_mark_behind(**byte)).count();
    if marks == behind.len() && !ended {
        return ScanResult::Incomplete;
    }
    let name = name.start + 2..name.end + 2;
    ScanResult::Match(Header { name, span: 0..length + 4 + marks, exact: exact && marks == 0 })
}

/// The start of a header that is cut off at the end of a trimmed text, or that ends it.
pub(super) fn broken(text: &str) -> Option<usize> {
    let near = text.floor_char_boundary(text.len().saturating_sub(LONGEST));
    let tail = text.get(near..)?;
    let start = tail.rfind("[[")?;
    let rest = tail.get(start..)?;
    let hash = rest.get(2..).is_some_and(|rest| rest.trim_start().starts_with('#'));
    (hash && matches!(in_brackets(rest, false), ScanResult::Incomplete)).then_some(near + start)
}

/// Whether two names are equal except for case, spaces, `_` and `-`.
pub(super) fn same(one: &str, other: &str) -> bool {
    one == other || letters(one).eq(letters(other))
}

/// Whether a name begins with a text, compared like in [`same`].
pub(super) fn begins(name: &str, text: &str) -> bool {
    let mut name = letters(name);
    letters(text).all(|letter| name.next() == Some(letter))
}

/// Whether a text may be a name: letters and digits of any script, `_`, `-` and single spaces.
pub(super) fn is_name(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '))
}

fn letters(name: &str) -> impl Iterator<Item = char> {
    let bare = name.chars().filter(|c| !matches!(c, ' ' | '_' | '-'));
    bare.flat_map(char::to_lowercase)
}

/// The name between brackets, and whether only spaces and hashes surround it on both sides.
fn name_in(inside: &str) -> Option<(Range<usize>, bool)> {
    let asked = |c: char| matches!(c, ' ' | '\t' | '#');
    let around = |c: char| asked(c) || matches!(c, '*' | '`' | ':' | '"');
    let start = inside.len() - inside.trim_start_matches(around).len();
    let name = inside.trim_matches(around);
    let trimmed = inside.trim();
    let (opened, closed) = (trimmed.starts_with('#'), trimmed.ends_with('#'));
    let exact = opened && closed && inside.trim_matches(asked) == name;
    ((opened || closed) && is_name(name)).then(|| (start..start + name.len(), exact))
}

const fn is_mark(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'#' | b'*' | b'>' | b'`' | b'_' | b'-')
}

const fn is_mark_behind(byte: u8) -> bool {
    matches!(byte, b'#' | b'*' | b'`' | b'_' | b':')
}
