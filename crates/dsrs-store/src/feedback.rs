//! Feedback on runs: scores, comments and corrected outputs, each added, replaced, listed and removed. May not know
//! whether outputs fit a graph, nor what a score means.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use super::idempotency::{KeyedAnswer, store_answer};
use super::page::ListedRow;
use super::usage_feedback::{self, CountedFeedback};
use super::webhook_event::{self, ScoredRun};
use super::{Cursor, Db, ListQuery, Page, Scope, StoreError};

/// Feedback on a run. Documents are JSON text.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct FeedbackRow {
    /// Its id, from the caller.
    pub id: Uuid,
    pub run_id: Uuid,
    /// The graph of the run.
    pub graph_id: Uuid,
    /// Its name at the time of the run.
    pub graph_name: String,
    /// The graph version that ran.
    pub graph_version: i32,
    /// The state version that it ran with.
    pub state_version: i32,
    /// When the run was created.
    pub run_created_at: DateTime<Utc>,
    /// Where it is from.
    pub source: String,
    /// The name of the score.
    pub name: Option<String>,
    /// The person who gave it; empty if unknown.
    pub user_id: String,
    /// A score from 0 to 1.
    pub score: Option<f64>,
    /// A score that is a category.
    pub category: Option<String>,
    /// A comment: a JSON string, as JSON text.
    pub comment: Option<String>,
    /// Corrected outputs of the graph.
    pub outputs: Option<String>,
    /// When it was given first.
    pub created_at: DateTime<Utc>,
    /// When it was replaced last.
    pub updated_at: DateTime<Utc>,
    /// On whose behalf; written from the scope.
    pub created_by: String,
}

impl ListedRow for FeedbackRow {
    fn cursor(&self) -> Cursor {
        Cursor { created_at: self.created_at, id: self.id }
    }
}

const COLUMNS: &str = "id, run_id, graph_id, graph_name, graph_version, state_version, run_created_at, source, name, \
                       user_id, score, category, comment::text, outputs::text, created_at, updated_at, created_by";

/// What feedback has of its run.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct RatedRun {
    pub id: Uuid,
    pub graph_id: Uuid,
    /// Its name at the time.
    pub graph_name: String,
    /// The graph version that ran.
    pub graph_version: i32,
    /// The state version that it ran with.
    pub state_version: i32,
    /// When it was created.
    pub created_at: DateTime<Utc>,
}

impl RatedRun {
    /// Feedback on this run that says nothing yet.
    #[must_use]
    pub fn feedback(self, id: Uuid, at: DateTime<Utc>, scope: &Scope) -> FeedbackRow {
        FeedbackRow {
            id,
            run_id: self.id,
            graph_id: self.graph_id,
            graph_name: self.graph_name,
            graph_version: self.graph_version,
            state_version: self.state_version,
            run_created_at: self.created_at,
            source: String::new(),
            name: None,
            user_id: String::new(),
            score: None,
            category: None,
            comment: None,
            outputs: None,
            created_at: at,
            updated_at: at,
            created_by: scope.actor.to_string(),
        }
    }
}

/// The run with this id; `None` if the database has none.
pub async fn rated_run(scope: &Scope, db: &Db, run: Uuid) -> Result<Option<RatedRun>, StoreError> {
    let found = sqlx::query_as(
        "select id, graph_id, graph_name, graph_version, state_version, created_at
         from runs where workspace_id = $1 and id = $2",
    );
    let found = found.bind(scope.workspace).bind(run);
    Ok(found.fetch_optional(&mut *db.scoped(scope).await?).await?)
}

/// What has become of feedback.
#[derive(Clone, Debug, PartialEq)]
pub enum FeedbackOutcome {
    /// It is stored, in place of an earlier one perhaps.
    Stored(Box<FeedbackRow>),
    /// The run has as much as it may have.
    TooMany,
}

const TURN: &str =
    "select pg_advisory_xact_lock(hashtextextended('feedback on ' || $1::uuid::text, 0))";

/// Stores feedback. It replaces that of the same run, source, name and giver, whose id and time it takes. A run has
/// `most` at most. Webhooks report a score below their threshold.
pub async fn put(
    scope: &Scope,
    db: &Db,
    row: FeedbackRow,
    most: i64,
    answer: impl FnOnce(&FeedbackRow) -> Option<KeyedAnswer> + Send,
) -> Result<FeedbackOutcome, StoreError> {
    let mut tx = db.begin(scope).await?;
    let Some(row) = put_within(scope, &mut tx, row, most).await? else {
        return Ok(FeedbackOutcome::TooMany);
    };
    store_answer(scope, &mut tx, answer(&row).as_ref()).await?;
    tx.commit().await?;
    Ok(FeedbackOutcome::Stored(Box::new(row)))
}

/// The same within a transaction; `None` if the run has as much as it may have.
pub(super) async fn put_within(
    scope: &Scope,
    connection: &mut PgConnection,
    row: FeedbackRow,
    most: i64,
) -> Result<Option<FeedbackRow>, StoreError> {
    // One at a time on a run, so that the count is exact.
    sqlx::query(TURN).bind(row.run_id).execute(&mut *connection).await?;
    let row = match earlier(scope, connection, &row).await? {
        Some((id, created_at, score)) => {
            let row = FeedbackRow { id, created_at, ..row };
            replace(scope, connection, &row).await?;
            usage_feedback::count(scope, connection, counted(&row, score, -1)).await?;
            row
        }
        None if count(scope, connection, row.run_id).await? >= most => return Ok(None),
        None => {
            add(scope, connection, &row).await?;
            row
        }
    };
    usage_feedback::count(scope, connection, counted(&row, row.score, 1)).await?;
    if let (Some(metric), Some(score)) = (&row.name, row.score) {
        let FeedbackRow { run_id: run, graph_id, graph_name: graph, .. } = &row;
        let scored = ScoredRun { run: *run, graph_id: *graph_id, graph, metric, score };
        webhook_event::run_scored(scope, connection, scored).await?;
    }
    Ok(Some(row))
}

