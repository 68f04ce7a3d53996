//! Lists that are not JSON: bullets, numbers, one item per line, commas, semicolons, `and`.

mod bullets;
mod parts;
mod separated;
#[cfg(test)]
mod tests;

use super::loose::{Loose, LooseShape};
use super::{Leniencies, LeniencyKind, repair};
pub(super) use bullets::{bulleted, marker_len};

/// The items of a text as a `List` whose repairs say how they were separated. `numbers`: the items
/// are numbers, so a comma outside quotes always separates them. `None` if the text is no list.
pub(super) fn items(text: &str, allowed: Leniencies, numbers: bool) -> Option<Loose<'_>> {
    let text = text.trim_matches(repair::is_blank);
    let (items, leniencies) = match bulleted(text) {
        Some(found) => {
            let leniencies = Leniencies::NONE.with(LeniencyKind::Bullets);
            (
                without_commas(found.items),
                if found.prose { leniencies.with(LeniencyKind::Prose) } else { leniencies },
            )
        }
        None => separated::split(text, numbers)?,
    };
    let items = items.into_iter().map(|item| data(item, allowed)).collect();
    allowed.covers(leniencies).then_some(Loose {
        source: text,
        shape: LooseShape::List(items),
        leniencies,
    })
}

/// An item as data: an object, list or quoted string, else the text itself.
pub(super) fn data(item: &str, allowed: Leniencies) -> Loose<'_> {
    match item.trim_matches(repair::is_blank) {
        "" => Loose { source: item, shape: LooseShape::Missing, leniencies: Leniencies::NONE },
        item => repair::parse(item, allowed).unwrap_or_else(|| repair::as_bare_text(item)),
    }
}

/// The items without trailing commas or semicolons, if all but the last have one.
fn without_commas(mut items: Vec<&str>) -> Vec<&str> {
    let marks = [',', ';'];
    let listed = items.split_last().is_some_and(|(_, rest)| {
        !rest.is_empty() && rest.iter().all(|item| item.trim_end().ends_with(marks))
    });
    if listed {
        for item in &mut items {
            *item = item.trim_end().trim_end_matches(marks);
        }
    }
    items
}
