//! Evaluations: the row, one by id, lists, what came of one example by example, and two beside each
//! other. Working on them is `evaluation_work`.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, Postgres, QueryBuilder};
use uuid::Uuid;

use super::batch::Spent;
use super::graph::GraphRef;
use super::job::{self, JobKind, NewJob};
use super::page::fetch_count;
use super::run::RunStatus;
use super::{Cursor, Db, Page, Scope, StoreError};

/// An evaluation, without what came of its examples. Documents are JSON text.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct EvaluationRow {
    /// Its id, from the caller.
    pub id: Uuid,
    /// The graph's id.
    pub graph_id: Uuid,
    /// The graph's name at the time.
    pub graph_name: String,
    /// The graph version that runs.
    pub graph_version: i32,
    /// The state version that it runs with.
    pub state_version: i32,
    /// Which examples.
    pub dataset: String,
    /// Who judges.
    pub metric: String,
    /// Where it stands; never `waiting`.
    #[sqlx(try_from = "String")]
    pub status: RunStatus,
    /// Examples at the same time, where fewer are wanted than the worker's limit.
    pub concurrency: Option<i32>,
    /// It fails when more examples than that do.
    pub max_errors: Option<i32>,
    /// How long an example may take, in milliseconds, where that is less than the server's limit.
    pub timeout_ms: Option<i64>,
    /// Whether each example is recorded as a run, too.
    pub record: bool,
    /// How far it has come.
    #[sqlx(flatten)]
    pub tally: Tally,
    /// What the graph used so far.
    #[sqlx(flatten)]
    pub spent: Spent,
    /// What the metric used so far.
    #[sqlx(flatten)]
    pub judging: Judging,
    /// The problem that the evaluation as a whole ended with.
    pub error: Option<String>,
    /// When it was asked for.
    pub created_at: DateTime<Utc>,
    /// When work on it began.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// On whose behalf.
    pub created_by: String,
}

/// How many examples there are, and what came of them so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromRow)]
pub struct Tally {
    /// All of them.
    pub total: i32,
    /// Those that have a score.
    pub done: i32,
    /// Of these, those that failed, and count as 0.
    pub failed: i32,
    /// The sum of the scores.
    pub score_sum: f64,
}

impl Tally {
    /// The mean of the scores so far.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.done > 0).then(|| self.score_sum / f64::from(self.done))
    }
}

/// What a metric used.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromRow)]
pub struct Judging {
    #[sqlx(rename = "judging_lm_calls")]
    lm_calls: i64,
    #[sqlx(rename = "judging_input_tokens")]
    input_tokens: i64,
    #[sqlx(rename = "judging_output_tokens")]
    output_tokens: i64,
    #[sqlx(rename = "judging_cached_tokens")]
    cached_tokens: i64,
    #[sqlx(rename = "judging_cost")]
    cost: Option<f64>,
}

impl From<Judging> for Spent {
    fn from(judging: Judging) -> Self {
        let Judging { lm_calls, input_tokens, output_tokens, cached_tokens, cost } = judging;
        Self { lm_calls, input_tokens, output_tokens, cached_tokens, cost }
    }
}

/// What came of one example. Documents are JSON text.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct ScoredRow {
    /// Where the example stands in the dataset's version.
    pub position: i32,
    /// Its id in the dataset.
    pub example_id: String,
    /// How good the outputs are, from 0 to 1; 0 when it failed.
    pub score: f64,
    /// What the metric says beside it.
    pub feedback: Option<String>,
    /// What came out.
    pub outputs: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// Calls, tokens and cost of the graph.
    pub usage: String,
    /// The same of the metric.
    pub judging: String,
    /// How leniently answers were read, by the path of the predictor.
    pub parse_reports: String,
    /// How long the graph took.
    pub duration_ms: i64,
    /// The record of its run, where there is one.
    pub run_id: Option<Uuid>,
}

const COLUMNS: &str = "select id, graph_id, graph_name, graph_version, state_version, dataset::text, \
     metric::text, status, concurrency, max_errors, timeout_ms, record, total, done, failed, score_sum, \
     lm_calls, input_tokens, output_tokens, cached_tokens, cost, judging_lm_calls, \
     judging_input_tokens, judging_output_tokens, judging_cached_tokens, judging_cost, error::text, \
     created_at, started_at, finished_at, created_by from evaluations where workspace_id = ";

/// Adds an evaluation and its job. `request` is how it was asked for: JSON text, read by whoever works
/// on it.
pub async fn create(
    scope: &Scope,
    db: &Db,
    new: &EvaluationRow,
    request: &str,
) -> Result<(), StoreError> {
    let mut tx = db.pool().begin().await?;
    sqlx::query!(
        "insert into evaluations (id, workspace_id, graph_id, graph_name, graph_version,
                                  state_version, dataset, metric, status, concurrency, max_errors,
                                  timeout_ms, record, total, created_at, created_by)
         values ($1, $2, $3, $4, $5, $6, $7::text::json, $8::text::json, $9, $10, $11, $12, $13, $14,
                 $15, $16)",
        new.id,
        scope.workspace,
        new.graph_id,
        new.graph_name,
        new.graph_version,
        new.state_version,
        new.dataset,
        new.metric,
        new.status.as_str(),
        new.concurrency,
        new.max_errors,
        new.timeout_ms,
        new.record,
        new.tally.total,
        new.created_at,
        &*scope.actor
    )
    .execute(&mut *tx)
    .await?;
    let job = NewJob { id: new.id, kind: JobKind::Evaluation, request, at: new.created_at };
    job::add(scope, &mut tx, job).await?;
    Ok(tx.commit().await?)
}

