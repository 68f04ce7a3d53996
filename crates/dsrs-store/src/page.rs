//! Pages of lists, newest first. May not know how a cursor is encoded for clients.

use chrono::{DateTime, Utc};
use sqlx::postgres::PgRow;
use sqlx::{FromRow, PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use super::StoreError;

/// The last row of the page before. Rows that are added meanwhile are newer, so they move nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// When that row was created.
    pub created_at: DateTime<Utc>,
    /// Its id, which distinguishes rows of one instant.
    pub id: Uuid,
}

/// Which page of a list is requested. Filters are up to the list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ListQuery<K = Cursor> {
    /// The key of the last row of the page before; `None` for the first page.
    pub after: Option<K>,
    /// At most so many rows.
    pub limit: u32,
}

/// Some rows, and the key of the last one if more follow.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T, K = Cursor> {
    /// At most as many rows as requested.
    pub items: Vec<T>,
    /// `None` on the last page.
    pub next: Option<K>,
}

/// A row of a list that is ordered by time.
pub trait ListedRow: for<'r> FromRow<'r, PgRow> + Send + Unpin {
    /// The position of the row in the list.
    fn cursor(&self) -> Cursor;
}

impl<K> ListQuery<K> {
    /// The first `limit` rows, or those after a row.
    #[must_use]
    pub const fn new(after: Option<K>, limit: u32) -> Self {
        Self { after, limit }
    }

    /// How many rows to fetch: one more than the limit shows whether another page follows.
    pub(super) fn fetch_count(&self) -> i64 {
        i64::from(self.limit) + 1
    }

    /// Makes a page of the fetched rows.
    pub(super) fn page<T>(&self, mut rows: Vec<T>, key: impl Fn(&T) -> K) -> Page<T, K> {
        let limit = self.limit as usize;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).map(key);
        Page { items: rows, next }
    }
}

impl ListQuery {
    /// Runs a query whose `where` clause is open, the newest rows first. `table` is the prefix of
    /// `created_at` and `id`, with its dot, or empty.
    pub(super) async fn newest_first<T: ListedRow>(
        &self,
        connection: &mut PgConnection,
        mut sql: QueryBuilder<Postgres>,
        table: &'static str,
    ) -> Result<Page<T>, StoreError> {
        let column = |sql: &mut QueryBuilder<Postgres>, name: &'static str| {
            sql.push(table).push(name);
        };
        if let Some(after) = self.after {
            sql.push(" and (");
            column(&mut sql, "created_at");
            sql.push(", ");
            column(&mut sql, "id");
            sql.push(") < (").push_bind(after.created_at);
            sql.push(", ").push_bind(after.id).push(")");
        }
        sql.push(" order by ");
        column(&mut sql, "created_at");
        sql.push(" desc, ");
        column(&mut sql, "id");
        sql.push(" desc limit ").push_bind(self.fetch_count());
        let rows = sql.build_query_as::<T>().fetch_all(connection).await?;
        Ok(self.page(rows, T::cursor))
    }
}
