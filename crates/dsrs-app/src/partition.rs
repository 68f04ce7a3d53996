//! Partitions of tables over time: they are added some days ahead, as wide as the age of retention asks for, and
//! removed when all their rows are old. May not know SQL.

use std::sync::Weak;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::time::sleep;
use uuid::Uuid;

use crate::App;
use dsrs_config::RetentionConfig;
use dsrs_store::id_time::time_of;
use dsrs_store::partition::{
    Partition, PartitionArchive, PartitionedTable, Removal, add_missing_indexes, extend,
    partitions, remove_oldest,
};
use dsrs_store::{Db, StoreError};

/// How long before its time a partition is added: servers may be stopped, or fail to add it, for as long.
const AHEAD: TimeDelta = TimeDelta::days(3);

/// The time between two checks of the partitions.
const POLL_INTERVAL: Duration = Duration::from_secs(3600);

/// The narrowest and the widest partition, in days. Without retention all are as wide.
const NARROWEST: i64 = 1;
const WIDEST: i64 = 28;

/// An age of retention has at most so many partitions: each costs every list something.
const PARTITIONS_OF_AGE: i64 = 16;

/// Rows stay at most this part of the age longer. Those of wider partitions are removed one by one.
const GRACE: i32 = 8;

/// The width and the age of partitions of rows that exist while a run is in progress.
const PASSING_WIDTH: TimeDelta = TimeDelta::days(7);
const PASSING_AGE: TimeDelta = TimeDelta::days(2);

/// Adds partitions until the app is dropped, and removes those whose rows nothing asks for.
pub(crate) async fn maintain(app: Weak<App>, retention: RetentionConfig) {
    while let Some(found) = app.upgrade() {
        if let Err(error) = add_all(&found.db, retention).await {
            tracing::warn!(
                cause = error.cause(),
                "could not add partitions; new rows go to the partitions for the rest"
            );
        }
        remove_passing(&found).await;
        drop(found);
        sleep(POLL_INTERVAL).await;
    }
}

/// Adds the partitions that are missing.
pub async fn add_all(db: &Db, retention: RetentionConfig) -> Result<(), StoreError> {
    let now = db.now().await?;
    for table in PartitionedTable::ALL {
        let added = extend(db, table, now, now + AHEAD, width(table, retention)).await?;
        if added > 0 {
            tracing::info!(table = table.name(), count = added, "added partitions");
        }
    }
    Ok(())
}

/// Adds the indexes of tables to the partitions that are older. It may take long, so that nothing else waits for it.
pub(crate) async fn add_indexes(app: Weak<App>) {
    let Some(db) = app.upgrade().map(|app| app.db.clone()) else { return };
    for table in PartitionedTable::ALL {
        match add_missing_indexes(&db, table).await {
            Ok(0) => {}
            Ok(count) => tracing::info!(table = table.name(), count, "added indexes to partitions"),
            Err(error) => tracing::warn!(
                table = table.name(),
                cause = error.cause(),
                "could not add an index to a partition; lists take longer until a server that starts adds it"
            ),
        }
    }
}

fn width(table: PartitionedTable, retention: RetentionConfig) -> TimeDelta {
    use PartitionedTable::{
        BatchItems, BatchResults, EvaluationResults, RunEvents, RunFeedback, RunLabels, RunNodes,
        Runs,
    };
    let age = match table {
        Runs | RunFeedback | RunLabels | BatchItems | BatchResults => retention.runs,
        EvaluationResults => retention.evaluations,
        RunNodes | RunEvents => return PASSING_WIDTH,
    };
    let Some(age) = age else { return TimeDelta::days(WIDEST) };
    let days = i64::try_from(age.as_secs() / 86_400).unwrap_or(i64::MAX);
    let width = days.saturating_add(PARTITIONS_OF_AGE - 1) / PARTITIONS_OF_AGE;
    TimeDelta::days(width.clamp(NARROWEST, WIDEST))
}

/// Checkpoints and events are removed when their run has ended. What has no such run stays empty, and is removed.
async fn remove_passing(app: &App) {
    let Ok(now) = app.db.now().await else { return };
    for table in [PartitionedTable::RunNodes, PartitionedTable::RunEvents] {
        remove_old(app, table, now - PASSING_AGE).await;
    }
}

/// Removes the partitions of a table whose rows are all old. Runs go to the archive first.
pub(crate) async fn remove_old(app: &App, table: PartitionedTable, before: DateTime<Utc>) {
    let archive = app.archive.as_ref().map(|archive| archive as &dyn PartitionArchive);
    loop {
        let table_name = table.name();
        match remove_oldest(&app.db, table, before, archive).await {
            // The other server removes the same partitions.
            Ok(Removal::Young | Removal::Busy) => return,
            Ok(Removal::Removed { partition, survivors }) => {
                tracing::info!(table = table_name, partition, survivors, "removed a partition");
            }
            Ok(Removal::InUse { partition }) => {
                return tracing::info!(
                    table = table_name,
                    partition,
                    "an old partition stays: too many of its rows belong to what has not ended"
                );
            }
            Err(error) => {
                return tracing::warn!(
                    table = table_name,
                    cause = error.cause(),
                    "could not remove an old partition"
                );
            }
        }
    }
}

/// The first id whose partition is narrow enough to be removed as a whole. Rows before it are removed one by one.
pub(crate) async fn end_of_wide(
    db: &Db,
    tables: &[PartitionedTable],
    age: TimeDelta,
) -> Result<Uuid, StoreError> {
    let mut end = Uuid::max();
    for table in tables {
        let found = partitions(db, *table).await?;
        let wide = found.iter().rfind(|partition| is_wide(partition, age));
        end = end.min(wide.map_or(Uuid::nil(), |partition| partition.end));
    }
    Ok(end)
}

fn is_wide(partition: &Partition, age: TimeDelta) -> bool {
    let width = partition.first.map(|first| time_of(partition.end) - time_of(first));
    width.is_none_or(|width| width > age / GRACE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dsrs_store::id_time::first_id;

    fn retention(days: u64) -> RetentionConfig {
        let age = Some(Duration::from_secs(days * 86_400));
        RetentionConfig { runs: age, ..RetentionConfig::default() }
    }

    #[test]
    fn an_age_has_at_most_sixteen_partitions_of_whole_days() {
        for (days, expected) in [(1, 1), (16, 1), (30, 2), (90, 6), (365, 23), (3650, 28)] {
            let width = width(PartitionedTable::Runs, retention(days));
            assert_eq!(width, TimeDelta::days(expected), "{days} days");
        }
        let other = width(PartitionedTable::EvaluationResults, retention(30));
        assert_eq!(other, TimeDelta::days(28), "evaluations have no age");
        for days in 8..1000 {
            let age = TimeDelta::days(i64::try_from(days).unwrap());
            let width = width(PartitionedTable::Runs, retention(days));
            assert!(width <= age / GRACE, "rows of {days} days are removed with their partition");
        }
    }

    #[test]
    fn a_partition_is_wide_if_its_rows_would_stay_much_longer() {
        let start = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let partition = |days| Partition {
            name: "runs_1".to_owned(),
            first: Some(first_id(start)),
            end: first_id(start + TimeDelta::days(days)),
        };
        assert!(is_wide(&partition(1), TimeDelta::days(7)));
        assert!(!is_wide(&partition(1), TimeDelta::days(8)));
        assert!(!is_wide(&partition(11), TimeDelta::days(365)));
        let oldest = Partition { first: None, ..partition(1) };
        assert!(is_wide(&oldest, TimeDelta::days(365)));
    }
}
