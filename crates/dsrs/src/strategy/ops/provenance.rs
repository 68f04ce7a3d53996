//! Provenance of op outputs: what several ops share.

use crate::strategy::Flow;
use crate::value::{Fields, Payload, Selection, SelectionStep};

/// The most parts of one value that are traced separately; larger values are traced as a whole.
pub(super) const MAX_TRACKED_PARTS: usize = 1_000;

/// All of an input.
pub(super) fn input(name: &str) -> Selection {
    Selection::new(vec![SelectionStep::from(name)])
}

/// The value at a path that begins with an input; null if there is none.
pub(super) fn at(inputs: &Fields, path: &Selection) -> Payload {
    match path.split_first() {
        Some((SelectionStep::Field(name), rest)) => {
            inputs.get(name).map(|value| rest.get(value)).unwrap_or_default()
        }
        _ => Payload::Null,
    }
}

/// All inputs influenced the output.
pub(super) fn all(inputs: &Fields) -> Vec<Flow> {
    inputs.keys().map(|name| Flow::input(name)).collect()
}

/// Traces each part separately, if there are not too many.
pub(super) fn each(inputs: &Fields, parts: usize, flows: impl FnOnce() -> Vec<Flow>) -> Vec<Flow> {
    if parts > MAX_TRACKED_PARTS { all(inputs) } else { flows() }
}
