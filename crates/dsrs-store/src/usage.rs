//! Usage: sums of runs, calls, tokens and cost by the hour, written beside what they sum: of runs by `usage_count`, of other
//! work by triggers (`migrations/0112_usage.sql`). Here they are read, and the rows of an hour are merged. May not know how they are shown.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, Postgres, QueryBuilder};
use uuid::Uuid;

use super::{Db, Scope, StoreError};

/// By what usage is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageDimension {
    Graph,
    /// The graph version.
    Version,
    StateVersion,
    /// The key on whose behalf.
    Key,
    /// The user of the caller.
    User,
    /// Runs, evaluations, judging, optimizations.
    Work,
    /// The tags of runs. A run with several tags counts for each.
    Tag,
    /// The aliases of models. A run counts for each that it asked.
    Model,
}

impl UsageDimension {
    /// Every one.
    pub const ALL: [Self; 8] = [
        Self::Graph,
        Self::Version,
        Self::StateVersion,
        Self::Key,
        Self::User,
        Self::Work,
        Self::Tag,
        Self::Model,
    ];

    /// Its name for clients.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Graph => "graph",
            Self::Version => "version",
            Self::StateVersion => "state_version",
            Self::Key => "key",
            Self::User => "user_id",
            Self::Work => "work",
            Self::Tag => "tag",
            Self::Model => "model",
        }
    }

    const fn column(self) -> &'static str {
        match self {
            Self::Graph => "graph_name",
            Self::Version => "graph_version",
            Self::StateVersion => "state_version",
            Self::Key => "created_by",
            Self::User => "user_id",
            Self::Work => "work",
            Self::Tag | Self::Model => "value",
        }
    }
}

/// The length of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageInterval {
    Hour,
    /// A day, in UTC.
    Day,
}

impl UsageInterval {
    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
        }
    }
}

/// Which usage is read.
#[derive(Clone, Debug)]
pub struct UsageQuery {
    /// From the hour of this time.
    pub since: DateTime<Utc>,
    /// Before this time.
    pub until: DateTime<Utc>,
    /// The periods; `None`: all in one.
    pub interval: Option<UsageInterval>,
    /// By what it is divided. Not by tags and by models at once: see [`UsageQuery::is_valid`].
    pub by: Vec<UsageDimension>,
    /// Only usage with these values.
    pub only: Vec<(UsageDimension, String)>,
}

impl UsageQuery {
    /// Whether such sums exist: by tags or by models, and not by both.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !(self.concerns(UsageDimension::Tag) && self.concerns(UsageDimension::Model))
    }

    fn concerns(&self, dimension: UsageDimension) -> bool {
        self.by.contains(&dimension) || self.only.iter().any(|(only, _)| *only == dimension)
    }

    /// The rows that have the sums.
    fn dimension(&self) -> &'static str {
        match (self.concerns(UsageDimension::Tag), self.concerns(UsageDimension::Model)) {
            (true, _) => "tag",
            (_, true) => "model",
            _ => "whole",
        }
    }

    /// Whether feedback is counted in these sums: it is not divided by tags and models.
    #[must_use]
    pub fn counts_feedback(&self) -> bool {
        self.dimension() == "whole"
    }

    fn is_by(&self, dimension: UsageDimension) -> bool {
        self.by.contains(&dimension)
    }
}

/// The sums of one period and one combination of values. A value by which the usage is not divided is absent.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct UsageRow {
    /// The beginning of the period.
    pub start: Option<DateTime<Utc>>,
    pub graph_name: Option<String>,
    pub graph_version: Option<i32>,
    pub state_version: Option<i32>,
    /// The key.
    pub created_by: Option<String>,
    /// The user; absent, too, for runs without one.
    pub user_id: Option<String>,
    /// The kind of work.
    pub work: Option<String>,
    /// The tag or the alias of the model.
    pub value: Option<String>,
    /// Runs that have ended.
    pub runs: i64,
    /// Those that failed.
    pub failed: i64,
    /// Those that were cancelled.
    pub cancelled: i64,
    /// The sum of their durations.
    pub duration_ms: i64,
    /// Requests to models.
    pub lm_calls: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    /// Of these, for reasoning.
    pub reasoning_tokens: i64,
    /// Input tokens from caches.
    pub cached_tokens: i64,
    /// Input tokens written to caches.
    pub cache_write_tokens: i64,
    /// The cost; `None` without prices.
    pub cost: Option<f64>,
    /// Pieces of feedback.
    pub feedback: i64,
}

/// The mean of the scores of one name, with the same values as a [`UsageRow`].
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct UsageScoreRow {
    /// The row that it belongs to.
    #[sqlx(flatten)]
    pub usage: UsageRow,
    /// The name of the scores.
    pub score: String,
    pub mean: f64,
}

/// The columns that divide usage, each absent if it does not.
const DIVIDING: [(UsageDimension, &str); 6] = [
    (UsageDimension::Graph, "text"),
    (UsageDimension::Version, "int4"),
    (UsageDimension::StateVersion, "int4"),
    (UsageDimension::Key, "text"),
    (UsageDimension::User, "text"),
    (UsageDimension::Work, "text"),
];

