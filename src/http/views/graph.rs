//! Graphs, their versions and what PUT answers, as the OpenAPI document tells them.

use chrono::{DateTime, Utc};
use indexmap::IndexMap;
use utoipa::ToSchema;
use uuid::Uuid;

use super::Json;

/// A graph as it is posted. What is left out is inferred.
#[derive(ToSchema)]
pub struct GraphDefinition {
    /// `[a-z][a-z0-9_-]{0,62}`.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Classes, enums and JSON Schemas by name.
    #[schema(value_type = Option<Object>)]
    pub types: Option<Json>,
    /// A type or a field by name.
    #[schema(value_type = Option<Object>)]
    pub inputs: Option<Json>,
    /// Nodes by name.
    pub nodes: IndexMap<String, Node>,
    /// Who feeds whom.
    pub edges: Option<Vec<Edge>>,
    /// A selection by name.
    pub outputs: Option<IndexMap<String, String>>,
}

/// One node of a graph.
#[derive(ToSchema)]
pub struct Node {
    /// A strategy of the registry.
    pub strategy: String,
    /// A signature in one of its three spellings. Ops have none, for their types are inferred; a
    /// strategy that brings its own needs none.
    #[schema(value_type = Option<Object>)]
    pub signature: Option<Json>,
    /// As the strategy's config schema says.
    #[schema(value_type = Option<Object>)]
    pub config: Option<Json>,
    /// Which model, and how.
    pub lm: Option<LmSettings>,
    /// The whole node, retries included.
    pub timeout_ms: Option<u64>,
    /// Repeats of one LM request that failed in passing.
    pub retries: Option<u32>,
    /// Times the LM is asked again after an answer that does not fit.
    pub parse_retries: Option<u32>,
}

/// Which model to ask, and how.
#[derive(ToSchema)]
pub struct LmSettings {
    /// A configured alias.
    pub model: Option<String>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// The most tokens to answer with.
    pub max_tokens: Option<u32>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Sampling seed.
    pub seed: Option<i64>,
    /// Texts at which the answer ends.
    pub stop: Option<Vec<String>>,
}

/// One edge of a graph.
#[derive(ToSchema)]
pub struct Edge {
    /// `node.field` or a deeper selection; `input.field` for the graph's inputs.
    pub from: String,
    /// `node.field`.
    pub to: String,
}

/// A graph: its resolved definition, and what is read-only.
#[derive(ToSchema)]
pub struct Graph {
    /// The definition's members.
    #[schema(inline)]
    #[serde(flatten)]
    pub definition: GraphDefinition,
    /// Its id.
    pub id: Uuid,
    /// This version.
    pub version: i32,
    /// The state version in force for it.
    pub state_version: i32,
    /// SHA-256 of the canonical definition.
    pub content_hash: String,
    /// When the graph was made.
    pub created_at: DateTime<Utc>,
    /// When this version was made.
    pub updated_at: DateTime<Utc>,
}

/// A graph after a PUT, with what became of its state.
#[derive(ToSchema)]
pub struct PutGraph {
    /// The graph.
    #[serde(flatten)]
    pub graph: Graph,
    /// What carried over.
    pub state: CarriedState,
}

/// Changes to the newest version of a graph: all of them, or none.
#[derive(ToSchema)]
pub struct GraphEdits {
    /// Applied in order.
    pub edits: Vec<GraphEdit>,
}

/// One change.
#[derive(ToSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum GraphEdit {
    /// Puts a node behind the others.
    AddNode {
        /// Its name.
        name: String,
        /// The node.
        node: Node,
    },
    /// Takes a node and its edges away; an output that comes from it must go first.
    RemoveNode {
        /// Its name.
        name: String,
    },
    /// Puts another node in the place of one; its edges stay and are checked again.
    ReplaceNode {
        /// Its name.
        name: String,
        /// What stands there now.
        node: Node,
    },
    /// Gives a node another name; edges, outputs and predictor state follow.
    RenameNode {
        /// Its name now.
        name: String,
        /// Its name then.
        to: String,
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
        name: String,
        /// The new node.
        node: Node,
        /// Its input that the edge's source feeds.
        input: String,
        /// Its output that feeds the edge's target.
        output: String,
    },
    /// Names an output of the graph, or moves it.
    SetOutput {
        /// The output.
        name: String,
        /// A selection.
        from: String,
    },
    /// Takes an output away.
    RemoveOutput {
        /// The output.
        name: String,
    },
    /// Declares an input of the graph, or gives it another type.
    SetInput {
        /// The input.
        name: String,
        /// A type or a field.
        #[schema(value_type = Object)]
        r#type: Json,
    },
    /// Takes an input away.
    RemoveInput {
        /// The input.
        name: String,
    },
    /// Defines a type, or defines it anew.
    SetType {
        /// The type.
        name: String,
        /// A class, an enum or a JSON Schema.
        #[schema(value_type = Object)]
        r#type: Json,
    },
    /// Takes a definition away.
    RemoveType {
        /// The type.
        name: String,
    },
}

/// What turns one version of a graph into another.
#[derive(ToSchema)]
pub struct VersionDiff {
    /// The version that it starts from.
    pub from: i32,
    /// The version that it leads to.
    pub to: i32,
    /// Edits as PATCH takes them.
    pub edits: Vec<GraphEdit>,
    /// The same to read: a line a change, with `+`, `-` or `~` in front.
    pub text: String,
}

/// What became of the predictor state.
#[derive(ToSchema)]
pub struct CarriedState {
    /// Paths that carried over.
    pub carried: Vec<String>,
    /// Paths that did not.
    pub dropped: Vec<DroppedPath>,
}

/// A predictor whose state did not carry over.
#[derive(ToSchema)]
pub struct DroppedPath {
    /// Its path.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// A definition that is valid.
#[derive(ToSchema)]
pub struct ValidGraph {
    /// Always true; an invalid one is a problem.
    pub valid: bool,
    /// The resolved definition.
    pub graph: GraphDefinition,
}

/// One line of the list of graphs.
#[derive(ToSchema)]
pub struct GraphItem {
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Its newest version.
    pub version: i32,
    /// The state version in force.
    pub state_version: i32,
    /// When the graph was made.
    pub created_at: DateTime<Utc>,
    /// When its newest version was made.
    pub updated_at: DateTime<Utc>,
}

/// A page of graphs.
#[derive(ToSchema)]
pub struct GraphPage {
    /// Newest first.
    pub items: Vec<GraphItem>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// One line of a graph's history.
#[derive(ToSchema)]
pub struct VersionItem {
    /// The version.
    pub version: i32,
    /// What it is for.
    pub description: Option<String>,
    /// The state version in force for it.
    pub state_version: i32,
    /// SHA-256 of the canonical definition.
    pub content_hash: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// Who made it.
    pub created_by: String,
}

/// A page of versions.
#[derive(ToSchema)]
pub struct VersionPage {
    /// Newest first.
    pub items: Vec<VersionItem>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}
