//! Runs whose progress is in the engine: they have a row in `runs` and none in `jobs`. What has the right to write
//! such a run is not a holder: it is that the run has not ended, and has no job. A run gets a job when the engine
//! gives it back, parked or queued; from then on the engine's attempts write nothing.
//!
//! May not know graphs or the engine: documents are JSON text.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::background_run::{self, JOB};
use super::group_writer::{NodeCheckpoints, Write, write_checkpoints};
use super::job::{self, Lease, NewJob};
use super::run::{RunRow, RunStatus};
use super::run_progress::{NodeRow, RecordedCheckpoints};
use super::{Db, Scope, StoreError, key_spending, run_batch};

/// Stores a queued run that the engine has.
pub async fn accept(scope: &Scope, db: &Db, run: &RunRow) -> Result<(), StoreError> {
    let (scope, run) = (scope.clone(), Arc::new(run.clone()));
    db.write(Write::Add { scope, run }).await.map(drop)
}

/// Marks a run as running, and sets the start of the first attempt; stores it first if the server that accepted
/// it has not. False if the run has ended, or has a job.
pub async fn begin(
    scope: &Scope,
    db: &Db,
    run: &Arc<RunRow>,
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let (scope, run) = (scope.clone(), run.clone());
    Ok(db.write(Write::Begin { scope, run, at }).await?.is_stored())
}

/// Gives a run back to the database: adds its job and the checkpoints of its nodes.
#[derive(Clone, Copy, Debug)]
pub struct ReturnedRun<'a> {
    /// The run as it was accepted.
    pub run: &'a RunRow,
    /// The options of the request, as JSON text for the worker.
    pub request: &'a str,
    pub checkpoints: &'a [NodeRow],
    /// If it waits for values, the new text of its nodes; otherwise it is queued.
    pub parked: Option<&'a str>,
    pub at: DateTime<Utc>,
}

/// Gives a run back. False, writing nothing, if it has ended or has a job.
pub async fn give_back(
    scope: &Scope,
    db: &Db,
    returned: ReturnedRun<'_>,
) -> Result<bool, StoreError> {
    let ReturnedRun { run, request, checkpoints, parked, at } = returned;
    let mut tx = db.begin(scope).await?;
    run_batch::add(&mut tx, &[(scope, run)], &[]).await?;
    if !lock(&mut tx, run.id).await? {
        return Ok(false);
    }
    let new = NewJob { id: run.id, kind: JOB, request, at: run.created_at };
    match parked {
        Some(_) => job::add_parked(scope, &mut tx, new).await?,
        None => job::add(scope, &mut tx, new).await?,
    }
    // A client that has cancelled the run meanwhile found no job.
    let cancelled = sqlx::query(
        "update jobs set cancelled = exists (
             select from run_cancellations where workspace_id = $2 and run_id = $1) where id = $1",
    );
    cancelled.bind(run.id).bind(scope.workspace).execute(&mut *tx).await?;
    let graph = Some(&run.graph());
    let completed = NodeCheckpoints { scope, run: run.id, graph, nodes: checkpoints, at };
    let stored = write_checkpoints(&mut tx, &db.bodies, completed).await?;
    key_spending::add_all(&mut tx, stored.spent).await?;
    let status = if parked.is_some() { RunStatus::Waiting } else { RunStatus::Queued };
    // A run with checkpoints has started, even if the database has lost its start: `background_run::unstarted` reads no
    // checkpoints.
    let started = (parked.is_some() || !checkpoints.is_empty()).then_some(at);
    let updated = sqlx::query(
        "update runs set status = $2, nodes = coalesce($3::text::json, nodes),
                         started_at = coalesce(started_at, $4) where id = $1",
    );
    let updated = updated.bind(run.id).bind(status.as_str()).bind(parked).bind(started);
    updated.execute(&mut *tx).await?;
    db.commit_job(tx).await?;
    Ok(true)
}

/// Locks a run that has not ended and has no job, until the transaction ends.
async fn lock(connection: &mut PgConnection, run: Uuid) -> Result<bool, StoreError> {
    let found: Option<Uuid> = sqlx::query_scalar(
        "select id from runs where id = $1 and status in ('queued', 'running')
             and not exists (select from jobs where jobs.id = runs.id) for update",
    )
    .bind(run)
    .fetch_optional(connection)
    .await?;
    Ok(found.is_some())
}

/// A lease for what an attempt of the engine writes about a run.
#[must_use]
pub fn lease(scope: &Scope, run: Uuid) -> Lease {
    Lease::of_engine(run, scope.workspace)
}

/// Ends a run. False if it has ended, or has a job.
pub async fn end(scope: &Scope, db: &Db, run: &Arc<RunRow>) -> Result<bool, StoreError> {
    let lease = lease(scope, run.id);
    let none = RecordedCheckpoints::default();
    Ok(background_run::finish(scope, db, lease, run, none).await?.is_stored())
}

/// Notes that an attempt has lost its run although its worker lives: it does not count.
pub async fn forgive_attempt(scope: &Scope, db: &Db, run: Uuid) -> Result<(), StoreError> {
    let sql =
        "update runs set lost_attempts = lost_attempts + 1 where workspace_id = $1 and id = $2";
    let noted = sqlx::query(sql).bind(scope.workspace).bind(run);
    noted.execute(&mut *db.scoped(scope).await?).await?;
    Ok(())
}

/// How many attempts have lost the run although their workers lived.
pub async fn lost_attempts(scope: &Scope, db: &Db, run: Uuid) -> Result<u32, StoreError> {
    let sql = "select lost_attempts from runs where workspace_id = $1 and id = $2";
    let found = sqlx::query_scalar::<_, i32>(sql).bind(scope.workspace).bind(run);
    let found = found.fetch_optional(&mut *db.scoped(scope).await?).await?;
    Ok(found.and_then(|lost| u32::try_from(lost).ok()).unwrap_or(0))
}

/// The number of runs of a workspace that wait in the engine, counted up to `most`.
pub async fn count_queued(scope: &Scope, db: &Db, most: u32) -> Result<u32, StoreError> {
    let count: i64 = sqlx::query_scalar(
        "select count(*) from (
             select from runs where workspace_id = $1 and status = 'queued'
                 and not exists (select from jobs where jobs.id = runs.id) limit $2) queued",
    )
    .bind(scope.workspace)
    .bind(i64::from(most))
    .fetch_one(&mut *db.scoped(scope).await?)
    .await?;
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}
