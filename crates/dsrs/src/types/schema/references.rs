//! The references of a JSON Schema document and the definitions that they mean. Knows nothing of
//! how a definition becomes a type.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::problem::At;
use crate::value::Payload;

/// The meaning of the references in a document.
#[derive(Clone, Debug, Default)]
pub(super) struct SchemaReferences {
    /// The names of its definitions, by pointer.
    pub(super) names: IndexMap<String, Arc<str>>,
    /// Its definitions with keywords that only a field supports: they are read at each use.
    pub(super) inlined: IndexMap<String, InlineDefinition>,
    /// The name of the document itself.
    pub(super) root: Option<Arc<str>>,
}

/// A definition that is read at each use.
#[derive(Clone, Debug)]
pub(super) struct InlineDefinition {
    pub(super) schema: Payload,
    /// The members of the document that lead to it.
    pub(super) path: Vec<String>,
}

/// Calls a function with the place at the end of a path of members.
pub(super) fn at_path<R>(at: &At<'_>, path: &[String], call: impl FnOnce(&At<'_>) -> R) -> R {
    match path {
        [] => call(at),
        [first, rest @ ..] => at_path(&at.key(first), rest, call),
    }
}
