//! Edits as data: a list of changes to a graph's document, applied in order, whose result is read,
//! resolved and checked like any other document. All or nothing. Knows documents and nothing of
//! versions or storage.

mod apply;
mod blame;
mod diff;
mod methods;
mod read;

use std::sync::Arc;

use super::edge::{Edge, Source, Target};
use super::program_graph::ProgramGraph;
use crate::problem::{At, Problems};
use crate::strategy::BuildEnv;
use crate::value::Payload;

pub use diff::{GraphDiff, graph_diff};

/// One change. Its parts are unresolved; they are resolved when the result is read.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// Appends a node.
    AddNode {
        /// Its name, which must be free.
        name: Arc<str>,
        /// The node, as in a document.
        node: Payload,
    },
    /// Removes a node and its edges.
    RemoveNode {
        /// The node.
        name: Arc<str>,
    },
    /// Replaces a node; its edges stay.
    ReplaceNode {
        /// The node.
        name: Arc<str>,
        /// The new node.
        node: Payload,
    },
    /// Renames a node, also in edges, outputs and state.
    RenameNode {
        /// The name now.
        name: Arc<str>,
        /// The name then.
        to: Arc<str>,
    },
    /// Adds an edge.
    Connect(Edge),
    /// Removes an edge.
    Disconnect(Edge),
    /// Puts a new node into an edge.
    InsertBetween {
        /// The edge that it replaces.
        edge: Edge,
        /// The new node's name.
        name: Arc<str>,
        /// The new node.
        node: Payload,
        /// Its input that the edge's source feeds.
        input: Arc<str>,
        /// Its output that feeds the edge's target.
        output: Arc<str>,
    },
    /// Names an output, or moves it.
    SetOutput {
        /// The output.
        name: Arc<str>,
        /// The source of its value.
        from: Source,
    },
    /// Removes an output.
    RemoveOutput {
        /// The output.
        name: Arc<str>,
    },
    /// Declares an input, or changes its type.
    SetInput {
        /// The input.
        name: Arc<str>,
        /// A type or a field.
        ty: Payload,
    },
    /// Removes an input.
    RemoveInput {
        /// The input.
        name: Arc<str>,
    },
    /// Defines or redefines a type.
    SetType {
        /// The type.
        name: Arc<str>,
        /// Its definition.
        ty: Payload,
    },
    /// Removes a definition.
    RemoveType {
        /// The type.
        name: Arc<str>,
    },
    /// Changes how the graph is exposed.
    SetExpose {
        /// The member `expose`; null for none.
        expose: Payload,
    },
}

/// Edits that were read, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edits(pub Vec<Edit>);

/// A graph after its edits.
pub struct EditResult {
    /// The graph, checked.
    pub graph: ProgramGraph,
    /// Names that nodes had and have, in the order of the edits.
    pub renamed: Vec<(Arc<str>, Arc<str>)>,
}

impl Edits {
    /// Reads `{"edits": [...]}`.
    pub fn read(body: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Self> {
        read::edits(body, at, problems).map(Self)
    }

    /// The document after the edits, unchecked until it is built.
    ///
    /// # Errors Edits that name something unknown or duplicate, with pointers below `/edits`.
    pub fn apply_to(&self, document: &Payload) -> Result<Payload, Problems> {
        let mut problems = Problems::new();
        let applied = apply::apply(document, &self.0, &mut problems);
        problems.or(())?;
        Ok(applied.document())
    }

    /// The same shape back.
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        Payload::list(self.0.iter().map(read::to_payload).collect())
    }
}

impl ProgramGraph {
    /// Applies edits in order and checks the result.
    ///
    /// # Errors Problems of an edit, or of the graph after all edits, with pointers below `/edits`.
    /// The graph is unchanged then.
    pub fn apply_edits(&self, edits: &Edits, env: &dyn BuildEnv) -> Result<EditResult, Problems> {
        let mut problems = Problems::new();
        let applied = apply::apply(&self.to_document(), &edits.0, &mut problems);
        match Self::from_document(&applied.document(), env) {
            Ok(graph) => problems.or(EditResult { graph, renamed: applied.renamed }),
            Err(found) => {
                problems.append(blame::blame(found, &applied, problems.is_empty()));
                Err(problems)
            }
        }
    }
}

fn target(node: &Arc<str>, field: &Arc<str>) -> Target {
    Target { node: node.clone(), field: field.clone() }
}
