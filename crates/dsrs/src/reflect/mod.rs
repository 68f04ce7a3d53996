//! Rust types by reflection: a Facet shape as a type, a Rust value as plain data, and back. Knows
//! nothing of signatures or prompts.

mod from_payload;
mod shape;
mod to_payload;

use crate::value::Payload;

pub use from_payload::from_payload;
pub use shape::{FlatField, ShapeTypes, flat_fields};
pub use to_payload::to_payload;

/// A Rust type or value that cannot be what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", if path.is_empty() { String::new() } else { format!("`{path}`: ") })]
pub struct ReflectError {
    /// Where in the type or value, by Rust's names.
    pub path: String,
    /// What does not fit, and the way out.
    pub reason: String,
}

impl ReflectError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { path: String::new(), reason: reason.into() }
    }

    /// The same error seen from one step further out.
    pub(crate) fn below(mut self, step: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{step}{dot}{}", self.path);
        self
    }
}

/// What a misfit found, shortened.
fn abbreviate(found: &Payload) -> String {
    let text = found.to_json();
    match text.char_indices().nth(60) {
        None => text,
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}
