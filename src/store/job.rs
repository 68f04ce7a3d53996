//! Jobs: the queue of background work, and the leases on it.
//!
//! A worker claims a job with a lease, renews the lease while it works, and may write only while it
//! holds the lease. When a lease expires, the job returns to the queue. The queue is the table itself:
//! a job that has no holder and is not parked is claimable, the oldest first.
//!
//! May not know what a job does. Workers see the jobs of all workspaces; each job names its own.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, PgConnection, Postgres, Transaction};
use uuid::Uuid;

use super::run::{RunRow, RunStatus};
use super::run_batch;
use super::{Db, Scope, StoreError};

/// The channel that announces claimable jobs.
pub(super) const QUEUED: &str = "jobs:insert";

/// The channel that announces cancellations: of jobs, and of runs that are no jobs.
pub(super) const CANCELLED: &str = "dsrs_cancelled";

/// The type of a job: each noun that has one declares its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobType {
    name: &'static str,
    table: &'static str,
}

impl JobType {
    /// A type by its name, in the database and in messages, and its table. The table has the status row
    /// of each job under the id of the job: `status`, `error`, `started_at`, `finished_at`.
    pub(super) const fn new(name: &'static str, table: &'static str) -> Self {
        Self { name, table }
    }

    /// The name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.name
    }
}

/// A job to add.
#[derive(Clone, Copy, Debug)]
pub struct NewJob<'a> {
    /// The id of the job and of its status row.
    pub id: Uuid,
    /// Its type.
    pub kind: JobType,
    /// The options of the request, as JSON text for the worker.
    pub request: &'a str,
    /// The time of the request.
    pub at: DateTime<Utc>,
}

/// The right to work on a job and to write its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The job.
    pub job: Uuid,
    /// The holder: a fresh id for each attempt.
    pub holder: Uuid,
}

/// A claimed job.
#[derive(Clone, Debug)]
pub struct Job {
    /// The right to work on it.
    pub lease: Lease,
    /// The workspace, and the caller who requested the job.
    pub scope: Scope,
    /// Its type, as stored.
    pub kind: String,
    /// The options of the request.
    pub request: String,
    /// The number of this attempt, counted from 1.
    pub attempt: i32,
    /// Whether a client cancelled it.
    pub cancelled: bool,
}

/// A lease that was renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenewedLease {
    /// The holder.
    pub holder: Uuid,
    /// Whether a client cancelled the job.
    pub cancelled: bool,
}

/// Adds a claimable job, within the transaction that stores its status row. End that transaction with
/// [`Db::commit_job`].
pub(super) async fn add(
    scope: &Scope,
    connection: &mut PgConnection,
    job: NewJob<'_>,
) -> Result<(), StoreError> {
    insert(scope, connection, job, false).await
}

/// Adds a parked job, within such a transaction.
pub(super) async fn add_parked(
    scope: &Scope,
    connection: &mut PgConnection,
    job: NewJob<'_>,
) -> Result<(), StoreError> {
    insert(scope, connection, job, true).await
}

async fn insert(
    scope: &Scope,
    connection: &mut PgConnection,
    job: NewJob<'_>,
    parked: bool,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into jobs (id, workspace_id, kind, request, created_at, created_by, waiting)
         values ($1, $2, $3, $4::text::json, $5, $6, $7)",
        job.id,
        scope.workspace,
        job.kind.as_str(),
        job.request,
        job.at,
        &*scope.actor,
        parked
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Makes a job claimable again, or parks it, within a transaction that has locked it.
pub(super) async fn set_parked(
    connection: &mut PgConnection,
    job: Uuid,
    parked: bool,
) -> Result<(), StoreError> {
    sqlx::query!("update jobs set waiting = $2 where id = $1", job, parked)
        .execute(connection)
        .await?;
    Ok(())
}

/// Releases a lease; the attempt does not count. Returns whether a client cancelled the job, or `None`
/// if the lease is lost.
pub(super) async fn release(
    connection: &mut PgConnection,
    lease: Lease,
) -> Result<Option<bool>, StoreError> {
    let cancelled = sqlx::query_scalar!(
        "update jobs set holder = null, lease_until = null, attempts = attempts - 1
         where id = $1 and holder = $2 returning cancelled",
        lease.job,
        lease.holder
    )
    .fetch_optional(connection)
    .await?;
    Ok(cancelled)
}

/// Claims the oldest claimable jobs of these types, one for each holder at most, in one statement. The
/// lease runs by the clock of the database. Workers that claim at the same time pass over each other's
/// jobs.
pub async fn claim(
    db: &Db,
    kinds: &[JobType],
    holders: &[Uuid],
    length: Duration,
) -> Result<Vec<Job>, StoreError> {
    let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    let rows = sqlx::query!(
        r#"with oldest as (
               select id, created_at from jobs
               where holder is null and not waiting and kind = any($1)
               order by created_at, id limit cardinality($2::uuid[]) for update skip locked
           ), numbered as (
               select id, row_number() over (order by created_at, id) as number from oldest
           )
           update jobs set holder = ($2::uuid[])[numbered.number], attempts = attempts + 1,
                           lease_until = clock_timestamp() + $3::float8 * interval '1 second'
           from numbered where jobs.id = numbered.id
           returning jobs.id, holder as "holder!", workspace_id, kind, request::text as "request!",
                     attempts, cancelled, created_by"#,
        &kinds as &[&str],
        holders,
        length.as_secs_f64()
    )
    .fetch_all(db.pool())
    .await?;
    let jobs = rows.into_iter().map(|row| Job {
        lease: Lease { job: row.id, holder: row.holder },
        scope: Scope { workspace: row.workspace_id, actor: Arc::from(row.created_by) },
        kind: row.kind,
        request: row.request,
        attempt: row.attempts,
        cancelled: row.cancelled,
    });
    Ok(jobs.collect())
}