/// An evaluation by id.
pub async fn get(scope: &Scope, db: &Db, id: Uuid) -> Result<EvaluationRow, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new(COLUMNS);
    sql.push_bind(scope.workspace).push(" and id = ").push_bind(id);
    let found = sql.build_query_as::<EvaluationRow>().fetch_optional(db.pool()).await?;
    found.ok_or_else(|| StoreError::not_found("evaluation", id))
}

/// One page of evaluations, newest first: of one graph, where it is named. A name takes in deleted
/// graphs of that name, an id only the one.
pub async fn list(
    scope: &Scope,
    db: &Db,
    graph: Option<&GraphRef>,
    after: Option<Cursor>,
    limit: u32,
) -> Result<Page<EvaluationRow>, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new(COLUMNS);
    sql.push_bind(scope.workspace);
    match graph {
        Some(GraphRef::Id(id)) => drop(sql.push(" and graph_id = ").push_bind(*id)),
        Some(GraphRef::Name(name)) => {
            sql.push(" and graph_id in (select id from graphs where workspace_id = ");
            sql.push_bind(scope.workspace).push(" and name = ").push_bind(name.clone()).push(")");
        }
        None => {}
    }
    if let Some(after) = after {
        sql.push(" and (created_at, id) < (").push_bind(after.created_at);
        sql.push(", ").push_bind(after.id).push(")");
    }
    sql.push(" order by created_at desc, id desc limit ").push_bind(fetch_count(limit));
    let items = sql.build_query_as::<EvaluationRow>().fetch_all(db.pool()).await?;
    Ok(Page::cut(items, limit, |row| Cursor { created_at: row.created_at, id: row.id }))
}

/// Which results are wanted, and in which order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Only those of examples that failed, or did not.
    pub failed: Option<bool>,
    /// The lowest scores first; else in the order of the examples.
    pub worst_first: bool,
}

/// The last result of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResultKey {
    /// Its score.
    pub score: f64,
    /// Its example.
    pub position: i32,
}

/// One page of what came of the examples that have ended.
pub async fn results(
    scope: &Scope,
    db: &Db,
    evaluation: Uuid,
    wanted: Wanted,
    after: Option<ResultKey>,
    limit: u32,
) -> Result<Page<ScoredRow, ResultKey>, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new(
        "select position, example_id, score, feedback::text, outputs::text, error::text, usage::text, \
         judging::text, parse_reports::text, duration_ms, run_id from evaluation_results \
         where evaluation_id = ",
    );
    sql.push_bind(evaluation).push(" and workspace_id = ").push_bind(scope.workspace);
    match wanted.failed {
        Some(true) => drop(sql.push(" and error is not null")),
        Some(false) => drop(sql.push(" and error is null")),
        None => {}
    }
    let order = if wanted.worst_first { "(score, position)" } else { "position" };
    if let Some(after) = after {
        sql.push(" and ").push(order).push(" > ");
        if wanted.worst_first {
            sql.push("(").push_bind(after.score).push(", ").push_bind(after.position).push(")");
        } else {
            sql.push_bind(after.position);
        }
    }
    sql.push(if wanted.worst_first { " order by score, position" } else { " order by position" });
    sql.push(" limit ").push_bind(fetch_count(limit));
    let items = sql.build_query_as::<ScoredRow>().fetch_all(db.pool()).await?;
    Ok(Page::cut(items, limit, |row| ResultKey { score: row.score, position: row.position }))
}

/// An example that two evaluations have.
#[derive(Clone, Debug, PartialEq)]
pub struct PairRow {
    /// Its id.
    pub example_id: String,
    /// The score that it has in the first.
    pub before: f64,
    /// The score that it has in the second.
    pub after: f64,
}

/// The examples that two evaluations have in common, so many at most, in the order of the second.
pub async fn pairs(
    scope: &Scope,
    db: &Db,
    before: Uuid,
    after: Uuid,
    most: i64,
) -> Result<Vec<PairRow>, StoreError> {
    let pairs = sqlx::query_as!(
        PairRow,
        r#"select later.example_id, earlier.score as before, later.score as after
           from evaluation_results later
           join evaluation_results earlier
                on earlier.example_id = later.example_id and earlier.evaluation_id = $1
           where later.evaluation_id = $2 and earlier.workspace_id = $3 and later.workspace_id = $3
           order by later.position limit $4"#,
        before,
        after,
        scope.workspace,
        most
    )
    .fetch_all(db.pool())
    .await?;
    Ok(pairs)
}
