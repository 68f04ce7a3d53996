//! The references of a JSON Schema document and the definitions that they mean. Knows nothing of
//! how a definition becomes a type.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::problem::At;
use crate::value::Payload;

/// What the references of a document mean.
#[derive(Clone, Debug, Default)]
pub(super) struct SchemaReferences {
    /// Its definitions, by their pointer.
    pub(super) names: IndexMap<String, Arc<str>>,
    /// Its definitions that say what no definition can carry: they are read where they are used.
    pub(super) inlined: IndexMap<String, InlineDefinition>,
    /// The document itself.
    pub(super) root: Option<Arc<str>>,
}

/// A definition that is read where it is used.
#[derive(Clone, Debug)]
pub(super) struct InlineDefinition {
    pub(super) schema: Payload,
    /// The members of the document that lead to it.
    pub(super) path: Vec<String>,
}

/// Calls with the place to which a path of members leads.
pub(super) fn at_path<R>(at: &At<'_>, path: &[String], go: impl FnOnce(&At<'_>) -> R) -> R {
    match path {
        [] => go(at),
        [first, rest @ ..] => at_path(&at.key(first), rest, go),
    }
}
