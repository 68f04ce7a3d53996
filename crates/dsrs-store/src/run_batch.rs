//! Many runs in one statement. Who is waiting for them is not
//! known here.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use super::key_spending::{self, SpendingSum};
use super::model_usage::model_usage;
use super::online_sample::chosen_runs;
use super::run::RunRow;
use super::webhook_event::{ReportedRuns, run_events};
use super::{Scope, StoreError, run_label_index};

/// The rows as one array a column, borrowing every text.
#[derive(Default)]
struct RunColumns<'a> {
    id: Vec<Uuid>,
    workspace_id: Vec<Uuid>,
    graph_id: Vec<Uuid>,
    graph_name: Vec<&'a str>,
    graph_version: Vec<i32>,
    state_version: Vec<i32>,
    status: Vec<&'a str>,
    created_at: Vec<DateTime<Utc>>,
    started_at: Vec<Option<DateTime<Utc>>>,
    finished_at: Vec<Option<DateTime<Utc>>>,
    duration_ms: Vec<Option<i64>>,
    inputs: Vec<&'a str>,
    outputs: Vec<Option<&'a str>>,
    error: Vec<Option<&'a str>>,
    usage: Vec<&'a str>,
    nodes: Vec<&'a str>,
    trace: Vec<&'a str>,
    created_by: Vec<&'a str>,
    tags: Vec<Option<&'a str>>,
    session_id: Vec<Option<&'a str>>,
    user_id: Vec<Option<&'a str>>,
    metadata: Vec<Option<&'a str>>,
    model_usage: Vec<Option<String>>,
}

impl<'a> RunColumns<'a> {
    fn of(runs: impl Iterator<Item = (&'a Scope, &'a RunRow)>) -> Self {
        let mut columns = Self::default();
        runs.for_each(|(scope, run)| columns.push(scope, run));
        columns
    }

    fn push(&mut self, scope: &'a Scope, run: &'a RunRow) {
        self.id.push(run.id);
        self.workspace_id.push(scope.workspace);
        self.graph_id.push(run.graph_id);
        self.graph_name.push(&run.graph_name);
        self.graph_version.push(run.graph_version);
        self.state_version.push(run.state_version);
        self.status.push(run.status.as_str());
        self.created_at.push(run.created_at);
        self.started_at.push(run.started_at);
        self.finished_at.push(run.finished_at);
        self.duration_ms.push(run.duration_ms);
        self.inputs.push(&run.inputs);
        self.outputs.push(run.outputs.as_deref());
        self.error.push(run.error.as_deref());
        self.usage.push(&run.usage);
        self.nodes.push(&run.nodes);
        self.trace.push(&run.trace);
        self.created_by.push(&scope.actor);
        self.tags.push(run.labels.tags.as_deref());
        self.session_id.push(run.labels.session_id.as_deref());
        self.user_id.push(run.labels.user_id.as_deref());
        self.metadata.push(run.labels.metadata.as_deref());
        self.model_usage.push(model_usage(&run.trace));
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct QueuedJob<'a> {
    /// The run.
    pub(super) id: Uuid,
    /// The type of the job.
    pub(super) kind: &'a str,
    /// The options of the request, as JSON text for the worker.
    pub(super) request: &'a str,
}

/// Whether webhooks report the ends of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunReports {
    /// They do.
    Sent,
    /// They do not: the runs are parts of something whose end is reported.
    Omitted,
}

/// Inserts all runs or none, each with the scope that it belongs to, and counts what they have spent.
pub(super) async fn insert<'r>(
    connection: &mut PgConnection,
    runs: &[(&'r Scope, &'r RunRow)],
    reports: RunReports,
) -> Result<(), StoreError> {
    let spent = add(connection, runs, &[], reports).await?;
    key_spending::add_all(connection, spent).await
}

/// What an actor has spent, as a row.
#[derive(FromRow)]
struct SpentRow {
    workspace_id: Uuid,
    created_by: String,
    tokens: i64,
    cost: f64,
}

