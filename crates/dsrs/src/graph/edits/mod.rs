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

/// One change. Its parts are what was posted; what they mean is decided when the result is read.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// Puts a node behind the others.
    AddNode {
        /// Its name, which must be free.
        name: Arc<str>,
        /// The node, as in a document.
        node: Payload,
    },
    /// Takes a node and its edges away.
    RemoveNode {
        /// The node.
        name: Arc<str>,
    },
    /// Puts another node in the place of one; edges stay.
    ReplaceNode {
        /// The node.
        name: Arc<str>,
        /// The new node.
        node: Payload,
    },
    /// Gives a node another name, in edges, outputs and state too.
    RenameNode {
        /// The name now.
        name: Arc<str>,
        /// The name then.
        to: Arc<str>,
    },
    /// Adds an edge.
    Connect(Edge),
    /// Takes an edge away.
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
        /// Where its value comes from.
        from: Source,
    },
    /// Takes an output away.
    RemoveOutput {
        /// The output.
        name: Arc<str>,
    },
    /// Declares an input, or gives it another type.
    SetInput {
        /// The input.
        name: Arc<str>,
        /// A type or a field.
        ty: Payload,
    },
    /// Takes an input away.
    RemoveInput {
        /// The input.
        name: Arc<str>,
    },
    /// Defines a type, or defines it anew.
    SetType {
        /// The type.
        name: Arc<str>,
        /// Its definition.
        ty: Payload,
    },
    /// Takes a definition away.
    RemoveType {
        /// The type.
        name: Arc<str>,
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
    /// # Errors
    /// Edits that name what is not there, or what is there already, with pointers below `/edits`.
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
    /// Applies edits in order and checks what comes out.
    ///
    /// # Errors
    /// What is wrong with an edit, or with the graph after all of them, with pointers below
    /// `/edits`. The graph stays as it was.
    pub fn apply_edits(&self, edits: &Edits, env: &dyn BuildEnv) -> Result<EditResult, Problems> {
        let mut problems = Problems::new();
        let applied = apply::apply(&self.to_document(), &edits.0, &mut problems);
        match Self::from_document(&applied.document(), env) {
            Ok(graph) => problems.or(EditResult { graph, renamed: applied.renamed }),
            Err(found) => {
                problems.extend(blame::blame(found, &applied, problems.is_empty()));
                Err(problems)
            }
        }
    }
}

fn target(node: &Arc<str>, field: &Arc<str>) -> Target {
    Target { node: node.clone(), field: field.clone() }
}
