//! Runs that wait for values from outside: parked, and woken by each value that comes. A parked run
//! has its rows and nothing else: no entry in the queue, and nobody who holds its job.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::background_run::{NodeRow, insert, insert_kept};
use super::job::{self, JobKind, Lease, NewJob, Wanted};
use super::run::RunRow;
use super::{Db, Scope, StoreError, queue};

/// What became of a run that was to be parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parked {
    /// It waits, or is in the queue again because a value has come meanwhile.
    Done,
    /// It is to stop: nothing has changed.
    Cancelled,
    /// The lease is lost: nothing has changed.
    Lost,
}

/// Parks a run that is worked on. `waiting` are the nodes that it waits for: should a value have
/// come for one of them meanwhile, the run goes on at once.
pub async fn park(
    db: &Db,
    lease: Lease,
    nodes: &str,
    waiting: &[String],
) -> Result<Parked, StoreError> {
    let mut tx = db.pool().begin().await?;
    match job::let_go(&mut tx, lease).await? {
        None => return Ok(Parked::Lost),
        Some(Wanted::Stop) => return Ok(Parked::Cancelled),
        Some(Wanted::Work) => {}
    }
    let came = sqlx::query_scalar!(
        r#"select exists (select 1 from run_nodes where run_id = $1 and node = any($2)) as "came!""#,
        lease.job,
        waiting
    )
    .fetch_one(&mut *tx)
    .await?;
    sqlx::query!(
        "update runs set status = case when $3 then 'queued' else 'waiting' end,
                         nodes = $2::text::json where id = $1",
        lease.job,
        nodes,
        came
    )
    .execute(&mut *tx)
    .await?;
    if came {
        queue::add(&mut tx, lease.job).await?;
    }
    tx.commit().await?;
    Ok(Parked::Done)
}

/// Stores a run that someone waited for and that is parked now, with what its nodes gave.
pub async fn accept(
    scope: &Scope,
    db: &Db,
    run: &RunRow,
    ended: &[NodeRow],
    request: &str,
) -> Result<(), StoreError> {
    let mut tx = db.pool().begin().await?;
    insert(scope, &mut tx, run).await?;
    let new = NewJob { id: run.id, kind: JobKind::Run, request, at: run.created_at };
    job::add_waiting(scope, &mut tx, new).await?;
    for node in ended {
        insert_kept(scope, &mut tx, run.id, node, run.created_at).await?;
    }
    Ok(tx.commit().await?)
}

/// What became of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signalled {
    /// It is taken, and the run goes on.
    Taken,
    /// The node has its value already.
    Already,
    /// The run has ended meanwhile.
    Ended,
}

/// Takes the value of a node that waits, as what the node gave, and wakes the run.
pub async fn signal(
    scope: &Scope,
    db: &Db,
    run: Uuid,
    node: &NodeRow,
    at: DateTime<Utc>,
) -> Result<Signalled, StoreError> {
    let mut tx = db.pool().begin().await?;
    // Whoever parks the run waits here, and then sees the value.
    let job = sqlx::query_scalar!(
        "select id from jobs where id = $1 and workspace_id = $2 for update",
        run,
        scope.workspace
    )
    .fetch_optional(&mut *tx)
    .await?;
    if job.is_none() {
        return Ok(Signalled::Ended);
    }
    let taken = sqlx::query!(
        "insert into run_nodes (run_id, node, workspace_id, outcome, usage, trace, created_at)
         values ($1, $2, $3, $4::text::json, $5::text::json, $6::text::json, $7)
         on conflict (run_id, node) do nothing",
        run,
        node.node,
        scope.workspace,
        node.outcome,
        node.usage,
        node.trace,
        at
    )
    .execute(&mut *tx)
    .await?;
    if taken.rows_affected() != 1 {
        return Ok(Signalled::Already);
    }
    let woken =
        sqlx::query!("update runs set status = 'queued' where id = $1 and status = 'waiting'", run)
            .execute(&mut *tx)
            .await?;
    if woken.rows_affected() == 1 {
        queue::add(&mut tx, run).await?;
    }
    tx.commit().await?;
    Ok(Signalled::Taken)
}
