//! The events of runs in progress, numbered within a run. May not know what an event says.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::group_writer::Write;
use super::job::Lease;
use super::run_progress::EventsRow;
use super::{Db, Scope, StoreError};

/// The channel that announces new events of a run.
pub(super) const CHANNEL: &str = "dsrs_run_events";

/// The number of rows per read. Each may hold a mebibyte, and every follower reads its own.
const PAGE: i64 = 8;

/// How long events are stored. Followers of a longer run still receive its newer events.
const RETENTION: TimeDelta = TimeDelta::hours(1);

/// The number of rows that are removed in one step.
const PURGED_ROWS: i64 = 1000;

/// Adds events of a claimed run and notifies its followers. False if the lease is lost. Safe to
/// repeat.
pub async fn append(
    db: &Db,
    lease: Lease,
    row: &Arc<EventsRow>,
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    Ok(db.write(Write::Events { lease, row: row.clone(), at }).await?.is_stored())
}

/// Stores the number of events of a run that has no worker: streamed, or parked.
pub async fn count(
    scope: &Scope,
    db: &Db,
    run: Uuid,
    last_id: i64,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into run_events (run_id, last_id, workspace_id, events, created_at)
         values ($1, $2, $3, '[]', $4) on conflict do nothing",
        run,
        last_id,
        scope.workspace,
        at
    )
    .execute(&mut *db.scoped(scope).await?)
    .await?;
    Ok(())
}

/// The events of a run after an event, the oldest first.
pub async fn after(
    scope: &Scope,
    db: &Db,
    run: Uuid,
    seen: i64,
) -> Result<Vec<EventsRow>, StoreError> {
    let rows = sqlx::query_as!(
        EventsRow,
        r#"select last_id, events::text as "events!" from run_events
           where run_id = $1 and last_id > $2 and workspace_id = $3 order by last_id limit $4"#,
        run,
        seen,
        scope.workspace,
        PAGE
    )
    .fetch_all(&mut *db.scoped(scope).await?)
    .await?;
    Ok(rows)
}

/// Notifies the followers of a run that its record has changed: on this server at once, on others soon.
pub fn announce(db: &Db, run: Uuid) {
    db.notifications.announce_events(run);
}

/// The id of the newest event of a run, if it has one.
pub async fn newest(scope: &Scope, db: &Db, run: Uuid) -> Result<Option<i64>, StoreError> {
    newest_of(&mut *db.scoped(scope).await?, run).await
}

/// The same on a connection that sees the workspace.
pub(super) async fn newest_of(
    connection: &mut PgConnection,
    run: Uuid,
) -> Result<Option<i64>, StoreError> {
    let newest = sqlx::query_scalar!("select max(last_id) from run_events where run_id = $1", run)
        .fetch_one(connection)
        .await?;
    Ok(newest)
}

/// Removes some old events; returns the number of rows. The newest row of a run that has not ended
/// remains: the next attempt continues its numbering.
pub async fn purge(db: &Db, now: DateTime<Utc>) -> Result<u64, StoreError> {
    let removed = sqlx::query!(
        "delete from run_events where (run_id, last_id) in
         (select run_id, last_id from run_events old
          where created_at < $1
            and ((not exists (select 1 from jobs where id = old.run_id)
                  and not exists (select 1 from runs where id = old.run_id
                                  and status in ('queued', 'running')))
                 or exists (select 1 from run_events newer
                            where newer.run_id = old.run_id and newer.last_id > old.last_id))
          order by created_at limit $2 for update skip locked)",
        now - RETENTION,
        PURGED_ROWS
    )
    .execute(&mut *db.all_workspaces().await?)
    .await?;
    Ok(removed.rows_affected())
}
