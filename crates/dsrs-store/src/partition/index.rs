//! Builds indexes of a table for the partitions that are older than the index. Readers and writers go on meanwhile: a
//! migration that builds them would stop writers for minutes.

use std::time::Duration;

use sqlx::{AssertSqlSafe, PgConnection};
use tokio::time::{sleep, timeout};

use super::PartitionedTable;
use super::session::PartitionSession;
use crate::{Db, StoreError};

/// An index that a partition lacks.
#[derive(Debug, sqlx::FromRow)]
struct MissingIndex {
    /// Of the table.
    whole: String,
    /// Of the partition.
    name: String,
    /// The statement that builds it.
    create: String,
    /// Whether the partition has such an index, which is not a part of that of the table yet.
    is_built: bool,
}

/// How long an index may be built. It ends a session whose connection is lost without a notice.
const LONGEST_BUILD: Duration = Duration::from_secs(4 * 3600);

/// How often the index of the partition is locked, for a moment, to become a part of that of the table.
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_secs(5);

/// Adds the indexes that partitions lack. Returns how many; none if another server changes partitions now. One that was
/// not finished, because its server was stopped, is built again.
pub async fn add_missing_indexes(db: &Db, table: PartitionedTable) -> Result<usize, StoreError> {
    if missing(&mut *db.unscoped().await?, table).await?.is_empty() {
        return Ok(0);
    }
    let Some(mut session) = PartitionSession::open(db).await? else { return Ok(0) };
    let connection = &mut session.connection;
    sqlx::raw_sql("set statement_timeout = 0").execute(&mut *connection).await?;
    let mut added = 0;
    for index in missing(connection, table).await? {
        let built = timeout(LONGEST_BUILD, index.build(connection)).await;
        built.map_err(|_| StoreError::unavailable("an index was not built in time"))??;
        index.attach(connection).await?;
        added += 1;
    }
    session.close().await?;
    Ok(added)
}

impl MissingIndex {
    /// Builds it, unless another server has done so and was stopped before it attached it. Each statement runs alone: an
    /// index is built without a lock of rows only outside of transactions.
    async fn build(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        if self.is_built {
            return Ok(());
        }
        let remove = format!("drop index concurrently if exists {}", self.name);
        for statement in [remove.as_str(), &self.create] {
            sqlx::raw_sql(AssertSqlSafe(statement.to_owned())).execute(&mut *connection).await?;
        }
        Ok(())
    }

    /// Makes it a part of the index of the table. This locks the index of the partition, so that a reader which stays in
    /// its transaction delays it, and it would delay all others: it waits for a moment only, then again.
    async fn attach(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        let statement = format!(
            "begin; set local lock_timeout = '2s'; alter index {} attach partition {}; commit",
            self.whole, self.name
        );
        let mut attempt = 1;
        loop {
            let attached =
                sqlx::raw_sql(AssertSqlSafe(statement.clone())).execute(&mut *connection);
            match attached.await {
                Ok(_) => return Ok(()),
                Err(error) if attempt == ATTEMPTS => return Err(error.into()),
                Err(_) => {}
            }
            sqlx::raw_sql("rollback").execute(&mut *connection).await?;
            sleep(PAUSE).await;
            attempt += 1;
        }
    }
}

/// An index of the table is not valid until all partitions have it.
async fn missing(
    connection: &mut PgConnection,
    table: PartitionedTable,
) -> Result<Vec<MissingIndex>, StoreError> {
    let found = sqlx::query_as(
        r"select quote_ident(whole) as whole, quote_ident(name) as name,
                 regexp_replace(definition, '^CREATE( UNIQUE)? INDEX \S+ ON ONLY \S+ ',
                                format('CREATE\1 INDEX CONCURRENTLY %I ON %I ', name, partition)) as create,
                 exists (select from pg_index built join pg_class on pg_class.oid = built.indexrelid
                         where relname = name and built.indisvalid
                         and regexp_replace(pg_get_indexdef(built.indexrelid), '^.* USING ', '')
                           = regexp_replace(definition, '^.* USING ', '')) as is_built
          from (select own.relname::text as whole, child.relname::text as partition,
                       child.relname || regexp_replace(own.relname, '^' || $1, '') as name,
                       pg_get_indexdef(own.oid) as definition
                from pg_index index
                join pg_class own on own.oid = index.indexrelid
                join pg_inherits part on part.inhparent = index.indrelid
                join pg_class child on child.oid = part.inhrelid
                where index.indrelid = to_regclass($1) and not index.indisvalid
                and not exists (select from pg_inherits below
                                join pg_index of_child on of_child.indexrelid = below.inhrelid
                                where below.inhparent = index.indexrelid and of_child.indrelid = child.oid)) lacking
          order by whole, name",
    );
    Ok(found.bind(table.name()).fetch_all(connection).await?)
}
