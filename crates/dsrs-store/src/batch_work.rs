//! The work on a batch: its open items, and their results. Results are written only by the holder of
//! the lease.
//!
//! May not know graphs: documents are JSON text.

use sqlx::PgConnection;
use uuid::Uuid;

use super::batch::BatchResultRow;
use super::ended_run::RunReports;
use super::job::{self, Lease};
use super::run::{RunRow, RunStatus};
use super::{Db, Scope, StoreError};

/// An item without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemRow {
    /// The position of the item, counted from 0.
    pub position: i32,
    /// Its inputs, as JSON text.
    pub inputs: String,
}

/// The result of an item, and the record of its run if runs are recorded.
#[derive(Clone, Debug)]
pub struct BatchItemResult {
    pub result: BatchResultRow,
    pub run: Option<RunRow>,
}

/// The next open items after a position and before another, limited by count and by bytes. At least one if one
/// is left, whatever its size.
pub async fn open_items(
    db: &Db,
    lease: Lease,
    batch: Uuid,
    (after, to): (i32, i32),
    count: i64,
    bytes: i64,
) -> Result<Vec<ItemRow>, StoreError> {
    let items = sqlx::query_as!(
        ItemRow,
        r#"select position as "position!", inputs::text as "inputs!"
           from (select position, inputs, size, sum(size) over (order by position) as upto
                 from (select position, inputs, size from batch_items item
                       where batch_id = $1 and position > $2 and position < $5
                         and not exists (select from batch_results done
                                         where done.batch_id = item.batch_id
                                           and done.position = item.position)
                       order by position limit $3) page) summed
           where upto - size < $4
           order by position"#,
        batch,
        after,
        count,
        bytes,
        to
    )
    .fetch_all(&mut *db.scoped(&lease).await?)
    .await?;
    Ok(items)
}

/// Writes results with the records of their runs. False, writing nothing, if the lease is lost. Safe to
/// repeat.
pub async fn record(
    scope: &Scope,
    db: &Db,
    lease: Lease,
    batch: Uuid,
    results: &[BatchItemResult],
) -> Result<bool, StoreError> {
    let runs = results.iter().filter_map(|result| result.run.as_ref());
    let results_of = job::begin_results(scope, db, lease, runs, RunReports::Sent);
    let Some(mut tx) = results_of.await? else {
        return Ok(false);
    };
    add_results(scope, &mut tx, batch, results).await?;
    tx.commit().await?;
    Ok(true)
}

/// Adds results, and adds the new ones to the totals of the batch.
async fn add_results(
    scope: &Scope,
    connection: &mut PgConnection,
    batch: Uuid,
    results: &[BatchItemResult],
) -> Result<(), StoreError> {
    let rows = BatchResultColumns::of(results);
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
                    coalesce(sum((usage->>'reasoning_tokens')::int8), 0)::int8 as reasoning_tokens,
                    coalesce(sum((usage->>'cached_tokens')::int8), 0)::int8 as cached_tokens,
                    coalesce(sum((usage->>'cache_write_tokens')::int8), 0)::int8 as cache_write_tokens,
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
             reasoning_tokens = batches.reasoning_tokens + summed.reasoning_tokens,
             cached_tokens = batches.cached_tokens + summed.cached_tokens,
             cache_write_tokens = batches.cache_write_tokens + summed.cache_write_tokens,
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

/// The results as one array per column. Borrows every text.
#[derive(Default)]
struct BatchResultColumns<'a> {
    position: Vec<i32>,
    status: Vec<&'a str>,
    run_id: Vec<Option<Uuid>>,
    outputs: Vec<Option<&'a str>>,
    error: Vec<Option<&'a str>>,
    usage: Vec<Option<&'a str>>,
}

impl<'a> BatchResultColumns<'a> {
    fn of(results: &'a [BatchItemResult]) -> Self {
        let mut columns = Self::default();
        for BatchItemResult { result, .. } in results {
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
