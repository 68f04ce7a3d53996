//! Objects that are not JSON: lines of `key: value`, records under bullets, tables. What stands
//! inside a value is left as it is, to be read as its type wants.

mod block;
mod entry;
mod object;
mod table;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use super::lines::{bulleted, data};
use super::loose::{Loose, Shape};
use super::{Leniencies, LeniencyKind, repair};

/// Lines of `key: value`, or members without the braces around them, as a `Map`.
pub(super) fn object(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    let found = braceless(text, allowed).or_else(|| object::of(text, allowed))?;
    allowed.covers(found.slips).then_some(found)
}

/// A table as a `List` of `Map`s, a row each.
pub(super) fn table(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    table::of(text, allowed).filter(|found| allowed.covers(found.slips))
}

/// Records of `key: value`, each under a bullet, as a `List` of `Map`s.
pub(super) fn bullets(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    let found = bulleted(text)?;
    let slips = Leniencies::NONE.with(LeniencyKind::Lines).with(LeniencyKind::Bullets);
    let slips = if found.prose { slips.with(LeniencyKind::Prose) } else { slips };
    list_of(text, found.items, slips, allowed)
}

/// Records of `key: value` apart from each other by blank lines, as a `List` of `Map`s. A key that
/// one of them has twice tells of more records than there are parts.
pub(super) fn apart(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    let slips = Leniencies::NONE.with(LeniencyKind::Lines);
    let found = list_of(text, paragraphs(text)?, slips, allowed)?;
    let Shape::List(records) = &found.shape else { return None };
    records.iter().all(has_distinct_keys).then_some(found)
}

fn list_of<'t>(
    text: &'t str,
    items: Vec<&'t str>,
    slips: Leniencies,
    allowed: Leniencies,
) -> Option<Loose<'t>> {
    // What the list says of all its records needs no saying of each.
    let record = |item| {
        let mut record = object(item, allowed)?;
        record.slips = record.slips.without_all(slips);
        Some(record)
    };
    let records = items.into_iter().map(record).collect::<Option<_>>()?;
    let list = Loose { source: text, shape: Shape::List(records), slips };
    allowed.covers(slips).then_some(list)
}

fn has_distinct_keys(record: &Loose<'_>) -> bool {
    let Shape::Map(members) = &record.shape else { return true };
    let keys: HashSet<&str> = members.iter().map(|(key, _)| key.as_ref()).collect();
    keys.len() == members.len()
}

/// Members of JSON's on one line, or under quoted keys, that lack the braces around them.
fn braceless(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    let text = text.trim_matches(repair::is_blank);
    if !text.starts_with('"') && text.contains('\n') {
        return None;
    }
    let mut found = repair::parse_members(text, allowed)?;
    let several = matches!(&found.shape, Shape::Map(members) if members.len() > 1);
    found.slips = Leniencies::NONE.with(LeniencyKind::Lines);
    (several || text.starts_with('"')).then_some(found)
}

/// Parts between blank lines, at least two.
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
