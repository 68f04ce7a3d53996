//! The work on a batch, by whoever holds its job: which items are left, what came of some, and the
//! end. Whatever is written is written under the lease, so that of two who think they hold the job
//! only one writes.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::batch::ResultRow;
use super::job::{self, Lease};
use super::run::{RunRow, RunStatus};
use super::run_batch;
use super::{Db, Scope, StoreError};

/// An item that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemRow {
    /// Which item, counted from 0.
    pub position: i32,
    /// Its inputs, as JSON text.
    pub inputs: String,
}

/// What came of an item, and the record of its run, where runs are recorded.
#[derive(Clone, Debug)]
pub struct EndedItem {
    /// Its result.
    pub result: ResultRow,
    /// Its run.
    pub run: Option<RunRow>,
}

/// Notes that work on a batch begins; false when the lease is lost.
pub async fn begin(db: &Db, lease: Lease, at: DateTime<Utc>) -> Result<bool, StoreError> {
    let begun = sqlx::query!(
        "with held as (select id from jobs where id = $1 and holder = $2 for update)
         update batches set status = 'running', started_at = coalesce(started_at, $3)
         from held where batches.id = held.id",
        lease.job,
        lease.holder,
        at
    )
    .execute(db.pool())
    .await?;
    Ok(begun.rows_affected() == 1)
}

/// The next items behind a position that have not ended: at most so many, and at most so many bytes,
/// but one at least where one is left.
pub async fn open_items(
    db: &Db,
    batch: Uuid,
    after: i32,
    count: i64,
    bytes: i64,
) -> Result<Vec<ItemRow>, StoreError> {
    let items = sqlx::query_as!(
        ItemRow,
        r#"select position as "position!", inputs::text as "inputs!"
           from (select position, inputs, size, sum(size) over (order by position) as upto
                 from (select position, inputs, size from batch_items item
                       where batch_id = $1 and position > $2
                         and not exists (select from batch_results done
                                         where done.batch_id = item.batch_id
                                           and done.position = item.position)
                       order by position limit $3) page) summed
           where upto - size < $4
           order by position"#,
        batch,
        after,
        count,
        bytes
    )
    .fetch_all(db.pool())
    .await?;
    Ok(items)
}

/// Writes what came of some items, with the records of their runs; false, writing nothing, when the
/// lease is lost. Doing it again changes nothing.
pub async fn record(
    scope: &Scope,
    db: &Db,
    lease: Lease,
    ended: &[EndedItem],
) -> Result<bool, StoreError> {
    let mut tx = db.pool().begin().await?;
    if !job::progress(&mut tx, lease).await? {
        return Ok(false);
    }
    let runs: Vec<_> = ended.iter().filter_map(|item| Some((scope, item.run.as_ref()?))).collect();
    if !runs.is_empty() {
        run_batch::insert(&mut *tx, runs.into_iter()).await?;
    }
    add_results(scope, &mut tx, lease.job, ended).await?;
    tx.commit().await?;
    Ok(true)
}

/// Adds results and moves the batch's sums by those that were not there before.
async fn add_results(
    scope: &Scope,
    connection: &mut PgConnection,
    batch: Uuid,
    ended: &[EndedItem],
) -> Result<(), StoreError> {
    let rows = Columns::of(ended);
    sqlx::query!(
        "with added as (
             insert into batch_results (batch_id, position, workspace_id, status, run_id, outputs,
                                        error, usage)
             select $1, position, $2, status, run_id, outputs::json, error::json, usage::json
             from unnest($3::int4[], $4::text[], $5::uuid[], $6::text[], $7::text[], $8::text[])
                  as item (position, status, run_id, outputs, error, usage)
             on conflict (batch_id, position) do nothing
             returning status, usage
         ), summed as (
             select count(*) filter (where status = 'succeeded')::int4 as succeeded,
                    count(*) filter (where status = 'failed')::int4 as failed,
                    count(*) filter (where status = 'cancelled')::int4 as cancelled,
                    coalesce(sum((usage->>'lm_calls')::int8), 0)::int8 as lm_calls,
                    coalesce(sum((usage->>'input_tokens')::int8), 0)::int8 as input_tokens,
                    coalesce(sum((usage->>'output_tokens')::int8), 0)::int8 as output_tokens,
                    coalesce(sum((usage->>'cached_tokens')::int8), 0)::int8 as cached_tokens,
                    sum((usage->>'cost')::float8) as cost
             from added
         )
         update batches
         set succeeded = batches.succeeded + summed.succeeded,
             failed = batches.failed + summed.failed,
             cancelled = batches.cancelled + summed.cancelled,
             lm_calls = batches.lm_calls + summed.lm_calls,
             input_tokens = batches.input_tokens + summed.input_tokens,
             output_tokens = batches.output_tokens + summed.output_tokens,
             cached_tokens = batches.cached_tokens + summed.cached_tokens,
             cost = case when summed.cost is null then batches.cost
                         else coalesce(batches.cost, 0) + summed.cost end
         from summed where id = $1",
        batch,
        scope.workspace,
        &rows.position,
        &rows.status as &[&str],
        &rows.run_id as &[Option<Uuid>],
        &rows.outputs as &[Option<&str>],
        &rows.error as &[Option<&str>],
        &rows.usage as &[Option<&str>]
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The results as one array a column, borrowing every text.
#[derive(Default)]
struct Columns<'a> {
    position: Vec<i32>,
    status: Vec<&'a str>,
    run_id: Vec<Option<Uuid>>,
    outputs: Vec<Option<&'a str>>,
    error: Vec<Option<&'a str>>,
    usage: Vec<Option<&'a str>>,
}

impl<'a> Columns<'a> {
    fn of(ended: &'a [EndedItem]) -> Self {
        let mut columns = Self::default();
        for EndedItem { result, .. } in ended {
            columns.position.push(result.position);
            columns.status.push(result.status.map_or("cancelled", RunStatus::as_str));
            columns.run_id.push(result.run_id);
            columns.outputs.push(result.outputs.as_deref());
            columns.error.push(result.error.as_deref());
            columns.usage.push(result.usage.as_deref());
        }
        columns
    }
}

/// Writes how a batch ended, and ends its job; false, writing nothing, when the lease is lost.
pub async fn finish(
    db: &Db,
    lease: Lease,
    status: RunStatus,
    error: Option<&str>,
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let mut tx = db.pool().begin().await?;
    if !job::end(&mut tx, lease).await? {
        return Ok(false);
    }
    sqlx::query!(
        "update batches set status = $2, error = $3::text::json, finished_at = $4,
                            started_at = coalesce(started_at, $4)
         where id = $1",
        lease.job,
        status.as_str(),
        error,
        at
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(true)
}
