//! Leases: the right to work on a job and to write its results.

use std::time::Duration;

use sqlx::{PgConnection, Postgres, Transaction};
use uuid::Uuid;

use crate::ended_run::{self, RunReports};
use crate::key_spending;
use crate::packed_run::PackedRun;
use crate::run::RunRow;
use crate::scope::InWorkspace;
use crate::{Db, Scope, StoreError};

/// The right to work on a job and to write its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    pub job: Uuid,
    /// The holder: a fresh id for each attempt.
    pub holder: Uuid,
    /// The workspace of the job.
    pub workspace: Uuid,
}

impl InWorkspace for Lease {
    fn workspace(&self) -> Uuid {
        self.workspace
    }
}

impl Lease {
    /// The lease of a run whose progress is in the engine. It has no row in `jobs` that could have a holder, so
    /// the run itself stands for it.
    #[must_use]
    pub const fn of_engine(run: Uuid, workspace: Uuid) -> Self {
        Self { job: run, holder: run, workspace }
    }

    /// Whether it is one of those.
    #[must_use]
    pub fn is_of_engine(self) -> bool {
        self.holder == self.job
    }
}

/// A lease that was renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenewedLease {
    pub holder: Uuid,
    /// Whether a client cancelled the job.
    pub cancelled: bool,
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
    .fetch_all(db.leases())
    .await?;
    let renewed = renewed.into_iter();
    Ok(renewed.map(|row| RenewedLease { holder: row.holder, cancelled: row.cancelled }).collect())
}

/// Returns a job to the queue; the attempt does not count. False if the lease is lost.
pub async fn requeue(db: &Db, lease: Lease) -> Result<bool, StoreError> {
    // Released, not left to expire: another worker need not wait for the rest of the lease.
    let mut tx = db.begin(&lease).await?;
    let released = release(&mut tx, lease).await?.is_some();
    db.commit_job(tx).await?;
    Ok(released)
}

/// Releases a lease; the attempt does not count. Returns whether a client cancelled the job, or `None`
/// if the lease is lost.
pub(crate) async fn release(
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

/// The number of attempts that count, with this one; `None` if the lease is lost.
pub async fn attempts(db: &Db, lease: Lease) -> Result<Option<i32>, StoreError> {
    let found = sqlx::query_scalar("select attempts from jobs where id = $1 and holder = $2");
    let found = found.bind(lease.job).bind(lease.holder);
    Ok(found.fetch_optional(&mut *db.scoped(&lease).await?).await?)
}

/// Notes that an attempt has lost its job although its worker lives: it does not count, unless another attempt has
/// stored progress since.
pub async fn forgive_attempt(db: &Db, lease: Lease) -> Result<(), StoreError> {
    // Progress sets the count to 1, which is the attempt that stored it: that one must stay.
    let sql = "update jobs set attempts = attempts - 1
               where id = $1 and attempts > case when holder = $2 then 0 else 1 end";
    let noted = sqlx::query(sql).bind(lease.job).bind(lease.holder);
    noted.execute(&mut *db.scoped(&lease).await?).await?;
    Ok(())
}

/// Resets the count of attempts within a transaction that stores progress. False if the lease is lost:
/// then nothing may be stored. No other worker can claim the job until the transaction ends.
pub(crate) async fn progress(
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
pub(crate) async fn begin_results(
    scope: &Scope,
    db: &Db,
    lease: Lease,
    runs: impl Iterator<Item = &RunRow>,
    reports: RunReports,
) -> Result<Option<Transaction<'static, Postgres>>, StoreError> {
    let mut tx = db.begin(scope).await?;
    // The lease first: an attempt that has lost it writes no row, and no other one can begin before the commit.
    if !progress(&mut tx, lease).await? {
        return Ok(None);
    }
    let runs: Vec<PackedRun> = runs.map(|run| PackedRun::new(scope, &db.bodies, run)).collect();
    let spent = ended_run::add(&mut tx, &runs.iter().collect::<Vec<_>>(), reports).await?;
    key_spending::add_all(&mut tx, spent).await?;
    Ok(Some(tx))
}

/// Locks a job until the transaction ends. False if the lease is lost.
pub(crate) async fn lock(connection: &mut PgConnection, lease: Lease) -> Result<bool, StoreError> {
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
pub(crate) async fn remove(
    connection: &mut PgConnection,
    lease: Lease,
) -> Result<bool, StoreError> {
    let removed =
        sqlx::query!("delete from jobs where id = $1 and holder = $2", lease.job, lease.holder)
            .execute(connection)
            .await?;
    Ok(removed.rows_affected() == 1)
}
