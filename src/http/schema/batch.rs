//! Batches and their results, as the OpenAPI document tells them.

use chrono::{DateTime, Utc};
use utoipa::ToSchema;
use uuid::Uuid;

use super::problem::Problem;
use super::{Json, Usage};

/// What to run a graph over.
#[derive(ToSchema)]
pub struct BatchBody {
    /// The graph's inputs, for each item.
    #[schema(value_type = Vec<Object>)]
    pub items: Vec<Json>,
    /// A graph version other than the newest.
    pub version: Option<i32>,
    /// A state version other than the one in force.
    pub state_version: Option<i32>,
    /// How long each item may take, if less than the server's limit.
    pub timeout_ms: Option<u64>,
    /// Items at the same time, if fewer than the server's limit.
    pub concurrency: Option<u32>,
    /// Whether nodes that are the same run once for the same inputs, over all items.
    pub dedupe: Option<bool>,
}

/// A batch.
#[derive(ToSchema)]
pub struct Batch {
    /// Its id.
    pub id: Uuid,
    /// The graph's name.
    pub graph: String,
    /// The graph version that runs.
    pub version: i32,
    /// The state version that it runs with.
    pub state_version: i32,
    /// `queued`, `running`, `succeeded` (every item has ended), `failed` (the batch as a whole) or
    /// `cancelled`.
    pub status: String,
    /// Items at the same time; null for the server's limit.
    pub concurrency: Option<u32>,
    /// Whether nodes that are the same run once for the same inputs, over all items.
    pub dedupe: bool,
    /// How many items stand where.
    pub counts: BatchCounts,
    /// Calls, tokens and cost of all items so far.
    pub usage: Usage,
    /// The problem that the batch as a whole ended with.
    pub error: Option<Problem>,
    /// When it was asked for.
    pub created_at: DateTime<Utc>,
    /// When work on it began.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
}

/// How many items stand where.
#[derive(ToSchema)]
pub struct BatchCounts {
    /// All of them.
    pub total: u32,
    /// Not ended.
    pub pending: u32,
    /// Ended with outputs.
    pub succeeded: u32,
    /// Ended with an error.
    pub failed: u32,
    /// Stopped, or never begun because the batch ended.
    pub cancelled: u32,
}

/// A page of batches.
#[derive(ToSchema)]
pub struct BatchPage {
    /// Newest first.
    pub items: Vec<Batch>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}

/// What came of one item.
#[derive(ToSchema)]
pub struct BatchResult {
    /// Which item, counted from 0.
    pub index: u32,
    /// `pending`, `succeeded`, `failed` or `cancelled`.
    pub status: String,
    /// What came out.
    #[schema(value_type = Option<Object>)]
    pub outputs: Option<Json>,
    /// The problem it ended with.
    pub error: Option<Problem>,
    /// Calls, tokens and cost; null before the item has ended.
    pub usage: Option<Usage>,
    /// Where its run is read, with its trace; null where runs are not recorded.
    pub run_id: Option<Uuid>,
}

/// A page of results.
#[derive(ToSchema)]
pub struct BatchResultPage {
    /// In the order of the items.
    pub items: Vec<BatchResult>,
    /// Where to go on; null on the last page.
    pub next_cursor: Option<String>,
}
