//! The last answers of a node, from the traces of recent runs.

use serde::Deserialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::visitor::Visitor;
use dsrs_http::ApiProblem;
use dsrs_store::ListQuery;
use dsrs_store::graph::GraphRef;
use dsrs_store::run::{RunFilter, RunRow};

/// How many runs are looked at.
const RUNS: u32 = 4;

/// A longer trace is not read.
const MOST_BYTES: usize = 1 << 20;

/// What a node made of its inputs in a run.
#[derive(Debug)]
pub(crate) struct NodeAnswer {
    pub(crate) run: Uuid,
    pub(crate) version: i32,
    pub(crate) state_version: i32,
    pub(crate) status: String,
    pub(crate) duration_ms: Option<f64>,
    pub(crate) inputs: Map<String, Value>,
    pub(crate) outputs: Map<String, Value>,
    pub(crate) error: Option<String>,
}

#[derive(Deserialize)]
struct Trace {
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Span {
    #[serde(default)]
    parent_id: Option<u32>,
    kind: String,
    name: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    duration_ms: Option<f64>,
    #[serde(default)]
    inputs: Value,
    #[serde(default)]
    outputs: Value,
    #[serde(default)]
    error: Value,
}

/// The answers of a node of a graph in its newest runs.
pub(crate) async fn last_answers(
    visitor: &Visitor,
    graph: Uuid,
    node: &str,
) -> Result<Vec<NodeAnswer>, ApiProblem> {
    let filter = RunFilter { graph: Some(GraphRef::Id(graph)), ..RunFilter::default() };
    let runs = visitor.app.run_list(&visitor.scope, &filter, ListQuery::new(None, RUNS)).await?;
    let mut answers = Vec::new();
    for run in runs.items {
        // A run may be removed between the two reads.
        let Ok(row) = visitor.app.run_get(&visitor.scope, run.id).await else { continue };
        answers.extend(answer_in(&row, node));
    }
    Ok(answers)
}

fn answer_in(run: &RunRow, node: &str) -> Option<NodeAnswer> {
    if run.trace.len() > MOST_BYTES {
        return None;
    }
    let Trace { spans } = serde_json::from_str(&run.trace).ok()?;
    let is_node =
        |span: &Span| span.kind == "node" && span.parent_id.is_none() && span.name == node;
    let span = spans.into_iter().find(is_node)?;
    Some(NodeAnswer {
        run: run.id,
        version: run.graph_version,
        state_version: run.state_version,
        status: span.status,
        duration_ms: span.duration_ms,
        inputs: object(span.inputs),
        outputs: object(span.outputs),
        error: message(&span.error),
    })
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn message(error: &Value) -> Option<String> {
    match error {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
