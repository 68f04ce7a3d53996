//! Optimizations: the status row, lists, and the activation of a result. Attempts write through
//! `optimization_work`.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, Postgres, QueryBuilder};
use uuid::Uuid;

use super::batch::UsageTotals;
use super::job::{self, Ending, JobRow, JobType};
use super::page::ListedRow;
use super::run::RunStatus;
use super::{Cursor, Db, ListQuery, Page, Scope, StoreError};

pub const JOB: JobType = JobType::new("optimization", "optimizations");

/// An optimization, without its candidates. Documents are JSON text.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct OptimizationRow {
    /// Its id, from the caller.
    pub id: Uuid,
    /// The graph's id.
    pub graph_id: Uuid,
    /// The name of the graph at the time of the request.
    pub graph_name: String,
    /// The graph version that it starts from.
    pub graph_version: i32,
    /// The state version that it starts from.
    pub state_version: i32,
    /// The optimizer's name.
    pub optimizer: String,
    /// The rest of the request.
    pub request: String,
    /// Its status; never `waiting`.
    #[sqlx(try_from = "String")]
    pub status: RunStatus,
    /// The usage so far.
    #[sqlx(flatten)]
    pub spent: UsageTotals,
    /// The time that attempts took so far.
    pub seconds: f64,
    /// The number of candidates so far.
    pub candidates: i64,
    /// The result, once it has ended.
    pub result: Option<String>,
    /// The best candidate, unless it is the original program.
    pub best: Option<i32>,
    /// The state version of that candidate.
    pub found_state: Option<i32>,
    /// Whether the result was activated, and why.
    pub activated: Option<String>,
    /// The problem that it failed with.
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

impl ListedRow for OptimizationRow {
    fn cursor(&self) -> Cursor {
        Cursor { created_at: self.created_at, id: self.id }
    }
}

impl JobRow for OptimizationRow {
    const JOB: JobType = JOB;

    fn select() -> String {
        "select id, graph_id, graph_name, graph_version, state_version, optimizer, \
     request::text, status, lm_calls, input_tokens, output_tokens, reasoning_tokens, \
     cached_tokens, cache_write_tokens, cost, seconds, \
     (select count(*) from optimization_candidates where optimization_id = id) as candidates, \
     result::text, best, found_state, activated::text, error::text, created_at, started_at, \
     finished_at, created_by \
     from optimizations where not expired and workspace_id = "
            .to_owned()
    }

    fn status(&self) -> RunStatus {
        self.status
    }
}

/// Stores a queued optimization and its job.
pub async fn accept(
    scope: &Scope,
    db: &Db,
    new: &OptimizationRow,
    request: &str,
    ending: &Ending,
) -> Result<(), StoreError> {
    let mut tx = db.begin(scope).await?;
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
    job::commit_queued(scope, db, tx, new, request, ending).await
}

/// One page of optimizations, newest first; of one graph, if named.
pub async fn list(
    scope: &Scope,
    db: &Db,
    graph: Option<Uuid>,
    list: ListQuery,
) -> Result<Page<OptimizationRow>, StoreError> {
    let filter = |sql: &mut QueryBuilder<Postgres>| {
        if let Some(graph) = graph {
            sql.push(" and graph_id = ").push_bind(graph);
        }
    };
    job::list(scope, db, list, filter).await
}

/// Stores whether the result was activated.
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
    .execute(&mut *db.scoped(scope).await?)
    .await?;
    Ok(())
}
