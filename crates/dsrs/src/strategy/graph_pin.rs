//! A reference to a stored graph in the config of a node: by name, and once it is written down by
//! version and state too. Knows nothing of where graphs are stored.

use std::sync::Arc;

use crate::problem::Code;
use crate::read::{Object, count, shared_text};
use crate::value::{Map, Payload};

/// Why a reference leads to no graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct NoGraph {
    /// What kind of problem it is in the definition that holds the reference.
    pub code: Code,
    /// A sentence that names the way out.
    pub detail: String,
}

impl NoGraph {
    /// There is no such graph, or it is of no use.
    #[must_use]
    pub fn new(detail: impl Into<String>) -> Self {
        Self { code: Code::InvalidConfig, detail: detail.into() }
    }
}

/// Which stored graph is meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GraphPin {
    /// Its name.
    pub graph: Arc<str>,
    /// Its version; the newest where it is not said.
    pub version: Option<u64>,
    /// The version of its state; the one in force where it is not said.
    pub state_version: Option<u64>,
    /// What the server that wrote the reference down calls the graph. It decides there, even when
    /// the name has passed to another graph; other servers go by the name.
    pub id: Option<Arc<str>>,
}

impl GraphPin {
    /// The members of a reference in a JSON Schema of an object, without the braces.
    pub const SCHEMA_MEMBERS: &'static str = r#""graph": {"type": "string", "description": "the name of a stored graph"},
        "version": {"type": "integer", "minimum": 1, "description": "its version; the newest when the definition is written, and filled in then"},
        "state_version": {"type": "integer", "minimum": 1, "description": "the version of its state; the one in force when the definition is written, and filled in then"},
        "id": {"type": "string", "description": "filled in"}"#;

    /// A reference by name alone.
    #[must_use]
    pub fn named(graph: impl Into<Arc<str>>) -> Self {
        Self { graph: graph.into(), version: None, state_version: None, id: None }
    }

    /// Reads the members of a reference out of an object that may hold more; `None` when it names
    /// no graph.
    pub fn read(object: &mut Object<'_, '_, '_>) -> Option<Self> {
        let graph = object.required("graph", shared_text);
        let version = object.optional("version", count);
        let state_version = object.optional("state_version", count);
        let id = object.optional("id", shared_text);
        Some(Self { graph: graph?, version, state_version, id })
    }

    /// Writes the reference over the members of an object.
    pub fn write(&self, members: &mut Map) {
        let number = |number: u64| Payload::Int(i64::try_from(number).unwrap_or(i64::MAX));
        members.insert("graph".into(), Payload::Str(self.graph.clone()));
        for (name, found) in [("version", self.version), ("state_version", self.state_version)] {
            if let Some(found) = found {
                members.insert(name.into(), number(found));
            }
        }
        if let Some(id) = &self.id {
            members.insert("id".into(), Payload::Str(id.clone()));
        }
    }
}
