//! Rust types by reflection: Facet shapes as types, Rust values as payloads and back. Knows nothing
//! of signatures or prompts.

mod defaults;
mod from_payload;
mod shape;
mod to_payload;

use crate::value::Payload;

pub use defaults::{defaults, example};
pub use from_payload::{from_payload, misfits};
pub use shape::{FlatField, ShapeTypes, flat_fields};
pub use to_payload::to_payload;

/// A Rust type or value cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", if path.is_empty() { String::new() } else { format!("`{path}`: ") })]
pub struct ReflectError {
    /// The place in the type or value, by Rust names.
    pub path: String,
    /// The reason, and how to fix it.
    pub reason: String,
}

impl ReflectError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { path: String::new(), reason: reason.into() }
    }

    /// The same error with a step before its path.
    pub(crate) fn below(mut self, step: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{step}{dot}{}", self.path);
        self
    }
}

/// The JSON of a payload, shortened for a message.
fn abbreviate(found: &Payload) -> String {
    let text = found.to_json();
    match text.char_indices().nth(60) {
        None => text,
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}
