//! Objects written in tags: `<name>Ann</name><age>30</age>`. Parsed in one pass with a stack of
//! open elements.

mod entity;
mod tag;
#[cfg(test)]
mod tests;
mod tree;

use super::loose::{Loose, LooseShape};
use super::{Leniencies, LeniencyKind};
use tree::TagTree;

/// The elements of a text as a `Map`; elements with the same name become a `List`. An element
/// around all others is left out.
pub(super) fn object(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    let tree = TagTree::of(text, allowed)?;
    let mut leniencies = tree.leniencies();
    let mut members = tree.members();
    let wraps = matches!(members.as_slice(), [(_, Loose { shape: LooseShape::Map(_), .. })]);
    if wraps
        && let Some((_, Loose { shape: LooseShape::Map(inner), leniencies: inside, .. })) =
            members.pop()
    {
        leniencies = leniencies.and(inside);
        members = inner;
    }
    let found = Loose { source: text, shape: LooseShape::Map(members), leniencies };
    allowed.covers(found.leniencies).then_some(found)
}

/// Elements with the same name as a `List`, with or without an element around them.
pub(super) fn list(text: &str, allowed: Leniencies) -> Option<Loose<'_>> {
    let tree = TagTree::of(text, allowed)?;
    let leniencies = tree.leniencies();
    let (_, only) = single(tree.members())?;
    let elements = match only.shape {
        LooseShape::List(elements) => elements,
        LooseShape::Map(inner) if inner.len() == 1 => match single(inner)? {
            (_, Loose { shape: LooseShape::List(elements), .. }) => elements,
            (_, one) => vec![one],
        },
        _ => vec![only],
    };
    let leniencies = leniencies.with(LeniencyKind::Tags);
    let found = Loose { source: text, shape: LooseShape::List(elements), leniencies };
    allowed.covers(found.leniencies).then_some(found)
}

fn single<T>(mut all: Vec<T>) -> Option<T> {
    if all.len() == 1 { all.pop() } else { None }
}
