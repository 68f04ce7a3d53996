//! The starts of attempts: their status rows say that they run. May not know the columns of a kind.

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use super::Write;
use crate::job::{JobType, Lease};
use crate::{Db, StoreError};

/// The start of an attempt at a job.
pub(super) struct AttemptStart {
    pub(super) job: Uuid,
    pub(super) kind: JobType,
    pub(super) at: DateTime<Utc>,
}

/// Marks the status row of a job as running, and sets the start of the first attempt. False if the lease is
/// lost.
pub async fn begin(
    db: &Db,
    kind: JobType,
    lease: Lease,
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    Ok(db.write(Write::Start { lease, kind, at }).await?.is_stored())
}

/// The same for runs that the engine has, if they have not ended and have no jobs. Returns those.
pub(super) async fn write_runs(
    connection: &mut PgConnection,
    starts: &[(Uuid, DateTime<Utc>)],
) -> Result<Vec<Uuid>, StoreError> {
    if starts.is_empty() {
        return Ok(Vec::new());
    }
    let (runs, times): (Vec<Uuid>, Vec<DateTime<Utc>>) = starts.iter().copied().unzip();
    // The ids are also a parameter, so that the planner leaves out partitions.
    let begun = sqlx::query_scalar(
        "update runs set status = 'running', started_at = coalesce(started_at, begun.at)
         from unnest($1::uuid[], $2::timestamptz[]) as begun (id, at)
         where runs.id = begun.id and runs.id = any($1) and runs.status in ('queued', 'running')
           and not exists (select from jobs where jobs.id = begun.id)
         returning runs.id",
    );
    Ok(begun.bind(runs).bind(times).fetch_all(connection).await?)
}

/// Sets the status, and the start of the first attempt.
pub(super) async fn write(
    connection: &mut PgConnection,
    starts: &[AttemptStart],
) -> Result<(), StoreError> {
    let mut kinds: Vec<JobType> = Vec::new();
    for start in starts {
        if !kinds.contains(&start.kind) {
            kinds.push(start.kind);
        }
    }
    for kind in kinds {
        let of_kind = || starts.iter().filter(|start| start.kind == kind);
        let jobs: Vec<Uuid> = of_kind().map(|start| start.job).collect();
        let times: Vec<DateTime<Utc>> = of_kind().map(|start| start.at).collect();
        let table = kind.table();
        // The ids are also a parameter, so that the planner leaves out partitions.
        let sql = format!(
            "update {table} set status = 'running', started_at = coalesce(started_at, begun.at)
             from unnest($1::uuid[], $2::timestamptz[]) as begun (id, at)
             where {table}.id = begun.id and {table}.id = any($1)"
        );
        let begun = sqlx::query(AssertSqlSafe(sql)).bind(jobs).bind(times);
        begun.execute(&mut *connection).await?;
    }
    Ok(())
}