/// Claims one job that has no holder, parked or not.
pub async fn claim_by_id(
    db: &Db,
    lease: Lease,
    length: Duration,
) -> Result<Option<Job>, StoreError> {
    let claimed = sqlx::query!(
        r#"update jobs set holder = $2, attempts = attempts + 1, waiting = false,
                           lease_until = clock_timestamp() + $3::float8 * interval '1 second'
           where id = $1 and holder is null
           returning workspace_id, kind, request::text as "request!", attempts, cancelled,
                     created_by"#,
        lease.job,
        lease.holder,
        length.as_secs_f64()
    )
    .fetch_optional(db.pool())
    .await?;
    Ok(claimed.map(|row| Job {
        lease,
        scope: Scope { workspace: row.workspace_id, actor: Arc::from(row.created_by) },
        kind: row.kind,
        request: row.request,
        attempt: row.attempts,
        cancelled: row.cancelled,
    }))
}

/// Renews leases. A holder that is missing from the result has lost its job. Uses a connection of its
/// own: a lease must not expire because workers keep all others busy.
pub async fn renew(
    db: &Db,
    holders: &[Uuid],
    length: Duration,
) -> Result<Vec<RenewedLease>, StoreError> {
    let renewed = sqlx::query!(
        r#"update jobs set lease_until = clock_timestamp() + $2::float8 * interval '1 second'
           where holder = any($1)
           returning holder as "holder!", cancelled"#,
        holders,
        length.as_secs_f64()
    )
    .fetch_all(db.apart())
    .await?;
    let renewed = renewed.into_iter();
    Ok(renewed.map(|row| RenewedLease { holder: row.holder, cancelled: row.cancelled }).collect())
}

/// Returns a job to the queue; the attempt does not count. False if the lease is lost.
pub async fn requeue(db: &Db, lease: Lease) -> Result<bool, StoreError> {
    let mut tx = db.pool().begin().await?;
    let released = release(&mut tx, lease).await?.is_some();
    db.commit_job(tx).await?;
    Ok(released)
}

/// Returns jobs with an expired lease to the queue; returns how many.
pub async fn requeue_expired(db: &Db) -> Result<u64, StoreError> {
    let expired = sqlx::query!(
        "update jobs set holder = null, lease_until = null, waiting = false
         where id in (select id from jobs where lease_until < clock_timestamp()
                      order by lease_until limit 500 for update skip locked)"
    )
    .execute(db.apart())
    .await?
    .rows_affected();
    if expired > 0 {
        db.notifications.announce_job();
    }
    Ok(expired)
}

/// Marks a job as cancelled and notifies every server. A server also stops a run of this id that is no
/// job. `None` if there is no such job.
pub async fn cancel(
    scope: &Scope,
    db: &Db,
    kind: JobType,
    id: Uuid,
) -> Result<Option<ClaimState>, StoreError> {
    let mut tx = db.pool().begin().await?;
    let job = sqlx::query!(
        r#"update jobs set cancelled = cancelled or kind = $3 where id = $1 and workspace_id = $2
           returning holder is not null as "held!", kind = $3 as "fits!""#,
        id,
        scope.workspace,
        kind.as_str()
    )
    .fetch_optional(&mut *tx)
    .await?;
    if job.as_ref().is_some_and(|job| !job.fits) {
        return Err(StoreError::not_found(kind.as_str(), id));
    }
    sqlx::query!("select pg_notify($1, $2)", CANCELLED, id.to_string()).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(job.map(|job| if job.held { ClaimState::Claimed } else { ClaimState::Unclaimed }))
}

