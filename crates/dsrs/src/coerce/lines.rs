//! Lists that are not JSON: bullets, numbers, one item a line, commas, semicolons, `and`.

use super::Leniencies;
use super::loose::Loose;

/// The items of a text as a `List`, whose slips say how they were parted. `numbers`: the items are
/// numbers, so that a comma always parts them outside quotes. `None` for a text that is no list.
pub(super) fn items(_text: &str, _allowed: Leniencies, _numbers: bool) -> Option<Loose<'_>> {
    None
}
