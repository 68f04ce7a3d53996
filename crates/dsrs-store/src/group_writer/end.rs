//! The ends of background runs: the record is written, the job and the checkpoints are removed. May not know
//! graphs: documents are JSON text.

use std::collections::HashMap;
use std::sync::LazyLock;

use dsrs::lm::Usage;
use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use crate::StoreError;
use crate::ended_run::{self, END_SUBSCRIBERS, EndColumns, EndSubscribers, RunReports};
use crate::key_spending::SpendingSum;
use crate::packed_run::PackedRun;
use crate::run_usage::{SpentUsage, usage_of_json};
use crate::usage_count::{CountedRun, SumSign, UsageSums};
use crate::usage_insertion;

pub(super) struct RunEnd<'w> {
    pub(super) run: &'w PackedRun,
    /// The number of checkpoints in the record.
    pub(super) checkpoints: i64,
}

/// Writes the ends. Returns the runs that have more checkpoints than their records, which are left alone, and
/// what the others have spent since their last checkpoints. The jobs are locked: a signal, which locks its
/// job, too, is either counted here or waits.
pub(super) async fn write(
    connection: &mut PgConnection,
    ends: &[RunEnd<'_>],
) -> Result<(Vec<Uuid>, Vec<SpendingSum>), StoreError> {
    if ends.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let counts = counts(connection, ends).await?;
    let is_complete =
        |end: &&RunEnd<'_>| counts.get(&end.run.row.id).copied().unwrap_or(0) == end.checkpoints;
    let (complete, behind): (Vec<&RunEnd<'_>>, Vec<&RunEnd<'_>>) =
        ends.iter().partition(is_complete);
    let complete: Vec<&PackedRun> = complete.iter().map(|end| end.run).collect();
    let spent = write_complete(connection, &complete).await?;
    Ok((behind.into_iter().map(|end| end.run.row.id).collect(), spent))
}

/// The number of checkpoints of each run that has any.
async fn counts(
    connection: &mut PgConnection,
    ends: &[RunEnd<'_>],
) -> Result<HashMap<Uuid, i64>, StoreError> {
    let runs: Vec<Uuid> = ends.iter().map(|end| end.run.row.id).collect();
    let counts = sqlx::query!(
        r#"select run_id, count(*) as "count!" from run_nodes
           where run_id = any($1) group by run_id"#,
        &runs
    );
    let counts = counts.fetch_all(connection).await?;
    Ok(counts.into_iter().map(|row| (row.run_id, row.count)).collect())
}

/// Writes the records, removes checkpoints and jobs, and returns what was counted of each run until now. All parts of a
/// statement see the rows as they were before it. The ids are also a parameter, so that the planner leaves out
/// partitions.
static END: LazyLock<String> = LazyLock::new(|| {
    format!(
        "with ended as (
         select id, status, started_at, finished_at, duration_ms, error::json, cost, counts, body, outputs::json,
                coalesce(usage::json, '{{}}') as usage, coalesce(nodes::json, '{{}}') as nodes,
                coalesce(trace::json, '{{\"spans\":[]}}') as trace, models::json
         from unnest($2::uuid[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::int8[], $7::text[],
                     $8::float8[], $9::bytea[], $10::bytea[], $11::text[], $12::text[], $13::text[], $14::text[],
                     $15::text[])
              as end_of_run (id, status, started_at, finished_at, duration_ms, error, cost, counts, body, outputs,
                             usage, nodes, trace, models)
     ), checkpoints as (
         delete from run_nodes where run_id = any($2) returning run_id, usage
     ), removed as (
         delete from jobs where id = any($2)
     ), written as (
         update runs
         set status = ended.status, started_at = ended.started_at, finished_at = ended.finished_at,
             duration_ms = ended.duration_ms, error = ended.error, total_cost = ended.cost, counts = ended.counts,
             body = ended.body, inputs = case when ended.body is null then runs.inputs else '{{}}' end,
             outputs = ended.outputs, usage = ended.usage, nodes = ended.nodes, trace = ended.trace,
             model_usage = ended.models
         from ended where runs.id = ended.id and runs.id = any($2)
         returning runs.id
     )
     select id, runs.usage::text, runs.model_usage::text, runs.total_cost, runs.counts,
            array(select usage::text from checkpoints where run_id = runs.id) as checkpoints, {END_SUBSCRIBERS}
     from written join runs using (id) where runs.id = any($2)"
    )
});

/// What was counted of a run before its end.
#[derive(FromRow)]
struct CountedRow {
    id: Uuid,
    usage: String,
    model_usage: Option<String>,
    total_cost: Option<f64>,
    counts: Option<Vec<u8>>,
    /// The usage of its checkpoints, which is counted for keys with a budget.
    checkpoints: Vec<String>,
    #[sqlx(flatten)]
    subscribers: EndSubscribers,
}

async fn write_complete(
    connection: &mut PgConnection,
    runs: &[&PackedRun],
) -> Result<Vec<SpendingSum>, StoreError> {
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    let counted = update(connection, runs).await?;
    let Some(subscribers) = counted.first().map(|row| row.subscribers) else {
        return Ok(Vec::new());
    };
    let before: HashMap<Uuid, CountedRow> = counted.into_iter().map(|row| (row.id, row)).collect();
    let (mut sums, mut spent, mut ended) = (UsageSums::default(), Vec::new(), Vec::new());
    for run in runs {
        let Some(before) = before.get(&run.row.id) else { continue };
        let usage = SpentUsage::stored(
            &before.usage,
            before.model_usage.as_deref(),
            before.counts.as_deref(),
            before.total_cost,
        )?;
        // For the caller who created it, even if another one has resumed it.
        let counted = CountedRun::of(run.workspace, &run.row.created_by, &run.row);
        sums.add_run(&counted, &run.usage, SumSign::Plus);
        sums.add_usage(&counted, &run.usage, SumSign::Plus);
        sums.add_usage(&counted, &usage, SumSign::Minus);
        spent.push(spending(run, usage.whole, &before.checkpoints));
        ended.push(*run);
    }
    usage_insertion::add(connection, &sums).await?;
    ended_run::announce(connection, &ended, subscribers, RunReports::Sent).await?;
    Ok(if subscribers.has_budgets() { spent } else { Vec::new() })
}

async fn update(
    connection: &mut PgConnection,
    runs: &[&PackedRun],
) -> Result<Vec<CountedRow>, StoreError> {
    let workspaces: Vec<Uuid> = runs.iter().map(|run| run.workspace).collect();
    let updated = EndColumns::of(runs).bind(sqlx::query(END.as_str()).bind(workspaces));
    let updated = updated.fetch_all(connection).await?;
    Ok(updated.iter().map(CountedRow::from_row).collect::<Result<_, _>>()?)
}

/// What a run has spent since its last checkpoint.
fn spending(run: &PackedRun, before: Usage, checkpoints: &[String]) -> SpendingSum {
    let mut counted = before;
    checkpoints.iter().for_each(|usage| counted += usage_of_json(usage));
    let tokens = |usage: &Usage| {
        i64::try_from(usage.input_tokens.saturating_add(usage.output_tokens)).unwrap_or(i64::MAX)
    };
    let whole = run.usage.whole;
    SpendingSum {
        workspace: run.workspace,
        actor: run.actor.clone(),
        tokens: tokens(&whole) - tokens(&counted),
        cost: whole.cost.unwrap_or_default() - counted.cost.unwrap_or_default(),
    }
}
