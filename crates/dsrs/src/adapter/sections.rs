//! Header lines in an answer: where sections start and end. Knows the layout and nothing of types.

use std::ops::Range;

/// The name that ends an answer.
pub(super) const COMPLETED: &str = "completed";

/// The most bytes between the brackets of a header: a name of 63 and marks around it.
const HEADER_LIMIT: usize = 96;

/// A header found in a text.
struct Header<'t> {
    name: &'t str,
    /// All that belongs to it, marks around it included.
    span: Range<usize>,
}

/// The sections by the names in their headers; the first of a name counts.
pub(super) fn by_header(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for (name, content) in split(text, &line_headers(text)) {
        if !found.iter().any(|(known, _)| known == name) {
            found.push((name.to_owned(), content.to_owned()));
        }
    }
    found
}

/// The sections whose headers stand at the beginning of a line, in order, repeated ones included,
/// with the text before the first of them.
pub(super) fn strict(text: &str) -> (&str, Vec<(&str, &str)>) {
    let headers = line_headers(text);
    let before = headers.first().map_or(text, |first| text.get(..first.span.start).unwrap_or(""));
    (before.trim(), split(text, &headers))
}

/// The sections of known names whose headers stand anywhere in a line, or are worn down to a
/// heading or a label (`## name`, `**name:**`, `name: …`).
pub(super) fn loose<'t>(text: &'t str, known: &[&str]) -> Vec<(&'t str, &'t str)> {
    let mut headers: Vec<Header<'t>> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let before = headers.len();
        let anywhere = line.match_indices("[[").filter_map(|(start, _)| header(line, start));
        headers.extend(anywhere.filter(|h| is_known(h.name, known)).map(|h| h.moved(at)));
        if headers.len() == before {
            headers.extend(label(line).filter(|h| is_known(h.name, known)).map(|h| h.moved(at)));
        }
        at += line.len();
    }
    split(text, &headers)
}

/// Whether two names are the same but for case.
pub(super) fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

fn is_known(name: &str, known: &[&str]) -> bool {
    same(name, COMPLETED) || known.iter().any(|other| same(name, other))
}

fn split<'t>(text: &'t str, headers: &[Header<'t>]) -> Vec<(&'t str, &'t str)> {
    let ends = headers.iter().skip(1).map(|next| next.span.start).chain([text.len()]);
    headers
        .iter()
        .zip(ends)
        .take_while(|(header, _)| !same(header.name, COMPLETED))
        .map(|(header, end)| (header.name, content(text.get(header.span.end..end).unwrap_or(""))))
        .collect()
}

/// A section's text without the end mark at its end, which models like to put on the last line.
fn content(text: &str) -> &str {
    let text = text.trim();
    let Some(start) = text.rfind("[[") else { return text };
    match header(text, start) {
        Some(mark) if same(mark.name, COMPLETED) && mark.span.end == text.len() => {
            text.get(..mark.span.start).unwrap_or(text).trim()
        }
        _ => text,
    }
}

/// A text without the end mark at its end, and without layout otherwise.
pub(super) fn without_end(text: &str) -> &str {
    content(text)
}

fn line_headers(text: &str) -> Vec<Header<'_>> {
    let mut headers = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let indent =
            line.len() - line.trim_start_matches([' ', '\t', '#', '*', '>', '`', '_']).len();
        headers.extend(header(line, indent).map(|found| found.moved(at)));
        at += line.len();
    }
    headers
}

/// The header that opens at `start`: `[[ ## name ## ]]`, spaces and hash signs as they like, with
/// marks of emphasis around it.
fn header(line: &str, start: usize) -> Option<Header<'_>> {
    let inside = line.get(start..)?.strip_prefix("[[")?;
    let near = inside.as_bytes().get(..HEADER_LIMIT.min(inside.len()))?;
    let inside = inside.get(..near.windows(2).position(|pair| pair == b"]]")?)?;
    let name = inside.trim_matches([' ', '\t', '#', '*', '`', ':']);
    let hashed = inside.trim().starts_with('#') || inside.trim().ends_with('#');
    if name.is_empty() || !hashed || !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let close = start + 2 + inside.len() + 2;
    let rest = line.get(close..)?;
    let marks = rest.len() - rest.trim_start_matches(['*', '`', '_', '#', ':']).len();
    let opening = line.get(..start)?.trim_end_matches(['*', '`', '_', '#', '>', ' ', '\t']).len();
    Some(Header { name, span: opening..close + marks })
}

/// A line that is a heading of a name, or starts with `name:`.
fn label(line: &str) -> Option<Header<'_>> {
    let marks: &[char] = &[' ', '\t', '#', '*', '`', '_', '-', '>'];
    let start = line.len() - line.trim_start_matches(marks).len();
    let body = line.get(start..)?;
    let length = body.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(body.len());
    let name = body.get(..length)?.trim_end_matches('_');
    let rest = body.get(name.len()..)?;
    let trailing = rest.len() - rest.trim_start_matches(['*', '`', '_', ' ', ':', '#']).len();
    let has_colon = rest.get(..trailing)?.contains(':');
    let is_heading =
        line.trim_start().starts_with(['#', '*']) && rest.trim_matches(marks).is_empty();
    (!name.is_empty() && (has_colon || is_heading))
        .then(|| Header { name, span: 0..start + name.len() + trailing })
}

impl Header<'_> {
    fn moved(mut self, by: usize) -> Self {
        self.span = self.span.start + by..self.span.end + by;
        self
    }
}
