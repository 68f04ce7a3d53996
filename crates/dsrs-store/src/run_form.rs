//! The form in which runs that have ended are stored: with JSON, which servers of the release before read, or compact.
//! A new database is compact; another one becomes compact when its operator says that no older server runs. May not
//! know the columns of a run.

use std::time::Duration;

use sqlx::PgConnection;
use tokio::time::sleep;

use super::{Db, StoreError};

/// The pause between two refreshes, and after one that failed.
const PAUSE: Duration = Duration::from_millis(50);
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(5);

/// Stores every run from now on in the compact form, on this server at once and on others within seconds.
pub async fn make_compact(db: &Db) -> Result<(), StoreError> {
    let mut owner = db.owner_connection().await?;
    // The triggers count for servers of the release before.
    let statement = "set lock_timeout = '3s'; begin;
        drop trigger if exists runs_added on runs;
        drop trigger if exists runs_changed on runs;
        update installation set compact_runs = true;
        commit";
    sqlx::raw_sql(statement).execute(&mut owner).await?;
    refresh_form(db).await.map(drop)
}

/// Reads from the database whether runs are stored in the compact form.
pub async fn refresh_form(db: &Db) -> Result<bool, StoreError> {
    let is_compact = is_compact(&mut *db.unscoped().await?).await?;
    db.bodies.set_compact(is_compact);
    Ok(is_compact)
}

pub(super) async fn is_compact(connection: &mut PgConnection) -> Result<bool, StoreError> {
    let is_compact = sqlx::query_scalar("select compact_runs from installation");
    Ok(is_compact.fetch_one(connection).await?)
}

/// Keeps prefixes and dictionaries current, as runs that end need them. Never returns.
pub async fn refresh_texts_always(db: &Db) {
    loop {
        db.bodies.stale().await;
        match db.bodies.refresh(db).await {
            Ok(()) => sleep(PAUSE).await,
            Err(error) => {
                tracing::warn!(cause = error.cause(), "could not store what runs have in common");
                sleep(PAUSE_AFTER_ERROR).await;
            }
        }
    }
}
