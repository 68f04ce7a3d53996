//! Items separated by line breaks, semicolons, bars, commas or `and`.

use super::super::{Leniencies, LeniencyKind};
use super::parts::parts_at;

/// The separators, most reliable first.
const SEPARATORS: &[&[char]] = &[&[';'], &['|'], &['•', '·'], &[',']];

/// The items of a text and the leniencies needed. `None` if the text is a single item.
pub(super) fn split(text: &str, numbers: bool) -> Option<(Vec<&str>, Leniencies)> {
    if is_in_brackets(text) {
        return None;
    }
    let mut leniencies = Leniencies::NONE.with(LeniencyKind::Separated);
    let listed = without_introduction(text);
    if listed.len() < text.len() {
        leniencies = leniencies.with(LeniencyKind::Prose);
    }
    let mut parts = parts_of(listed, numbers)?;
    if parts.last().is_some_and(|last| last.is_empty()) {
        parts.pop();
    }
    if parts.iter().any(|part| part.is_empty()) {
        leniencies = leniencies.with(LeniencyKind::Punctuation);
        parts.retain(|part| !part.is_empty());
    }
    without_full_stop(&mut parts);
    (!parts.is_empty()).then_some((parts, leniencies))
}

/// Whether a text is data in brackets.
fn is_in_brackets(text: &str) -> bool {
    [('[', ']'), ('{', '}'), ('(', ')')]
        .iter()
        .any(|(opener, closer)| text.starts_with(*opener) && text.ends_with(*closer))
}

fn parts_of(text: &str, numbers: bool) -> Option<Vec<&str>> {
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.as_slice() {
        [] => None,
        [_] => in_a_line(text, numbers),
        _ if numbers => Some(lines.iter().flat_map(|line| numbers_in(line)).collect()),
        _ => Some(lines_that_are_items(&lines).unwrap_or_else(|| {
            lines.iter().flat_map(|line| parts_at(without_comma(line), &[','])).collect()
        })),
    }
}

/// Lines as items without trailing commas. `None` if a line has several items.
fn lines_that_are_items<'t>(lines: &[&'t str]) -> Option<Vec<&'t str>> {
    let commas = lines.iter().filter(|line| line.ends_with(',')).count();
    let several = || lines.iter().any(|line| parts_at(without_comma(line), &[',']).len() > 1);
    (commas == 0 || !several()).then(|| lines.iter().map(|line| without_comma(line)).collect())
}

fn without_comma(line: &str) -> &str {
    line.strip_suffix(',').unwrap_or(line).trim_end()
}

fn numbers_in(line: &str) -> Vec<&str> {
    let line = line.strip_suffix([',', ';']).unwrap_or(line);
    in_a_line(line, true).unwrap_or_else(|| vec![line])
}

fn in_a_line(text: &str, numbers: bool) -> Option<Vec<&str>> {
    for separators in SEPARATORS {
        let parts = parts_at(text, separators);
        if parts.len() > 1 {
            return ended_by_and(parts);
        }
    }
    at_and(text).or_else(|| if numbers { at_blanks(text) } else { None })
}

/// The last of several items may follow or contain `and`. With `or` it is no list.
fn ended_by_and(mut parts: Vec<&str>) -> Option<Vec<&str>> {
    let last = parts.pop()?;
    if word_at(last, "or").is_some() || last.starts_with("or ") {
        return None;
    }
    let tail = last.strip_prefix("and ").or_else(|| last.strip_prefix("& "));
    match tail {
        Some(tail) => parts.push(tail.trim()),
        None => match word_at(last, "and") {
            Some((one, other)) => parts.extend([one, other]),
            None => parts.push(last),
        },
    }
    Some(parts)
}

/// Two items joined by `and`.
fn at_and(text: &str) -> Option<Vec<&str>> {
    let (one, other) = word_at(text, "and")?;
    (word_at(other, "and").is_none() && word_at(text, "or").is_none()).then(|| vec![one, other])
}

/// The text before and after the first occurrence of a word outside quotes and brackets.
fn word_at<'t>(text: &'t str, word: &str) -> Option<(&'t str, &'t str)> {
    let is_plain = !text.starts_with(['"', '\'', '“', '(', '[', '{']);
    let at = text.match_indices(word).map(|(at, _)| at).find(|at| {
        let blank = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_whitespace);
        let before = at.checked_sub(1).and_then(|at| text.as_bytes().get(at));
        blank(before) && blank(text.as_bytes().get(at + word.len()))
    })?;
    let behind = text.get(at + word.len()..)?.trim();
    let before = text.get(..at)?.trim();
    (is_plain || closes(before)).then_some((before, behind))
}

/// Whether a text that starts with a quote or bracket ends with its partner.
fn closes(text: &str) -> bool {
    text.len() > 1 && text.ends_with(['"', '\'', '”', ')', ']', '}'])
}

/// Numbers separated by blanks, unless the blanks group digits.
fn at_blanks(text: &str) -> Option<Vec<&str>> {
    let parts: Vec<_> = text.split_whitespace().collect();
    let is_number = |part: &&str| {
        part.contains(|c: char| c.is_numeric()) && !part.contains(|c: char| c.is_alphabetic())
    };
    let (_, rest) = parts.split_first()?;
    let grouped = rest.iter().all(|part| part.len() == 3);
    (!grouped && parts.iter().all(is_number)).then_some(parts)
}

/// The text after an introduction with a colon, as in `The colours: red, green`. The whole text if
/// it has more colons, as between keys and values.
fn without_introduction(text: &str) -> &str {
    let Some((first, rest)) = text.split_once(':') else { return text };
    let sets_apart = rest.starts_with([' ', '\n', '\r']) && !rest.trim().is_empty();
    let lists = first.contains([',', ';', '\n', '|', '"', '\'']) || rest.contains(':');
    if sets_apart && !lists { rest.trim() } else { text }
}

/// Removes the full stop after the last item unless it belongs to an abbreviation.
fn without_full_stop(parts: &mut [&str]) {
    if let Some((last, rest)) = parts.split_last_mut()
        && let Some(bare) = last.strip_suffix('.')
        && !bare.is_empty()
        && !bare.contains('.')
        && !rest.iter().any(|part| part.ends_with('.'))
    {
        *last = bare;
    }
}
