//! Removes the oldest partition of a table, whose rows are old. Rows that outlive it are moved to `…_old`, which
//! becomes the oldest partition.

use chrono::{DateTime, Utc};
use futures_util::future::BoxFuture;
use sqlx::{AssertSqlSafe, PgConnection};
use uuid::Uuid;

use super::PartitionedTable;
use super::catalog::{Partition, of_table};
use super::session::PartitionSession;
use crate::id_time::first_id;
use crate::run_archive::{self, ArchivedFile, EndedRuns};
use crate::{Db, StoreError};

/// The most jobs or runs whose rows outlive a partition. It stays while there are more.
const MOST_SURVIVORS: usize = 10_000;

/// What has become of the oldest partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// None is old enough.
    Young,
    Removed {
        /// Its name.
        partition: String,
        /// The rows that outlive it.
        survivors: u64,
    },
    /// It stays for now: too many of its rows are not old.
    InUse {
        /// Its name.
        partition: String,
    },
    /// Another server changes partitions.
    Busy,
}

/// Stores the runs of a partition elsewhere before it is removed.
pub trait PartitionArchive: Send + Sync {
    /// Stores ended runs of a partition with this name, and returns the files.
    fn store<'a>(
        &'a self,
        partition: &'a str,
        runs: EndedRuns,
    ) -> BoxFuture<'a, Result<Vec<ArchivedFile>, StoreError>>;
}

/// Removes the oldest partition if all its ids are before a time. Its rows outlive it if they belong to what has
/// not ended, or ended later than that. Runs go to the archive first, if there is one.
pub async fn remove_oldest(
    db: &Db,
    table: PartitionedTable,
    before: DateTime<Utc>,
    archive: Option<&dyn PartitionArchive>,
) -> Result<Removal, StoreError> {
    // Most calls end here, without a connection of the owner and without its lock.
    if oldest(&super::partitions(db, table).await?, table, before).is_none() {
        return Ok(Removal::Young);
    }
    let Some(mut session) = PartitionSession::open(db).await? else { return Ok(Removal::Busy) };
    let archive = archive.filter(|_| table == PartitionedTable::Runs);
    let removal = remove_within(&mut session, table, before, archive).await;
    let closed = session.close().await;
    removal.and_then(|removal| closed.map(|()| removal))
}

async fn remove_within(
    session: &mut PartitionSession,
    table: PartitionedTable,
    before: DateTime<Utc>,
    archive: Option<&dyn PartitionArchive>,
) -> Result<Removal, StoreError> {
    let found = of_table(&mut session.connection, table).await?;
    let Some(removed) = oldest(&found, table, before) else { return Ok(Removal::Young) };
    let Some(Partition { name, end, .. }) = removed.last() else { return Ok(Removal::Young) };
    let partition = name.clone();
    let runs =
        EndedRuns { first: removed.first().and_then(|oldest| oldest.first), end: *end, before };
    let mut files = Vec::new();
    if let Some(archive) = archive {
        session.begin().await?;
        // Counted first, so that nothing is archived of a partition that stays.
        let survivors = survivors(&mut session.connection, table, runs).await?;
        session.commit().await?;
        if survivors.len() > MOST_SURVIVORS {
            return Ok(Removal::InUse { partition });
        }
        // This may take long, so runs are resumed meanwhile. One that is outlives the partition: what is removed
        // below ended before the same time, and is in the files.
        files = session.alive_during(archive.store(name, runs)).await?;
    }
    if table == PartitionedTable::Runs {
        session.stop_resumptions().await?;
    }
    session.begin().await?;
    // This reads the partition, which may be large, so it is not locked yet. What is old is not changed meanwhile:
    // runs are not resumed, and what is not old by now is moved in any case.
    let survivors = survivors(&mut session.connection, table, runs).await?;
    if survivors.len() > MOST_SURVIVORS {
        return Ok(Removal::InUse { partition });
    }
    if archive.is_some() {
        let stored = files.iter().map(ArchivedFile::rows).sum();
        if runs.count(&mut session.connection).await? > stored {
            let added = format!("ended runs were added to {partition} while it was archived");
            return Err(StoreError::internal(added));
        }
    }
    let survivors = replace(session, table, removed, *end, &survivors).await?;
    run_archive::add(&mut session.connection, &files).await?;
    session.commit().await?;
    Ok(Removal::Removed { partition, survivors })
}

/// The keys of the rows that outlive partitions, one more than there may be at most.
async fn survivors(
    connection: &mut PgConnection,
    table: PartitionedTable,
    runs: EndedRuns,
) -> Result<Vec<Uuid>, StoreError> {
    let sql = format!("{} limit {}", table.survivors(), MOST_SURVIVORS + 1);
    let survivors = sqlx::query_scalar(AssertSqlSafe(sql)).bind(runs.before).bind(runs.first);
    Ok(survivors.bind(runs.end).fetch_all(connection).await?)
}

/// The oldest partition if all its ids are before a time; with `…_old` if it is behind that.
fn oldest(
    partitions: &[Partition],
    table: PartitionedTable,
    before: DateTime<Utc>,
) -> Option<&[Partition]> {
    let is_old = |partition: &Partition| partition.name == format!("{}_old", table.name());
    let count = if is_old(partitions.first()?) { 2 } else { 1 };
    let removed = partitions.get(..count)?;
    (removed.last()?.end <= first_id(before)).then_some(removed)
}

/// Replaces partitions by one of the rows that outlive them. Returns how many there are.
async fn replace(
    session: &mut PartitionSession,
    table: PartitionedTable,
    removed: &[Partition],
    end: Uuid,
    survivors: &[Uuid],
) -> Result<u64, StoreError> {
    let (whole, key) = (table.name(), table.key());
    let connection = &mut session.connection;
    // Locked before the rows are copied: what is written to a partition between the copy and the drop would be lost.
    let create = format!(
        "create table {whole}_next (like {whole} including all);
         lock table {whole} in access exclusive mode"
    );
    sqlx::raw_sql(AssertSqlSafe(create)).execute(&mut *connection).await?;
    let mut moved = 0;
    for Partition { name, .. } in removed {
        let insert = format!("insert into {whole}_next select * from {name} where {key} = any($1)");
        let insert = sqlx::query(AssertSqlSafe(insert)).bind(survivors);
        moved += insert.execute(&mut *connection).await?.rows_affected();
        let drop = format!("alter table {whole} detach partition {name}; drop table {name}");
        sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut *connection).await?;
    }
    // A table has row-level security of its own, which `like` does not copy.
    let attach = format!(
        "alter table {whole}_next rename to {whole}_old;
         alter table {whole} attach partition {whole}_old for values from (minvalue) to ('{end}');
         select isolate_workspaces('{whole}_old')"
    );
    sqlx::raw_sql(AssertSqlSafe(attach)).execute(&mut *connection).await?;
    Ok(moved)
}
