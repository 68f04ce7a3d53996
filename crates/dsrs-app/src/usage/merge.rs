//! The rows of usage of an hour become one for each combination of values, so that reading stays cheap. Every server
//! does it: what two of them find at once, one merges. May not know SQL.

use std::sync::Weak;
use std::time::Duration;

use tokio::time::sleep;

use crate::App;
use dsrs_store::{Scope, StoreError, usage};

/// The pause between two rounds.
const PAUSE: Duration = Duration::from_secs(60);

/// The most hours of workspaces that a round merges.
const HOURS: i64 = 1_000;

/// Merges until the app is dropped.
pub(crate) async fn merge_always(app: Weak<App>) {
    while let Some(found) = app.upgrade() {
        if let Err(error) = merge(&found).await {
            tracing::warn!(cause = error.cause(), "could not merge rows of usage");
        }
        drop(found);
        sleep(PAUSE).await;
    }
}

async fn merge(app: &App) -> Result<(), StoreError> {
    for (workspace, hour) in usage::unmerged(&app.db, HOURS).await? {
        usage::merge(&Scope::upkeep(workspace), &app.db, hour).await?;
    }
    Ok(())
}
