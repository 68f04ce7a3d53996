//! The work on an evaluation, by whoever holds its job: which examples have a score, what came of some,
//! and the end. Whatever is written is written under the lease, so that of two who think they hold the
//! job only one writes.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::evaluation::ScoredRow;
use super::job::{self, Lease};
use super::run::{RunRow, RunStatus};
use super::run_batch;
use super::{Db, Scope, StoreError};

/// What came of an example, and the record of its run, where there is one.
#[derive(Clone, Debug)]
pub struct EndedExample {
    /// Its score, and what belongs to it.
    pub scored: ScoredRow,
    /// Its run.
    pub run: Option<RunRow>,
}

/// Notes that work on an evaluation begins; false when the lease is lost.
pub async fn begin(db: &Db, lease: Lease, at: DateTime<Utc>) -> Result<bool, StoreError> {
    let begun = sqlx::query!(
        "with held as (select id from jobs where id = $1 and holder = $2 for update)
         update evaluations set status = 'running', started_at = coalesce(started_at, $3)
         from held where evaluations.id = held.id",
        lease.job,
        lease.holder,
        at
    )
    .execute(db.pool())
    .await?;
    Ok(begun.rows_affected() == 1)
}

/// Which examples between two positions, the last one among them, have a score.
pub async fn done(
    db: &Db,
    evaluation: Uuid,
    after: i32,
    last: i32,
) -> Result<Vec<i32>, StoreError> {
    let done = sqlx::query_scalar!(
        "select position from evaluation_results
         where evaluation_id = $1 and position > $2 and position <= $3",
        evaluation,
        after,
        last
    )
    .fetch_all(db.pool())
    .await?;
    Ok(done)
}

/// Writes what came of some examples, with the records of their runs, and gives how many have failed by
/// then; nothing is written, and nothing given, when the lease is lost. Doing it again changes nothing.
pub async fn record(
    scope: &Scope,
    db: &Db,
    lease: Lease,
    ended: &[EndedExample],
) -> Result<Option<i32>, StoreError> {
    let mut tx = db.pool().begin().await?;
    if !job::progress(&mut tx, lease).await? {
        return Ok(None);
    }
    let runs: Vec<_> =
        ended.iter().filter_map(|example| Some((scope, example.run.as_ref()?))).collect();
    if !runs.is_empty() {
        run_batch::insert(&mut *tx, runs.into_iter()).await?;
    }
    let failed = add_results(scope, &mut tx, lease.job, ended).await?;
    tx.commit().await?;
    Ok(Some(failed))
}

