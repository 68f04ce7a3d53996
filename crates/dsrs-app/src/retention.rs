//! Retention by age: removes what ended or was deleted long ago. Tables with partitions lose whole partitions; other
//! rows are removed in small steps with pauses between them, so that requests are not slowed down. May not know SQL.

use std::sync::Weak;
use std::time::Duration;

use chrono::TimeDelta;
use tokio::time::{Instant, sleep};

use crate::{App, partition};
use dsrs_config::RetentionConfig;
use dsrs_store::partition::PartitionedTable;
use dsrs_store::retention::{ExpiredRows, Expiry, remove};
use dsrs_store::{Scope, StoreError, workspace};

/// Rows that are removed in one step.
const STEP: i64 = 1000;

/// The shortest pause between two steps. A step that takes longer is followed by a pause as long.
const PAUSE: Duration = Duration::from_millis(100);

/// The longest and the shortest time between two sweeps.
const LONGEST_PAUSE: Duration = Duration::from_secs(3600);
const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// A greater age means the same.
const LONGEST_AGE: TimeDelta = TimeDelta::days(365);

/// The age at which firings of schedules are removed.
const FIRINGS_AGE: Duration = Duration::from_secs(30 * 86_400);

/// The removal of what is older than an age.
pub(crate) struct Sweep {
    age: Duration,
    kinds: &'static [ExpiredRows],
    /// The tables with partitions that the rows are in.
    tables: &'static [PartitionedTable],
}

/// The sweeps that are configured. `deliveries` is the age of messages of webhooks.
pub(crate) fn sweeps(config: RetentionConfig, deliveries: Duration) -> impl Iterator<Item = Sweep> {
    const OF_RUNS: &[PartitionedTable] = &[
        PartitionedTable::Runs,
        PartitionedTable::RunLabels,
        PartitionedTable::RunFeedback,
        PartitionedTable::BatchItems,
        PartitionedTable::BatchResults,
    ];
    const OF_EVALUATIONS: &[PartitionedTable] = &[PartitionedTable::EvaluationResults];
    let ages = [
        (config.runs, ExpiredRows::OF_RUNS, OF_RUNS),
        (config.evaluations, ExpiredRows::OF_EVALUATIONS, OF_EVALUATIONS),
        (config.optimizations, ExpiredRows::OF_OPTIMIZATIONS, &[]),
        (config.audit, ExpiredRows::OF_AUDIT, &[]),
        (Some(deliveries), ExpiredRows::OF_WEBHOOKS, &[]),
        (Some(FIRINGS_AGE), ExpiredRows::OF_SCHEDULES, &[]),
    ];
    ages.into_iter().filter_map(|(age, kinds, tables)| age.map(|age| Sweep { age, kinds, tables }))
}

impl Sweep {
    /// Sweeps until the app is dropped. Sweeps are a small fraction of the age apart, so that rows stay a
    /// little longer.
    pub(crate) async fn run_always(self, app: Weak<App>) {
        while let Some(found) = app.upgrade() {
            match self.run(&found).await {
                Ok(0) => {}
                Ok(count) => tracing::info!(count, kinds = ?self.kinds, "removed old rows"),
                Err(error) => tracing::warn!(cause = error.cause(), "could not remove old rows"),
            }
            // Not held while it sleeps: the app must be dropped when the server stops.
            drop(found);
            sleep((self.age / 24).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)).await;
        }
    }

    async fn run(&self, app: &App) -> Result<u64, StoreError> {
        // A server whose clock is wrong must not remove what is young.
        let now = app.db.now().await?;
        let age = TimeDelta::from_std(self.age).unwrap_or(LONGEST_AGE).min(LONGEST_AGE);
        let below = partition::end_of_wide(&app.db, self.tables, age).await?;
        let expiry = Expiry { before: now - age, below };
        let mut count = 0;
        for workspace in workspace::all(&app.db).await? {
            count += self.run_in(&Scope::upkeep(workspace), app, expiry).await?;
        }
        for table in self.tables {
            partition::remove_old(app, *table, expiry.before).await;
        }
        Ok(count)
    }

    async fn run_in(&self, scope: &Scope, app: &App, expiry: Expiry) -> Result<u64, StoreError> {
        let mut count = 0;
        for old in self.kinds {
            loop {
                let begun = Instant::now();
                let (removed, is_last) = match (&app.archive, old) {
                    (Some(archive), ExpiredRows::Runs) => {
                        let moved = archive.move_oldest(scope, expiry).await?;
                        (moved, moved == 0)
                    }
                    _ => {
                        let removed = remove(scope, &app.db, *old, expiry, STEP).await?;
                        (removed, removed < STEP.unsigned_abs())
                    }
                };
                count += removed;
                if is_last {
                    break;
                }
                // As long as the step: however slow the database is, it has half of the time for requests.
                sleep(begun.elapsed().max(PAUSE)).await;
            }
        }
        Ok(count)
    }
}
