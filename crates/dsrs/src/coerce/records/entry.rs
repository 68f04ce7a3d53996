//! One line of `key: value`, in many forms.

/// The longest key, in bytes and in words.
const KEY_LIMIT: usize = 60;
const WORD_LIMIT: usize = 6;

/// A key and the position of its value in the line.
pub(super) struct KeyLine<'t> {
    pub(super) key: &'t str,
    pub(super) value: usize,
}

/// The key and value of a line, without emphasis and quotes around the key.
pub(super) fn of(line: &str) -> Option<KeyLine<'_>> {
    let start = line.len() - line.trim_start().len();
    let body = line.get(start..)?;
    let near = floor(body, KEY_LIMIT);
    let mut colons = near.char_indices().filter(|(_, c)| matches!(c, ':' | '=' | '：'));
    let (at, len) = colons.find_map(|(at, c)| Some((at, colon_len(body, at, c)?)))?;
    let key = body.get(..at)?.trim_matches(['*', '_', '`', ' ', '\t']);
    let key = unquoted(key);
    let behind = body.get(at + len..)?;
    // `**Name:** Ann`
    let marks = behind.len() - behind.trim_start_matches(['*', '_']).len();
    let marks = if body.starts_with(['*', '_']) { marks } else { 0 };
    let value = behind.get(marks..)?;
    let blanks = value.len() - value.trim_start_matches([' ', '\t']).len();
    is_key(key).then_some(KeyLine { key, value: start + at + len + marks + blanks })
}

/// The length of the separator between key and value: a colon that is not part of a time or
/// address, or an equals sign after a single word.
fn colon_len(body: &str, at: usize, c: char) -> Option<usize> {
    let before = body.get(..at)?.trim_end();
    let behind = body.get(at + c.len_utf8()..)?;
    let apart = behind.is_empty() || behind.starts_with([' ', '\t', '\r', '\n', '*', '_']);
    let word = !before.is_empty() && !before.contains(|c: char| !(c.is_alphanumeric() || c == '_'));
    let named = word && !before.bytes().all(|byte| byte.is_ascii_digit());
    match c {
        ':' if apart || (named && !behind.starts_with(['/', ':', '='])) => Some(1),
        ':' if behind.starts_with("= ") => Some(2),
        '：' => Some(c.len_utf8()),
        '=' if named && behind.starts_with("> ") => Some(2),
        '=' if named && !behind.starts_with('=') => Some(1),
        _ => None,
    }
}

fn unquoted(key: &str) -> &str {
    let inside = |quote| key.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(key)
}

fn is_key(key: &str) -> bool {
    let starts = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '@');
    let foreign =
        |c: char| matches!(c, ',' | '"' | '{' | '}' | '[' | ']' | '<' | '>' | '|' | '!' | '?');
    key.starts_with(starts)
        && !key.contains(foreign)
        && !key.contains(". ")
        && key.split_whitespace().count() <= WORD_LIMIT
}

/// The beginning of a text, cut between characters.
fn floor(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or(0)).unwrap_or_default()
}
