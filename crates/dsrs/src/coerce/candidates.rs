//! What of a text may be the data: the whole of it, each fenced block, each object or list amid
//! prose.

use super::loose::Loose;
use super::{Leniencies, repair};

/// A piece of a text that may be the data.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidate<'t> {
    pub(super) data: Loose<'t>,
    /// By which leniencies it was found in the text.
    pub(super) how: Leniencies,
}

/// The candidates, the likeliest first.
pub(super) fn of(text: &str, allowed: Leniencies) -> Vec<Candidate<'_>> {
    let whole = repair::parse(text, allowed);
    whole.into_iter().map(|data| Candidate { data, how: Leniencies::NONE }).collect()
}
