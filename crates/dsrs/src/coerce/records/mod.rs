//! Objects that are not JSON: lines of `key: value`, records with bullets, tables. Values stay as
//! written and are read by their type.

mod block;
mod entry;
mod object;
mod table;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use super::lines::{bulleted, data};
use super::loose::{Loose, LooseShape};
use super::{Leniencies, LeniencyKind, repair};

/// Lines of `key: value`, or members without braces, as a `Map`.
pub(super) fn object(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    let found = braceless(text, allowed).or_else(|| object::of(text, allowed))?;
    allowed.covers(found.leniencies).then_some(found)
}

/// A table as a `List` of one `Map` per row.
pub(super) fn table(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    table::of(text, allowed).filter(|found| allowed.covers(found.leniencies))
}

/// Records of `key: value`, each with a bullet, as a `List` of `Map`s.
pub(super) fn bullets(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    let found = bulleted(text)?;
    let leniencies = Leniencies::NONE.with(LeniencyKind::Lines).with(LeniencyKind::Bullets);
    let leniencies = if found.prose { leniencies.with(LeniencyKind::Prose) } else { leniencies };
    list_of(text, found.items, leniencies, allowed)
}

/// Records of `key: value` separated by blank lines, as a `List` of `Map`s. `None` if a record
/// repeats a key, because it then is more than one record.
pub(super) fn apart(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    let leniencies = Leniencies::NONE.with(LeniencyKind::Lines);
    let found = list_of(text, paragraphs(text)?, leniencies, allowed)?;
    let LooseShape::List(records) = &found.shape else { return None };
    records.iter().all(has_distinct_keys).then_some(found)
}

fn list_of<'t>(
    text: &'t str,
    items: Vec<&'t str>,
    leniencies: Leniencies,
    allowed: Leniencies,
) -> Option<Loose<'t>> {
    // The list already has these leniencies, so its records need not repeat them.
    let record = |item| {
        let mut record = object(item, allowed)?;
        record.leniencies = record.leniencies.without_all(leniencies);
        Some(record)
    };
    let records = items.into_iter().map(record).collect::<Option<_>>()?;
    let list = Loose { source: text, shape: LooseShape::List(records), leniencies };
    allowed.covers(leniencies).then_some(list)
}

fn has_distinct_keys(record: &Loose<'_>) -> bool {
    let LooseShape::Map(members) = &record.shape else { return true };
    let keys: HashSet<&str> = members.iter().map(|(key, _)| key.as_ref()).collect();
    keys.len() == members.len()
}

/// JSON members on one line or with quoted keys, without braces.
fn braceless(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    let text = text.trim_matches(repair::is_blank);
    if !text.starts_with('"') && text.contains('\n') {
        return None;
    }
    let mut found = repair::parse_members(text, allowed)?;
    let several = matches!(&found.shape, LooseShape::Map(members) if members.len() > 1);
    found.leniencies = Leniencies::NONE.with(LeniencyKind::Lines);
    (several || text.starts_with('"')).then_some(found)
}

/// Parts separated by blank lines, at least two.
fn paragraphs(text: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let mut start = None;
    let mut at = 0;
    for line in text.split_inclusive('\n').chain(["\n"]) {
        match (line.trim().is_empty(), start) {
            (true, Some(from)) => {
                parts.push(text.get(from..at)?);
                start = None;
            }
            (false, None) => start = Some(at),
            _ => {}
        }
        at += line.len();
    }
    (parts.len() > 1).then_some(parts)
}
