//! The partitions that a table has, as the catalog of the database describes them.

use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use super::PartitionedTable;
use crate::{Db, StoreError};

/// A partition: the rows whose ids are in a range.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Partition {
    /// The name of its table.
    pub name: String,
    /// The first id. The oldest partition has none.
    pub first: Option<Uuid>,
    /// The first id behind it.
    pub end: Uuid,
}

/// The partitions of a table, the oldest first, without the one for ids that have none.
pub async fn partitions(db: &Db, table: PartitionedTable) -> Result<Vec<Partition>, StoreError> {
    of_table(&mut *db.unscoped().await?, table).await
}

/// The same on a connection.
pub(super) async fn of_table(
    connection: &mut PgConnection,
    table: PartitionedTable,
) -> Result<Vec<Partition>, StoreError> {
    // The catalog has the bounds as an expression: FOR VALUES FROM ('…') TO ('…').
    let found = sqlx::query_as(
        r"select name, substring(bounds from 'FROM \(''([0-9a-f-]{36})''\)')::uuid as first, last::uuid as end
          from (select child.relname::text as name, pg_get_expr(child.relpartbound, child.oid) as bounds
                from pg_inherits join pg_class child on child.oid = inhrelid
                where inhparent = to_regclass($1)) partition,
               substring(bounds from 'TO \(''([0-9a-f-]{36})''\)') as last
          where last is not null order by first nulls first",
    );
    Ok(found.bind(table.name()).fetch_all(connection).await?)
}
