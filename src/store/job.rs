//! Jobs: work that lasts, and who is at it. Whoever takes a job holds a lease on it, renews that
//! while at work, and may write only as long as it is the holder; when a lease lapses, the work goes
//! back into the queue. What the work is, is not known here.
//!
//! Jobs of all workspaces are taken alike; a job says whose it is.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::queue::{self, Queue};
use super::{Db, Scope, StoreError};

/// The channel on which it is told that a job, or a run that is none, is to stop.
pub(super) const CANCELLED: &str = "dsrs_cancelled";

/// What a job works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    /// A run.
    Run,
    /// A batch of runs.
    Batch,
    /// An evaluation.
    Evaluation,
    /// An optimization.
    Optimization,
}

impl JobKind {
    const ALL: [Self; 4] = [Self::Run, Self::Batch, Self::Evaluation, Self::Optimization];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Batch => "batch",
            Self::Evaluation => "evaluation",
            Self::Optimization => "optimization",
        }
    }

    /// The kind of that word; a newer release may know more.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// A job to be added.
#[derive(Clone, Copy, Debug)]
pub struct NewJob<'a> {
    /// The id of what it works on.
    pub id: Uuid,
    /// What that is.
    pub kind: JobKind,
    /// How it was asked for: JSON text, read by whoever works on it.
    pub request: &'a str,
    /// Now.
    pub at: DateTime<Utc>,
}

/// The right to work on a job, and to write what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The job.
    pub job: Uuid,
    /// A fresh id: two attempts of one server are two holders.
    pub holder: Uuid,
}

/// A job that was taken.
#[derive(Clone, Debug)]
pub struct Job {
    /// The right to work on it.
    pub lease: Lease,
    /// On whose behalf.
    pub scope: Scope,
    /// What it works on, as stored: a newer release may know more kinds.
    pub kind: String,
    /// How it was asked for.
    pub request: String,
    /// Which attempt this is, counted from 1.
    pub attempt: i32,
    /// Whether it is to stop.
    pub cancelled: bool,
}

/// What a holder is told when it renews.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Renewed {
    /// The holder.
    pub holder: Uuid,
    /// Whether its job is to stop.
    pub cancelled: bool,
}

/// Adds a job, in the queue too, within the transaction that stores what it works on.
pub(super) async fn add(
    scope: &Scope,
    connection: &mut PgConnection,
    job: NewJob<'_>,
) -> Result<(), StoreError> {
    add_waiting(scope, connection, job).await?;
    queue::add(connection, job.id).await
}

/// Adds a job that is not in the queue yet, within such a transaction.
pub(super) async fn add_waiting(
    scope: &Scope,
    connection: &mut PgConnection,
    job: NewJob<'_>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into jobs (id, workspace_id, kind, request, created_at, created_by)
         values ($1, $2, $3, $4::text::json, $5, $6)",
        job.id,
        scope.workspace,
        job.kind.as_str(),
        job.request,
        job.at,
        &*scope.actor
    )
    .execute(&mut *connection)
    .await?;
    Ok(())
}

/// What is wanted of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Work,
    Stop,
}

/// Lets go of a job within a transaction that says where it goes from here; this attempt does not
/// count. Says what is wanted of it, or `None` when the lease is lost.
pub(super) async fn let_go(
    connection: &mut PgConnection,
    lease: Lease,
) -> Result<Option<Wanted>, StoreError> {
    let cancelled = sqlx::query_scalar!(
        "update jobs set holder = null, lease_until = null, attempts = attempts - 1
         where id = $1 and holder = $2 returning cancelled",
        lease.job,
        lease.holder
    )
    .fetch_optional(connection)
    .await?;
    Ok(cancelled.map(|cancelled| if cancelled { Wanted::Stop } else { Wanted::Work }))
}

/// Takes the next job out of the queue for a time, by the database's clock; `None` when nothing waits.
pub async fn take(
    db: &Db,
    queue: &Queue,
    holder: Uuid,
    length: Duration,
) -> Result<Option<Job>, StoreError> {
    loop {
        let mut tx = db.pool().begin().await?;
        let Some(id) = queue.take(&mut tx).await? else { return Ok(None) };
        let job = hold(&mut tx, Lease { job: id, holder }, length).await?;
        tx.commit().await?;
        // An entry without work was left by a job that ended otherwise.
        if job.is_some() {
            return Ok(job);
        }
    }
}

/// Takes one job that nobody holds, without asking the queue.
pub async fn seize(db: &Db, lease: Lease, length: Duration) -> Result<Option<Job>, StoreError> {
    hold(&mut *db.pool().acquire().await?, lease, length).await
}

