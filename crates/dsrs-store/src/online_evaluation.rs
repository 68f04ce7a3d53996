//! Online evaluations: which metrics judge the runs of a graph, how many of them, and what that may cost a day. Documents
//! are JSON text. May not know metrics.

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, FromRow, PgConnection};
use uuid::Uuid;

use super::audit::{self, AuditAction, AuditThing};
use super::{Db, Scope, StoreError};

/// What clients set.
#[derive(Clone, Debug, Default, PartialEq, FromRow)]
pub struct OnlineEvaluationSettings {
    /// The metrics by the name of their score.
    pub metrics: String,
    /// The share of the runs that are judged, above 0, at most 1.
    pub sample: f64,
    /// Whether runs are judged.
    pub enabled: bool,
    /// The most requests to models a day.
    pub calls_per_day: Option<i64>,
    /// The most cost a day.
    pub cost_per_day: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq, FromRow)]
pub struct OnlineEvaluationRow {
    /// Its id: that of no later one of the same graph.
    pub id: Uuid,
    /// Counts the changes of clients.
    pub revision: i32,
    pub graph_id: Uuid,
    /// What clients set.
    #[sqlx(flatten)]
    pub settings: OnlineEvaluationSettings,
    /// The requests to models of today.
    pub spent_calls: i64,
    /// The cost of today.
    pub spent_cost: f64,
    /// The runs of today without a score that a metric could not give.
    pub unmeasured: i32,
    /// When it was set first.
    pub created_at: DateTime<Utc>,
    /// When it was set last.
    pub updated_at: DateTime<Utc>,
    /// By whom, last.
    pub created_by: String,
}

const TODAY: &str = "(clock_timestamp() at time zone 'UTC')::date";

fn columns() -> String {
    format!(
        "id, revision, graph_id, metrics::text, sample, enabled, calls_per_day, cost_per_day,
         case when spent_on = {TODAY} then spent_calls else 0 end as spent_calls,
         case when spent_on = {TODAY} then spent_cost else 0 end as spent_cost,
         case when spent_on = {TODAY} then unmeasured else 0 end as unmeasured, created_at, updated_at, created_by"
    )
}

/// Sets the online evaluation of a graph. With a revision that was `seen`, it only replaces that one: `None` if there is
/// none in this revision any more.
pub async fn put(
    scope: &Scope,
    db: &Db,
    graph: (Uuid, &str),
    settings: &OnlineEvaluationSettings,
    seen: Option<(Uuid, i32)>,
    at: DateTime<Utc>,
) -> Result<Option<OnlineEvaluationRow>, StoreError> {
    let mut tx = db.begin(scope).await?;
    let sql = if seen.is_some() { replacement() } else { upsert() };
    let (id, revision) = seen.unwrap_or_else(|| (Uuid::now_v7(), 1));
    let row = sqlx::query_as(AssertSqlSafe(sql)).bind(graph.0).bind(scope.workspace);
    let row = row.bind(&settings.metrics).bind(settings.sample).bind(settings.enabled);
    let row = row.bind(settings.calls_per_day).bind(settings.cost_per_day).bind(at);
    let row = row.bind(&*scope.actor).bind(id).bind(revision).fetch_optional(&mut *tx).await?;
    let Some(row) = row else { return Ok(None) };
    let thing = AuditThing::named("online_evaluation", graph.0, graph.1);
    audit::add(scope, &mut tx, AuditAction::Change, thing, at).await?;
    tx.commit().await?;
    Ok(Some(row))
}

fn upsert() -> String {
    format!(
        "insert into online_evaluations (graph_id, workspace_id, metrics, sample, enabled, calls_per_day, cost_per_day,
                                         created_at, updated_at, created_by, id, revision)
         values ($1, $2, $3::text::json, $4, $5, $6, $7, $8, $8, $9, $10, $11)
         on conflict (graph_id) do update
         set metrics = excluded.metrics, sample = excluded.sample, enabled = excluded.enabled,
             calls_per_day = excluded.calls_per_day, cost_per_day = excluded.cost_per_day,
             updated_at = excluded.updated_at, created_by = excluded.created_by,
             revision = online_evaluations.revision + 1
         returning {}",
        columns()
    )
}

