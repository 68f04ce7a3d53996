//! A graph as boxes with ports and the edges between them: what the picture shows, without positions. Knows
//! neither sizes nor SVG.

use std::sync::Arc;

use dsrs::graph::INPUT;
use dsrs::strategy::registry;

/// A field at the side of a box.
#[derive(Clone, Debug)]
pub(crate) struct Port {
    pub(crate) name: String,
    /// Its type as a type expression.
    pub(crate) ty: String,
    /// The definitions of the named types in it, if there are any.
    pub(crate) definitions: Arc<str>,
    pub(crate) description: Option<String>,
}

/// What a box does, for its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoxKind {
    /// An input of the graph.
    Input,
    /// An output of the graph.
    Output,
    /// A strategy that calls an LM.
    Strategy,
    /// A computation in place.
    Op,
    /// A stored graph.
    Graph,
    /// A strategy that waits for a value from outside.
    Wait,
}

impl BoxKind {
    /// What a node of this strategy does.
    pub(super) fn named(strategy: &str) -> Self {
        match strategy {
            "graph" => Self::Graph,
            "await" => Self::Wait,
            _ if registry::get(strategy).is_some_and(|found| found.op().is_some()) => Self::Op,
            _ => Self::Strategy,
        }
    }
}

/// A node, or an input or output of the graph.
#[derive(Debug)]
pub(crate) struct DiagramBox {
    /// Its name: of the node or the field.
    pub(crate) name: String,
    /// The names of the nodes that lead to it, with `/` between them.
    pub(crate) path: String,
    pub(crate) kind: BoxKind,
    pub(crate) strategy: String,
    /// The instructions of its signature, or the description of the field.
    pub(crate) about: String,
    pub(crate) inputs: Vec<Port>,
    pub(crate) outputs: Vec<Port>,
    /// Whether there is something inside that can be shown.
    pub(crate) opens: bool,
    /// What is inside, if it is open.
    pub(crate) parts: Vec<Part>,
}

/// A connection of two ports, by the indices of boxes and ports.
#[derive(Debug)]
pub(crate) struct DiagramEdge {
    pub(crate) from: (usize, usize),
    pub(crate) to: (usize, usize),
    /// Where it is in the definition, as a JSON Pointer.
    pub(crate) pointer: String,
    /// The source as the definition names it.
    pub(crate) source: String,
    /// The part of the source's field that is connected; empty for the whole.
    pub(crate) selection: String,
    pub(crate) ty: String,
}

/// One thing inside a node.
#[derive(Debug)]
pub(crate) struct Part {
    /// What it is: `then`, `graph triage v2`.
    pub(crate) label: String,
    pub(crate) diagram: Diagram,
}

/// A graph without positions.
#[derive(Debug)]
pub(crate) struct Diagram {
    pub(crate) name: String,
    /// Inputs of the graph, then its nodes, then its outputs.
    pub(crate) boxes: Vec<DiagramBox>,
    pub(crate) edges: Vec<DiagramEdge>,
}

impl Diagram {
    /// How many nodes there are, without those inside of nodes.
    pub(crate) fn nodes(&self) -> usize {
        self.boxes.iter().filter(|shown| shown.is_node()).count()
    }
}

impl DiagramBox {
    /// Whether it is a node, not an input or output of the graph.
    pub(crate) const fn is_node(&self) -> bool {
        !matches!(self.kind, BoxKind::Input | BoxKind::Output)
    }

    /// The name of one of its ports in the picture: `node.field`, `input.field` or `@output.field`.
    pub(crate) fn port_name(&self, port: &Port) -> String {
        let above = self.path.strip_suffix(&self.name).unwrap_or_default();
        match self.kind {
            BoxKind::Input => format!("{above}{INPUT}.{}", port.name),
            BoxKind::Output => format!("{above}@output.{}", port.name),
            _ => format!("{}.{}", self.path, port.name),
        }
    }
}
