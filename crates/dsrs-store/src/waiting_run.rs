//! Parked runs: they wait for a value from a client. A parked run is rows only: no worker holds or
//! claims its job until a signal wakes it.
//!
//! May not know graphs: documents are JSON text.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::background_run::{self, add_checkpoints, insert};
use super::group_writer::{NodeCheckpoints, write_checkpoints};
use super::idempotency::{KeyedAnswer, store_answer};
use super::job::{self, Lease, NewJob};
use super::run::RunRow;
use super::run_progress::NodeRow;
use super::{Db, Scope, StoreError, key_spending};

/// The outcome of parking a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParkOutcome {
    /// The run is parked, or queued again because a value has arrived meanwhile.
    Done,
    /// A client cancelled the run: nothing has changed.
    Cancelled,
    /// The lease is lost: nothing has changed.
    Lost,
}

/// Parks a run. `waiting` names the nodes that wait for values. If a value for one of them has arrived
/// meanwhile, the run is queued instead.
pub async fn park(
    db: &Db,
    lease: Lease,
    nodes: &str,
    waiting: &[String],
) -> Result<ParkOutcome, StoreError> {
    let mut tx = db.begin(&lease).await?;
    // Locks the job: a signal either committed before, and is found below, or waits and finds the parked run.
    match job::release(&mut tx, lease).await? {
        None => return Ok(ParkOutcome::Lost),
        Some(true) => return Ok(ParkOutcome::Cancelled),
        Some(false) => {}
    }
    let arrived = sqlx::query_scalar!(
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
        arrived
    )
    .execute(&mut *tx)
    .await?;
    job::set_parked(&mut tx, lease.job, !arrived).await?;
    db.commit_job(tx).await?;
    Ok(ParkOutcome::Done)
}

/// Stores a parked run that a client has waited for until now, with the checkpoints of its nodes.
pub async fn accept(
    scope: &Scope,
    db: &Db,
    run: &RunRow,
    ended: &[NodeRow],
    request: &str,
) -> Result<(), StoreError> {
    let mut tx = db.begin(scope).await?;
    insert(scope, &mut tx, run).await?;
    // Parked from the start: no worker may claim it before its value arrives.
    let new = NewJob { id: run.id, kind: background_run::JOB, request, at: run.created_at };
    job::add_parked(scope, &mut tx, new).await?;
    add_checkpoints(scope, db, &mut tx, run, ended, run.created_at).await?;
    key_spending::add(scope, &mut tx, &run.usage).await?;
    Ok(tx.commit().await?)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalOutcome {
    /// The value is stored, and the run continues.
    Accepted,
    /// The node has its value already.
    Already,
    /// The run has ended meanwhile.
    Ended,
}

/// Stores the value for a waiting node as its checkpoint, wakes the run, and stores the answer of a request
/// with a key. Stores nothing unless the value is accepted.
pub async fn signal(
    scope: &Scope,
    db: &Db,
    run: Uuid,
    node: &NodeRow,
    at: DateTime<Utc>,
    answer: Option<&KeyedAnswer>,
) -> Result<SignalOutcome, StoreError> {
    let mut tx = db.begin(scope).await?;
    // `park` locks the row, too: it either commits before this or sees the value.
    let job = sqlx::query_scalar!(
        "select id from jobs where id = $1 and workspace_id = $2 for update",
        run,
        scope.workspace
    )
    .fetch_optional(&mut *tx)
    .await?;
    if job.is_none() {
        return Ok(SignalOutcome::Ended);
    }
    let nodes = std::slice::from_ref(node);
    let completed = NodeCheckpoints { scope, run, graph: None, nodes, at };
    if write_checkpoints(&mut tx, &db.bodies, completed).await?.count != 1 {
        // A worker that looked for jobs meanwhile passed over this one, which may be claimable.
        db.commit_job(tx).await?;
        return Ok(SignalOutcome::Already);
    }
    let woken =
        sqlx::query!("update runs set status = 'queued' where id = $1 and status = 'waiting'", run)
            .execute(&mut *tx)
            .await?;
    if woken.rows_affected() == 1 {
        job::set_parked(&mut tx, run, false).await?;
    }
    store_answer(scope, &mut tx, answer).await?;
    db.commit_job(tx).await?;
    Ok(SignalOutcome::Accepted)
}
