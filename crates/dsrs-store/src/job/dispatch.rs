//! Jobs that an engine beside the database hands to workers. Their rows stay: they are the right to write
//! results, the ranges of divided jobs, and what clients see. Such a row has a holder, as any claimed job, with a
//! lease that never expires: the engine, not the clock, says when a worker is gone. May not know the engine.

use std::sync::Arc;
use std::time::Duration;

use sqlx::PgConnection;
use uuid::Uuid;

use super::lease::{Lease, RenewedLease};
use super::queue::{FORMAT, range};
use super::{Job, JobType};
use crate::{Db, Scope, StoreError};

/// Takes the oldest jobs out of the queue, to send them to the engine, one for each holder at most. If they are
/// not sent before the lease expires, they return to the queue.
pub async fn take_queued(
    db: &Db,
    kinds: &[JobType],
    holders: &[Uuid],
    length: Duration,
) -> Result<Vec<Lease>, StoreError> {
    let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    // No attempt is counted here: it begins when the engine starts it (`take_over`).
    let taken = sqlx::query_as::<_, (Uuid, Uuid, Uuid)>(
        "with oldest as (
             select id, created_at
             from jobs, (select set_config('synchronous_commit', 'off', true)) setting
             where holder is null and not waiting and kind = any($1) and format <= $4
             order by created_at, id limit cardinality($2::uuid[]) for update of jobs skip locked
         ), numbered as (
             select id, row_number() over (order by created_at, id) as number from oldest
         )
         update jobs set holder = ($2::uuid[])[numbered.number],
                         dispatched = true,
                         lease_until = clock_timestamp() + $3::float8 * interval '1 second'
         from numbered where jobs.id = numbered.id
         returning jobs.id, holder, workspace_id",
    );
    let taken = taken.bind(kinds).bind(holders).bind(length.as_secs_f64()).bind(FORMAT);
    let taken = taken.fetch_all(&mut *db.all_workspaces().await?).await?;
    let lease = |(job, holder, workspace)| Lease { job, holder, workspace };
    Ok(taken.into_iter().map(lease).collect())
}

/// Notes that the engine has these jobs. Those whose attempts have begun meanwhile are left alone.
pub async fn set_dispatched(db: &Db, holders: &[Uuid]) -> Result<(), StoreError> {
    let sql = "update jobs set lease_until = 'infinity' where holder = any($1) and dispatched";
    sqlx::query(sql).bind(holders).execute(&mut *db.all_workspaces().await?).await?;
    Ok(())
}

/// Returns jobs to the queue that could not be sent.
pub async fn return_unsent(db: &Db, holders: &[Uuid]) -> Result<(), StoreError> {
    let sql = "update jobs set lease_until = null, holder = null, dispatched = false where holder = any($1)";
    sqlx::query(sql).bind(holders).execute(&mut *db.all_workspaces().await?).await?;
    Ok(())
}

/// The outcome of taking over a job.
#[derive(Clone, Debug)]
pub enum TakenOver {
    Job(Box<Job>),
    /// The job has ended, is in the queue again, or waits for a value.
    Nothing,
    /// The job is a part of one that this worker works on. Nobody works on this part now: the holder of the divided
    /// job may take it back.
    Divided,
    /// A newer release made the job, of a kind or in a format that this one cannot read.
    Newer,
}

/// Begins an attempt at a job that the engine hands out: any holder before has lost it. `divided` are the jobs of
/// many items that this server works on already.
pub async fn take_over(
    db: &Db,
    job: Uuid,
    holder: Uuid,
    kinds: &[JobType],
    divided: &[Uuid],
) -> Result<TakenOver, StoreError> {
    let kinds: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    let mut connection = db.all_workspaces().await?;
    type Row = (Uuid, String, String, i32, bool, String, Option<Uuid>, Option<i32>, Option<i32>);
    let taken = sqlx::query_as::<_, Row>(
        "update jobs set holder = $2, lease_until = 'infinity', dispatched = false, attempts = attempts + 1
         where id = $1 and holder is not null and not waiting and kind = any($3) and format <= $4
           and (parent is null or parent <> all($5))
         returning workspace_id, kind, request::text, attempts, cancelled, created_by, parent,
                   items_from, items_to",
    );
    let taken = taken.bind(job).bind(holder).bind(&kinds).bind(FORMAT).bind(divided);
    let Some(taken) = taken.fetch_optional(&mut *connection).await? else {
        // Before the next query, which would take such a part for a job of a newer release.
        if decline_within(&mut connection, job, holder, divided).await? {
            return Ok(TakenOver::Divided);
        }
        let sql =
            "select exists (select from jobs where id = $1 and holder is not null and not waiting)";
        let newer: bool = sqlx::query_scalar(sql).bind(job).fetch_one(&mut *connection).await?;
        return Ok(if newer { TakenOver::Newer } else { TakenOver::Nothing });
    };
    let job = |(workspace, kind, request, attempt, cancelled, actor, parent, from, to): Row| Job {
        lease: Lease { job, holder, workspace },
        scope: Scope { workspace, actor: Arc::from(actor) },
        kind,
        request,
        attempt,
        cancelled,
        parent,
        items: range(from, to),
    };
    Ok(TakenOver::Job(Box::new(job(taken))))
}

/// Declines a part of one of these divided jobs, on which this server works already: nobody works on the part now,
/// and the holder of the divided job may take it back. False if it is none.
pub async fn decline_part(
    db: &Db,
    job: Uuid,
    holder: Uuid,
    divided: &[Uuid],
) -> Result<bool, StoreError> {
    decline_within(&mut *db.all_workspaces().await?, job, holder, divided).await
}

async fn decline_within(
    connection: &mut PgConnection,
    job: Uuid,
    holder: Uuid,
    divided: &[Uuid],
) -> Result<bool, StoreError> {
    let declined = sqlx::query(
        "update jobs set holder = $2, lease_until = 'infinity', dispatched = true
         where id = $1 and holder is not null and parent = any($3)",
    );
    let declined = declined.bind(job).bind(holder).bind(divided).execute(connection);
    Ok(declined.await?.rows_affected() == 1)
}

/// Returns a job that the engine has to the queue of the database. False if the engine does not have it.
pub async fn return_to_queue(db: &Db, job: Uuid) -> Result<bool, StoreError> {
    let sql = "update jobs set holder = null, lease_until = null, dispatched = false
               where id = $1 and (lease_until = 'infinity' or dispatched)";
    let returned = sqlx::query(sql).bind(job).execute(&mut *db.all_workspaces().await?).await?;
    let returned = returned.rows_affected() == 1;
    if returned {
        db.notifications.announce_job();
    }
    Ok(returned)
}

/// Reads which of these holders still hold their jobs, and which jobs were cancelled.
pub async fn observe(db: &Db, holders: &[Uuid]) -> Result<Vec<RenewedLease>, StoreError> {
    let sql = "select holder, cancelled from jobs where holder = any($1)";
    let held = sqlx::query_as::<_, (Uuid, bool)>(sql).bind(holders).fetch_all(db.leases()).await?;
    let lease = |(holder, cancelled)| RenewedLease { holder, cancelled };
    Ok(held.into_iter().map(lease).collect())
}
