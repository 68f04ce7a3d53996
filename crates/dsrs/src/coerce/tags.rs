//! Objects written in tags: `<name>Ann</name><age>30</age>`.

use super::Leniencies;
use super::loose::Loose;

/// The elements of a text as a `Map`; one of a name that repeats is a `List`.
pub(super) fn object(_text: &str, _allowed: Leniencies) -> Option<Loose<'_>> {
    None
}
