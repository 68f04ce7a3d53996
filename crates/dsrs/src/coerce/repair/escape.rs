//! Decodes escapes in quoted strings. An invalid JSON escape stays as written or gets its usual
//! meaning, and is reported.

use std::borrow::Cow;

/// The text without escapes, and whether all of them are valid JSON. `json`: `\'` is invalid.
pub(super) fn undo(raw: &str, json: bool) -> (Cow<'_, str>, bool) {
    let mut text = String::with_capacity(raw.len());
    let mut clean = true;
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        text.push_str(before);
        let (meaning, len) = one(escape);
        match meaning {
            EscapeMeaning::Char(c) => text.push(c),
            EscapeMeaning::Quote(c) => {
                text.push(c);
                clean &= !json;
            }
            EscapeMeaning::Foreign(c) => {
                text.extend(c);
                clean = false;
            }
            EscapeMeaning::None => {
                text.push_str(escape.get(..len).unwrap_or_default());
                clean = false;
            }
        }
        rest = escape.get(len..).unwrap_or_default();
    }
    text.push_str(rest);
    (Cow::Owned(text), clean)
}

enum EscapeMeaning {
    /// A JSON escape.
    Char(char),
    /// A quote that JSON does not escape.
    Quote(char),
    /// An escape of another language, or half of a surrogate pair.
    Foreign(Option<char>),
    /// No escape: stays as written.
    None,
}

/// The meaning and length of the escape at the beginning of a text.
fn one(escape: &str) -> (EscapeMeaning, usize) {
    let Some(letter) = escape.chars().nth(1) else { return (EscapeMeaning::None, escape.len()) };
    let meaning = match letter {
        '"' | '\\' | '/' => EscapeMeaning::Char(letter),
        'n' => EscapeMeaning::Char('\n'),
        't' => EscapeMeaning::Char('\t'),
        'r' => EscapeMeaning::Char('\r'),
        'b' => EscapeMeaning::Char('\u{8}'),
        'f' => EscapeMeaning::Char('\u{c}'),
        '\'' | '`' => EscapeMeaning::Quote(letter),
        '\n' => EscapeMeaning::Foreign(None),
        'x' => match hex(escape, 2, 2).and_then(char::from_u32) {
            Some(c) => return (EscapeMeaning::Foreign(Some(c)), 4),
            None => EscapeMeaning::None,
        },
        'u' => return unicode(escape),
        _ => EscapeMeaning::None,
    };
    (meaning, 1 + letter.len_utf8())
}

/// `\uXXXX`, or a surrogate pair.
fn unicode(escape: &str) -> (EscapeMeaning, usize) {
    let Some(high) = hex(escape, 2, 4) else { return (EscapeMeaning::None, 2) };
    if let Some(c) = char::from_u32(high) {
        return (EscapeMeaning::Char(c), 6);
    }
    let low = escape.get(6..8).filter(|next| *next == "\\u").and_then(|_| hex(escape, 8, 4));
    match low {
        Some(low @ 0xdc00..0xe000) if high < 0xdc00 => {
            let c = char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00));
            (EscapeMeaning::Char(c.unwrap_or(char::REPLACEMENT_CHARACTER)), 12)
        }
        _ => (EscapeMeaning::Foreign(Some(char::REPLACEMENT_CHARACTER)), 6),
    }
}

fn hex(escape: &str, from: usize, len: usize) -> Option<u32> {
    let digits = escape.get(from..from + len)?;
    let all = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    all.then(|| u32::from_str_radix(digits, 16).ok())?
}