const SUMS: &str = "sum(runs)::int8 as runs, sum(failed)::int8 as failed, sum(cancelled)::int8 as cancelled,
     sum(duration_ms)::int8 as duration_ms, sum(lm_calls)::int8 as lm_calls, sum(input_tokens)::int8 as input_tokens,
     sum(output_tokens)::int8 as output_tokens, sum(reasoning_tokens)::int8 as reasoning_tokens,
     sum(cached_tokens)::int8 as cached_tokens, sum(cache_write_tokens)::int8 as cache_write_tokens,
     sum(cost)::float8 as cost, sum(feedback)::int8 as feedback";

/// The usage, oldest first, at most so many rows.
pub async fn read(
    scope: &Scope,
    db: &Db,
    query: &UsageQuery,
    most: i64,
) -> Result<Vec<UsageRow>, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new("select ");
    push_dividing(&mut sql, query);
    let value = query.is_by(UsageDimension::Tag) || query.is_by(UsageDimension::Model);
    sql.push(if value { "value, " } else { "null::text as value, " }).push(SUMS);
    push_rows(&mut sql, scope, query, query.dimension());
    sql.push(" group by 1, 2, 3, 4, 5, 6, 7, 8 having sum(runs) <> 0 or sum(lm_calls) <> 0");
    sql.push(" or sum(feedback) <> 0 order by 1, 2, 3, 4, 5, 6, 7, 8 limit ").push_bind(most);
    Ok(sql.build_query_as().fetch_all(&mut *db.scoped(scope).await?).await?)
}

/// The mean scores by name, divided in the same way. None by tags and models.
pub async fn read_scores(
    scope: &Scope,
    db: &Db,
    query: &UsageQuery,
    most: i64,
) -> Result<Vec<UsageScoreRow>, StoreError> {
    if !query.counts_feedback() {
        return Ok(Vec::new());
    }
    let mut sql = QueryBuilder::<Postgres>::new("select ");
    push_dividing(&mut sql, query);
    sql.push("null::text as value, ").push(SUMS).push(", value as score, ");
    sql.push("(sum(score_sum) / sum(feedback))::float8 as mean");
    push_rows(&mut sql, scope, query, "score");
    sql.push(" group by 1, 2, 3, 4, 5, 6, 7, usage_hours.value having sum(feedback) > 0");
    sql.push(" order by 1, 2, 3, 4, 5, 6, 7, score limit ").push_bind(most);
    Ok(sql.build_query_as().fetch_all(&mut *db.scoped(scope).await?).await?)
}

fn push_dividing(sql: &mut QueryBuilder<Postgres>, query: &UsageQuery) {
    match query.interval {
        Some(UsageInterval::Hour) => sql.push("hour as start, "),
        Some(UsageInterval::Day) => sql.push("date_trunc('day', hour, 'UTC') as start, "),
        None => sql.push("null::timestamptz as start, "),
    };
    for (dimension, kind) in DIVIDING {
        let column = dimension.column();
        match query.is_by(dimension) {
            true => sql.push(column).push(", "),
            false => sql.push(format!("null::{kind} as {column}, ")),
        };
    }
}

fn push_rows(
    sql: &mut QueryBuilder<Postgres>,
    scope: &Scope,
    query: &UsageQuery,
    dimension: &'static str,
) {
    sql.push(" from usage_hours where workspace_id = ").push_bind(scope.workspace);
    sql.push(" and hour >= date_trunc('hour', ").push_bind(query.since).push(", 'UTC')");
    sql.push(" and hour < ").push_bind(query.until);
    sql.push(" and dimension = ").push_bind(dimension);
    for (only, value) in &query.only {
        sql.push(" and ").push(only.column()).push("::text = ").push_bind(value.clone());
    }
}

/// Hours of workspaces to merge, at most so many: those that have more new rows than merged ones, so that the work grows
/// with the rows and not with the rounds, and those that are over.
pub async fn unmerged(db: &Db, most: i64) -> Result<Vec<(Uuid, DateTime<Utc>)>, StoreError> {
    let found = sqlx::query_as(
        "select new.workspace_id, new.hour
         from (select workspace_id, hour, count(*) as rows from usage_hours where not is_merged
               group by hour, workspace_id having count(*) > 1) new
         where new.hour < clock_timestamp() - interval '2 hours'
            or new.rows > (select count(*) from usage_hours merged where merged.workspace_id = new.workspace_id
                             and merged.hour = new.hour and merged.is_merged)
         limit $1",
    );
    Ok(found.bind(most).fetch_all(&mut *db.all_workspaces().await?).await?)
}

/// Replaces the rows of an hour by one for each combination of values. Rows that are written meanwhile stay.
pub async fn merge(scope: &Scope, db: &Db, hour: DateTime<Utc>) -> Result<(), StoreError> {
    let merged = sqlx::query(
        "with merged as (delete from usage_hours where workspace_id = $1 and hour = $2 returning *)
         insert into usage_hours
         select workspace_id, hour, work, dimension, value, graph_id, graph_name, graph_version, state_version,
                created_by, user_id, sum(runs), sum(failed), sum(cancelled), sum(duration_ms), sum(lm_calls),
                sum(input_tokens), sum(output_tokens), sum(reasoning_tokens), sum(cached_tokens),
                sum(cache_write_tokens), sum(cost), sum(feedback), sum(score_sum), true
         from merged group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11",
    );
    merged.bind(scope.workspace).bind(hour).execute(&mut *db.scoped(scope).await?).await?;
    Ok(())
}
