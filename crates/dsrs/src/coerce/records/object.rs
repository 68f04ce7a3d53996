//! Lines of `key: value` as one object. A value goes on over all lines that are no entry of the
//! object themselves.

use std::borrow::Cow;

use super::super::lines::marker_len;
use super::super::loose::{Loose, Shape};
use super::super::{Leniencies, LeniencyKind};
use super::{block, data, entry};

/// The object that the lines of a text make.
pub(super) fn of(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    let mut reader = Reader::new(text, allowed)?;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        reader.line(start, line)?;
        start += line.len();
    }
    reader.end_value(text.len());
    let introduces_data = |value: &Loose<'_>| matches!(value.shape, Shape::Bare(text) if text.starts_with(['{', '[']));
    if matches!(reader.members.as_slice(), [(_, value)] if introduces_data(value)) {
        return None;
    }
    let shape = Shape::Map(reader.members);
    Some(Loose { source: text, shape, slips: reader.slips })
}

struct Reader<'t> {
    text: &'t str,
    allowed: Leniencies,
    /// How far entries may be indented.
    indent: usize,
    /// Whether entries stand under bullets.
    bulleted: bool,
    members: Vec<(Cow<'t, str>, Loose<'t>)>,
    slips: Leniencies,
    /// The key whose value is being read, and where the value starts.
    open: Option<(&'t str, usize)>,
}

impl<'t> Reader<'t> {
    /// Looks at the first entry and the line behind it for how entries are written here.
    fn new(text: &'t str, allowed: Leniencies) -> Option<Self> {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let (first, found) = lines.find_map(|line| Some((line, entry_in(line)?)))?;
        let value = first.get(found.entry.value..).unwrap_or_default().trim();
        let second = lines.clone().next();
        let mut indent = indent_of(first);
        let mut bulleted = found.bullet > 0;
        // The first line lost its indentation where the text was cut out of another, or gave it to
        // a bullet. Else what is indented below a key without a value belongs to that key.
        let least = lines.map(indent_of).min();
        let aligned = second.and_then(|second| {
            let sibling = entry_in(second).is_some_and(|second| second.bullet == 0);
            let deeper = least.filter(|least| value.is_empty() && indent_of(second) > *least);
            if sibling && !value.is_empty() { Some(indent_of(second)) } else { deeper }
        });
        if let Some(aligned) = aligned.filter(|aligned| *aligned > indent) {
            indent = aligned;
            bulleted = false;
        }
        let slips = Leniencies::NONE.with(LeniencyKind::Lines);
        Some(Self { text, allowed, indent, bulleted, members: Vec::new(), slips, open: None })
    }

    /// Reads a line; `None` where a second record starts.
    fn line(&mut self, start: usize, line: &'t str) -> Option<()> {
        let body = line.trim();
        let outer = indent_of(line) <= self.indent;
        let entry = entry_in(line).filter(|_| outer);
        match entry {
            Some(found) if found.bullet == 0 || self.bulleted || self.is_fresh() => {
                self.end_value(start);
                self.open = Some((found.entry.key, start + found.entry.value));
            }
            Some(_) if indent_of(line) < self.indent => return None,
            _ if outer && body.starts_with("# ") => {
                self.end_value(start);
                self.slips = self.slips.with(LeniencyKind::Comment);
            }
            _ if outer && is_rule(body) => self.end_value(start),
            _ if self.open.is_none() && !body.is_empty() => {
                self.slips = self.slips.with(LeniencyKind::Prose);
            }
            _ => {}
        }
        Some(())
    }

    fn is_fresh(&self) -> bool {
        self.members.is_empty() && self.open.is_none()
    }

    fn end_value(&mut self, end: usize) {
        let Some((key, start)) = self.open.take() else { return };
        let source = self.text.get(start..end).unwrap_or_default().trim_end();
        let value = self.value(source);
        let introduces = self.members.is_empty() && key.split_whitespace().count() > 2;
        if introduces && value.shape == Shape::Missing {
            self.slips = self.slips.with(LeniencyKind::Prose);
            return;
        }
        self.members.push((Cow::Borrowed(key), value));
    }

    fn value(&mut self, source: &'t str) -> Loose<'t> {
        let (first, rest) = source.split_once('\n').unwrap_or((source, ""));
        if let Some(folded) = block::header(first.trim_end()).filter(|_| !rest.is_empty()) {
            let text = block::text(rest, folded);
            let shape = Shape::Quoted(Cow::Owned(text));
            return Loose { source, shape, slips: Leniencies::NONE };
        }
        match source.split_once(" # ").filter(|_| rest.is_empty() && !first.starts_with('"')) {
            Some((value, _)) => {
                self.slips = self.slips.with(LeniencyKind::Comment);
                data(value, self.allowed)
            }
            None => data(source, self.allowed),
        }
    }
}

/// An entry of a line, and the length of the bullet before it.
struct Found<'t> {
    entry: entry::Entry<'t>,
    bullet: usize,
}

fn entry_in(line: &str) -> Option<Found<'_>> {
    let bullet = marker_len(line).unwrap_or(0);
    let mut entry = entry::of(line.get(bullet..)?)?;
    entry.value += bullet;
    Some(Found { entry, bullet })
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether a line only parts what stands above from what stands below it.
fn is_rule(body: &str) -> bool {
    body.len() >= 3 && body.bytes().all(|byte| matches!(byte, b'-' | b'*' | b'=' | b'.'))
}
