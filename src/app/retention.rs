//! Retention by age: removes what ended or was deleted long ago, in small steps with pauses between them,
//! so that requests are not slowed down. May not know tables.

use std::sync::Weak;
use std::time::Duration;

use chrono::TimeDelta;
use tokio::time::{Instant, sleep};

use crate::app::App;
use crate::app::clock::now;
use crate::store::retention::{ExpiredRows, remove};
use crate::store::{Scope, StoreError};

/// Rows that are removed in one step.
const STEP: i64 = 1000;

/// The shortest pause between two steps. A step that takes longer is followed by a pause as long.
const PAUSE: Duration = Duration::from_millis(100);

/// The longest and the shortest time between two sweeps.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// Removes what is older than `age`, until the app is dropped. Sweeps are a small fraction of `age` apart,
/// so that rows stay a little longer.
pub(crate) async fn sweep_always(app: Weak<App>, age: Duration) {
    while let Some(found) = app.upgrade() {
        match sweep(&found, age).await {
            Ok(0) => {}
            Ok(count) => {
                tracing::info!(count, "removed rows of runs, batches and datasets that were old")
            }
            Err(error) => tracing::warn!(cause = error.cause(), "could not remove old rows"),
        }
        drop(found);
        sleep((age / 24).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)).await;
    }
}

async fn sweep(app: &App, age: Duration) -> Result<u64, StoreError> {
    let scope = Scope::of("housekeeping");
    let before = now() - TimeDelta::from_std(age).unwrap_or(TimeDelta::MAX);
    let mut count = 0;
    for old in ExpiredRows::ALL {
        loop {
            let begun = Instant::now();
            let removed = remove(&scope, &app.db, old, before, STEP).await?;
            count += removed;
            if removed < STEP.unsigned_abs() {
                break;
            }
            sleep(begun.elapsed().max(PAUSE)).await;
        }
    }
    Ok(count)
}
