//! Background runs: added to the queue, their completed nodes stored as checkpoints, finished and
//! resumed. Only the holder of the job's lease changes a run that a worker has claimed.
//!
//! May not know graphs: documents are JSON text.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::idempotency::{KeyedAnswer, store_answer};
use super::job::{self, JobRow, JobType, Lease, NewJob};
use super::run::{RunRow, RunStatus};
use super::{Db, Scope, StoreError};

/// Background runs as jobs.
pub const JOB: JobType = JobType::new("run", "runs");

impl JobRow for RunRow {
    const JOB: JobType = JOB;

    const SELECT: &'static str = "select id, graph_id, graph_name, graph_version, state_version, \
        status, created_at, started_at, finished_at, duration_ms, inputs::text, outputs::text, \
        error::text, usage::text, nodes::text, trace::text, created_by \
        from runs where workspace_id = ";

    fn status(&self) -> RunStatus {
        self.status
    }
}

/// The checkpoint of a completed node. Documents are JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRow {
    /// The node's name.
    pub node: String,
    /// The node as in the run's `nodes`.
    pub outcome: String,
    /// Calls, tokens and cost.
    pub usage: String,
    /// The trace of the node.
    pub trace: String,
}

/// Stores a queued run, its job, and the answer of a request with a key.
pub async fn accept(
    scope: &Scope,
    db: &Db,
    run: &RunRow,
    request: &str,
    answer: Option<&KeyedAnswer>,
) -> Result<(), StoreError> {
    let mut tx = db.begin(scope).await?;
    insert(scope, &mut tx, run).await?;
    job::commit_queued(scope, db, tx, run, request, answer).await
}

/// Stores a run that has not ended.
pub(super) async fn insert(
    scope: &Scope,
    connection: &mut PgConnection,
    run: &RunRow,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into runs (id, workspace_id, graph_id, graph_name, graph_version, state_version,
                           status, created_at, started_at, inputs, usage, nodes, trace,
                           created_by)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text::json, $11::text::json,
                 $12::text::json, $13::text::json, $14)",
        run.id,
        scope.workspace,
        run.graph_id,
        run.graph_name,
        run.graph_version,
        run.state_version,
        run.status.as_str(),
        run.created_at,
        run.started_at,
        run.inputs,
        run.usage,
        run.nodes,
        run.trace,
        &*scope.actor
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Stores the checkpoint of a node, and counts what it has spent. False if the lease is lost. Safe to repeat.
pub async fn record_node(
    scope: &Scope,
    db: &Db,
    lease: Lease,
    node: &NodeRow,
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let recorded = sqlx::query(
        "with held as (select id, workspace_id from jobs where id = $1 and holder = $2 for update),
         stored as (
             insert into run_nodes (run_id, node, workspace_id, outcome, usage, trace, created_at)
             select id, $3, workspace_id, $4::json, $5::json, $6::json, $7 from held
             on conflict (run_id, node) do update set outcome = excluded.outcome
             returning workspace_id, usage, xmax = 0 as is_new
         )
         select case when is_new
                     then add_spending(workspace_id, $8, tokens_of(usage), cost_of(usage)) end
         from stored",
    );
    let recorded = recorded.bind(lease.job).bind(lease.holder).bind(&node.node);
    let recorded = recorded.bind(&node.outcome).bind(&node.usage).bind(&node.trace).bind(at);
    let recorded = recorded.bind(&*scope.actor);
    Ok(recorded.fetch_optional(&mut *db.scoped(&lease).await?).await?.is_some())
}

/// The checkpoints of a run that has not ended; none of one that has.
pub async fn nodes(scope: &Scope, db: &Db, run: Uuid) -> Result<Vec<NodeRow>, StoreError> {
    let nodes = sqlx::query_as!(
        NodeRow,
        r#"select node, outcome::text as "outcome!", usage::text as "usage!",
                  trace::text as "trace!"
           from run_nodes where workspace_id = $1 and run_id = $2 order by created_at, node"#,
        scope.workspace,
        run
    )
    .fetch_all(&mut *db.scoped(scope).await?)
    .await?;
    Ok(nodes)
}

/// The outcome of writing a run's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishOutcome {
    /// The record is written, and the job is removed.
    Done,
    /// More nodes have completed since the record was built: nothing is written.
    Behind,
    /// The lease is lost: nothing is written.
    Lost,
}

