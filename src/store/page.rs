//! Pages of lists, newest first. How a cursor is spelled on the wire is not known here.

use chrono::{DateTime, Utc};
use uuid::Uuid;

/// Where the previous page ended. Rows that arrive meanwhile are newer, so they move nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// When the last row of that page was created.
    pub created_at: DateTime<Utc>,
    /// Its id, which tells rows of one instant apart.
    pub id: Uuid,
}

/// Some rows, and from where to go on when there are more.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T, C = Cursor> {
    /// At most as many as asked for.
    pub items: Vec<T>,
    /// `None` on the last page.
    pub next: Option<C>,
}

impl<T, C> Page<T, C> {
    /// Cuts a page out of `rows`, of which one more than `limit` was fetched.
    pub(crate) fn cut(mut rows: Vec<T>, limit: u32, cursor: impl Fn(&T) -> C) -> Self {
        let limit = limit as usize;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).map(cursor);
        Self { items: rows, next }
    }
}

/// How many rows to fetch for a page: one more, which tells whether another page follows.
pub(crate) fn fetch_count(limit: u32) -> i64 {
    i64::from(limit) + 1
}
