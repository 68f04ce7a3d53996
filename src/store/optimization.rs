//! Optimizations: accepted, one by id, lists, and what was put in force of one. Working on them is
//! `optimization_work`.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, Postgres, QueryBuilder};
use uuid::Uuid;

use super::batch::Spent;
use super::job::{self, JobKind, NewJob};
use super::page::fetch_count;
use super::run::RunStatus;
use super::{Cursor, Db, Page, Scope, StoreError};

/// An optimization, without its candidates. Documents are JSON text.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct OptimizationRow {
    /// Its id, from the caller.
    pub id: Uuid,
    /// The graph's id.
    pub graph_id: Uuid,
    /// The graph's name at the time.
    pub graph_name: String,
    /// The graph version that it starts from.
    pub graph_version: i32,
    /// The state version that it starts from.
    pub state_version: i32,
    /// The optimizer's name.
    pub optimizer: String,
    /// The rest of what was asked for.
    pub request: String,
    /// Where it stands; never `waiting`.
    #[sqlx(try_from = "String")]
    pub status: RunStatus,
    /// What was paid for so far.
    #[sqlx(flatten)]
    pub spent: Spent,
    /// How long it was worked on so far.
    pub seconds: f64,
    /// How many candidates there are so far.
    pub candidates: i64,
    /// What was found, once it has ended.
    pub result: Option<String>,
    /// The candidate that was chosen, if it is not what was there before.
    pub best: Option<i32>,
    /// The state version that it was stored as.
    pub found_state: Option<i32>,
    /// Whether it was put in force, and why.
    pub activated: Option<String>,
    /// The problem that it failed with.
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

const COLUMNS: &str = "select id, graph_id, graph_name, graph_version, state_version, optimizer, \
     request::text, status, lm_calls, input_tokens, output_tokens, cached_tokens, cost, seconds, \
     (select count(*) from optimization_candidates where optimization_id = id) as candidates, \
     result::text, best, found_state, activated::text, error::text, created_at, started_at, \
     finished_at, created_by \
     from optimizations where workspace_id = ";

/// Stores an optimization that is to be worked on, and the job, or neither.
pub async fn accept(
    scope: &Scope,
    db: &Db,
    new: &OptimizationRow,
    request: &str,
) -> Result<(), StoreError> {
    let mut tx = db.pool().begin().await?;
    sqlx::query!(
        "insert into optimizations (id, workspace_id, graph_id, graph_name, graph_version,
                                    state_version, optimizer, request, status, created_at,
                                    created_by)
         values ($1, $2, $3, $4, $5, $6, $7, $8::text::json, $9, $10, $11)",
        new.id,
        scope.workspace,
        new.graph_id,
        new.graph_name,
        new.graph_version,
        new.state_version,
        new.optimizer,
        new.request,
        new.status.as_str(),
        new.created_at,
        &*scope.actor
    )
    .execute(&mut *tx)
    .await?;
    let kind = JobKind::Optimization;
    job::add(scope, &mut tx, NewJob { id: new.id, kind, request, at: new.created_at }).await?;
    Ok(tx.commit().await?)
}

/// An optimization by id.
pub async fn get(scope: &Scope, db: &Db, id: Uuid) -> Result<OptimizationRow, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new(COLUMNS);
    sql.push_bind(scope.workspace).push(" and id = ").push_bind(id);
    let found = sql.build_query_as::<OptimizationRow>().fetch_optional(db.pool()).await?;
    found.ok_or_else(|| StoreError::not_found("optimization", id))
}

/// Where one stands; `None` where there is none.
pub async fn status(scope: &Scope, db: &Db, id: Uuid) -> Result<Option<RunStatus>, StoreError> {
    let found = sqlx::query_scalar!(
        "select status from optimizations where workspace_id = $1 and id = $2",
        scope.workspace,
        id
    )
    .fetch_optional(db.pool())
    .await?;
    found.map(RunStatus::try_from).transpose()
}

/// One page of optimizations, newest first; of one graph, where it is named.
pub async fn list(
    scope: &Scope,
    db: &Db,
    graph: Option<Uuid>,
    after: Option<Cursor>,
    limit: u32,
) -> Result<Page<OptimizationRow>, StoreError> {
    let mut sql = QueryBuilder::<Postgres>::new(COLUMNS);
    sql.push_bind(scope.workspace);
    if let Some(graph) = graph {
        sql.push(" and graph_id = ").push_bind(graph);
    }
    if let Some(after) = after {
        sql.push(" and (created_at, id) < (").push_bind(after.created_at);
        sql.push(", ").push_bind(after.id).push(")");
    }
    sql.push(" order by created_at desc, id desc limit ").push_bind(fetch_count(limit));
    let items = sql.build_query_as::<OptimizationRow>().fetch_all(db.pool()).await?;
    Ok(Page::cut(items, limit, |found| Cursor { created_at: found.created_at, id: found.id }))
}

/// Notes what became of the candidate that was found.
pub async fn note_activation(
    scope: &Scope,
    db: &Db,
    id: Uuid,
    activated: &str,
) -> Result<(), StoreError> {
    sqlx::query!(
        "update optimizations set activated = $3::text::json where workspace_id = $1 and id = $2",
        scope.workspace,
        id,
        activated
    )
    .execute(db.pool())
    .await?;
    Ok(())
}