fn replacement() -> String {
    format!(
        "update online_evaluations
         set metrics = $3::text::json, sample = $4, enabled = $5, calls_per_day = $6, cost_per_day = $7,
             updated_at = $8, created_by = $9, revision = revision + 1
         where graph_id = $1 and workspace_id = $2 and id = $10 and revision = $11
         returning {}",
        columns()
    )
}

/// The online evaluation of a graph, if it has one.
pub async fn get(
    scope: &Scope,
    db: &Db,
    graph: Uuid,
) -> Result<Option<OnlineEvaluationRow>, StoreError> {
    let sql = format!(
        "select {} from online_evaluations where workspace_id = $1 and graph_id = $2",
        columns()
    );
    let row = sqlx::query_as(AssertSqlSafe(sql)).bind(scope.workspace).bind(graph);
    Ok(row.fetch_optional(&mut *db.scoped(scope).await?).await?)
}

/// Pauses or resumes the online evaluation of a graph. False if there is none.
pub async fn enable(
    scope: &Scope,
    db: &Db,
    graph: (Uuid, &str),
    enabled: bool,
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let mut tx = db.begin(scope).await?;
    let sql = "update online_evaluations set enabled = $3, updated_at = $4, created_by = $5, revision = revision + 1
               where workspace_id = $1 and graph_id = $2";
    let changed = sqlx::query(sql).bind(scope.workspace).bind(graph.0).bind(enabled).bind(at);
    let changed = changed.bind(&*scope.actor).execute(&mut *tx).await?;
    if changed.rows_affected() == 0 {
        return Ok(false);
    }
    let thing = AuditThing::named("online_evaluation", graph.0, graph.1);
    audit::add(scope, &mut tx, AuditAction::Change, thing, at).await?;
    tx.commit().await?;
    Ok(true)
}

/// Removes the online evaluation of a graph that was `seen` in this revision. Scores stay. False if there is none in
/// this revision any more.
pub async fn delete(
    scope: &Scope,
    db: &Db,
    graph: (Uuid, &str),
    seen: (Uuid, i32),
    at: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let mut tx = db.begin(scope).await?;
    let sql = "delete from online_evaluations
               where workspace_id = $1 and graph_id = $2 and id = $3 and revision = $4";
    let removed = sqlx::query(sql).bind(scope.workspace).bind(graph.0).bind(seen.0).bind(seen.1);
    let removed = removed.execute(&mut *tx).await?;
    if removed.rows_affected() == 0 {
        return Ok(false);
    }
    let thing = AuditThing::named("online_evaluation", graph.0, graph.1);
    audit::add(scope, &mut tx, AuditAction::Delete, thing, at).await?;
    tx.commit().await?;
    Ok(true)
}

/// What metrics add to a day.
#[derive(Clone, Copy, Debug)]
pub(super) struct DaySpending {
    /// Requests to models.
    pub(super) calls: i64,
    pub(super) cost: f64,
    /// Runs that stay without a score.
    pub(super) unmeasured: i32,
}

/// Adds what metrics have spent to the day, within the transaction that stores their scores.
pub(super) async fn spend(
    scope: &Scope,
    connection: &mut PgConnection,
    graph: Uuid,
    spent: DaySpending,
) -> Result<(), StoreError> {
    let sql = format!(
        "update online_evaluations
         set spent_calls = case when spent_on = {TODAY} then spent_calls else 0 end + $3,
             spent_cost = case when spent_on = {TODAY} then spent_cost else 0 end + $4,
             unmeasured = case when spent_on = {TODAY} then unmeasured else 0 end + $5, spent_on = {TODAY}
         where workspace_id = $1 and graph_id = $2"
    );
    let sums = sqlx::query(AssertSqlSafe(sql)).bind(scope.workspace).bind(graph);
    sums.bind(spent.calls).bind(spent.cost).bind(spent.unmeasured).execute(connection).await?;
    Ok(())
}
