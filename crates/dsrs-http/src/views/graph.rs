//! Graphs, their versions, and the state that a change carries over.

use chrono::{DateTime, Utc};
use dsrs::graph::CarryOver;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::graph_definition::GraphDefinition;
use super::time::timestamp;
use super::{PageView, RawJson, RawMembers, example};
use dsrs_app::GraphUpdate;
use dsrs_store::graph::{GraphRow, GraphSummaryRow};
use dsrs_store::graph_version;

/// A graph: its resolved definition and its read-only members.
#[derive(Serialize, ToSchema)]
#[schema(as = Graph, examples(json!(GraphView::example())))]
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
    /// The time when the graph was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The time when this version was created.
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

impl GraphView<'static> {
    fn example() -> Self {
        Self {
            definition: example::definition(),
            id: example::ID,
            version: 1,
            state_version: 1,
            content_hash: example::HASH,
            created_at: example::time(0),
            updated_at: example::time(0),
        }
    }
}

/// A graph after a change, with its carried-over state.
#[derive(Serialize, ToSchema)]
#[schema(as = PutGraph, examples(json!(GraphUpdateView::example())))]
pub struct GraphUpdateView<'a> {
    /// The graph.
    #[serde(flatten)]
    pub graph: GraphView<'a>,
    /// The predictors whose state was carried over, and those whose state was dropped.
    pub state: CarryOverView<'a>,
}

impl<'a> From<&'a GraphUpdate> for GraphUpdateView<'a> {
    fn from(update: &'a GraphUpdate) -> Self {
        Self { graph: (&update.row).into(), state: (&update.carried).into() }
    }
}

impl GraphUpdateView<'static> {
    fn example() -> Self {
        Self {
            graph: GraphView { version: 2, state_version: 2, ..GraphView::example() },
            state: CarryOverView { carried: vec!["triage"], dropped: Vec::new() },
        }
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
#[schema(as = ValidGraph, examples(json!(ValidGraphView::example())))]
pub struct ValidGraphView<'a> {
    /// Always true; the answer to an invalid definition is a problem.
    pub valid: bool,
    /// The resolved definition.
    #[schema(value_type = GraphDefinition)]
    pub graph: RawJson<'a>,
}

impl ValidGraphView<'static> {
    fn example() -> Self {
        Self { valid: true, graph: example::DEFINITION.into() }
    }
}

/// An entry in the list of graphs.
#[derive(Serialize, ToSchema)]
#[schema(as = GraphItem, examples(json!(GraphItemView::example())))]
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
    /// The time when the graph was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The time when the newest version was created.
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

impl GraphItemView<'static> {
    fn example() -> Self {
        Self {
            id: example::ID,
            name: example::GRAPH,
            description: Some(example::DESCRIPTION),
            version: 1,
            state_version: 1,
            created_at: example::time(0),
            updated_at: example::time(0),
        }
    }
}

/// A page of graphs, newest first.
pub type GraphPage = PageView<GraphItemView<'static>>;

/// An entry in the list of graph versions.
#[derive(Serialize, ToSchema)]
#[schema(as = VersionItem, examples(json!(VersionItemView::example())))]
pub struct VersionItemView<'a> {
    /// The version.
    pub version: i32,
    /// The description of the graph.
    pub description: Option<&'a str>,
    /// The active state version of this graph version.
    pub state_version: i32,
    /// The SHA-256 of the canonical definition.
    pub content_hash: &'a str,
    /// The time when the version was created.
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

impl VersionItemView<'static> {
    fn example() -> Self {
        Self {
            version: 1,
            description: Some(example::DESCRIPTION),
            state_version: 1,
            content_hash: example::HASH,
            created_at: example::time(0),
            created_by: example::CLIENT,
        }
    }
}

/// A page of graph versions, newest first.
pub type VersionPage = PageView<VersionItemView<'static>>;
