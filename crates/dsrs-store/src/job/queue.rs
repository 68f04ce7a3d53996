//! The queue: jobs are added, claimed by workers, and returned to it when a lease expires.

use std::sync::Arc;
use std::time::Duration;

use sqlx::{PgConnection, Postgres, Transaction};
use uuid::Uuid;

use super::lease::Lease;
use super::{ItemRange, Job, JobType, NewJob};
use crate::{Db, Scope, StoreError};

/// The format of jobs that this release writes and reads. A worker claims none that is newer.
pub(super) const FORMAT: i16 = 1;

/// Adds a claimable job, within the transaction that stores its status row. End that transaction with
/// [`Db::commit_job`].
pub(crate) async fn add(
    scope: &Scope,
    connection: &mut PgConnection,
    job: NewJob<'_>,
) -> Result<(), StoreError> {
    insert(scope, connection, job, false).await
}

/// Adds a parked job, within such a transaction.
pub(crate) async fn add_parked(
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

/// The number of claimable jobs of a type in a workspace, counted up to `most`.
pub async fn count_queued(
    scope: &Scope,
    db: &Db,
    kind: JobType,
    most: u32,
) -> Result<u32, StoreError> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!"
           from (select from jobs where workspace_id = $1 and kind = $2
                 and (holder is null or dispatched) and not waiting limit $3) queued"#,
        scope.workspace,
        kind.as_str(),
        i64::from(most)
    );
    let count = count.fetch_one(&mut *db.scoped(scope).await?).await?;
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Whether this many jobs are parked in a workspace, or more.
pub async fn are_too_many_parked(scope: &Scope, db: &Db, limit: u32) -> Result<bool, StoreError> {
    // With `offset` the count ends at the limit, however many are parked.
    let full = sqlx::query_scalar(
        "select exists (select from jobs where workspace_id = $1 and waiting offset $2)",
    );
    let full = full.bind(scope.workspace).bind(i64::from(limit) - 1);
    Ok(full.fetch_one(&mut *db.scoped(scope).await?).await?)
}

/// Makes a job claimable again, or parks it, within a transaction that has locked it.
pub(crate) async fn set_parked(
    connection: &mut PgConnection,
    job: Uuid,
    parked: bool,
) -> Result<(), StoreError> {
    sqlx::query!("update jobs set waiting = $2 where id = $1", job, parked)
        .execute(connection)
        .await?;
    Ok(())
}

/// Claims the oldest claimable jobs of these types, one for each holder at most, in one statement. The
/// lease runs by the clock of the database. Workers that claim at the same time pass over each other's
/// jobs. A claim need not survive a crash of Postgres: the job is then claimed again, and every write of the
/// lost attempt is refused. So it waits for no flush. `divided` are the jobs of many items that this server works on already: it claims no part of
/// them.
pub async fn claim(
    db: &Db,
    kinds: &[JobType],
    holders: &[Uuid],
    divided: &[Uuid],
    length: Duration,
) -> Result<Vec<Job>, StoreError> {
    let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    let rows = sqlx::query!(
        r#"with oldest as (
               select id, created_at
               from jobs, (select set_config('synchronous_commit', 'off', true)) setting
               where holder is null and not waiting and kind = any($1) and format <= $5
                 and id <> all($4) and (parent is null or parent <> all($4))
               order by created_at, id limit cardinality($2::uuid[]) for update of jobs skip locked
           ), numbered as (
               select id, row_number() over (order by created_at, id) as number from oldest
           )
           update jobs set holder = ($2::uuid[])[numbered.number], attempts = attempts + 1,
                           lease_until = clock_timestamp() + $3::float8 * interval '1 second'
           from numbered where jobs.id = numbered.id
           returning jobs.id, holder as "holder!", workspace_id, kind, request::text as "request!",
                     attempts, cancelled, created_by, parent, items_from, items_to"#,
        &kinds as &[&str],
        holders,
        length.as_secs_f64(),
        divided,
        FORMAT
    )
    .fetch_all(&mut *db.all_workspaces().await?)
    .await?;
    let jobs = rows.into_iter().map(|row| Job {
        lease: Lease { job: row.id, holder: row.holder, workspace: row.workspace_id },
        scope: Scope { workspace: row.workspace_id, actor: Arc::from(row.created_by) },
        kind: row.kind,
        request: row.request,
        attempt: row.attempts,
        cancelled: row.cancelled,
        parent: row.parent,
        items: range(row.items_from, row.items_to),
    });
    Ok(jobs.collect())
}

pub(super) fn range(from: Option<i32>, to: Option<i32>) -> Option<ItemRange> {
    Some(ItemRange { from: from?, to: to? })
}

/// Claims one job that no attempt has, parked or not.
pub async fn claim_by_id(
    db: &Db,
    lease: Lease,
    length: Duration,
) -> Result<Option<Job>, StoreError> {
    let claimed = sqlx::query!(
        r#"update jobs set holder = $2, attempts = attempts + 1, waiting = false, dispatched = false,
                           lease_until = clock_timestamp() + $3::float8 * interval '1 second'
           where id = $1 and (holder is null or dispatched)
           returning workspace_id, kind, request::text as "request!", attempts, cancelled,
                     created_by, parent, items_from, items_to"#,
        lease.job,
        lease.holder,
        length.as_secs_f64()
    )
    .fetch_optional(&mut *db.scoped(&lease).await?)
    .await?;
    Ok(claimed.map(|row| Job {
        lease,
        scope: Scope { workspace: row.workspace_id, actor: Arc::from(row.created_by) },
        kind: row.kind,
        request: row.request,
        attempt: row.attempts,
        cancelled: row.cancelled,
        parent: row.parent,
        items: range(row.items_from, row.items_to),
    }))
}

/// Returns jobs with an expired lease to the queue; returns how many.
pub async fn requeue_expired(db: &Db) -> Result<u64, StoreError> {
    // All servers do this: each passes over the rows of the others. The connection for leases, as in `renew`: workers
    // may keep all others busy.
    let expired = sqlx::query!(
        "update jobs set holder = null, lease_until = null, waiting = false, dispatched = false
         where id in (select id from jobs
                      where holder is not null and lease_until < clock_timestamp()
                      limit 500 for update skip locked)"
    )
    .execute(db.leases())
    .await?
    .rows_affected();
    if expired > 0 {
        db.notifications.announce_job();
    }
    Ok(expired)
}

impl Db {
    /// Commits a transaction that made a job claimable, and wakes workers: those of this process at
    /// once, others by a notification.
    pub(crate) async fn commit_job(
        &self,
        tx: Transaction<'static, Postgres>,
    ) -> Result<(), StoreError> {
        // Announced after the commit: a worker that is woken before it finds no job.
        tx.commit().await?;
        self.notifications.announce_job();
        Ok(())
    }
}
