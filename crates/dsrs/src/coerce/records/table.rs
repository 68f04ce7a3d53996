//! Tables of bars and dashes, as Markdown has them.

use std::borrow::Cow;

use super::super::loose::{Loose, Shape};
use super::super::{Leniencies, LeniencyKind};
use super::data;

/// The rows below the first line of dashes, by the names above it.
pub(super) fn of(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let rule = lines.iter().position(|line| is_rule(line)).filter(|rule| *rule > 0)?;
    let names = cells(lines.get(rule - 1)?);
    let below = lines.get(rule + 1..)?;
    let count = below.iter().take_while(|line| line.contains('|')).count();
    let mut slips = Leniencies::NONE.with(LeniencyKind::Table);
    if rule > 1 || count < below.len() {
        slips = slips.with(LeniencyKind::Prose);
    }
    let rows = below.iter().take(count).map(|line| row(&names, line, allowed)).collect();
    Some(Loose { source: text, shape: Shape::List(rows), slips })
}

/// A row as an object. A cell behind the last name has none; an empty cell is missing.
fn row<'t>(names: &[&'t str], line: &'t str, allowed: Leniencies) -> Loose<'t> {
    let name = |index: usize| names.get(index).copied().unwrap_or_default();
    let cells = cells(line).into_iter().enumerate();
    let member = |(index, cell)| (Cow::Borrowed(plain(name(index))), data(cell, allowed));
    Loose { source: line, shape: Shape::Map(cells.map(member).collect()), slips: Leniencies::NONE }
}

/// The cells of a line, trimmed. A bar behind a backslash is a part of its cell.
fn cells(line: &str) -> Vec<&str> {
    let inside = line.strip_prefix('|').unwrap_or(line);
    let inside = inside.strip_suffix('|').unwrap_or(inside);
    let mut cells = Vec::new();
    let mut start = 0;
    for (at, _) in inside.match_indices('|') {
        if inside.get(..at).is_some_and(|before| !before.ends_with('\\')) {
            cells.push(inside.get(start..at).unwrap_or_default().trim());
            start = at + 1;
        }
    }
    cells.push(inside.get(start..).unwrap_or_default().trim());
    cells
}

/// A name without marks of emphasis.
fn plain(name: &str) -> &str {
    name.trim_matches(['*', '_', '`', ' '])
}

fn is_rule(line: &str) -> bool {
    let known = line.bytes().all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ' | b'\t' | b'+'));
    known && line.contains('|') && line.contains('-')
}
