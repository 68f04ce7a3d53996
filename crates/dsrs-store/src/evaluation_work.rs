//! The work on an evaluation: which examples have a score, and new results. Results are written only by
//! the holder of the lease.
//!
//! May not know graphs or metrics: documents are JSON text.

use sqlx::PgConnection;
use uuid::Uuid;

use super::ended_run::RunReports;
use super::evaluation::EvaluationResultRow;
use super::job::{self, Lease};
use super::run::RunRow;
use super::{Db, Scope, StoreError, key_spending};

/// The result of an example, and the record of its run if there is one.
#[derive(Clone, Debug)]
pub struct EvaluationItemResult {
    /// Its score, feedback and outputs.
    pub scored: EvaluationResultRow,
    pub run: Option<RunRow>,
}

/// The examples with a score, after a position up to another, inclusive.
pub async fn done(
    db: &Db,
    lease: Lease,
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
    .fetch_all(&mut *db.scoped(&lease).await?)
    .await?;
    Ok(done)
}

/// How many examples have no score of their own so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedExamples {
    /// Those that failed and count as 0.
    pub failed: i32,
    /// Those without a score.
    pub unmeasured: i32,
}

/// Writes results with the records of their runs. Returns the number of failed examples so far, or
/// `None`, writing nothing, if the lease is lost. Safe to repeat.
pub async fn record(
    scope: &Scope,
    db: &Db,
    lease: Lease,
    evaluation: Uuid,
    results: &[EvaluationItemResult],
) -> Result<Option<FailedExamples>, StoreError> {
    let runs = results.iter().filter_map(|result| result.run.as_ref());
    let results_of = job::begin_results(scope, db, lease, runs, RunReports::Omitted);
    let Some(mut tx) = results_of.await? else {
        return Ok(None);
    };
    let added = add_results(scope, &mut tx, evaluation, results).await?;
    key_spending::add_sum(scope, &mut tx, added.tokens, added.cost).await?;
    tx.commit().await?;
    Ok(Some(FailedExamples { failed: added.failed, unmeasured: added.unmeasured }))
}

/// What has become of an evaluation by new results.
struct AddedResults {
    /// The number of failed examples, with earlier ones.
    failed: i32,
    /// The number of examples without a score, with earlier ones.
    unmeasured: i32,
    /// The tokens of metrics, and those of examples without a recorded run.
    tokens: i64,
    /// The cost of the same.
    cost: f64,
}