/// Adds results and moves the evaluation's sums by those that were not there before; gives how many
/// have failed.
async fn add_results(
    scope: &Scope,
    connection: &mut PgConnection,
    evaluation: Uuid,
    ended: &[EndedExample],
) -> Result<i32, StoreError> {
    let rows = Columns::of(ended);
    let failed = sqlx::query_scalar!(
        "with added as (
             insert into evaluation_results (evaluation_id, position, workspace_id, example_id, score,
                                             feedback, outputs, error, usage, judging, parse_reports,
                                             duration_ms, run_id)
             select $1, position, $2, example_id, score, feedback::json, outputs::json, error::json,
                    usage::json, judging::json, parse_reports::json, duration_ms, run_id
             from unnest($3::int4[], $4::text[], $5::float8[], $6::text[], $7::text[], $8::text[],
                         $9::text[], $10::text[], $11::text[], $12::int8[], $13::uuid[])
                  as example (position, example_id, score, feedback, outputs, error, usage, judging,
                              parse_reports, duration_ms, run_id)
             on conflict (evaluation_id, position) do nothing
             returning score, error, usage, judging
         ), summed as (
             select count(*)::int4 as done,
                    (count(*) filter (where error is not null))::int4 as failed,
                    coalesce(sum(score), 0) as score_sum,
                    coalesce(sum((usage->>'lm_calls')::int8), 0)::int8 as lm_calls,
                    coalesce(sum((usage->>'input_tokens')::int8), 0)::int8 as input_tokens,
                    coalesce(sum((usage->>'output_tokens')::int8), 0)::int8 as output_tokens,
                    coalesce(sum((usage->>'cached_tokens')::int8), 0)::int8 as cached_tokens,
                    sum((usage->>'cost')::float8) as cost,
                    coalesce(sum((judging->>'lm_calls')::int8), 0)::int8 as j_lm_calls,
                    coalesce(sum((judging->>'input_tokens')::int8), 0)::int8 as j_input_tokens,
                    coalesce(sum((judging->>'output_tokens')::int8), 0)::int8 as j_output_tokens,
                    coalesce(sum((judging->>'cached_tokens')::int8), 0)::int8 as j_cached_tokens,
                    sum((judging->>'cost')::float8) as j_cost
             from added
         )
         update evaluations e
         set done = e.done + summed.done,
             failed = e.failed + summed.failed,
             score_sum = e.score_sum + summed.score_sum,
             lm_calls = e.lm_calls + summed.lm_calls,
             input_tokens = e.input_tokens + summed.input_tokens,
             output_tokens = e.output_tokens + summed.output_tokens,
             cached_tokens = e.cached_tokens + summed.cached_tokens,
             cost = case when summed.cost is null then e.cost
                         else coalesce(e.cost, 0) + summed.cost end,
             judging_lm_calls = e.judging_lm_calls + summed.j_lm_calls,
             judging_input_tokens = e.judging_input_tokens + summed.j_input_tokens,
             judging_output_tokens = e.judging_output_tokens + summed.j_output_tokens,
             judging_cached_tokens = e.judging_cached_tokens + summed.j_cached_tokens,
             judging_cost = case when summed.j_cost is null then e.judging_cost
                                 else coalesce(e.judging_cost, 0) + summed.j_cost end
         from summed where id = $1
         returning e.failed",
        evaluation,
        scope.workspace,
        &rows.position,
        &rows.example_id as &[&str],
        &rows.score,
        &rows.feedback as &[Option<&str>],
        &rows.outputs as &[Option<&str>],
        &rows.error as &[Option<&str>],
        &rows.usage as &[&str],
        &rows.judging as &[&str],
        &rows.parse_reports as &[&str],
        &rows.duration_ms,
        &rows.run_id as &[Option<Uuid>]
    )
    .fetch_one(connection)
    .await?;
    Ok(failed)
}

/// The results as one array a column, borrowing every text.
#[derive(Default)]
struct Columns<'a> {
    position: Vec<i32>,
    example_id: Vec<&'a str>,
    score: Vec<f64>,
    feedback: Vec<Option<&'a str>>,
    outputs: Vec<Option<&'a str>>,
    error: Vec<Option<&'a str>>,
    usage: Vec<&'a str>,
    judging: Vec<&'a str>,
    parse_reports: Vec<&'a str>,
    duration_ms: Vec<i64>,
    run_id: Vec<Option<Uuid>>,
}

impl<'a> Columns<'a> {
    fn of(ended: &'a [EndedExample]) -> Self {
        let mut columns = Self::default();
        for EndedExample { scored, .. } in ended {
            columns.position.push(scored.position);
            columns.example_id.push(&scored.example_id);
            columns.score.push(scored.score);
            columns.feedback.push(scored.feedback.as_deref());
            columns.outputs.push(scored.outputs.as_deref());
            columns.error.push(scored.error.as_deref());
            columns.usage.push(&scored.usage);
            columns.judging.push(&scored.judging);
            columns.parse_reports.push(&scored.parse_reports);
            columns.duration_ms.push(scored.duration_ms);
            columns.run_id.push(scored.run_id);
        }
        columns
    }
}

/// Writes how an evaluation ended, and ends its job; false, writing nothing, when the lease is lost.
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
        "update evaluations set status = $2, error = $3::text::json, finished_at = $4,
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
