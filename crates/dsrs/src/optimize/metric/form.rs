//! One form for all values that count as the same. Knows nothing of which texts do.

use std::sync::Arc;

use crate::coerce::brief;
use crate::value::{Map, Payload};

/// Up to here every whole number is a float too.
const EXACT_IN_FLOAT: f64 = 9_007_199_254_740_992.0;

/// The form of a value, with texts in a form of their own: `1.0` is 1, members that are null are as
/// good as absent, and the order of members makes no difference.
pub(super) fn form(value: &Payload, text: fn(&str) -> String) -> Payload {
    match value {
        Payload::Str(found) => Payload::str(text(found)),
        Payload::Float(found) if found.fract() == 0.0 && found.abs() <= EXACT_IN_FLOAT => {
            Payload::Int(*found as i64)
        }
        Payload::List(elements) => {
            Payload::list(elements.iter().map(|element| form(element, text)).collect())
        }
        Payload::Map(members) => {
            let there = members.iter().filter(|(_, member)| !member.is_null());
            let mut members: Map =
                there.map(|(name, member)| (Arc::clone(name), form(member, text))).collect();
            members.sort_unstable_keys();
            Payload::map(members)
        }
        other => other.clone(),
    }
}

/// A value in feedback, truncated if it is long.
pub(super) fn quoted(value: &Payload) -> String {
    match brief(value) {
        Payload::Str(text) => format!("`{text}`"),
        other => format!("`{}`", other.to_json()),
    }
}
