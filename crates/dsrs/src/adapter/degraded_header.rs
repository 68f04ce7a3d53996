//! Degraded headers: `[ ## name ## ]`, `## name`, `**name:** …`, `name: …`, and complete headers
//! inside of a line. They count only for outputs without a header in the requested form. Does not
//! know types.

use std::ops::Range;

use super::header::{self as exact_header, ScanResult, is_name};
use super::outputs::{HeaderTarget, Outputs};

/// How many bytes of a line are searched for a degraded header.
const REACH: usize = 160;

/// A degraded header in a text.
pub(super) struct DegradedHeader {
    pub(super) target: HeaderTarget,
    pub(super) span: Range<usize>,
    /// Its indentation, if only a colon makes it a header.
    indent: Option<usize>,
}

/// The degraded headers in a text, each name once, up to an end mark. `begins_line`: the text
/// begins like a line.
pub(super) fn find(
    text: &str,
    outputs: &Outputs,
    missing: &mut [bool],
    begins_line: bool,
) -> Vec<DegradedHeader> {
    let mut headers: Vec<DegradedHeader> = Vec::new();
    let mut depth = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        for mut header in in_line(line, outputs, missing, begins_line || at > 0) {
            if header.indent.is_some_and(|indent| indent > depth.unwrap_or(indent)) {
                continue;
            }
            depth = depth.or(header.indent);
            header.span = header.span.start + at..header.span.end + at;
            take(header.target, missing);
            let ends = matches!(header.target, HeaderTarget::End(_));
            headers.push(header);
            if ends {
                return headers;
            }
        }
        at += line.len();
    }
    headers
}

/// Complete headers anywhere in a line, else a degraded one at its start.
fn in_line(
    line: &str,
    outputs: &Outputs,
    missing: &[bool],
    begins_line: bool,
) -> Vec<DegradedHeader> {
    let mut open = missing.to_vec();
    let mut headers = Vec::new();
    for (start, _) in line.match_indices("[[") {
        let Some(rest) = line.get(start..) else { continue };
        let ScanResult::Match(header) = exact_header::in_brackets(rest, true) else { continue };
        let named = outputs.resolve(rest.get(header.name.clone()).unwrap_or_default());
        if is_open(named, outputs, &open) {
            take(named, &mut open);
            let span = start..start + header.span.end;
            headers.push(DegradedHeader { target: named, span, indent: None });
        }
    }
    if headers.is_empty()
        && begins_line
        && let ScanResult::Match(header) =
            at_line_start(line, outputs, &|named| is_open(named, outputs, missing), true)
    {
        headers.push(header);
    }
    headers
}

fn take(named: HeaderTarget, missing: &mut [bool]) {
    if let HeaderTarget::Output(index, _) = named
        && let Some(one) = missing.get_mut(index)
    {
        *one = false;
    }
}

/// Whether a name is still missing. An end mark counts only if no required output is missing.
fn is_open(named: HeaderTarget, outputs: &Outputs, missing: &[bool]) -> bool {
    match named {
        HeaderTarget::Output(index, _) => missing.get(index) == Some(&true),
        HeaderTarget::End(_) => {
            !outputs.iter().zip(missing).any(|(output, missing)| output.required && *missing)
        }
        HeaderTarget::Unknown => false,
    }
}

/// A degraded header with a wanted name at the start of a line.
pub(super) fn at_line_start(
    text: &str,
    outputs: &Outputs,
    wanted: &dyn Fn(HeaderTarget) -> bool,
    ended: bool,
) -> ScanResult<DegradedHeader> {
    let reach = text.floor_char_boundary(REACH);
    let near = text.get(..reach).unwrap_or_default();
    let line = near.split('\n').next().unwrap_or_default();
    // Whether the end of the line is known, or too far away to matter.
    let whole = ended || line.len() < near.len() || near.len() < text.len();
    let label = Label::of(line);
    if label.rest.is_empty() && !whole {
        let possible = label.name.is_empty() || outputs.may_become(label.name);
        return if possible { ScanResult::Incomplete } else { ScanResult::NoMatch };
    }
    let named = outputs.resolve(label.name);
    if !is_name(label.name) || !wanted(named) {
        return ScanResult::NoMatch;
    }
    if label.behind().is_empty() && !whole {
        return ScanResult::Incomplete;
    }
    let Some(length) = label.end() else { return ScanResult::NoMatch };
    let end = line.len() - label.rest.len() + length;
    let plain = label.marks.trim().is_empty();
    ScanResult::Match(DegradedHeader {
        target: named,
        span: 0..end,
        indent: plain.then_some(label.marks.len()),
    })
}

/// A line split into marks, a name and the rest.
struct Label<'t> {
    marks: &'t str,
    name: &'t str,
    rest: &'t str,
}

impl<'t> Label<'t> {
    fn of(line: &'t str) -> Self {
        let is_mark = |c: char| matches!(c, ' ' | '\t' | '#' | '*' | '>' | '`' | '_' | '-' | '[');
        let body = line.trim_start_matches(is_mark);
        let (marks, _) = line.split_at(line.len() - body.len());
        let in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ');
        let run = body.trim_start_matches(in_name);
        let name = body.get(..body.len() - run.len()).unwrap_or_default();
        // Emphasis may close with the same characters that names contain.
        let name = name.trim_end_matches([' ', '_', '-']);
        Self { marks, name, rest: body.get(name.len()..).unwrap_or_default() }
    }

    /// The text after the marks that may close a header.
    fn behind(&self) -> &'t str {
        self.rest.trim_start_matches([' ', '\t', '\r', '*', '`', '_', '#', ']'])
    }

    /// The end of the header, counted from the end of its name. `None` if it is no header.
    fn end(&self) -> Option<usize> {
        let behind = self.behind();
        let signs = self.rest.len() - behind.len();
        let closed = self.rest.get(..signs).is_some_and(|signs| signs.contains(']'));
        if self.marks.contains('[') != closed {
            return None;
        }
        if let Some(value) = behind.strip_prefix([':', '：']) {
            let emphasis = self.marks.contains(['*', '`', '_']);
            let value = if emphasis { value.trim_start_matches(['*', '`', '_']) } else { value };
            return Some(self.rest.len() - value.len());
        }
        let heading = self.marks.contains(['#', '*']) && behind.is_empty();
        (closed || heading).then_some(signs)
    }
}
