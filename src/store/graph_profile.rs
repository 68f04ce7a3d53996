//! The newest runs of a graph whose nodes and traces a profile reads, bounded by number and by size. Documents are JSON
//! text. May not know what is in them.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, Postgres, QueryBuilder};
use uuid::Uuid;

use super::id_time::{before_rows_since, behind_rows_until};
use super::{Db, Scope, StoreError};

/// Which runs are read.
#[derive(Clone, Copy, Debug)]
pub struct ProfileQuery {
    /// The graph.
    pub graph: Uuid,
    /// Only runs of this version.
    pub version: Option<i32>,
    /// Created at this time or later.
    pub since: DateTime<Utc>,
    /// Created before this time.
    pub until: DateTime<Utc>,
    /// The most runs.
    pub most_runs: i64,
    /// The most bytes of their documents, as they are stored.
    pub most_bytes: i64,
}

/// The runs that a profile reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfiledRuns {
    /// Their ids, newest first.
    pub ids: Vec<Uuid>,
    /// Whether there are others.
    pub is_sample: bool,
}

/// The newest ended runs within the bounds.
pub async fn choose(
    scope: &Scope,
    db: &Db,
    graph_name: &str,
    query: ProfileQuery,
) -> Result<ProfiledRuns, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new(
        "select id, coalesce(sum(pg_column_size(trace) + pg_column_size(nodes)) over (order by created_at desc, id desc), 0)
         from runs where workspace_id = ",
    );
    sql.push_bind(scope.workspace);
    sql.push(" and graph_name = ").push_bind(graph_name.to_owned());
    sql.push(" and graph_id = ").push_bind(query.graph);
    sql.push(" and finished_at is not null and created_at >= ").push_bind(query.since);
    sql.push(" and created_at < ").push_bind(query.until);
    sql.push(" and id >= ").push_bind(before_rows_since(query.since));
    sql.push(" and id <= ").push_bind(behind_rows_until(query.until));
    if let Some(version) = query.version {
        sql.push(" and graph_version = ").push_bind(version);
    }
    sql.push(" order by created_at desc, id desc limit ").push_bind(query.most_runs + 1);
    let found = sql.build_query_as().fetch_all(&mut *db.scoped(scope).await?).await?;
    Ok(within_bounds(&found, query))
}

fn within_bounds(found: &[(Uuid, i64)], query: ProfileQuery) -> ProfiledRuns {
    let most = usize::try_from(query.most_runs).unwrap_or(usize::MAX);
    let small = found.iter().take(most).take_while(|(_, bytes)| *bytes <= query.most_bytes);
    let ids: Vec<Uuid> = small.map(|(id, _)| *id).collect();
    ProfiledRuns { is_sample: ids.len() < found.len(), ids }
}

/// The documents of a run.
#[derive(Clone, Debug, FromRow)]
pub struct ProfiledRun {
    /// The outcomes of its nodes.
    pub nodes: String,
    /// Its trace.
    pub trace: String,
}

/// The documents of these runs.
pub async fn documents(
    scope: &Scope,
    db: &Db,
    ids: &[Uuid],
) -> Result<Vec<ProfiledRun>, StoreError> {
    let found = sqlx::query_as(
        "select nodes::text, trace::text from runs where workspace_id = $1 and id = any($2)",
    );
    Ok(found.bind(scope.workspace).bind(ids).fetch_all(&mut *db.scoped(scope).await?).await?)
}