/// The runs, the jobs of those that are queued, and the events of those that have ended.
static ADD: LazyLock<String> = LazyLock::new(|| {
    let events = run_events("added", [22, 23, 24]);
    let samples = chosen_runs("added", 22);
    format!(
    "with added as (
     insert into runs (id, workspace_id, graph_id, graph_name, graph_version,
                       state_version, status, created_at, started_at, finished_at,
                       duration_ms, inputs, outputs, error, usage, nodes, trace, created_by,
                       tags, session_id, user_id, metadata, model_usage)
     select id, workspace_id, graph_id, graph_name, graph_version,
            state_version, status, created_at, started_at, finished_at,
            duration_ms, inputs::json, outputs::json, error::json, usage::json,
            nodes::json, trace::json, created_by, tags::json, session_id, user_id, metadata::json,
            model_usage::json
     from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::int4[],
                 $6::int4[], $7::text[], $8::timestamptz[], $9::timestamptz[],
                 $10::timestamptz[], $11::int8[], $12::text[], $13::text[], $14::text[],
                 $15::text[], $16::text[], $17::text[], $18::text[],
                 $25::text[], $26::text[], $27::text[], $28::text[], $29::text[])
          as run (id, workspace_id, graph_id, graph_name, graph_version,
                  state_version, status, created_at, started_at, finished_at,
                  duration_ms, inputs, outputs, error, usage, nodes, trace, created_by,
                  tags, session_id, user_id, metadata, model_usage)
     on conflict (id) do nothing
     returning id, workspace_id, graph_id, graph_name, graph_version, state_version, status,
               created_by, created_at, started_at, finished_at, duration_ms, usage
     ), queued as (
     insert into jobs (id, workspace_id, kind, request, created_at, created_by)
     select id, workspace_id, kind, request::json, created_at, created_by
     from unnest($19::uuid[], $20::text[], $21::text[]) as job (id, request, kind)
     join added using (id)
     ), reported as ({events}), sampled as ({samples})
     select workspace_id, created_by, sum(tokens_of(usage))::int8 as tokens, sum(cost_of(usage)) as cost
     from added group by workspace_id, created_by"
    )
});

/// Inserts all runs or none, with the jobs of those that are queued, and returns what they have spent. A run
/// that is there already is left alone, with its job: a commit whose answer was lost may be sent again.
pub(super) async fn add<'r>(
    connection: &mut PgConnection,
    runs: &[(&'r Scope, &'r RunRow)],
    jobs: &[QueuedJob<'r>],
    reports: RunReports,
) -> Result<Vec<SpendingSum>, StoreError> {
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    let rows = RunColumns::of(runs.iter().copied());
    let queued: Vec<Uuid> = jobs.iter().map(|job| job.id).collect();
    let kinds: Vec<&str> = jobs.iter().map(|job| job.kind).collect();
    let requests: Vec<&str> = jobs.iter().map(|job| job.request).collect();
    let ended = match reports {
        RunReports::Sent => ReportedRuns::of(runs.iter().map(|(_, run)| *run)),
        RunReports::Omitted => ReportedRuns::default(),
    };
    let spent = sqlx::query_as(ADD.as_str())
        .bind(&rows.id)
        .bind(&rows.workspace_id)
        .bind(&rows.graph_id)
        .bind(&rows.graph_name)
        .bind(&rows.graph_version)
        .bind(&rows.state_version)
        .bind(&rows.status)
        .bind(&rows.created_at)
        .bind(&rows.started_at)
        .bind(&rows.finished_at)
        .bind(&rows.duration_ms)
        .bind(&rows.inputs)
        .bind(&rows.outputs)
        .bind(&rows.error)
        .bind(&rows.usage)
        .bind(&rows.nodes)
        .bind(&rows.trace)
        .bind(&rows.created_by)
        .bind(&queued)
        .bind(&requests)
        .bind(&kinds)
        .bind(&ended.runs)
        .bind(&ended.events)
        .bind(&ended.codes)
        .bind(&rows.tags)
        .bind(&rows.session_id)
        .bind(&rows.user_id)
        .bind(&rows.metadata)
        .bind(&rows.model_usage);
    let spent: Vec<SpentRow> = spent.fetch_all(&mut *connection).await?;
    run_label_index::add(connection, runs.iter().copied()).await?;
    let spent = spent.into_iter().map(|row| SpendingSum {
        workspace: row.workspace_id,
        actor: row.created_by.into(),
        tokens: row.tokens,
        cost: row.cost,
    });
    Ok(spent.collect())
}
