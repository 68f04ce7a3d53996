//! The events of claimed runs. May not know what an event says.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::StoreError;
use crate::run_progress::EventsRow;

/// Events of a run that were gathered.
pub(super) struct AddedEvents<'w> {
    pub(super) run: Uuid,
    pub(super) workspace: Uuid,
    pub(super) row: &'w EventsRow,
    pub(super) at: DateTime<Utc>,
}

/// Stores the events. Those that are stored already are left alone.
pub(super) async fn write(
    connection: &mut PgConnection,
    events: &[AddedEvents<'_>],
) -> Result<(), StoreError> {
    if events.is_empty() {
        return Ok(());
    }
    let runs: Vec<Uuid> = events.iter().map(|added| added.run).collect();
    let ids: Vec<i64> = events.iter().map(|added| added.row.last_id).collect();
    let workspaces: Vec<Uuid> = events.iter().map(|added| added.workspace).collect();
    let texts: Vec<&str> = events.iter().map(|added| added.row.events.as_str()).collect();
    let times: Vec<DateTime<Utc>> = events.iter().map(|added| added.at).collect();
    sqlx::query!(
        "insert into run_events (run_id, last_id, workspace_id, events, created_at)
         select run_id, last_id, workspace_id, events::json, created_at
         from unnest($1::uuid[], $2::int8[], $3::uuid[], $4::text[], $5::timestamptz[])
              as new (run_id, last_id, workspace_id, events, created_at)
         on conflict do nothing",
        &runs,
        &ids,
        &workspaces,
        &texts as &[&str],
        &times
    )
    .execute(connection)
    .await?;
    Ok(())
}
