//! Edits of a graph, and the difference between two versions.

use dsrs::graph::GraphDiff;
use dsrs::value::Payload;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::graph_definition::{EdgeView, ExposureView, NodeView};
use super::{Json, example};

/// Changes to the newest version of a graph: all of them, or none.
#[derive(ToSchema)]
pub struct GraphEdits {
    /// Applied in order.
    pub edits: Vec<GraphEdit>,
}

/// A change of a graph.
#[derive(ToSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum GraphEdit {
    /// Adds a node after the others.
    AddNode {
        /// The name of the node.
        name: String,
        /// The node.
        node: NodeView,
    },
    /// Removes a node and its edges. An output that comes from it must be removed first.
    RemoveNode {
        /// The name of the node.
        name: String,
    },
    /// Replaces a node. Its edges stay and are checked again.
    ReplaceNode {
        /// The name of the node.
        name: String,
        /// The new node.
        node: NodeView,
    },
    /// Renames a node; edges, outputs and predictor state follow.
    RenameNode {
        /// The current name of the node.
        name: String,
        /// The new name of the node.
        to: String,
    },
    /// Adds an edge.
    Connect {
        /// The source, as in an edge.
        from: String,
        /// The target, as in an edge.
        to: String,
    },
    /// Removes an edge.
    Disconnect {
        /// The source, as in an edge.
        from: String,
        /// The target, as in an edge.
        to: String,
    },
    /// Inserts a new node into an edge.
    InsertBetween {
        /// The edge to replace.
        edge: EdgeView,
        /// The new node's name.
        name: String,
        /// The new node.
        node: NodeView,
        /// The input of the new node that the edge's source feeds.
        input: String,
        /// The output of the new node that feeds the edge's target.
        output: String,
    },
    /// Sets an output of the graph.
    SetOutput {
        /// The output.
        name: String,
        /// A selection.
        from: String,
    },
    /// Removes an output.
    RemoveOutput {
        /// The output.
        name: String,
    },
    /// Sets the type of an input of the graph.
    SetInput {
        /// The input.
        name: String,
        /// A type or a field.
        #[schema(value_type = Object)]
        r#type: Json,
    },
    /// Removes an input.
    RemoveInput {
        /// The input.
        name: String,
    },
    /// Sets the definition of a type.
    SetType {
        /// The type.
        name: String,
        /// A class, an enum or a JSON Schema.
        #[schema(value_type = Object)]
        r#type: Json,
    },
    /// Removes a definition.
    RemoveType {
        /// The type.
        name: String,
    },
    /// Changes how clients of other protocols reach the graph.
    SetExpose {
        /// The member `expose` of the definition; null or left out for none.
        expose: Option<ExposureView>,
    },
}

/// The difference between two versions of a graph.
#[derive(Serialize, ToSchema)]
#[schema(as = VersionDiff, examples(json!(VersionDiffView::example())))]
pub struct VersionDiffView<'a> {
    /// The version that the edits start from.
    pub from: i32,
    /// The version that they lead to.
    pub to: i32,
    /// The edits, as PATCH accepts them.
    #[schema(value_type = Vec<GraphEdit>)]
    pub edits: Payload,
    /// The same for people: one line per change, with `+`, `-` or `~` in front.
    pub text: &'a str,
}

impl<'a> VersionDiffView<'a> {
    pub(crate) fn new(from: i32, to: i32, diff: &'a GraphDiff) -> Self {
        Self { from, to, edits: diff.edits.to_payload(), text: &diff.text }
    }
}

impl VersionDiffView<'static> {
    fn example() -> Self {
        let edits = json!([{"op": "set_output", "name": "topics", "from": "triage.topics"}]);
        Self {
            from: 1,
            to: 2,
            edits: example::payload(&edits),
            text: "+ output topics: triage.topics\n",
        }
    }
}
