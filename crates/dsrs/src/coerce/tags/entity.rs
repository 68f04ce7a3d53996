//! Decodes XML entities.

use std::borrow::Cow;

/// The longest entity.
const LIMIT: usize = 10;

/// The text with its entities decoded. Invalid entities stay as written.
pub(super) fn undo(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut undone = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        undone.push_str(before);
        match one(behind) {
            Some((c, len)) => {
                undone.push(c);
                rest = behind.get(len..).unwrap_or_default();
            }
            None => {
                undone.push('&');
                rest = behind;
            }
        }
    }
    undone.push_str(rest);
    Cow::Owned(undone)
}

/// The character of an entity without its `&`, and the length of that.
fn one(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(LIMIT).position(|byte| byte == b';')?;
    let name = text.get(..end)?;
    let c = match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)?
        }
    };
    Some((c, end + 1))
}
