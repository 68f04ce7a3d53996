//! Escapes in quoted texts, undone. What is no escape of JSON's keeps its spelling, or gets the
//! meaning that it has elsewhere, and is told.

use std::borrow::Cow;

/// The text without escapes, and whether all of them are JSON's. `json`: whether `\'` is none.
pub(super) fn undo(raw: &str, json: bool) -> (Cow<'_, str>, bool) {
    let mut text = String::with_capacity(raw.len());
    let mut clean = true;
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        text.push_str(before);
        let (meaning, len) = one(escape);
        match meaning {
            Meaning::Char(c) => text.push(c),
            Meaning::Quote(c) => {
                text.push(c);
                clean &= !json;
            }
            Meaning::Foreign(c) => {
                text.extend(c);
                clean = false;
            }
            Meaning::None => {
                text.push_str(escape.get(..len).unwrap_or_default());
                clean = false;
            }
        }
        rest = escape.get(len..).unwrap_or_default();
    }
    text.push_str(rest);
    (Cow::Owned(text), clean)
}

enum Meaning {
    /// An escape of JSON's.
    Char(char),
    /// A quote that needs no escape in JSON.
    Quote(char),
    /// An escape of another language's, or half of a character.
    Foreign(Option<char>),
    /// No escape: kept as spelled.
    None,
}

/// What the escape at the beginning of a text means, and its length.
fn one(escape: &str) -> (Meaning, usize) {
    let Some(letter) = escape.chars().nth(1) else { return (Meaning::None, escape.len()) };
    let meaning = match letter {
        '"' | '\\' | '/' => Meaning::Char(letter),
        'n' => Meaning::Char('\n'),
        't' => Meaning::Char('\t'),
        'r' => Meaning::Char('\r'),
        'b' => Meaning::Char('\u{8}'),
        'f' => Meaning::Char('\u{c}'),
        '\'' | '`' => Meaning::Quote(letter),
        '\n' => Meaning::Foreign(None),
        'x' => match hex(escape, 2, 2).and_then(char::from_u32) {
            Some(c) => return (Meaning::Foreign(Some(c)), 4),
            None => Meaning::None,
        },
        'u' => return unicode(escape),
        _ => Meaning::None,
    };
    (meaning, 1 + letter.len_utf8())
}

/// `\uXXXX`, or two of them for one character.
fn unicode(escape: &str) -> (Meaning, usize) {
    let Some(high) = hex(escape, 2, 4) else { return (Meaning::None, 2) };
    if let Some(c) = char::from_u32(high) {
        return (Meaning::Char(c), 6);
    }
    let low = escape.get(6..8).filter(|next| *next == "\\u").and_then(|_| hex(escape, 8, 4));
    match low {
        Some(low @ 0xdc00..0xe000) if high < 0xdc00 => {
            let c = char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00));
            (Meaning::Char(c.unwrap_or(char::REPLACEMENT_CHARACTER)), 12)
        }
        _ => (Meaning::Foreign(Some(char::REPLACEMENT_CHARACTER)), 6),
    }
}

fn hex(escape: &str, from: usize, len: usize) -> Option<u32> {
    let digits = escape.get(from..from + len)?;
    let all = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    all.then(|| u32::from_str_radix(digits, 16).ok())?
}
