//! The ends of background runs: the record is written, the job and the checkpoints are removed. May not know
//! graphs: documents are JSON text.

use std::collections::HashMap;
use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use crate::key_spending::SpendingSum;
use crate::model_usage::model_usage;
use crate::online_sample::chosen_runs;
use crate::run::RunRow;
use crate::webhook_event::{ReportedRuns, run_events};
use crate::{Scope, StoreError, run_label_index};

pub(super) struct RunEnd<'w> {
    pub(super) scope: &'w Scope,
    pub(super) run: &'w RunRow,
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
        |end: &&RunEnd<'_>| counts.get(&end.run.id).copied().unwrap_or(0) == end.checkpoints;
    let (complete, behind): (Vec<&RunEnd<'_>>, Vec<&RunEnd<'_>>) =
        ends.iter().partition(is_complete);
    let spent = write_complete(connection, &complete).await?;
    let ended = complete.iter().map(|end| (end.scope, end.run));
    run_label_index::add_error_codes(connection, ended).await?;
    Ok((behind.into_iter().map(|end| end.run.id).collect(), spent))
}

/// The number of checkpoints of each run that has any.
async fn counts(
    connection: &mut PgConnection,
    ends: &[RunEnd<'_>],
) -> Result<HashMap<Uuid, i64>, StoreError> {
    let runs: Vec<Uuid> = ends.iter().map(|end| end.run.id).collect();
    let counts = sqlx::query!(
        r#"select run_id, count(*) as "count!" from run_nodes
           where run_id = any($1) group by run_id"#,
        &runs
    );
    let counts = counts.fetch_all(connection).await?;
    Ok(counts.into_iter().map(|row| (row.run_id, row.count)).collect())
}

/// Writes the records, removes checkpoints and jobs, and writes the events. All parts of a statement see the rows
/// as they were before it: `spent` reads the usage that the run and its checkpoints had until now, which was counted
/// when it was written. The ids are also parameters, so that the planner leaves out partitions.
static END: LazyLock<String> = LazyLock::new(|| {
    let events = run_events("written", [1, 11, 12]);
    let samples = chosen_runs("written", 1);
    format!(
        "with ended as (
         select id, status, started_at, finished_at, duration_ms, outputs::json, error::json,
          usage::json, nodes::json, trace::json, model_usage::json
         from unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::timestamptz[], $5::int8[],
               $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
               $13::text[])
        as end_of_run (id, status, started_at, finished_at, duration_ms, outputs, error,
                       usage, nodes, trace, model_usage)
     ), checkpoints as (
         delete from run_nodes where run_id = any($1) returning run_id, usage
     ), counted as (
         select run_id, sum(tokens_of(usage))::int8 as tokens, sum(cost_of(usage)) as cost
         from checkpoints group by run_id
     ), removed as (
         delete from jobs where id = any($1)
     ), spent as (
         select runs.id,
          tokens_of(ended.usage) - tokens_of(runs.usage) - coalesce(counted.tokens, 0) as tokens,
          cost_of(ended.usage) - cost_of(runs.usage) - coalesce(counted.cost, 0) as cost
         from ended join runs using (id) left join counted on counted.run_id = runs.id
         where runs.id = any($1)
     ), written as (
         update runs
         set status = ended.status, started_at = ended.started_at,
       finished_at = ended.finished_at, duration_ms = ended.duration_ms,
       outputs = ended.outputs, error = ended.error, usage = ended.usage,
       nodes = ended.nodes, trace = ended.trace,
             model_usage = ended.model_usage
         from ended where runs.id = ended.id and runs.id = any($1)
         returning runs.id, runs.workspace_id, runs.graph_id, runs.graph_name, runs.graph_version,
             runs.state_version, runs.status, runs.created_at, runs.started_at,
             runs.finished_at, runs.duration_ms, runs.usage
     ), reported as ({events}), sampled as ({samples})
     select id, tokens, cost from spent"
    )
});

/// What a run has spent since its last checkpoint, as a row.
#[derive(FromRow)]
struct SpentRow {
    id: Uuid,
    tokens: i64,
    cost: f64,
}

async fn write_complete(
    connection: &mut PgConnection,
    ends: &[&RunEnd<'_>],
) -> Result<Vec<SpendingSum>, StoreError> {
    if ends.is_empty() {
        return Ok(Vec::new());
    }
    let column =
        |text: fn(&RunRow) -> &str| -> Vec<&str> { ends.iter().map(|end| text(end.run)).collect() };
    let optional = |text: fn(&RunRow) -> Option<&str>| -> Vec<Option<&str>> {
        ends.iter().map(|end| text(end.run)).collect()
    };
    let time = |time: fn(&RunRow) -> Option<DateTime<Utc>>| -> Vec<Option<DateTime<Utc>>> {
        ends.iter().map(|end| time(end.run)).collect()
    };
    let ids: Vec<Uuid> = ends.iter().map(|end| end.run.id).collect();
    let durations: Vec<Option<i64>> = ends.iter().map(|end| end.run.duration_ms).collect();
    let model_usages: Vec<Option<String>> =
        ends.iter().map(|end| model_usage(&end.run.trace)).collect();
    let reports = ReportedRuns::of(ends.iter().map(|end| end.run));
    let spent = sqlx::query_as(END.as_str())
        .bind(&ids)
        .bind(column(|run| run.status.as_str()))
        .bind(time(|run| run.started_at))
        .bind(time(|run| run.finished_at))
        .bind(&durations)
        .bind(optional(|run| run.outputs.as_deref()))
        .bind(optional(|run| run.error.as_deref()))
        .bind(column(|run| &run.usage))
        .bind(column(|run| &run.nodes))
        .bind(column(|run| &run.trace))
        .bind(&reports.events)
        .bind(&reports.codes)
        .bind(&model_usages);
    let spent: Vec<SpentRow> = spent.fetch_all(connection).await?;
    let scopes: HashMap<Uuid, &Scope> = ends.iter().map(|end| (end.run.id, end.scope)).collect();
    let spent = spent.into_iter().filter_map(|row| {
        let scope = scopes.get(&row.id)?;
        Some(SpendingSum::of(scope, row.tokens, row.cost))
    });
    Ok(spent.collect())
}
