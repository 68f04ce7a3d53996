//! Builds indexes of a table for the partitions that are older than the index. Readers and writers go on meanwhile: a
//! migration that builds them would stop writers for minutes.

use sqlx::{AssertSqlSafe, PgConnection};

use super::PartitionedTable;
use super::session::PartitionSession;
use crate::store::{Db, StoreError};

/// An index that a partition lacks.
#[derive(Debug, sqlx::FromRow)]
struct MissingIndex {
    /// Of the table.
    whole: String,
    /// Of the partition.
    name: String,
    /// The statement that builds it.
    create: String,
}

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
    for MissingIndex { whole, name, create } in missing(connection, table).await? {
        // Each alone: an index is built without a lock only outside of transactions.
        let attach = format!("alter index {whole} attach partition {name}");
        let remove = format!("drop index concurrently if exists {name}");
        for statement in [remove, create, attach] {
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *connection).await?;
        }
        added += 1;
    }
    session.close().await?;
    Ok(added)
}

/// An index of the table is not valid until all partitions have it.
async fn missing(
    connection: &mut PgConnection,
    table: PartitionedTable,
) -> Result<Vec<MissingIndex>, StoreError> {
    let found = sqlx::query_as(
        r"select quote_ident(whole) as whole, quote_ident(name) as name,
                 regexp_replace(definition, '^CREATE( UNIQUE)? INDEX \S+ ON ONLY \S+ ',
                                format('CREATE\1 INDEX CONCURRENTLY %I ON %I ', name, partition)) as create
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
