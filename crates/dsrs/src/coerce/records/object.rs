//! Lines of `key: value` as one object. A value continues over all lines that are no entries of the
//! object.

use std::borrow::Cow;

use super::super::lines::marker_len;
use super::super::loose::{Loose, LooseShape};
use super::super::{Leniencies, LeniencyKind};
use super::{block, data, entry};

/// The object in the lines of a text.
pub(super) fn of(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    let mut reader = RecordReader::new(text, allowed)?;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        reader.line(start, line)?;
        start += line.len();
    }
    reader.end_value(text.len());
    let introduces_data = |value: &Loose<'_>| matches!(value.shape, LooseShape::Bare(text) if text.starts_with(['{', '[']));
    if matches!(reader.members.as_slice(), [(_, value)] if introduces_data(value)) {
        return None;
    }
    let shape = LooseShape::Map(reader.members);
    Some(Loose { source: text, shape, leniencies: reader.leniencies })
}

struct RecordReader<'t> {
    text: &'t str,
    allowed: Leniencies,
    /// The most indentation of an entry.
    indent: usize,
    /// Whether entries have bullets.
    bulleted: bool,
    members: Vec<(Cow<'t, str>, Loose<'t>)>,
    leniencies: Leniencies,
    /// The current key, and the start of its value.
    open: Option<(&'t str, usize)>,
}

impl<'t> RecordReader<'t> {
    /// Determines the form of entries from the first entry and the line after it.
    fn new(text: &'t str, allowed: Leniencies) -> Option<Self> {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let (first, found) = lines.find_map(|line| Some((line, entry_in(line)?)))?;
        let value = first.get(found.entry.value..).unwrap_or_default().trim();
        let second = lines.clone().next();
        let mut indent = indent_of(first);
        let mut bulleted = found.bullet > 0;
        // The first line lost its indentation when the text was cut out, or has a bullet instead.
        // Otherwise, indented lines after a key without a value belong to that key.
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
        let leniencies = Leniencies::NONE.with(LeniencyKind::Lines);
        Some(Self { text, allowed, indent, bulleted, members: Vec::new(), leniencies, open: None })
    }

    /// Reads a line. `None` if a second record starts.
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
                self.leniencies = self.leniencies.with(LeniencyKind::Comment);
            }
            _ if outer && is_rule(body) => self.end_value(start),
            _ if self.open.is_none() && !body.is_empty() => {
                self.leniencies = self.leniencies.with(LeniencyKind::Prose);
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
        if introduces && value.shape == LooseShape::Missing {
            self.leniencies = self.leniencies.with(LeniencyKind::Prose);
            return;
        }
        self.members.push((Cow::Borrowed(key), value));
    }

    fn value(&mut self, source: &'t str) -> Loose<'t> {
        let (first, rest) = source.split_once('\n').unwrap_or((source, ""));
        if let Some(folded) = block::header(first.trim_end()).filter(|_| !rest.is_empty()) {
            let text = block::text(rest, folded);
            let shape = LooseShape::Quoted(Cow::Owned(text));
            return Loose { source, shape, leniencies: Leniencies::NONE };
        }
        match source.split_once(" # ").filter(|_| rest.is_empty() && !first.starts_with('"')) {
            Some((value, _)) => {
                self.leniencies = self.leniencies.with(LeniencyKind::Comment);
                data(value, self.allowed)
            }
            None => data(source, self.allowed),
        }
    }
}

/// An entry of a line and the length of its bullet.
struct BulletedEntry<'t> {
    entry: entry::KeyLine<'t>,
    bullet: usize,
}

fn entry_in(line: &str) -> Option<BulletedEntry<'_>> {
    let bullet = marker_len(line).unwrap_or(0);
    let mut entry = entry::of(line.get(bullet..)?)?;
    entry.value += bullet;
    Some(BulletedEntry { entry, bullet })
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Whether a line is only a separator.
fn is_rule(body: &str) -> bool {
    body.len() >= 3 && body.bytes().all(|byte| matches!(byte, b'-' | b'*' | b'=' | b'.'))
}
