//! Evaluations: the status row, lists, results, and pairs of results for a comparison. Attempts write
//! through `evaluation_work`.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, Postgres, QueryBuilder};
use uuid::Uuid;

use super::batch::UsageTotals;
use super::graph_ref::GraphRef;
use super::job::{self, Ending, JobRow, JobType};
use super::page::ListedRow;
use super::run::RunStatus;
use super::{Cursor, Db, ListQuery, Page, Scope, StoreError};

pub const JOB: JobType = JobType::new("evaluation", "evaluations");

/// An evaluation, without its results. Documents are JSON text.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct EvaluationRow {
    /// Its id, from the caller.
    pub id: Uuid,
    /// The graph's id.
    pub graph_id: Uuid,
    /// The name of the graph at the time of the request.
    pub graph_name: String,
    pub graph_version: i32,
    pub state_version: i32,
    /// The selected examples.
    pub dataset: String,
    pub metric: String,
    /// Its status; never `waiting`.
    #[sqlx(try_from = "String")]
    pub status: RunStatus,
    /// The number of examples at a time, if fewer than the limit of the worker.
    pub concurrency: Option<i32>,
    /// The evaluation fails if more examples than this fail.
    pub max_errors: Option<i32>,
    /// The share of examples that may stay without a score; the usual one if it is absent.
    pub max_unmeasured: Option<f64>,
    /// The time limit of an example in milliseconds, if shorter than that of the server.
    pub timeout_ms: Option<i64>,
    /// Whether each example is also recorded as a run.
    pub record: bool,
    /// Whether results of calls are those that evaluations recorded before.
    pub reuse_calls: bool,
    /// The totals so far.
    #[sqlx(flatten)]
    pub tally: EvaluationTotals,
    /// The usage of the graph so far.
    #[sqlx(flatten)]
    pub spent: UsageTotals,
    /// The usage of the metric so far.
    #[sqlx(flatten)]
    pub judging: JudgingTotals,
    /// The problem that the evaluation as a whole failed with.
    pub error: Option<String>,
    /// When it was requested.
    pub created_at: DateTime<Utc>,
    /// When the first attempt began.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub finished_at: Option<DateTime<Utc>>,
    /// The caller who requested it.
    pub created_by: String,
}

impl ListedRow for EvaluationRow {
    fn cursor(&self) -> Cursor {
        Cursor { created_at: self.created_at, id: self.id }
    }
}

impl JobRow for EvaluationRow {
    const JOB: JobType = JOB;

    fn select() -> String {
        "select id, graph_id, graph_name, graph_version, state_version, dataset::text, \
     metric::text, status, concurrency, max_errors, max_unmeasured, timeout_ms, record, reuse_calls, total, done, failed, unmeasured, score_sum, \
     lm_calls, input_tokens, output_tokens, reasoning_tokens, cached_tokens, cache_write_tokens, cost, \
     judging_lm_calls, judging_input_tokens, judging_output_tokens, judging_reasoning_tokens, \
     judging_cached_tokens, judging_cache_write_tokens, judging_cost, error::text, \
     created_at, started_at, finished_at, created_by from evaluations \
     where not expired and workspace_id = "
            .to_owned()
    }

    fn status(&self) -> RunStatus {
        self.status
    }
}

/// The number of examples and their scores so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromRow)]
pub struct EvaluationTotals {
    /// All of them.
    pub total: i32,
    /// Those that have ended.
    pub done: i32,
    /// Of these, those that failed and count as 0.
    pub failed: i32,
    /// Of these, those without a score: they failed for a reason that is not the program's.
    pub unmeasured: i32,
    pub score_sum: f64,
}

impl EvaluationTotals {
    /// The mean of the scores so far.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let measured = self.measured();
        (measured > 0).then(|| self.score_sum / f64::from(measured))
    }

    /// The number of examples with a score.
    #[must_use]
    pub const fn measured(&self) -> i32 {
        self.done - self.unmeasured
    }
}

/// The usage of a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromRow)]
pub struct JudgingTotals {
    #[sqlx(rename = "judging_lm_calls")]
    lm_calls: i64,
    #[sqlx(rename = "judging_input_tokens")]
    input_tokens: i64,
    #[sqlx(rename = "judging_output_tokens")]
    output_tokens: i64,
    #[sqlx(rename = "judging_reasoning_tokens")]
    reasoning_tokens: i64,
    #[sqlx(rename = "judging_cached_tokens")]
    cached_tokens: i64,
    #[sqlx(rename = "judging_cache_write_tokens")]
    cache_write_tokens: i64,
    #[sqlx(rename = "judging_cost")]
    cost: Option<f64>,
}

