//! Batches and their results.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::run_labels::RunLabelsView;
use super::time::{timestamp, timestamp_or_null};
use super::{Json, PageView, RawJson, UsageView, example};
use crate::protocol::problem_view::ProblemView;
use dsrs_store::batch::{BatchResultRow, BatchRow};

/// The inputs to run a graph with.
#[derive(ToSchema)]
pub struct BatchBody {
    /// The inputs of the graph, for each item.
    #[schema(value_type = Vec<Object>)]
    pub items: Vec<Json>,
    /// A version of the graph. Default: the newest.
    pub version: Option<i32>,
    /// A version of the state. Default: the active version.
    pub state_version: Option<i32>,
    /// The time limit of each item. Default, and maximum: the limit of the server.
    pub timeout_ms: Option<u64>,
    /// Items that run at the same time. Default, and maximum: the limit of the server.
    pub concurrency: Option<u32>,
    /// Whether identical nodes run only once for identical inputs, across all items.
    pub dedupe: Option<bool>,
    /// Names of the caller's own, by which runs are found: at most 16, each of at most 64 characters.
    pub tags: Option<Vec<String>>,
    /// The session that the runs belong to, at most 200 characters.
    pub session_id: Option<String>,
    /// The user on whose behalf the caller runs them, at most 200 characters.
    pub user_id: Option<String>,
    /// At most 16 members with names of at most 64 characters: strings of at most 512 characters, numbers, booleans.
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Json>,
}

/// A batch.
#[derive(Serialize, ToSchema)]
#[schema(as = Batch, examples(json!(BatchView::example())))]
pub struct BatchView<'a> {
    /// The id of the batch.
    pub id: Uuid,
    /// The name of the graph.
    pub graph: &'a str,
    /// The graph version that runs.
    pub version: i32,
    /// The state version that runs.
    pub state_version: i32,
    /// `queued`, `running`, `succeeded` (every item has ended), `failed` (the batch as a whole) or
    /// `cancelled`.
    pub status: &'a str,
    /// Items that run at the same time; null for the limit of the server.
    #[schema(minimum = 0)]
    pub concurrency: Option<i32>,
    /// Whether identical nodes run only once for identical inputs, across all items.
    pub dedupe: bool,
    /// The number of items in each state.
    pub counts: BatchCountsView,
    /// The caller's own names of all its runs.
    #[serde(flatten)]
    pub labels: RunLabelsView<'a>,
    /// Calls, tokens and cost of all items so far.
    pub usage: UsageView,
    /// The reason why the batch as a whole failed.
    pub error: Option<ProblemView<'a>>,
    /// The time when the batch was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The time when the batch started.
    #[serde(serialize_with = "timestamp_or_null")]
    pub started_at: Option<DateTime<Utc>>,
    /// The time when the batch ended.
    #[serde(serialize_with = "timestamp_or_null")]
    pub finished_at: Option<DateTime<Utc>>,
}

impl<'a> From<&'a BatchRow> for BatchView<'a> {
    fn from(row: &'a BatchRow) -> Self {
        Self {
            id: row.id,
            graph: &row.graph_name,
            version: row.graph_version,
            state_version: row.state_version,
            status: row.status.as_str(),
            concurrency: row.concurrency,
            dedupe: row.dedupe,
            counts: row.into(),
            labels: (&row.labels).into(),
            usage: (&row.spent).into(),
            error: row.error.as_deref().map(ProblemView::recorded),
            created_at: row.created_at,
            started_at: row.started_at,
            finished_at: row.finished_at,
        }
    }
}

impl BatchView<'static> {
    fn example() -> Self {
        Self {
            id: example::ID,
            graph: "support-reply",
            version: 1,
            state_version: 1,
            status: "succeeded",
            concurrency: Some(8),
            dedupe: false,
            counts: BatchCountsView { total: 2, pending: 0, succeeded: 2, failed: 0, cancelled: 0 },
            labels: RunLabelsView::example(),
            usage: UsageView::example(),
            error: None,
            created_at: example::time(0),
            started_at: Some(example::time(1)),
            finished_at: Some(example::time(3)),
        }
    }
}

/// The number of items in each state.
#[derive(Serialize, ToSchema)]
#[schema(as = BatchCounts)]
pub struct BatchCountsView {
    /// All items.
    #[schema(minimum = 0)]
    pub total: i32,
    /// Items that have not ended.
    #[schema(minimum = 0)]
    pub pending: i32,
    /// Items that ended with outputs.
    #[schema(minimum = 0)]
    pub succeeded: i32,
    /// Items that ended with an error.
    #[schema(minimum = 0)]
    pub failed: i32,
    /// Items that were stopped, or did not start before the batch ended.
    #[schema(minimum = 0)]
    pub cancelled: i32,
}

impl From<&BatchRow> for BatchCountsView {
    fn from(row: &BatchRow) -> Self {
        let (counts, open) = (row.counts, row.counts.open());
        // Items without a result are pending while the batch runs. After its end they never run.
        let (pending, never) = if row.status.has_ended() { (0, open) } else { (open, 0) };
        Self {
            total: counts.total,
            pending,
            succeeded: counts.succeeded,
            failed: counts.failed,
            cancelled: counts.cancelled + never,
        }
    }
}

/// The result of one item.
#[derive(Serialize, ToSchema)]
#[schema(as = BatchResult, examples(json!(BatchResultView::example())))]
pub struct BatchResultView<'a> {
    /// The position of the item, counted from 0.
    #[schema(minimum = 0)]
    pub index: i32,
    /// `pending`, `succeeded`, `failed` or `cancelled`.
    pub status: &'a str,
    /// The outputs of the graph.
    #[schema(value_type = Option<Object>)]
    pub outputs: Option<RawJson<'a>>,
    /// The reason why the item failed.
    pub error: Option<ProblemView<'a>>,
    /// Calls, tokens and cost; null until the item has ended.
    #[schema(value_type = Option<UsageView>)]
    pub usage: Option<RawJson<'a>>,
    /// The run of the item, with its trace; null if runs are not recorded.
    pub run_id: Option<Uuid>,
}

impl<'a> BatchResultView<'a> {
    pub(crate) fn new(row: &'a BatchResultRow, batch_has_ended: bool) -> Self {
        let open = if batch_has_ended { "cancelled" } else { "pending" };
        Self {
            index: row.position,
            status: row.status.map_or(open, |status| status.as_str()),
            outputs: row.outputs.as_ref().map(RawJson::from),
            error: row.error.as_deref().map(ProblemView::recorded),
            usage: row.usage.as_ref().map(RawJson::from),
            run_id: row.run_id,
        }
    }
}

impl BatchResultView<'static> {
    fn example() -> Self {
        let usage = r#"{"lm_calls":2,"input_tokens":645,"output_tokens":106,"reasoning_tokens":0,"cached_tokens":0,"cache_write_tokens":0,"cost":null}"#;
        Self {
            index: 0,
            status: "succeeded",
            outputs: Some(r#"{"answer":"It arrives tomorrow.","mood":"calm"}"#.into()),
            error: None,
            usage: Some(usage.into()),
            run_id: Some(example::ID),
        }
    }
}

/// A page of batches.
pub type BatchPage = PageView<BatchView<'static>>;

/// A page of results.
pub type BatchResultPage = PageView<BatchResultView<'static>>;
