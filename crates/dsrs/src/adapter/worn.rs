//! Worn-down headers: `[ ## name ## ]`, `## name`, `**name:** …`, `name: …`, and whole headers
//! inside of a line. They count only for outputs that have no header as asked for. Knows names and
//! nothing of types.

use std::ops::Range;

use super::header::{self, Found, is_name};
use super::outputs::{Named, Outputs};

/// The most bytes that are looked at to know a worn-down header.
const REACH: usize = 160;

/// A worn-down header.
pub(super) struct Worn {
    pub(super) named: Named,
    pub(super) span: Range<usize>,
    /// How far it is indented, if nothing but its colon makes it a header.
    indent: Option<usize>,
}

/// The worn-down headers in a text, each name once, up to an end mark. `fresh` says whether the text
/// begins as a line does.
pub(super) fn find(text: &str, outputs: &Outputs, missing: &mut [bool], fresh: bool) -> Vec<Worn> {
    let mut found: Vec<Worn> = Vec::new();
    let mut depth = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        for mut worn in in_line(line, outputs, missing, fresh || at > 0) {
            if worn.indent.is_some_and(|indent| indent > depth.unwrap_or(indent)) {
                continue;
            }
            depth = depth.or(worn.indent);
            worn.span = worn.span.start + at..worn.span.end + at;
            take(worn.named, missing);
            let ends = matches!(worn.named, Named::End(_));
            found.push(worn);
            if ends {
                return found;
            }
        }
        at += line.len();
    }
    found
}

/// Whole headers anywhere in a line, else one that is worn down at its start.
fn in_line(line: &str, outputs: &Outputs, missing: &[bool], fresh: bool) -> Vec<Worn> {
    let mut open = missing.to_vec();
    let mut found = Vec::new();
    for (start, _) in line.match_indices("[[") {
        let Some(rest) = line.get(start..) else { continue };
        let Found::Yes(header) = header::in_brackets(rest, true) else { continue };
        let named = outputs.named(rest.get(header.name.clone()).unwrap_or_default());
        if is_open(named, outputs, &open) {
            take(named, &mut open);
            let span = start..start + header.span.end;
            found.push(Worn { named, span, indent: None });
        }
    }
    if found.is_empty()
        && fresh
        && let Found::Yes(worn) =
            at_line_start(line, outputs, &|named| is_open(named, outputs, missing), true)
    {
        found.push(worn);
    }
    found
}

fn take(named: Named, missing: &mut [bool]) {
    if let Named::Output(index, _) = named
        && let Some(one) = missing.get_mut(index)
    {
        *one = false;
    }
}

/// Whether a name is one that is looked for: an end mark only once nothing needed is missing.
fn is_open(named: Named, outputs: &Outputs, missing: &[bool]) -> bool {
    match named {
        Named::Output(index, _) => missing.get(index) == Some(&true),
        Named::End(_) => {
            !outputs.iter().zip(missing).any(|(output, missing)| output.required && *missing)
        }
        Named::Unknown => false,
    }
}

/// The worn-down header of a wanted name that a line starts with.
pub(super) fn at_line_start(
    text: &str,
    outputs: &Outputs,
    wanted: &dyn Fn(Named) -> bool,
    ended: bool,
) -> Found<Worn> {
    let reach = text.floor_char_boundary(REACH);
    let near = text.get(..reach).unwrap_or_default();
    let line = near.split('\n').next().unwrap_or_default();
    // Whether the line's end is known, or too far away to matter.
    let whole = ended || line.len() < near.len() || near.len() < text.len();
    let label = Label::of(line);
    if label.rest.is_empty() && !whole {
        let possible = label.name.is_empty() || outputs.may_become(label.name);
        return if possible { Found::Unsure } else { Found::No };
    }
    let named = outputs.named(label.name);
    if !is_name(label.name) || !wanted(named) {
        return Found::No;
    }
    if label.behind().is_empty() && !whole {
        return Found::Unsure;
    }
    let Some(length) = label.end() else { return Found::No };
    let end = line.len() - label.rest.len() + length;
    let plain = label.marks.trim().is_empty();
    Found::Yes(Worn { named, span: 0..end, indent: plain.then_some(label.marks.len()) })
}

/// A line taken apart: marks, a name, the rest.
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
        // Emphasis may close with the same sign that names are made of.
        let name = name.trim_end_matches([' ', '_', '-']);
        Self { marks, name, rest: body.get(name.len()..).unwrap_or_default() }
    }

    /// What follows the signs that may close a header.
    fn behind(&self) -> &'t str {
        self.rest.trim_start_matches([' ', '\t', '\r', '*', '`', '_', '#', ']'])
    }

    /// Where the header ends, counted from behind its name, if it is one.
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
