//! Objects that are not JSON: lines of `key: value`, records under bullets, tables.

use super::Leniencies;
use super::loose::Loose;

/// Lines of `key: value`, nested by indentation, as a `Map`.
pub(super) fn object(_text: &str, _allowed: Leniencies) -> Option<Loose<'_>> {
    None
}

/// A table as a `List` of `Map`s, a row each.
pub(super) fn table(_text: &str, _allowed: Leniencies) -> Option<Loose<'_>> {
    None
}

/// Bullets that hold lines of `key: value`, as a `List` of `Map`s.
pub(super) fn bullets(_text: &str, _allowed: Leniencies) -> Option<Loose<'_>> {
    None
}
