//! What a short text may name: graphs and datasets by a part of their name, everything with an id by the beginning
//! of it, versions by their number.

use sqlx::FromRow;
use uuid::Uuid;

use super::{Db, Scope, StoreError};

/// The most results of a kind.
const MOST: i64 = 8;

/// Something with a name.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct NamedMatch {
    pub name: String,
    /// Its newest version.
    pub version: i32,
}

/// Something with an id that belongs to a graph.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct IdMatch {
    pub id: Uuid,
    pub graph_name: String,
    pub status: String,
}

/// What has ids that a search looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdKind {
    Run,
    Evaluation,
    Optimization,
}

/// The first and the last id that begin with the same digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdRange {
    first: Uuid,
    last: Uuid,
}

impl IdRange {
    /// The ids that begin with a text of at least four hexadecimal digits; dashes do not count.
    #[must_use]
    pub fn of_prefix(text: &str) -> Option<Self> {
        let digits: String = text.chars().filter(|c| *c != '-').collect();
        let is_prefix =
            (4..=32).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let filled = |digit: &str| {
            Uuid::try_parse(&format!("{digits}{}", digit.repeat(32 - digits.len()))).ok()
        };
        if !is_prefix {
            return None;
        }
        Some(Self { first: filled("0")?, last: filled("f")? })
    }
}

/// Graphs whose name contains a text; names that begin with it first.
pub async fn graphs(scope: &Scope, db: &Db, text: &str) -> Result<Vec<NamedMatch>, StoreError> {
    named(scope, db, "graphs", text).await
}

/// Datasets whose name contains a text; names that begin with it first.
pub async fn datasets(scope: &Scope, db: &Db, text: &str) -> Result<Vec<NamedMatch>, StoreError> {
    named(scope, db, "datasets", text).await
}

async fn named(
    scope: &Scope,
    db: &Db,
    table: &'static str,
    text: &str,
) -> Result<Vec<NamedMatch>, StoreError> {
    let sql = format!(
        "select name, version from {table}
         where workspace_id = $1 and deleted_at is null and strpos(lower(name), lower($2)) > 0
         order by strpos(lower(name), lower($2)), length(name), name limit $3"
    );
    let query =
        sqlx::query_as(sqlx::AssertSqlSafe(sql)).bind(scope.workspace).bind(text).bind(MOST);
    Ok(query.fetch_all(&mut *db.scoped(scope).await?).await?)
}

/// What has an id in a range, newest first.
pub async fn by_id(
    scope: &Scope,
    db: &Db,
    kind: IdKind,
    range: IdRange,
) -> Result<Vec<IdMatch>, StoreError> {
    let table = match kind {
        IdKind::Run => "runs",
        IdKind::Evaluation => "evaluations",
        IdKind::Optimization => "optimizations",
    };
    let sql = format!(
        "select id, graph_name, status from {table}
         where workspace_id = $1 and id between $2 and $3 order by id desc limit $4"
    );
    let query = sqlx::query_as(sqlx::AssertSqlSafe(sql)).bind(scope.workspace);
    let query = query.bind(range.first).bind(range.last).bind(MOST);
    Ok(query.fetch_all(&mut *db.scoped(scope).await?).await?)
}

/// Graphs whose name contains a text and that have a state version with this number.
pub async fn state_versions(
    scope: &Scope,
    db: &Db,
    text: &str,
    version: i32,
) -> Result<Vec<NamedMatch>, StoreError> {
    let query = sqlx::query_as(
        "select g.name, s.version from graphs g
         join state_versions s on s.graph_id = g.id and s.version = $3
         where g.workspace_id = $1 and g.deleted_at is null and strpos(lower(g.name), lower($2)) > 0
         order by strpos(lower(g.name), lower($2)), length(g.name), g.name limit $4",
    );
    let query = query.bind(scope.workspace).bind(text).bind(version).bind(MOST);
    Ok(query.fetch_all(&mut *db.scoped(scope).await?).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_by_their_beginning() {
        let range = IdRange::of_prefix("01a2-06Ab").unwrap();
        assert_eq!(range.first.to_string(), "01a206ab-0000-0000-0000-000000000000");
        assert_eq!(range.last.to_string(), "01a206ab-ffff-ffff-ffff-ffffffffffff");
        for other in ["01a", "xyz1", "", &"0".repeat(33)] {
            assert_eq!(IdRange::of_prefix(other), None, "{other}");
        }
    }
}
