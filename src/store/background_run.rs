//! Runs that last: accepted, begun, their ended nodes kept, ended, begun again. Each change of one
//! is made by whoever holds its job, or by one who has seen that nobody does.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::job::{self, JobKind, Lease, NewJob};
use super::run::{RunRow, RunStatus};
use super::{Db, Scope, StoreError};

/// What one node gave, while its run is not done. Documents are JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRow {
    /// The node's name.
    pub node: String,
    /// As under the run's `nodes`.
    pub outcome: String,
    /// Calls, tokens and cost.
    pub usage: String,
    /// What happened in it.
    pub trace: String,
}

/// Stores a run that is to be worked on, and the job, or neither.
pub async fn accept(scope: &Scope, db: &Db, run: &RunRow, request: &str) -> Result<(), StoreError> {
    let mut tx = db.pool().begin().await?;
    insert(scope, &mut tx, run).await?;
    let new = NewJob { id: run.id, kind: JobKind::Run, request, at: run.created_at };
    job::add(scope, &mut tx, new).await?;
    Ok(tx.commit().await?)
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

/// Notes that work on a run begins; false when the lease is lost.
pub async fn begin(db: &Db, lease: Lease, at: DateTime<Utc>) -> Result<bool, StoreError> {
    let begun = sqlx::query!(
        "with held as (select id from jobs where id = $1 and holder = $2 for update)
         update runs set status = 'running', started_at = coalesce(started_at, $3)
         from held where runs.id = held.id",
        lease.job,
        lease.holder,
        at
    )
    .execute(db.pool())
    .await?;
    Ok(begun.rows_affected() == 1)
}

/// Keeps what a node gave; false when the lease is lost. Doing it again changes nothing.
pub async fn keep(
    db: &Db,
    lease: Lease,
    node: &NodeRow,
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let kept = sqlx::query!(
        "with held as (select id, workspace_id from jobs where id = $1 and holder = $2 for update)
         insert into run_nodes (run_id, node, workspace_id, outcome, usage, trace, created_at)
         select id, $3, workspace_id, $4::text::json, $5::text::json, $6::text::json, $7 from held
         on conflict (run_id, node) do update set outcome = excluded.outcome",
        lease.job,
        lease.holder,
        node.node,
        node.outcome,
        node.usage,
        node.trace,
        at
    )
    .execute(db.pool())
    .await?;
    Ok(kept.rows_affected() == 1)
}

/// What the nodes of a run gave that is not done; nothing of one that is.
pub async fn nodes(scope: &Scope, db: &Db, run: Uuid) -> Result<Vec<NodeRow>, StoreError> {
    let nodes = sqlx::query_as!(
        NodeRow,
        r#"select node, outcome::text as "outcome!", usage::text as "usage!",
                  trace::text as "trace!"
           from run_nodes where workspace_id = $1 and run_id = $2 order by created_at, node"#,
        scope.workspace,
        run
    )
    .fetch_all(db.pool())
    .await?;
    Ok(nodes)
}

/// What became of a record that was to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    /// It is written, and the job has ended.
    Done,
    /// Nodes have come to an end since it was put together: nothing is written.
    Behind,
    /// The lease is lost: nothing is written.
    Lost,
}

/// Writes how a run ended, and ends its job. `known` is how many nodes' ends were seen.
pub async fn finish(
    db: &Db,
    lease: Lease,
    run: &RunRow,
    known: i64,
) -> Result<Finished, StoreError> {
    let mut tx = db.pool().begin().await?;
    // Whoever gives a node its value holds the job's row, or waits for it here.
    if !job::hold_still(&mut tx, lease).await? {
        return Ok(Finished::Lost);
    }
    let count = sqlx::query_scalar!("select count(*) from run_nodes where run_id = $1", lease.job)
        .fetch_one(&mut *tx)
        .await?;
    if count.unwrap_or(0) != known {
        return Ok(Finished::Behind);
    }
    job::end(&mut tx, lease).await?;
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
    Ok(Finished::Done)
}

/// Makes a run that failed or was cancelled one that is to be worked on again, with the nodes that
/// still count. `run` is how it shall stand, `seen` when it had ended as its reader saw it.
pub async fn resume(
    scope: &Scope,
    db: &Db,
    run: &RunRow,
    kept: &[NodeRow],
    request: &str,
    seen: Option<DateTime<Utc>>,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    let mut tx = db.pool().begin().await?;
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
        return Err(StoreError::Superseded("the run was resumed by another"));
    }
    let new = NewJob { id: run.id, kind: JobKind::Run, request, at };
    job::add(scope, &mut tx, new).await?;
    for node in kept {
        insert_kept(scope, &mut tx, run.id, node, at).await?;
    }
    Ok(tx.commit().await?)
}

/// Stores what a node gave.
pub(super) async fn insert_kept(
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