fn counted(row: &FeedbackRow, score: Option<f64>, count: i64) -> CountedFeedback<'_> {
    CountedFeedback { run: row.run_id, name: row.name.as_deref(), score, count }
}

async fn earlier(
    scope: &Scope,
    connection: &mut PgConnection,
    row: &FeedbackRow,
) -> Result<Option<(Uuid, DateTime<Utc>, Option<f64>)>, StoreError> {
    let found = sqlx::query_as(
        "select id, created_at, score from run_feedback
         where workspace_id = $1 and run_id = $2 and source = $3 and name = $4 and user_id = $5",
    );
    let found = found.bind(scope.workspace).bind(row.run_id).bind(&row.source);
    Ok(found.bind(&row.name).bind(&row.user_id).fetch_optional(connection).await?)
}

async fn count(scope: &Scope, connection: &mut PgConnection, run: Uuid) -> Result<i64, StoreError> {
    let count = sqlx::query_scalar(
        "select count(*) from run_feedback where workspace_id = $1 and run_id = $2",
    );
    Ok(count.bind(scope.workspace).bind(run).fetch_one(connection).await?)
}

async fn replace(
    scope: &Scope,
    connection: &mut PgConnection,
    row: &FeedbackRow,
) -> Result<(), StoreError> {
    let replaced = sqlx::query(
        "update run_feedback set score = $4, category = $5, comment = $6::text::json, outputs = $7::text::json,
                updated_at = $8, created_by = $9
         where workspace_id = $1 and run_id = $2 and id = $3",
    );
    let replaced = replaced.bind(scope.workspace).bind(row.run_id).bind(row.id).bind(row.score);
    let replaced = replaced.bind(&row.category).bind(&row.comment).bind(&row.outputs);
    replaced.bind(row.updated_at).bind(&*scope.actor).execute(connection).await?;
    Ok(())
}

/// Adds feedback, within a transaction.
pub(super) async fn add(
    scope: &Scope,
    connection: &mut PgConnection,
    row: &FeedbackRow,
) -> Result<(), StoreError> {
    let added = sqlx::query(
        "insert into run_feedback (id, run_id, workspace_id, graph_id, graph_name, graph_version, state_version,
                                   run_created_at, source, name, user_id, score, category, comment, outputs,
                                   created_at, updated_at, created_by)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14::text::json, $15::text::json,
                 $16, $17, $18)",
    );
    let added = added.bind(row.id).bind(row.run_id).bind(scope.workspace).bind(row.graph_id);
    let added = added.bind(&row.graph_name).bind(row.graph_version).bind(row.state_version);
    let added = added.bind(row.run_created_at).bind(&row.source).bind(&row.name);
    let added = added.bind(&row.user_id).bind(row.score).bind(&row.category).bind(&row.comment);
    let added = added.bind(&row.outputs).bind(row.created_at).bind(row.updated_at);
    added.bind(&*scope.actor).execute(connection).await?;
    Ok(())
}

/// One page of the feedback on a run, newest first.
pub async fn list(
    scope: &Scope,
    db: &Db,
    run: Uuid,
    list: ListQuery,
) -> Result<Page<FeedbackRow>, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new("select ");
    sql.push(COLUMNS).push(" from run_feedback where workspace_id = ").push_bind(scope.workspace);
    sql.push(" and run_id = ").push_bind(run);
    list.newest_first(&mut *db.scoped(scope).await?, sql, "").await
}

/// The newest corrected outputs of these runs, by run.
pub(super) async fn corrections(
    scope: &Scope,
    connection: &mut PgConnection,
    runs: &[Uuid],
) -> Result<Vec<(Uuid, String)>, StoreError> {
    let found = sqlx::query_as(
        "select distinct on (run_id) run_id, outputs::text from run_feedback
         where workspace_id = $1 and run_id = any($2) and outputs is not null
         order by run_id, updated_at desc, id desc",
    );
    Ok(found.bind(scope.workspace).bind(runs).fetch_all(connection).await?)
}

/// Removes feedback from a run.
pub async fn delete(scope: &Scope, db: &Db, run: Uuid, id: Uuid) -> Result<(), StoreError> {
    let mut tx = db.begin(scope).await?;
    let removed: Option<(Option<String>, Option<f64>)> = sqlx::query_as(
        "delete from run_feedback where workspace_id = $1 and run_id = $2 and id = $3 returning name, score",
    )
    .bind(scope.workspace)
    .bind(run)
    .bind(id)
    .fetch_optional(&mut *tx)
    .await?;
    let (name, score) = removed.ok_or_else(|| StoreError::not_found("feedback", id))?;
    let counted = CountedFeedback { run, name: name.as_deref(), score, count: -1 };
    usage_feedback::count(scope, &mut tx, counted).await?;
    tx.commit().await?;
    Ok(())
}

/// Removes the feedback on runs that are removed, within the transaction that removes them.
pub(super) async fn remove_with_runs(
    connection: &mut PgConnection,
    runs: &[Uuid],
) -> Result<(), StoreError> {
    let removed = sqlx::query("delete from run_feedback where run_id = any($1)").bind(runs);
    removed.execute(connection).await?;
    Ok(())
}
