//! Where the outputs of ops came from, as far as ops share it.

use crate::strategy::Flow;
use crate::value::{Fields, Payload, Selection, SelectionStep};

/// Parts of one value that are told apart at most; beyond, the value is told as a whole.
pub(super) const APART: usize = 1_000;

/// All of an input.
pub(super) fn input(name: &str) -> Selection {
    Selection::new(vec![SelectionStep::from(name)])
}

/// What stands at the end of a way that begins with an input; null where nothing does.
pub(super) fn at(inputs: &Fields, way: &Selection) -> Payload {
    match way.split_first() {
        Some((SelectionStep::Field(name), rest)) => {
            inputs.get(name).map(|value| rest.get(value)).unwrap_or_default()
        }
        _ => Payload::Null,
    }
}

/// From all of every input.
pub(super) fn all(inputs: &Fields) -> Vec<Flow> {
    inputs.keys().map(|name| Flow::input(name)).collect()
}

/// Part by part, where there are not too many of them.
pub(super) fn each(inputs: &Fields, parts: usize, tell: impl FnOnce() -> Vec<Flow>) -> Vec<Flow> {
    if parts > APART { all(inputs) } else { tell() }
}