impl From<JudgingTotals> for UsageTotals {
    fn from(judging: JudgingTotals) -> Self {
        Self {
            lm_calls: judging.lm_calls,
            input_tokens: judging.input_tokens,
            output_tokens: judging.output_tokens,
            reasoning_tokens: judging.reasoning_tokens,
            cached_tokens: judging.cached_tokens,
            cache_write_tokens: judging.cache_write_tokens,
            cost: judging.cost,
        }
    }
}

/// The result of one example. Documents are JSON text.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct EvaluationResultRow {
    /// The position of the example in the dataset version.
    pub position: i32,
    /// Its id in the dataset.
    pub example_id: String,
    /// The score, from 0 to 1; 0 if the example failed.
    pub score: f64,
    /// Whether the score says nothing about the program.
    pub unmeasured: bool,
    /// The feedback of the metric.
    pub feedback: Option<String>,
    pub outputs: Option<String>,
    /// The problem that it failed with.
    pub error: Option<String>,
    /// Calls, tokens and cost of the graph.
    pub usage: String,
    /// Calls, tokens and cost of the metric.
    pub judging: String,
    /// The leniencies of answers, by the path of the predictor.
    pub parse_reports: String,
    /// The duration of the graph.
    pub duration_ms: i64,
    /// The id of the record of its run, if there is one.
    pub run_id: Option<Uuid>,
}

/// Stores a queued evaluation and its job. `request` has the options of the request, as JSON text for the worker.
pub async fn create(
    scope: &Scope,
    db: &Db,
    new: &EvaluationRow,
    request: &str,
    ending: &Ending,
) -> Result<(), StoreError> {
    let mut tx = db.begin(scope).await?;
    sqlx::query!(
        "insert into evaluations (id, workspace_id, graph_id, graph_name, graph_version,
                                  state_version, dataset, metric, status, concurrency, max_errors,
                                  timeout_ms, record, total, created_at, created_by, max_unmeasured, reuse_calls)
         values ($1, $2, $3, $4, $5, $6, $7::text::json, $8::text::json, $9, $10, $11, $12, $13, $14,
                 $15, $16, $17, $18)",
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
        &*scope.actor,
        new.max_unmeasured,
        new.reuse_calls
    )
    .execute(&mut *tx)
    .await?;
    job::commit_queued(scope, db, tx, new, request, ending).await
}

/// One page of evaluations, newest first; of one graph, if named. A name includes deleted graphs of that
/// name, an id is one graph.
pub async fn list(
    scope: &Scope,
    db: &Db,
    graph: Option<&GraphRef>,
    list: ListQuery,
) -> Result<Page<EvaluationRow>, StoreError> {
    let filter = |sql: &mut QueryBuilder<Postgres>| match graph {
        Some(GraphRef::Id(id)) => drop(sql.push(" and graph_id = ").push_bind(*id)),
        Some(named @ GraphRef::Name(_)) => {
            let name = named.name().map(str::to_owned);
            sql.push(" and graph_id in (select id from graphs where workspace_id = ");
            sql.push_bind(scope.workspace).push(" and name = ").push_bind(name).push(")");
        }
        None => {}
    };
    job::list(scope, db, list, filter).await
}

/// The filter and order of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResultFilter {
    /// Only examples that failed and have the score 0, or only those that did not fail.
    pub failed: Option<bool>,
    /// Only examples without a score, or only those with one.
    pub unmeasured: Option<bool>,
    /// The lowest scores first, instead of the order of the examples.
    pub worst_first: bool,
}

/// The key of the last result of a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResultCursor {
    pub score: f64,
    /// Its example.
    pub position: i32,
}