/// Whether a worker has claimed a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimState {
    /// No worker has: it is queued or parked.
    Unclaimed,
    /// A worker has. It may have died since.
    Claimed,
}

/// Marks the status row as running, and sets the start of the first attempt. False if the lease is
/// lost.
pub async fn begin(
    db: &Db,
    kind: JobType,
    lease: Lease,
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let table = kind.table;
    let sql = format!(
        "with held as (select id from jobs where id = $1 and holder = $2 for update)
         update {table} set status = 'running', started_at = coalesce(started_at, $3)
         from held where {table}.id = held.id"
    );
    let begun = sqlx::query(AssertSqlSafe(sql)).bind(lease.job).bind(lease.holder).bind(at);
    Ok(begun.execute(db.pool()).await?.rows_affected() == 1)
}

/// Resets the count of attempts within a transaction that stores progress. False if the lease is lost:
/// then nothing may be stored. No other worker can claim the job until the transaction ends.
pub(super) async fn progress(
    connection: &mut PgConnection,
    lease: Lease,
) -> Result<bool, StoreError> {
    let held = sqlx::query!(
        "update jobs set attempts = 1 where id = $1 and holder = $2",
        lease.job,
        lease.holder
    )
    .execute(connection)
    .await?;
    Ok(held.rows_affected() == 1)
}

/// Opens a transaction that stores results of items, and stores the records of their runs. `None` if
/// the lease is lost.
pub(super) async fn begin_results(
    scope: &Scope,
    db: &Db,
    lease: Lease,
    runs: impl Iterator<Item = &RunRow>,
) -> Result<Option<Transaction<'static, Postgres>>, StoreError> {
    let mut tx = db.pool().begin().await?;
    if !progress(&mut tx, lease).await? {
        return Ok(None);
    }
    let runs: Vec<_> = runs.map(|run| (scope, run)).collect();
    if !runs.is_empty() {
        run_batch::insert(&mut *tx, runs.into_iter()).await?;
    }
    Ok(Some(tx))
}

/// Locks a job until the transaction ends. False if the lease is lost.
pub(super) async fn lock(connection: &mut PgConnection, lease: Lease) -> Result<bool, StoreError> {
    let held = sqlx::query_scalar!(
        "select id from jobs where id = $1 and holder = $2 for update",
        lease.job,
        lease.holder
    )
    .fetch_optional(connection)
    .await?;
    Ok(held.is_some())
}

/// Removes a job that has ended, within the transaction that stores its result. False if the lease is
/// lost: then nothing may be stored.
pub(super) async fn remove(
    connection: &mut PgConnection,
    lease: Lease,
) -> Result<bool, StoreError> {
    let removed =
        sqlx::query!("delete from jobs where id = $1 and holder = $2", lease.job, lease.holder)
            .execute(connection)
            .await?;
    Ok(removed.rows_affected() == 1)
}

/// How a job ended, as its status row has it.
#[derive(Clone, Copy, Debug)]
pub struct JobEnd<'e> {
    /// Succeeded, failed or cancelled.
    pub status: RunStatus,
    /// The problem that it failed with, as JSON text.
    pub error: Option<&'e str>,
    /// When.
    pub at: DateTime<Utc>,
}

/// Ends a job: removes it and writes its status row. False, writing nothing, if the lease is lost.
pub async fn finish(
    db: &Db,
    kind: JobType,
    lease: Lease,
    end: JobEnd<'_>,
) -> Result<bool, StoreError> {
    let mut tx = db.pool().begin().await?;
    if !finish_within(&mut tx, kind, lease, end).await? {
        return Ok(false);
    }
    tx.commit().await?;
    Ok(true)
}

/// The same within a transaction that stores more of the result.
pub(super) async fn finish_within(
    connection: &mut PgConnection,
    kind: JobType,
    lease: Lease,
    end: JobEnd<'_>,
) -> Result<bool, StoreError> {
    if !remove(connection, lease).await? {
        return Ok(false);
    }
    let sql = format!(
        "update {} set status = $2, error = $3::text::json, finished_at = $4,
                       started_at = coalesce(started_at, $4)
         where id = $1",
        kind.table
    );
    let row = sqlx::query(AssertSqlSafe(sql)).bind(lease.job).bind(end.status.as_str());
    row.bind(end.error).bind(end.at).execute(connection).await?;
    Ok(true)
}

impl Db {
    /// Commits a transaction that made a job claimable, and wakes workers: those of this process at
    /// once, others by a notification.
    pub(super) async fn commit_job(
        &self,
        tx: Transaction<'static, Postgres>,
    ) -> Result<(), StoreError> {
        tx.commit().await?;
        self.notifications.announce_job();
        Ok(())
    }
}
