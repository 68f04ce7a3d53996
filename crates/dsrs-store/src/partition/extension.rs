//! Adds partitions for the time to come. Readers and writers go on meanwhile.

use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use sqlx::AssertSqlSafe;

use super::PartitionedTable;
use super::catalog::{Partition, of_table};
use super::session::PartitionSession;
use crate::id_time::{first_id, time_of};
use crate::{Db, StoreError};

/// Bounds are at midnight.
const DAY: TimeDelta = TimeDelta::days(1);

/// Partitions that are added in one go; the caller comes again.
const MOST: usize = 100;

/// Adds partitions, each `width` wide, a whole number of days, until ids of this time have one. Returns how many;
/// none if another server is at it.
pub async fn extend(
    db: &Db,
    table: PartitionedTable,
    now: DateTime<Utc>,
    until: DateTime<Utc>,
    width: TimeDelta,
) -> Result<usize, StoreError> {
    if newest_end(&super::partitions(db, table).await?).is_none_or(|end| end >= until) {
        return Ok(0);
    }
    let Some(mut session) = PartitionSession::open(db).await? else { return Ok(0) };
    let mut added = 0;
    while added < MOST {
        session.begin().await?;
        let end = newest_end(&of_table(&mut session.connection, table).await?);
        let Some(from) = end.filter(|end| *end < until) else { break };
        // After a time without any server, one partition covers that time.
        let today = now.duration_trunc(DAY).unwrap_or(from);
        add(&mut session, table, from, (from + width).max(today)).await?;
        session.commit().await?;
        added += 1;
    }
    session.close().await?;
    Ok(added)
}

fn newest_end(partitions: &[Partition]) -> Option<DateTime<Utc>> {
    partitions.last().map(|newest| time_of(newest.end))
}

/// Adds one partition. Rows of its range that are in the rest already are moved.
async fn add(
    session: &mut PartitionSession,
    table: PartitionedTable,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
) -> Result<(), StoreError> {
    let (whole, key) = (table.name(), table.key());
    let partition = format!("{whole}_{}", from.format("%Y%m%d"));
    let (from, to) = (first_id(from), first_id(to));
    let sql = format!(
        "create table {partition} (like {whole} including all);
         lock table {whole}_rest in access exclusive mode;
         with moved as (delete from {whole}_rest where {key} >= '{from}' and {key} < '{to}' returning *)
         insert into {partition} select * from moved;
         alter table {whole} attach partition {partition} for values from ('{from}') to ('{to}');
         select isolate_workspaces('{partition}')"
    );
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut session.connection).await?;
    Ok(())
}
