//! Executions and the list of runs, as the OpenAPI document tells them.

use chrono::{DateTime, Utc};
use indexmap::IndexMap;
use utoipa::ToSchema;
use uuid::Uuid;

use super::provenance::Provenance;
use super::trace::Trace;
use super::{Json, UsageView};
use crate::http::protocol::problem_view::ProblemView;

/// What to execute.
#[derive(ToSchema)]
pub struct ExecuteBody {
    /// The graph's inputs.
    #[schema(value_type = Object)]
    pub inputs: Json,
    /// A graph version other than the newest.
    pub version: Option<i32>,
    /// A state version other than the one in force.
    pub state_version: Option<i32>,
    /// Whether the answer has the trace.
    pub trace: Option<bool>,
    /// How long the run may take, if less than the server's limit.
    pub timeout_ms: Option<u64>,
}

/// A run.
#[derive(ToSchema)]
pub struct Run {
    /// Its id.
    pub id: Uuid,
    /// The graph's name.
    pub graph: String,
    /// The graph version that ran.
    pub version: i32,
    /// The state version that it ran with.
    pub state_version: i32,
    /// `queued`, `running`, `waiting`, `succeeded`, `failed` or `cancelled`.
    pub status: String,
    /// What it was given, completed.
    #[schema(value_type = Object)]
    pub inputs: Json,
    /// What came out.
    #[schema(value_type = Option<Object>)]
    pub outputs: Option<Json>,
    /// The problem it ended with.
    pub error: Option<ProblemView<'static>>,
    /// Calls, tokens and cost.
    pub usage: UsageView,
    /// When it was asked for.
    pub created_at: DateTime<Utc>,
    /// When it started.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// From start to end.
    pub duration_ms: Option<i64>,
    /// Each node's outcome, by name.
    pub nodes: IndexMap<String, RunNode>,
    /// What happened; `/execute` answers it with `trace: true` only.
    pub trace: Option<Trace>,
    /// Where its outputs came from; there with `include=provenance` only.
    pub provenance: Option<Provenance>,
}

/// A run as `/execute` answers it.
#[derive(ToSchema)]
pub struct Executed {
    /// The run.
    #[serde(flatten)]
    pub run: Run,
    /// The same as `id`.
    pub run_id: Uuid,
}

/// How a run goes on.
#[derive(ToSchema)]
pub struct ResumeBody {
    /// A graph version other than the run's.
    pub version: Option<i32>,
    /// A state version other than the run's, or the one in force for `version`.
    pub state_version: Option<i32>,
    /// How long an attempt may take, if less than the server's limit.
    pub timeout_ms: Option<u64>,
}

/// A value for a node that waits.
#[derive(ToSchema)]
pub struct SignalBody {
    /// The node's name.
    pub node: String,
    /// Its outputs by name; of a node of one output, that output's value alone will do.
    pub value: Json,
}

/// A run that goes on.
#[derive(ToSchema)]
pub struct ResumedRun {
    /// The run.
    #[serde(flatten)]
    pub run: Run,
    /// What becomes of each node, by name.
    pub resumed: IndexMap<String, ResumedNode>,
}

/// What becomes of a node of a run that goes on.
#[derive(ToSchema)]
pub struct ResumedNode {
    /// `kept` or `again`.
    pub verdict: String,
    /// Why it runs again.
    pub reason: Option<String>,
}

/// One node of a run.
#[derive(ToSchema)]
pub struct RunNode {
    /// `pending`, `running`, `succeeded`, `failed`, `skipped`, `cancelled` or `waiting`.
    pub status: String,
    /// When it started.
    pub started_at: Option<DateTime<Utc>>,
    /// How long it took.
    pub duration_ms: Option<i64>,
    /// What it gave.
    #[schema(value_type = Option<Object>)]
    pub outputs: Option<Json>,
    /// Why it failed.
    pub error: Option<NodeError>,
    /// What there is to decide about, of a node that waits or has waited.
    #[schema(value_type = Option<Object>)]
    pub inputs: Option<Json>,
}

/// Why a node failed.
#[derive(ToSchema)]
pub struct NodeError {
    /// What happened, for a person.
    pub detail: String,
    /// Stable and machine-readable.
    pub code: String,
    /// The predictor that failed.
    pub predictor: Option<String>,
}

/// One line of the list of runs.
#[derive(ToSchema)]
pub struct RunItem {
    /// Its id.
    pub id: Uuid,
    /// The graph's name.
    pub graph: String,
    /// The graph version that ran.
    pub version: i32,
    /// The state version that it ran with.
    pub state_version: i32,
    /// Where it stands.
    pub status: String,
    /// The problem it ended with.
    pub error: Option<ProblemView<'static>>,
    /// Calls, tokens and cost.
    pub usage: UsageView,
    /// When it was asked for.
    pub created_at: DateTime<Utc>,
    /// When it started.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// From start to end.
    pub duration_ms: Option<i64>,
}

/// A page of runs.
#[derive(ToSchema)]
pub struct RunPage {
    /// Newest first.
    pub items: Vec<RunItem>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// Server-sent events of a run. `event` is one of `run.started`, `node.started`, `node.delta`
/// (`{node, predictor, span, field, text}`), `node.retry` (`{node, predictor, span, attempt, reason}`:
/// what was told under this span is void), `node.completed` (`{node, outputs, usage, duration_ms}`),
/// `node.failed`, `run.waiting`, `run.completed`, `run.failed`, `run.cancelled` and `gap` (`{from, to}`: events that
/// are gone); `id` grows by one within a run; a comment comes at least every 15 s.
#[derive(ToSchema)]
#[schema(value_type = String)]
pub struct RunEvents(#[allow(dead_code, reason = "only its schema is of use")] String);
