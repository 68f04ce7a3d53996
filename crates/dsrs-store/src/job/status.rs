//! The status of a job: written when the job ends or is cancelled. Its begin is one of the writes of
//! `group_writer`.

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use super::JobType;
use super::lease::{Lease, remove};
use crate::audit::{self, AuditAction, AuditThing};
use crate::background_run;
use crate::cancellation::{self, Cancellation};
use crate::run::RunStatus;
use crate::webhook_event;
use crate::{Db, Scope, StoreError};

/// Marks a job as cancelled and notifies every server. A server also stops a run of this id that is no
/// job: its cancellation is stored, for servers that miss the notification. `None` if there is no such
/// job.
pub async fn cancel(
    scope: &Scope,
    db: &Db,
    kind: JobType,
    id: Uuid,
    at: DateTime<Utc>,
) -> Result<Option<ClaimState>, StoreError> {
    let mut tx = db.begin(scope).await?;
    let job = sqlx::query!(
        r#"update jobs set cancelled = cancelled or kind = $3 where id = $1 and workspace_id = $2
           returning (holder is not null and not dispatched) as "held!", kind = $3 as "fits!""#,
        id,
        scope.workspace,
        kind.as_str()
    )
    .fetch_optional(&mut *tx)
    .await?;
    if job.as_ref().is_some_and(|job| !job.fits) {
        return Err(StoreError::not_found(kind.as_str(), id));
    }
    if job.is_none() {
        cancellation::add(scope, &mut tx, id).await?;
    } else {
        let thing = AuditThing { kind: kind.as_str(), id, name: None, version: None };
        audit::add(scope, &mut tx, AuditAction::Cancel, thing, at).await?;
    }
    tx.commit().await?;
    db.notifications.announce_cancellation(Cancellation { run: id, workspace: scope.workspace });
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

/// Ends a job: removes it with its parts, and writes its status row. False, writing nothing, if the lease is lost.
pub async fn finish(
    db: &Db,
    kind: JobType,
    lease: Lease,
    end: JobEnd<'_>,
) -> Result<bool, StoreError> {
    let mut tx = db.begin(&lease).await?;
    if !finish_within(&mut tx, kind, lease, end).await? {
        return Ok(false);
    }
    let parts = sqlx::query_scalar!("delete from jobs where parent = $1 returning id", lease.job);
    let parts = parts.fetch_all(&mut *tx).await?;
    tx.commit().await?;
    // Their workers stop at once instead of when they renew their leases.
    for run in parts {
        db.notifications.announce_cancellation(Cancellation { run, workspace: lease.workspace });
    }
    Ok(true)
}

/// The same within a transaction that stores more of the result.
pub(crate) async fn finish_within(
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
    row.bind(end.error).bind(end.at).execute(&mut *connection).await?;
    if kind == background_run::JOB {
        background_run::count_end(connection, lease).await?;
    }
    webhook_event::job_ended(connection, kind.name, kind.table, lease.job, end.error).await?;
    Ok(true)
}
