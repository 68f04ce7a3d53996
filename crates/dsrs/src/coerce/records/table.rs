//! Markdown tables.

use std::borrow::Cow;

use super::super::loose::{Loose, LooseShape};
use super::super::{Leniencies, LeniencyKind};
use super::data;

/// The rows below every line of dashes, with the column names above it.
pub(super) fn of(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut rules = (1..lines.len()).filter(|at| lines.get(*at).is_some_and(|line| is_rule(line)));
    let mut next = rules.next();
    let mut rows = Vec::new();
    let mut covered = 0;
    while let Some(rule) = next {
        next = rules.by_ref().find(|later| *later > rule + 1);
        let names = cells(lines.get(rule - 1)?);
        let below = lines.get(rule + 1..next.map_or(lines.len(), |later| later - 1))?;
        let first = rows.len();
        let table = below.iter().take_while(|line| line.contains('|'));
        rows.extend(table.map(|line| row(&names, line, allowed)));
        covered += rows.len() - first + 2;
    }
    let leniencies = Leniencies::NONE.with(LeniencyKind::Table);
    let leniencies =
        if covered < lines.len() { leniencies.with(LeniencyKind::Prose) } else { leniencies };
    (covered > 0).then_some(Loose { source: text, shape: LooseShape::List(rows), leniencies })
}

/// A row as an object. A cell after the last column has an empty name; an empty cell is missing.
fn row<'t>(names: &[&'t str], line: &'t str, allowed: Leniencies) -> Loose<'t> {
    let name = |index: usize| names.get(index).copied().unwrap_or_default();
    let cells = cells(line).into_iter().enumerate();
    let member = |(index, text)| (Cow::Borrowed(plain(name(index))), cell(text, allowed));
    Loose {
        source: line,
        shape: LooseShape::Map(cells.map(member).collect()),
        leniencies: Leniencies::NONE,
    }
}

/// A cell as data, without backslashes before bars.
fn cell(text: &str, allowed: Leniencies) -> Loose<'_> {
    if !text.contains("\\|") {
        return data(text, allowed);
    }
    let shape = LooseShape::Quoted(Cow::Owned(text.replace("\\|", "|")));
    Loose { source: text, shape, leniencies: Leniencies::NONE }
}

/// The trimmed cells of a line. A bar after a backslash belongs to its cell.
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

/// A name without emphasis.
fn plain(name: &str) -> &str {
    name.trim_matches(['*', '_', '`', ' '])
}

fn is_rule(line: &str) -> bool {
    let known = line.bytes().all(|byte| matches!(byte, b'|' | b'-' | b':' | b' ' | b'\t' | b'+'));
    known && line.contains('|') && line.contains('-')
}
