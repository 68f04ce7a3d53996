//! Cancellations of runs that are no jobs, for servers that miss the notification. The cancellation of a job
//! is in its row. May not know where a run is.

use sqlx::PgConnection;
use uuid::Uuid;

use super::{Db, Scope, StoreError};

/// Removed rows per cancellation: more than are added.
const OLD_ROWS: i64 = 100;

/// A run that a client cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancellation {
    pub run: Uuid,
    /// The workspace of the client.
    pub workspace: Uuid,
}

impl Cancellation {
    /// The text of its notification.
    pub(super) fn payload(&self) -> String {
        format!("{} {}", self.workspace, self.run)
    }

    /// The cancellation of a notification; `None` for that of an earlier release, which names no workspace.
    pub(super) fn parse(payload: &str) -> Option<Self> {
        let (workspace, run) = payload.split_once(' ')?;
        Some(Self { workspace: workspace.parse().ok()?, run: run.parse().ok()? })
    }
}

/// Stores a cancellation for a minute, by the clock of the database, and longer while the run has not ended; every
/// server looks more often. The
/// client may have named anything, so the rows are removed by the cancellations that follow.
pub(super) async fn add(
    scope: &Scope,
    connection: &mut PgConnection,
    run: Uuid,
) -> Result<(), StoreError> {
    sqlx::query!(
        "delete from run_cancellations where (workspace_id, run_id) in (
             select workspace_id, run_id from run_cancellations
             where created_at < clock_timestamp() - interval '1 minute'
               and not exists (select from runs where runs.id = run_id and status in ('queued', 'running'))
             limit $1 for update skip locked)",
        OLD_ROWS
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        "insert into run_cancellations (workspace_id, run_id, created_at, created_by)
         values ($1, $2, clock_timestamp(), $3)
         on conflict (workspace_id, run_id) do update set created_at = excluded.created_at",
        scope.workspace,
        run,
        &*scope.actor
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn find(db: &Db, runs: &[Uuid]) -> Result<Vec<Cancellation>, StoreError> {
    let found = sqlx::query_as!(
        Cancellation,
        "select run_id as run, workspace_id as workspace from run_cancellations
         where run_id = any($1)",
        runs
    )
    .fetch_all(&mut *db.all_workspaces().await?)
    .await?;
    Ok(found)
}
