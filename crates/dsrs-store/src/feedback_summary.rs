//! Scores of runs in sums: of each run, and of a graph over a time. May not know how they are shown.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, Postgres, QueryBuilder};
use uuid::Uuid;

use super::{Db, Scope, StoreError};

/// What the feedback on a run says under one name.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct RunScoreRow {
    pub run_id: Uuid,
    /// The name of the scores; `None` for feedback without one.
    pub name: Option<String>,
    /// The mean of the numbers.
    pub score: Option<f64>,
    /// The newest category.
    pub category: Option<String>,
    /// How much feedback there is.
    pub count: i64,
    /// How much of it has a comment.
    pub comments: i64,
    /// How much of it has corrected outputs.
    pub corrections: i64,
}

/// The scores of these runs, by run and name.
pub async fn of_runs(
    scope: &Scope,
    db: &Db,
    runs: &[Uuid],
) -> Result<Vec<RunScoreRow>, StoreError> {
    let rows = sqlx::query_as(
        "select run_id, name, avg(score) as score,
                (array_agg(category order by updated_at desc) filter (where category is not null))[1] as category,
                count(*) as count, count(comment) as comments, count(outputs) as corrections
         from run_feedback where workspace_id = $1 and run_id = any($2)
         group by run_id, name order by run_id, name",
    );
    Ok(rows.bind(scope.workspace).bind(runs).fetch_all(&mut *db.scoped(scope).await?).await?)
}

/// The scores of a name and source in a graph version.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct GraphScoreRow {
    pub graph_name: String,
    /// The graph version of the runs.
    pub graph_version: i32,
    pub name: String,
    /// Where they are from.
    pub source: String,
    /// The category; `None` for numbers.
    pub category: Option<String>,
    /// The mean of the numbers.
    pub score: Option<f64>,
    /// How many there are.
    pub count: i64,
}

/// The runs whose scores are summed.
#[derive(Clone, Copy, Debug, Default)]
pub struct ScorePeriod {
    /// Created at this time or later.
    pub since: Option<DateTime<Utc>>,
    /// Created before this time.
    pub until: Option<DateTime<Utc>>,
}

/// Rows that are returned at most: a client may name scores as it likes.
const MOST_SCORES: i64 = 1000;

/// The mean scores of a graph, or of all graphs, by version, name and source. Categories are counted.
pub async fn of_graphs(
    scope: &Scope,
    db: &Db,
    graph: Option<&str>,
    period: ScorePeriod,
) -> Result<Vec<GraphScoreRow>, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new(
        "select graph_name, graph_version, name, source, category, avg(score) as score, count(*) as count
         from run_feedback where (score is not null or category is not null) and name is not null
         and workspace_id = ",
    );
    sql.push_bind(scope.workspace);
    if let Some(graph) = graph {
        sql.push(" and graph_name = ").push_bind(graph);
    }
    if let Some(since) = period.since {
        sql.push(" and run_created_at >= ").push_bind(since);
    }
    if let Some(until) = period.until {
        sql.push(" and run_created_at < ").push_bind(until);
    }
    sql.push(" group by graph_name, graph_version, name, source, category");
    sql.push(" order by graph_name, graph_version desc, name, source, category");
    sql.push(" limit ").push_bind(MOST_SCORES);
    Ok(sql.build_query_as().fetch_all(&mut *db.scoped(scope).await?).await?)
}
