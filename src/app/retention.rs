//! Retention by age: what ended or was deleted long ago is removed in the background, in small steps with pauses
//! between them, so that nobody notices but the disk.

use std::sync::Weak;
use std::time::Duration;

use chrono::TimeDelta;
use tokio::time::{Instant, sleep};

use crate::app::App;
use crate::app::clock::now;
use crate::store::retention::{Old, remove};
use crate::store::{Scope, StoreError};

/// Rows that go in one step.
const STEP: i64 = 1000;

/// The shortest pause between two steps. It is as long as the step took, if that was longer.
const PAUSE: Duration = Duration::from_millis(100);

/// The longest and the shortest time between two looks for what is old.
const SELDOM: Duration = Duration::from_secs(3600);
const OFTEN: Duration = Duration::from_secs(1);

/// Removes what is older than `age`, as long as there is an app. What is a little older than that
/// may still be there: looks are a small part of the age apart.
pub(crate) async fn keep(app: Weak<App>, age: Duration) {
    while let Some(found) = app.upgrade() {
        match sweep(&found, age).await {
            Ok(0) => {}
            Ok(count) => {
                tracing::info!(count, "removed rows of runs, batches and datasets that were old")
            }
            Err(error) => tracing::warn!(cause = error.cause(), "could not remove what is old"),
        }
        drop(found);
        sleep((age / 24).clamp(OFTEN, SELDOM)).await;
    }
}

async fn sweep(app: &App, age: Duration) -> Result<u64, StoreError> {
    let scope = Scope::of("housekeeping");
    let before = now() - TimeDelta::from_std(age).unwrap_or(TimeDelta::MAX);
    let mut count = 0;
    for old in Old::ALL {
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