/// Adds results, and adds the new ones to the totals of the evaluation.
async fn add_results(
    scope: &Scope,
    connection: &mut PgConnection,
    evaluation: Uuid,
    results: &[EvaluationItemResult],
) -> Result<AddedResults, StoreError> {
    let rows = EvaluationResultColumns::of(results);
    let added = sqlx::query_as!(
        AddedResults,
        r#"with added as (
             insert into evaluation_results (evaluation_id, position, workspace_id, example_id, score,
                                             feedback, outputs, error, usage, judging, parse_reports,
                                             duration_ms, run_id, unmeasured)
             select $1, position, $2, example_id, score, feedback::json, outputs::json, error::json,
                    usage::json, judging::json, parse_reports::json, duration_ms, run_id, unmeasured
             from unnest($3::int4[], $4::text[], $5::float8[], $6::text[], $7::text[], $8::text[],
                         $9::text[], $10::text[], $11::text[], $12::int8[], $13::uuid[], $14::bool[])
                  as example (position, example_id, score, feedback, outputs, error, usage, judging,
                              parse_reports, duration_ms, run_id, unmeasured)
             on conflict (evaluation_id, position) do nothing
             returning score, error, usage, judging, run_id, unmeasured
         ), summed as (
             select count(*)::int4 as done,
                    (count(*) filter (where error is not null and not unmeasured))::int4 as failed,
                    (count(*) filter (where unmeasured))::int4 as unmeasured,
                    coalesce(sum(score) filter (where not unmeasured), 0) as score_sum,
                    coalesce(sum((usage->>'lm_calls')::int8), 0)::int8 as lm_calls,
                    coalesce(sum((usage->>'input_tokens')::int8), 0)::int8 as input_tokens,
                    coalesce(sum((usage->>'output_tokens')::int8), 0)::int8 as output_tokens,
                    coalesce(sum((usage->>'reasoning_tokens')::int8), 0)::int8 as reasoning_tokens,
                    coalesce(sum((usage->>'cached_tokens')::int8), 0)::int8 as cached_tokens,
                    coalesce(sum((usage->>'cache_write_tokens')::int8), 0)::int8 as cache_write_tokens,
                    sum((usage->>'cost')::float8) as cost,
                    coalesce(sum((judging->>'lm_calls')::int8), 0)::int8 as j_lm_calls,
                    coalesce(sum((judging->>'input_tokens')::int8), 0)::int8 as j_input_tokens,
                    coalesce(sum((judging->>'output_tokens')::int8), 0)::int8 as j_output_tokens,
                    coalesce(sum((judging->>'reasoning_tokens')::int8), 0)::int8 as j_reasoning_tokens,
                    coalesce(sum((judging->>'cached_tokens')::int8), 0)::int8 as j_cached_tokens,
                    coalesce(sum((judging->>'cache_write_tokens')::int8), 0)::int8 as j_cache_write_tokens,
                    sum((judging->>'cost')::float8) as j_cost,
                    coalesce(sum(tokens_of(judging)
                        + case when run_id is null then tokens_of(usage) else 0 end), 0)::int8 as tokens,
                    coalesce(sum(cost_of(judging)
                        + case when run_id is null then cost_of(usage) else 0 end), 0) as spent
             from added
         )
         update evaluations e
         set done = e.done + summed.done,
             failed = e.failed + summed.failed,
             unmeasured = e.unmeasured + summed.unmeasured,
             score_sum = e.score_sum + summed.score_sum,
             lm_calls = e.lm_calls + summed.lm_calls,
             input_tokens = e.input_tokens + summed.input_tokens,
             output_tokens = e.output_tokens + summed.output_tokens,
             reasoning_tokens = e.reasoning_tokens + summed.reasoning_tokens,
             cached_tokens = e.cached_tokens + summed.cached_tokens,
             cache_write_tokens = e.cache_write_tokens + summed.cache_write_tokens,
             cost = case when summed.cost is null then e.cost
                         else coalesce(e.cost, 0) + summed.cost end,
             judging_lm_calls = e.judging_lm_calls + summed.j_lm_calls,
             judging_input_tokens = e.judging_input_tokens + summed.j_input_tokens,
             judging_output_tokens = e.judging_output_tokens + summed.j_output_tokens,
             judging_reasoning_tokens = e.judging_reasoning_tokens + summed.j_reasoning_tokens,
             judging_cached_tokens = e.judging_cached_tokens + summed.j_cached_tokens,
             judging_cache_write_tokens = e.judging_cache_write_tokens + summed.j_cache_write_tokens,
             judging_cost = case when summed.j_cost is null then e.judging_cost
                                 else coalesce(e.judging_cost, 0) + summed.j_cost end
         from summed where id = $1
         returning e.failed, e.unmeasured, summed.tokens as "tokens!", summed.spent as "cost!""#,
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
        &rows.run_id as &[Option<Uuid>],
        &rows.unmeasured
    )
    .fetch_one(connection)
    .await?;
    Ok(added)
}

/// The results as one array per column. Borrows every text.
#[derive(Default)]
struct EvaluationResultColumns<'a> {
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
    unmeasured: Vec<bool>,
}

impl<'a> EvaluationResultColumns<'a> {
    fn of(results: &'a [EvaluationItemResult]) -> Self {
        let mut columns = Self::default();
        for EvaluationItemResult { scored, .. } in results {
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
            columns.unmeasured.push(scored.unmeasured);
        }
        columns
    }
}