/// Writes the record of a run and removes its job. `known` is the number of checkpoints in the record. What
/// the run has spent since its last checkpoint counts for the actor of the scope, who requested the job.
pub async fn finish(
    scope: &Scope,
    db: &Db,
    lease: Lease,
    run: &RunRow,
    known: i64,
) -> Result<FinishOutcome, StoreError> {
    let mut tx = db.begin(&lease).await?;
    // A signal locks the row of the job, too: it is either counted below or waits here.
    if !job::lock(&mut tx, lease).await? {
        return Ok(FinishOutcome::Lost);
    }
    let count = sqlx::query_scalar!("select count(*) from run_nodes where run_id = $1", lease.job)
        .fetch_one(&mut *tx)
        .await?;
    if count.unwrap_or(0) != known {
        return Ok(FinishOutcome::Behind);
    }
    count_rest(scope, &mut tx, run).await?;
    job::remove(&mut tx, lease).await?;
    sqlx::query!(
        "update runs set status = $2, started_at = $3, finished_at = $4, duration_ms = $5,
                         outputs = $6::text::json, error = $7::text::json,
                         usage = $8::text::json, nodes = $9::text::json, trace = $10::text::json
         where id = $1",
        run.id,
        run.status.as_str(),
        run.started_at,
        run.finished_at,
        run.duration_ms,
        run.outputs,
        run.error,
        run.usage,
        run.nodes,
        run.trace
    )
    .execute(&mut *tx)
    .await?;
    tx.commit().await?;
    Ok(FinishOutcome::Done)
}

/// Counts the usage in the final record of a run that neither its row nor its checkpoints have: those were
/// counted when they were written.
async fn count_rest(
    scope: &Scope,
    connection: &mut PgConnection,
    run: &RunRow,
) -> Result<(), StoreError> {
    let counted = sqlx::query(
        "select add_spending($2, $3, tokens_of($4::json) - tokens_of(usage) - nodes.tokens,
                             cost_of($4::json) - cost_of(usage) - nodes.cost)
         from runs, (select coalesce(sum(tokens_of(usage)), 0)::int8 as tokens,
                            coalesce(sum(cost_of(usage)), 0) as cost
                     from run_nodes where run_id = $1) nodes
         where id = $1",
    );
    let counted = counted.bind(run.id).bind(scope.workspace).bind(&*scope.actor).bind(&run.usage);
    counted.execute(connection).await?;
    Ok(())
}

/// A run that continues after it failed or was cancelled.
#[derive(Clone, Copy, Debug)]
pub struct ResumedRun<'a> {
    /// The new row.
    pub run: &'a RunRow,
    /// The checkpoints that are still valid.
    pub checkpoints: &'a [NodeRow],
    /// The options of the request, as JSON text for the worker.
    pub request: &'a str,
    /// The time at which the caller saw the run finished.
    pub seen: Option<DateTime<Utc>>,
    /// The time of the request.
    pub at: DateTime<Utc>,
}

/// Queues a run again that failed or was cancelled, and stores the answer of a request with a key.
pub async fn resume(
    scope: &Scope,
    db: &Db,
    resumed: ResumedRun<'_>,
    answer: Option<&KeyedAnswer>,
) -> Result<(), StoreError> {
    let ResumedRun { run, checkpoints, request, seen, at } = resumed;
    let mut tx = db.begin(scope).await?;
    let reset = sqlx::query!(
        "update runs set status = $3, graph_version = $4, state_version = $5, finished_at = null,
                         duration_ms = null, inputs = $6::text::json, outputs = null,
                         error = null, nodes = $7::text::json
         where id = $1 and workspace_id = $2 and status in ('failed', 'cancelled')
           and finished_at is not distinct from $8",
        run.id,
        scope.workspace,
        RunStatus::Queued.as_str(),
        run.graph_version,
        run.state_version,
        run.inputs,
        run.nodes,
        seen
    )
    .execute(&mut *tx)
    .await?;
    if reset.rows_affected() != 1 {
        return Err(StoreError::Superseded("another request has resumed the run"));
    }
    let new = NewJob { id: run.id, kind: JOB, request, at };
    job::add(scope, &mut tx, new).await?;
    for node in checkpoints {
        insert_node(scope, &mut tx, run.id, node, at).await?;
    }
    store_answer(scope, &mut tx, answer).await?;
    db.commit_job(tx).await
}

/// Stores a checkpoint.
pub(super) async fn insert_node(
    scope: &Scope,
    connection: &mut PgConnection,
    run: Uuid,
    node: &NodeRow,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into run_nodes (run_id, node, workspace_id, outcome, usage, trace, created_at)
         values ($1, $2, $3, $4::text::json, $5::text::json, $6::text::json, $7)",
        run,
        node.node,
        scope.workspace,
        node.outcome,
        node.usage,
        node.trace,
        at
    )
    .execute(connection)
    .await?;
    Ok(())
}
