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
use crate::run_progress::RecordedCheckpoints;
use crate::run_usage::SpentUsage;
use crate::usage_count::{CountedRun, SumSign, UsageSums};
use crate::usage_insertion;

pub(super) struct RunEnd<'w> {
    pub(super) run: &'w PackedRun,
    /// The checkpoints in the record.
    pub(super) checkpoints: RecordedCheckpoints,
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
    let written = update(connection, ends).await?;
    let written: HashMap<Uuid, WrittenEnd> = written.into_iter().map(|end| (end.id, end)).collect();
    let behind = ends.iter().map(|end| end.run.row.id).filter(|run| !written.contains_key(run));
    let spent = count(connection, ends, &written).await?;
    Ok((behind.collect(), spent))
}

/// Writes the records that have all checkpoints, removes these and the jobs, and returns what was counted of each run
/// until now. All parts of a statement see the rows as they were before it. The ids are also a parameter, so that the
/// planner leaves out partitions.
static END: LazyLock<String> = LazyLock::new(|| {
    format!(
        "with ended as (
         select id, status, started_at, finished_at, duration_ms, error::json, cost, counts, body, outputs::json,
                coalesce(usage::json, '{{}}') as usage, coalesce(nodes::json, '{{}}') as nodes,
                coalesce(trace::json, '{{\"spans\":[]}}') as trace, models::json
         from unnest($2::uuid[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::int8[], $7::text[],
                     $8::float8[], $9::bytea[], $10::bytea[], $11::text[], $12::text[], $13::text[], $14::text[],
                     $15::text[], $16::int8[])
              as end_of_run (id, status, started_at, finished_at, duration_ms, error, cost, counts, body, outputs,
                             usage, nodes, trace, models, checkpoints)
         where checkpoints = (select count(*) from run_nodes where run_id = end_of_run.id)
     ), checkpoints as (
         delete from run_nodes using ended where run_id = ended.id and run_id = any($2)
     ), removed as (
         delete from jobs using ended where jobs.id = ended.id
     ), written as (
         update runs
         set status = ended.status, started_at = ended.started_at, finished_at = ended.finished_at,
             duration_ms = ended.duration_ms, error = ended.error, total_cost = ended.cost, counts = ended.counts,
             body = ended.body, inputs = case when ended.body is null then runs.inputs else '{{}}' end,
             outputs = ended.outputs, usage = ended.usage, nodes = ended.nodes, trace = ended.trace,
             model_usage = ended.models
         from ended where runs.id = ended.id and runs.id = any($2)
     )
     select ended.id, runs.usage::text, runs.model_usage::text, runs.total_cost, runs.counts, {END_SUBSCRIBERS}
     from ended left join runs on runs.id = ended.id and runs.id = any($2)"
    )
});

/// An end that is written, and what was counted of the run before it.
#[derive(FromRow)]
struct WrittenEnd {
    id: Uuid,
    /// None without a row of the run.
    usage: Option<String>,
    model_usage: Option<String>,
    total_cost: Option<f64>,
    counts: Option<Vec<u8>>,
    #[sqlx(flatten)]
    subscribers: EndSubscribers,
}

async fn update(
    connection: &mut PgConnection,
    ends: &[RunEnd<'_>],
) -> Result<Vec<WrittenEnd>, StoreError> {
    let runs: Vec<&PackedRun> = ends.iter().map(|end| end.run).collect();
    let workspaces: Vec<Uuid> = runs.iter().map(|run| run.workspace).collect();
    let checkpoints: Vec<i64> = ends.iter().map(|end| end.checkpoints.count).collect();
    let updated = EndColumns::of(&runs).bind(sqlx::query(END.as_str()).bind(workspaces));
    let updated = updated.bind(checkpoints).fetch_all(connection).await?;
    Ok(updated.iter().map(WrittenEnd::from_row).collect::<Result<_, _>>()?)
}

/// Counts the runs whose ends are written, and returns what they have spent since their last checkpoints.
async fn count(
    connection: &mut PgConnection,
    ends: &[RunEnd<'_>],
    written: &HashMap<Uuid, WrittenEnd>,
) -> Result<Vec<SpendingSum>, StoreError> {
    let Some(subscribers) = written.values().next().map(|end| end.subscribers) else {
        return Ok(Vec::new());
    };
    let (mut sums, mut spent, mut ended) = (UsageSums::default(), Vec::new(), Vec::new());
    for RunEnd { run, checkpoints } in ends {
        let Some(before) = written.get(&run.row.id) else { continue };
        let Some(usage) = before.usage.as_deref() else { continue };
        let models = before.model_usage.as_deref();
        let usage = SpentUsage::stored(usage, models, before.counts.as_deref(), before.total_cost)?;
        // For the caller who created it, even if another one has resumed it.
        let counted = CountedRun::of(run.workspace, &run.row.created_by, &run.row);
        sums.add_run(&counted, &run.usage, SumSign::Plus);
        sums.add_usage(&counted, &run.usage, SumSign::Plus);
        sums.add_usage(&counted, &usage, SumSign::Minus);
        let mut before = usage.whole;
        before += checkpoints.spent;
        spent.push(spending(run, before));
        ended.push(*run);
    }
    usage_insertion::add(connection, &sums).await?;
    ended_run::announce(connection, &ended, subscribers, RunReports::Sent).await?;
    Ok(if subscribers.has_budgets() { spent } else { Vec::new() })
}

/// What a run has spent since its last checkpoint.
fn spending(run: &PackedRun, counted: Usage) -> SpendingSum {
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
