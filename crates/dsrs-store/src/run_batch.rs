//! Runs that have not ended, many in one statement, with the jobs of those that are queued. Who is waiting for them is
//! not known here. `ended_run` writes those that have ended.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::run::RunRow;
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
    inputs: Vec<&'a str>,
    usage: Vec<&'a str>,
    nodes: Vec<&'a str>,
    trace: Vec<&'a str>,
    created_by: Vec<&'a str>,
    tags: Vec<Option<&'a str>>,
    session_id: Vec<Option<&'a str>>,
    user_id: Vec<Option<&'a str>>,
    metadata: Vec<Option<&'a str>>,
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
        self.inputs.push(&run.inputs);
        self.usage.push(&run.usage);
        self.nodes.push(&run.nodes);
        self.trace.push(&run.trace);
        self.created_by.push(&scope.actor);
        self.tags.push(run.labels.tags.as_deref());
        self.session_id.push(run.labels.session_id.as_deref());
        self.user_id.push(run.labels.user_id.as_deref());
        self.metadata.push(run.labels.metadata.as_deref());
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

const ADD: &str = "with added as (
     insert into runs (id, workspace_id, graph_id, graph_name, graph_version, state_version, status, created_at,
                       started_at, inputs, usage, nodes, trace, created_by, tags, session_id, user_id, metadata)
     select id, workspace_id, graph_id, graph_name, graph_version, state_version, status, created_at, started_at,
            inputs::json, usage::json, nodes::json, trace::json, created_by, tags::json, session_id, user_id,
            metadata::json
     from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::int4[], $6::int4[], $7::text[],
                 $8::timestamptz[], $9::timestamptz[], $10::text[], $11::text[], $12::text[], $13::text[],
                 $14::text[], $15::text[], $16::text[], $17::text[], $18::text[])
          as run (id, workspace_id, graph_id, graph_name, graph_version, state_version, status, created_at,
                  started_at, inputs, usage, nodes, trace, created_by, tags, session_id, user_id, metadata)
     on conflict (id) do nothing
     returning id, workspace_id, created_by, created_at
     )
     insert into jobs (id, workspace_id, kind, request, created_at, created_by)
     select id, workspace_id, kind, request::json, created_at, created_by
     from unnest($19::uuid[], $20::text[], $21::text[]) as job (id, request, kind) join added using (id)";

/// Inserts all runs or none, with the jobs of those that are queued. A run that is there already is left alone, with
/// its job: a commit whose answer was lost may be sent again.
pub(super) async fn add<'r>(
    connection: &mut PgConnection,
    runs: &[(&'r Scope, &'r RunRow)],
    jobs: &[QueuedJob<'r>],
) -> Result<(), StoreError> {
    if runs.is_empty() {
        return Ok(());
    }
    let rows = RunColumns::of(runs.iter().copied());
    let queued: Vec<Uuid> = jobs.iter().map(|job| job.id).collect();
    let kinds: Vec<&str> = jobs.iter().map(|job| job.kind).collect();
    let requests: Vec<&str> = jobs.iter().map(|job| job.request).collect();
    let added = sqlx::query(ADD)
        .bind(&rows.id)
        .bind(&rows.workspace_id)
        .bind(&rows.graph_id)
        .bind(&rows.graph_name)
        .bind(&rows.graph_version)
        .bind(&rows.state_version)
        .bind(&rows.status)
        .bind(&rows.created_at)
        .bind(&rows.started_at)
        .bind(&rows.inputs)
        .bind(&rows.usage)
        .bind(&rows.nodes)
        .bind(&rows.trace)
        .bind(&rows.created_by)
        .bind(&rows.tags)
        .bind(&rows.session_id)
        .bind(&rows.user_id)
        .bind(&rows.metadata)
        .bind(&queued)
        .bind(&requests)
        .bind(&kinds);
    added.execute(&mut *connection).await?;
    run_label_index::add(connection, runs.iter().copied()).await
}
