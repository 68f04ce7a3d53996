//! Batches: the status row, lists, and results. Uploads are in `batch_upload`, attempts write through
//! `batch_work`.

use chrono::{DateTime, Utc};
use sqlx::FromRow;
use uuid::Uuid;

use super::job::{self, JobRow, JobType};
use super::page::ListedRow;
use super::run::RunStatus;
use super::run_label::RunLabels;
use super::{Cursor, Db, ListQuery, Page, Scope, StoreError};

pub const JOB: JobType = JobType::new("batch", "batches");

/// A batch, without its items.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct BatchRow {
    /// Its id, from the caller.
    pub id: Uuid,
    /// The graph's id.
    pub graph_id: Uuid,
    /// The name of the graph at the time of the request.
    pub graph_name: String,
    pub graph_version: i32,
    pub state_version: i32,
    /// Its status; never `waiting`.
    #[sqlx(try_from = "String")]
    pub status: RunStatus,
    /// The number of items at a time, if fewer than the limit of the worker.
    pub concurrency: Option<i32>,
    /// Whether identical work of nodes is done once.
    pub dedupe: bool,
    /// The number of items, by status.
    #[sqlx(flatten)]
    pub counts: ItemCounts,
    /// The usage so far.
    #[sqlx(flatten)]
    pub spent: UsageTotals,
    /// The problem that the batch as a whole failed with, as JSON text.
    pub error: Option<String>,
    /// When it was requested.
    pub created_at: DateTime<Utc>,
    /// When the first attempt began.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// The caller who requested it.
    pub created_by: String,
    /// The labels of all its runs.
    #[sqlx(flatten)]
    pub labels: RunLabels,
}

impl ListedRow for BatchRow {
    fn cursor(&self) -> Cursor {
        Cursor { created_at: self.created_at, id: self.id }
    }
}

impl JobRow for BatchRow {
    const JOB: JobType = JOB;

    fn select() -> String {
        "select id, graph_id, graph_name, graph_version, state_version, status, \
     concurrency, dedupe, total, succeeded, failed, cancelled, lm_calls, input_tokens, output_tokens, \
     reasoning_tokens, cached_tokens, cache_write_tokens, cost, error::text, created_at, started_at, finished_at, created_by, \
     tags::text, session_id, user_id, metadata::text from batches where not expired and workspace_id = "
            .to_owned()
    }

    fn status(&self) -> RunStatus {
        self.status
    }
}

/// The number of items, by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromRow)]
pub struct ItemCounts {
    /// All of them.
    pub total: i32,
    /// With outputs.
    pub succeeded: i32,
    /// With an error.
    pub failed: i32,
    /// Cancelled while they ran.
    pub cancelled: i32,
}

impl ItemCounts {
    /// Those without a result.
    #[must_use]
    pub const fn open(&self) -> i32 {
        self.total - self.succeeded - self.failed - self.cancelled
    }
}

/// The usage of many runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromRow)]
pub struct UsageTotals {
    /// Answered requests.
    pub lm_calls: i64,
    /// Tokens read.
    pub input_tokens: i64,
    /// Tokens written.
    pub output_tokens: i64,
    /// Of the tokens written, those of reasoning.
    pub reasoning_tokens: i64,
    /// Of the tokens read, those from the provider's cache.
    pub cached_tokens: i64,
    /// Of the tokens read, those that the provider wrote to its cache.
    pub cache_write_tokens: i64,
    /// Money; `None` without prices.
    pub cost: Option<f64>,
}

/// The result of one item. Documents are JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchResultRow {
    /// The position of the item, counted from 0.
    pub position: i32,
    /// How it ended; `None` if it is open.
    pub status: Option<RunStatus>,
    /// The id of the record of its run, if there is one.
    pub run_id: Option<Uuid>,
    pub outputs: Option<String>,
    /// The problem that it failed with.
    pub error: Option<String>,
    /// Calls, tokens and cost.
    pub usage: Option<String>,
}

/// One page of batches, newest first.
pub async fn list(scope: &Scope, db: &Db, list: ListQuery) -> Result<Page<BatchRow>, StoreError> {
    job::list(scope, db, list, |_| ()).await
}

/// One page of results in the order of the items, open items included. The key is the position.
pub async fn results(
    scope: &Scope,
    db: &Db,
    batch: Uuid,
    list: ListQuery<i32>,
) -> Result<Page<BatchResultRow, i32>, StoreError> {
    let rows = sqlx::query!(
        r#"select item.position, done.status as "status?", done.run_id,
                  done.outputs::text as "outputs", done.error::text as "error",
                  done.usage::text as "usage"
           from batch_items item
           left join batch_results done
                on done.batch_id = item.batch_id and done.position = item.position
           where item.batch_id = $1 and item.workspace_id = $2 and item.position > $3
           order by item.position limit $4"#,
        batch,
        scope.workspace,
        list.after.unwrap_or(-1),
        list.fetch_count()
    )
    .fetch_all(&mut *db.scoped(scope).await?)
    .await?;
    let row = rows.into_iter().map(|row| {
        Ok(BatchResultRow {
            position: row.position,
            status: row.status.map(RunStatus::try_from).transpose()?,
            run_id: row.run_id,
            outputs: row.outputs,
            error: row.error,
            usage: row.usage,
        })
    });
    let rows = row.collect::<Result<Vec<_>, StoreError>>()?;
    Ok(list.page(rows, |row| row.position))
}
