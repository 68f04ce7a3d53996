//! A reference to a stored graph in the config of a node: by name, and in a stored definition by
//! version and state too. Does not know where graphs are stored.

use std::sync::Arc;

use facet::Facet;

use crate::problem::{At, Code, Problems};
use crate::read::{Object, count, shared_text};
use crate::value::{Map, Payload};

/// Why a stored graph cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct GraphUnavailable {
    /// The code of the problem in the definition that holds the reference.
    pub code: Code,
    /// A sentence that says what to do.
    pub detail: String,
}

impl GraphUnavailable {
    /// The graph does not exist or does not load.
    #[must_use]
    pub fn new(detail: impl Into<String>) -> Self {
        Self { code: Code::InvalidConfig, detail: detail.into() }
    }
}

/// A reference to a stored graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoredGraphRef {
    /// Its name.
    pub graph: Arc<str>,
    /// Its version; the newest by default.
    pub version: Option<u64>,
    /// The version of its state; the active one by default.
    pub state_version: Option<u64>,
    /// The id of the graph on the server that wrote the definition. It takes precedence there, even
    /// when another graph has the name now; other servers use the name.
    pub id: Option<Arc<str>>,
}

/// The version of a stored graph in a config that names one.
#[derive(Clone, Debug, Facet)]
pub(crate) struct GraphPin {
    /// The version of the graph. Default: the newest when the definition is written, filled in then.
    #[facet(dsrs::minimum(1))]
    version: Option<u64>,
    /// The version of its state. Default: the active one when the definition is written, filled in then.
    #[facet(dsrs::minimum(1))]
    state_version: Option<u64>,
    /// The id of the graph, filled in.
    id: Option<String>,
}

impl GraphPin {
    /// The version of the graph of this name.
    pub(crate) fn of(self, graph: &str) -> StoredGraphRef {
        let Self { version, state_version, id } = self;
        StoredGraphRef { graph: graph.into(), version, state_version, id: id.map(Arc::from) }
    }
}

impl StoredGraphRef {
    /// A reference by name alone.
    #[must_use]
    pub fn named(graph: impl Into<Arc<str>>) -> Self {
        Self { graph: graph.into(), version: None, state_version: None, id: None }
    }

    /// Reads the members of a reference from an object that may hold more; `None` if it names no
    /// graph.
    fn read(object: &mut Object<'_, '_, '_>) -> Option<Self> {
        let graph = object.required("graph", shared_text);
        let version = object.optional("version", count);
        let state_version = object.optional("state_version", count);
        let id = object.optional("id", shared_text);
        Some(Self { graph: graph?, version, state_version, id })
    }

    /// The stored graph that an object names, if it names one; what is wrong with the object beside
    /// that is for its reader to report.
    #[must_use]
    pub fn named_by(object: &Payload) -> Option<Self> {
        object.as_map()?.get("graph").filter(|graph| !graph.is_null())?;
        let mut problems = Problems::new();
        let mut object = Object::open(object, &At::Root, &mut problems)?;
        Self::read(&mut object)
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