/// One page of the results so far.
pub async fn results(
    scope: &Scope,
    db: &Db,
    evaluation: Uuid,
    wanted: ResultFilter,
    list: ListQuery<ResultCursor>,
) -> Result<Page<EvaluationResultRow, ResultCursor>, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new(
        "select position, example_id, score, unmeasured, feedback::text, outputs::text, error::text, usage::text, \
         judging::text, parse_reports::text, duration_ms, run_id from evaluation_results \
         where evaluation_id = ",
    );
    sql.push_bind(evaluation).push(" and workspace_id = ").push_bind(scope.workspace);
    match wanted.failed {
        Some(true) => drop(sql.push(" and error is not null and not unmeasured")),
        Some(false) => drop(sql.push(" and error is null")),
        None => {}
    }
    if let Some(unmeasured) = wanted.unmeasured {
        sql.push(" and unmeasured = ").push_bind(unmeasured);
    }
    // What has no score is not among the worst.
    if wanted.worst_first && wanted.unmeasured.is_none() {
        sql.push(" and not unmeasured");
    }
    let order = if wanted.worst_first { "(score, position)" } else { "position" };
    if let Some(after) = list.after {
        sql.push(" and ").push(order).push(" > ");
        if wanted.worst_first {
            sql.push("(").push_bind(after.score).push(", ").push_bind(after.position).push(")");
        } else {
            sql.push_bind(after.position);
        }
    }
    sql.push(if wanted.worst_first { " order by score, position" } else { " order by position" });
    sql.push(" limit ").push_bind(list.fetch_count());
    let items = sql
        .build_query_as::<EvaluationResultRow>()
        .fetch_all(&mut *db.scoped(scope).await?)
        .await?;
    Ok(list.page(items, |row| ResultCursor { score: row.score, position: row.position }))
}

/// An example that two evaluations have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct ScorePairRow {
    pub example_id: String,
    /// Its score in the first.
    pub before: f64,
    /// Its score in the second.
    pub after: f64,
    /// Whether one of the two has no score.
    pub unmeasured: bool,
}

/// The examples that two evaluations have in common, `most` at most, in the order of the second.
pub async fn pairs(
    scope: &Scope,
    db: &Db,
    before: Uuid,
    after: Uuid,
    most: i64,
) -> Result<Vec<ScorePairRow>, StoreError> {
    let pairs = sqlx::query_as!(
        ScorePairRow,
        r#"select later.example_id, earlier.score as before, later.score as after,
                  (earlier.unmeasured or later.unmeasured) as "unmeasured!"
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
    .fetch_all(&mut *db.scoped(scope).await?)
    .await?;
    Ok(pairs)
}

/// The results of these examples, by their ids; those that have none are left out.
pub async fn results_of(
    scope: &Scope,
    db: &Db,
    evaluation: Uuid,
    examples: &[String],
) -> Result<Vec<EvaluationResultRow>, StoreError> {
    let rows = sqlx::query_as(
        "select position, example_id, score, unmeasured, feedback::text, outputs::text, error::text, usage::text, \
         judging::text, parse_reports::text, duration_ms, run_id from evaluation_results \
         where evaluation_id = $1 and workspace_id = $2 and example_id = any($3)",
    )
    .bind(evaluation)
    .bind(scope.workspace)
    .bind(examples)
    .fetch_all(&mut *db.scoped(scope).await?)
    .await?;
    Ok(rows)
}

/// The scores so far, `most` at most, in the order of the examples.
pub async fn scores(
    scope: &Scope,
    db: &Db,
    evaluation: Uuid,
    most: i64,
) -> Result<Vec<f64>, StoreError> {
    let scores = sqlx::query_scalar(
        "select score from evaluation_results \
         where evaluation_id = $1 and workspace_id = $2 and not unmeasured \
         order by position limit $3",
    )
    .bind(evaluation)
    .bind(scope.workspace)
    .bind(most)
    .fetch_all(&mut *db.scoped(scope).await?)
    .await?;
    Ok(scores)
}

/// Why examples have no score.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct UnmeasuredCause {
    /// The code of their errors.
    pub code: Option<String>,
    /// The explanation of one of them.
    pub detail: Option<String>,
    /// The number of examples.
    pub count: i64,
}

/// Why most of the examples without a score have none; `None` if all have one.
pub async fn unmeasured_cause(
    scope: &Scope,
    db: &Db,
    evaluation: Uuid,
) -> Result<Option<UnmeasuredCause>, StoreError> {
    let cause = sqlx::query_as(
        "select error->>'code' as code, min(error->>'detail') as detail, count(*) as count \
         from evaluation_results where evaluation_id = $1 and workspace_id = $2 and unmeasured \
         group by error->>'code' order by count(*) desc, error->>'code' limit 1",
    )
    .bind(evaluation)
    .bind(scope.workspace)
    .fetch_optional(&mut *db.scoped(scope).await?)
    .await?;
    Ok(cause)
}
