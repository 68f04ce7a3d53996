//! Batches: the row, one by id, lists, and the results of one. Accepting them is `batch_upload`,
//! working on them `batch_work`.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, Postgres, QueryBuilder};
use uuid::Uuid;

use super::page::fetch_count;
use super::run::RunStatus;
use super::{Cursor, Db, Page, Scope, StoreError};

/// A batch, without its items.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct BatchRow {
    /// Its id, from the caller.
    pub id: Uuid,
    /// The graph's id.
    pub graph_id: Uuid,
    /// The graph's name at the time.
    pub graph_name: String,
    /// The graph version that runs.
    pub graph_version: i32,
    /// The state version that it runs with.
    pub state_version: i32,
    /// Where it stands; never `waiting`.
    #[sqlx(try_from = "String")]
    pub status: RunStatus,
    /// Items at the same time, where fewer are wanted than the worker's limit.
    pub concurrency: Option<i32>,
    /// Whether the same work of nodes is done once.
    pub dedupe: bool,
    /// How many items there are, and how they ended.
    #[sqlx(flatten)]
    pub counts: Counts,
    /// What they cost so far.
    #[sqlx(flatten)]
    pub spent: Spent,
    /// The problem that the batch as a whole ended with, as JSON text.
    pub error: Option<String>,
    /// When it was asked for.
    pub created_at: DateTime<Utc>,
    /// When work on it began.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// On whose behalf.
    pub created_by: String,
}

/// How many items there are, and how many ended how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromRow)]
pub struct Counts {
    /// All of them.
    pub total: i32,
    /// With outputs.
    pub succeeded: i32,
    /// With an error.
    pub failed: i32,
    /// Stopped while they were under way.
    pub cancelled: i32,
}

impl Counts {
    /// Those that have not ended.
    #[must_use]
    pub const fn open(&self) -> i32 {
        self.total - self.succeeded - self.failed - self.cancelled
    }
}

/// Calls, tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromRow)]
pub struct Spent {
    /// Requests that were answered.
    pub lm_calls: i64,
    /// Tokens read.
    pub input_tokens: i64,
    /// Tokens written.
    pub output_tokens: i64,
    /// Of the tokens read, those from the provider's cache.
    pub cached_tokens: i64,
    /// Money; `None` without prices.
    pub cost: Option<f64>,
}

/// What came of one item. Documents are JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultRow {
    /// Which item, counted from 0.
    pub position: i32,
    /// How it ended; `None` when it has not.
    pub status: Option<RunStatus>,
    /// The record of its run, where there is one.
    pub run_id: Option<Uuid>,
    /// What came out.
    pub outputs: Option<String>,
    /// The problem it ended with.
    pub error: Option<String>,
    /// Calls, tokens and cost.
    pub usage: Option<String>,
}

const COLUMNS: &str = "select id, graph_id, graph_name, graph_version, state_version, status, \
     concurrency, dedupe, total, succeeded, failed, cancelled, lm_calls, input_tokens, output_tokens, \
     cached_tokens, cost, error::text, created_at, started_at, finished_at, created_by \
     from batches where not expired and workspace_id = ";

/// A batch by id.
pub async fn get(scope: &Scope, db: &Db, id: Uuid) -> Result<BatchRow, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new(COLUMNS);
    sql.push_bind(scope.workspace).push(" and id = ").push_bind(id);
    let found = sql.build_query_as::<BatchRow>().fetch_optional(db.pool()).await?;
    found.ok_or_else(|| StoreError::not_found("batch", id))
}

/// One page of batches, newest first.
pub async fn list(
    scope: &Scope,
    db: &Db,
    after: Option<Cursor>,
    limit: u32,
) -> Result<Page<BatchRow>, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new(COLUMNS);
    sql.push_bind(scope.workspace);
    if let Some(after) = after {
        sql.push(" and (created_at, id) < (").push_bind(after.created_at);
        sql.push(", ").push_bind(after.id).push(")");
    }
    sql.push(" order by created_at desc, id desc limit ").push_bind(fetch_count(limit));
    let items = sql.build_query_as::<BatchRow>().fetch_all(db.pool()).await?;
    Ok(Page::cut(items, limit, |batch| Cursor { created_at: batch.created_at, id: batch.id }))
}

/// One page of results, in the order of the items, those that have not ended too. `after` is the
/// position of the last item of the page before.
pub async fn results(
    scope: &Scope,
    db: &Db,
    batch: Uuid,
    after: Option<i32>,
    limit: u32,
) -> Result<Page<ResultRow, i32>, StoreError> {
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
        after.unwrap_or(-1),
        fetch_count(limit)
    )
    .fetch_all(db.pool())
    .await?;
    let row = rows.into_iter().map(|row| {
        Ok(ResultRow {
            position: row.position,
            status: row.status.map(RunStatus::try_from).transpose()?,
            run_id: row.run_id,
            outputs: row.outputs,
            error: row.error,
            usage: row.usage,
        })
    });
    let rows = row.collect::<Result<Vec<_>, StoreError>>()?;
    Ok(Page::cut(rows, limit, |row| row.position))
}