async fn hold(
    connection: &mut PgConnection,
    lease: Lease,
    length: Duration,
) -> Result<Option<Job>, StoreError> {
    let held = sqlx::query!(
        r#"update jobs set holder = $2, lease_until = clock_timestamp() + $3::float8 * interval '1 second',
                           attempts = attempts + 1
           where id = $1 and holder is null
           returning workspace_id, kind, request::text as "request!", attempts, cancelled,
                     created_by"#,
        lease.job,
        lease.holder,
        length.as_secs_f64()
    )
    .fetch_optional(connection)
    .await?;
    Ok(held.map(|row| Job {
        lease,
        scope: Scope { workspace: row.workspace_id, actor: Arc::from(row.created_by) },
        kind: row.kind,
        request: row.request,
        attempt: row.attempts,
        cancelled: row.cancelled,
    }))
}

/// Renews leases; a holder that is not in the answer has lost its job to another. Over a connection
/// apart: a lease must not lapse because those who hold one keep all others busy.
pub async fn renew(
    db: &Db,
    holders: &[Uuid],
    length: Duration,
) -> Result<Vec<Renewed>, StoreError> {
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
    Ok(renewed.map(|row| Renewed { holder: row.holder, cancelled: row.cancelled }).collect())
}

/// Puts a job back as it was before it was taken: this attempt does not count. False when it has
/// another holder by now.
pub async fn give_back(db: &Db, lease: Lease) -> Result<bool, StoreError> {
    let mut tx = db.pool().begin().await?;
    let given = let_go(&mut tx, lease).await?.is_some();
    if given {
        queue::add(&mut tx, lease.job).await?;
    }
    tx.commit().await?;
    Ok(given)
}

/// Leaves a job to whoever takes it once the lease has lapsed; this attempt does not count.
pub async fn decline(db: &Db, lease: Lease) -> Result<(), StoreError> {
    sqlx::query!(
        "update jobs set attempts = attempts - 1 where id = $1 and holder = $2",
        lease.job,
        lease.holder
    )
    .execute(db.pool())
    .await?;
    Ok(())
}

/// Puts the jobs back into the queue whose holders are gone; says how many.
pub async fn reclaim(db: &Db) -> Result<usize, StoreError> {
    let mut tx = db.apart().begin().await?;
    let lapsed = sqlx::query_scalar!(
        "update jobs set holder = null, lease_until = null
         where id in (select id from jobs where lease_until < clock_timestamp()
                      order by lease_until limit 500 for update skip locked)
         returning id"
    )
    .fetch_all(&mut *tx)
    .await?;
    for id in &lapsed {
        queue::add(&mut tx, *id).await?;
    }
    tx.commit().await?;
    Ok(lapsed.len())
}

/// Notes that a job is to stop and tells everyone, whoever holds it; runs that are no jobs are
/// told by the same word. `None` when there is no such job.
pub async fn cancel(
    scope: &Scope,
    db: &Db,
    kind: JobKind,
    id: Uuid,
) -> Result<Option<Held>, StoreError> {
    let mut tx = db.pool().begin().await?;
    let found = sqlx::query!(
        r#"update jobs set cancelled = cancelled or kind = $3 where id = $1 and workspace_id = $2
           returning holder is not null as "held!", kind = $3 as "fits!""#,
        id,
        scope.workspace,
        kind.as_str()
    )
    .fetch_optional(&mut *tx)
    .await?;
    if found.as_ref().is_some_and(|found| !found.fits) {
        return Err(StoreError::not_found(kind.as_str(), id));
    }
    sqlx::query!("select pg_notify($1, $2)", CANCELLED, id.to_string()).execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(found.map(|found| if found.held { Held::BySomeone } else { Held::ByNobody }))
}

/// Whether someone is at work on a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It waits in the queue.
    ByNobody,
    /// Someone is at it, or was when last heard of.
    BySomeone,
}

/// Notes within a transaction that a job has come further: attempts count from here again. False
/// when the lease is lost, and nothing may be stored; until the transaction ends nobody else can
/// take the job.
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

/// Keeps everyone else from a job within a transaction; false when the lease is lost.
pub(super) async fn hold_still(
    connection: &mut PgConnection,
    lease: Lease,
) -> Result<bool, StoreError> {
    let held = sqlx::query_scalar!(
        "select id from jobs where id = $1 and holder = $2 for update",
        lease.job,
        lease.holder
    )
    .fetch_optional(connection)
    .await?;
    Ok(held.is_some())
}

/// Ends a job within the transaction that stores what came of it; false when the lease is lost, and
/// nothing of that may be stored.
pub(super) async fn end(connection: &mut PgConnection, lease: Lease) -> Result<bool, StoreError> {
    let ended =
        sqlx::query!("delete from jobs where id = $1 and holder = $2", lease.job, lease.holder)
            .execute(connection)
            .await?;
    Ok(ended.rows_affected() == 1)
}

impl Db {
    /// The queue, for one who takes from it.
    pub async fn queue(&self) -> Result<Queue, StoreError> {
        Queue::open(self.pool()).await
    }
}
