//! Graphs, their versions, edits and differences.

use chrono::{DateTime, Utc};
use dsrs::graph::{CarryOver, GraphDiff};
use dsrs::value::Payload;
use indexmap::IndexMap;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::time::timestamp;
use super::{Json, Page, RawJson, RawMembers};
use crate::app::GraphUpdate;
use crate::store::graph::{GraphRow, GraphSummaryRow};
use crate::store::graph_version;

/// The definition of a graph. What is left out is inferred.
#[derive(ToSchema)]
pub struct GraphDefinition {
    /// `[a-z][a-z0-9_-]{0,62}`.
    pub name: String,
    /// A description of the graph.
    pub description: Option<String>,
    /// Classes, enums and JSON Schemas by name.
    #[schema(value_type = Option<Object>)]
    pub types: Option<Json>,
    /// A type or a field by name.
    #[schema(value_type = Option<Object>)]
    pub inputs: Option<Json>,
    /// Nodes by name.
    pub nodes: IndexMap<String, Node>,
    /// The connections between nodes.
    pub edges: Option<Vec<Edge>>,
    /// A selection by name.
    pub outputs: Option<IndexMap<String, String>>,
}

/// One node of a graph.
#[derive(ToSchema)]
pub struct Node {
    /// The name of a strategy.
    pub strategy: String,
    /// A signature in one of its three spellings. Ops have none, because their types are inferred;
    /// strategies with a signature of their own need none.
    #[schema(value_type = Option<Object>)]
    pub signature: Option<Json>,
    /// The config, according to the strategy's config schema.
    #[schema(value_type = Option<Object>)]
    pub config: Option<Json>,
    /// The model and its settings.
    pub lm: Option<LmSettings>,
    /// The time limit of the node, including retries.
    pub timeout_ms: Option<u64>,
    /// How often to repeat an LM request after a transient failure.
    pub retries: Option<u32>,
    /// How often to repeat an LM call after an answer that cannot be parsed.
    pub parse_retries: Option<u32>,
}

/// A model and its settings.
#[derive(ToSchema)]
pub struct LmSettings {
    /// A configured alias.
    pub model: Option<String>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// The maximum number of tokens of an answer.
    pub max_tokens: Option<u32>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Sampling seed.
    pub seed: Option<i64>,
    /// Texts that end the answer.
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

/// A graph: its resolved definition and its read-only members.
#[derive(Serialize, ToSchema)]
#[schema(as = Graph)]
pub struct GraphView<'a> {
    /// The members of the definition.
    #[schema(inline, value_type = GraphDefinition)]
    #[serde(flatten)]
    pub definition: RawMembers<'a>,
    /// The id of the graph.
    pub id: Uuid,
    /// The version.
    pub version: i32,
    /// The active state version of this graph version.
    pub state_version: i32,
    /// The SHA-256 of the canonical definition.
    pub content_hash: &'a str,
    /// When the graph was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// When this version was created.
    #[serde(serialize_with = "timestamp")]
    pub updated_at: DateTime<Utc>,
}

impl<'a> From<&'a GraphRow> for GraphView<'a> {
    fn from(row: &'a GraphRow) -> Self {
        Self {
            definition: RawMembers::read(&row.definition),
            id: row.id,
            version: row.version,
            state_version: row.state.version,
            content_hash: &row.content_hash,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}

/// A graph after a change, with its carried-over state.
#[derive(Serialize, ToSchema)]
#[schema(as = PutGraph)]
pub struct GraphUpdateView<'a> {
    /// The graph.
    #[serde(flatten)]
    pub graph: GraphView<'a>,
    /// What was carried over from the previous state.
    pub state: CarryOverView<'a>,
}

impl<'a> From<&'a GraphUpdate> for GraphUpdateView<'a> {
    fn from(update: &'a GraphUpdate) -> Self {
        Self { graph: (&update.row).into(), state: (&update.carried).into() }
    }
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

/// The difference between two versions of a graph.
#[derive(Serialize, ToSchema)]
#[schema(as = VersionDiff)]
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

/// The state that was carried over to a new graph version.
#[derive(Serialize, ToSchema)]
#[schema(as = CarriedState)]
pub struct CarryOverView<'a> {
    /// The paths of predictors whose state was carried over.
    pub carried: Vec<&'a str>,
    /// The predictors whose state was not carried over.
    pub dropped: Vec<DroppedPathView<'a>>,
}

impl<'a> From<&'a CarryOver> for CarryOverView<'a> {
    fn from(carried: &'a CarryOver) -> Self {
        let dropped = carried.dropped.iter();
        Self {
            carried: carried.carried.iter().map(|path| &**path).collect(),
            dropped: dropped.map(|(path, reason)| DroppedPathView { path, reason }).collect(),
        }
    }
}

/// A predictor whose state was not carried over.
#[derive(Serialize, ToSchema)]
#[schema(as = DroppedPath)]
pub struct DroppedPathView<'a> {
    /// The path of the predictor.
    pub path: &'a str,
    /// The reason.
    pub reason: &'a str,
}

/// A valid definition.
#[derive(Serialize, ToSchema)]
#[schema(as = ValidGraph)]
pub struct ValidGraphView<'a> {
    /// Always true; the answer to an invalid definition is a problem.
    pub valid: bool,
    /// The resolved definition.
    #[schema(value_type = GraphDefinition)]
    pub graph: RawJson<'a>,
}

/// An entry in the list of graphs.
#[derive(Serialize, ToSchema)]
#[schema(as = GraphItem)]
pub struct GraphItemView<'a> {
    /// The id of the graph.
    pub id: Uuid,
    /// The name of the graph.
    pub name: &'a str,
    /// The description of the graph.
    pub description: Option<&'a str>,
    /// The newest version.
    pub version: i32,
    /// The active state version.
    pub state_version: i32,
    /// When the graph was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// When its newest version was created.
    #[serde(serialize_with = "timestamp")]
    pub updated_at: DateTime<Utc>,
}

impl<'a> From<&'a GraphSummaryRow> for GraphItemView<'a> {
    fn from(item: &'a GraphSummaryRow) -> Self {
        Self {
            id: item.id,
            name: &item.name,
            description: item.description.as_deref(),
            version: item.version,
            state_version: item.state_version,
            created_at: item.created_at,
            updated_at: item.updated_at,
        }
    }
}

/// A page of graphs, newest first.
pub type GraphPage = Page<GraphItemView<'static>>;

/// An entry in the list of graph versions.
#[derive(Serialize, ToSchema)]
#[schema(as = VersionItem)]
pub struct VersionItemView<'a> {
    /// The version.
    pub version: i32,
    /// The description of the graph.
    pub description: Option<&'a str>,
    /// The active state version of this graph version.
    pub state_version: i32,
    /// The SHA-256 of the canonical definition.
    pub content_hash: &'a str,
    /// When it was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The client that created it.
    pub created_by: &'a str,
}

impl<'a> From<&'a graph_version::GraphVersionRow> for VersionItemView<'a> {
    fn from(item: &'a graph_version::GraphVersionRow) -> Self {
        Self {
            version: item.version,
            description: item.description.as_deref(),
            state_version: item.state_version,
            content_hash: &item.content_hash,
            created_at: item.created_at,
            created_by: &item.created_by,
        }
    }
}

/// A page of graph versions, newest first.
pub type VersionPage = Page<VersionItemView<'static>>;
