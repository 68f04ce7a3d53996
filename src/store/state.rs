//! Predictor states: numbered within their graph, each made for one graph version, one of them in
//! force for it. Writing one is `graph_edit`, which holds the graph's lock.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::page::fetch_count;
use super::{Db, Page, Scope, StoreError};

/// A state to be written.
#[derive(Clone, Debug)]
pub struct NewState<'a> {
    /// The state it was made from.
    pub parent: Option<i32>,
    /// What an optimizer measured.
    pub score: Option<f64>,
    /// The overrides by predictor path: JSON text, stored as it is.
    pub predictors: &'a str,
    /// The hash of `predictors`.
    pub content_hash: &'a str,
}

/// A state version.
#[derive(Clone, Debug, PartialEq)]
pub struct StateRow {
    /// Its number within the graph.
    pub version: i32,
    /// The graph version that it fits.
    pub graph_version: i32,
    /// The state it was made from.
    pub parent: Option<i32>,
    /// What an optimizer measured.
    pub score: Option<f64>,
    /// The overrides by predictor path, as stored.
    pub predictors: String,
    /// The hash of `predictors`.
    pub content_hash: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// Who made it.
    pub created_by: String,
}

/// One line of a graph's state history.
#[derive(Clone, Debug, PartialEq)]
pub struct StateItem {
    /// Its number within the graph.
    pub version: i32,
    /// The graph version that it fits.
    pub graph_version: i32,
    /// The state it was made from.
    pub parent: Option<i32>,
    /// What an optimizer measured.
    pub score: Option<f64>,
    /// The hash of its predictors.
    pub content_hash: String,
    /// Whether it is the one in force for its graph version.
    pub in_force: bool,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// Who made it.
    pub created_by: String,
}

/// One state version of a graph.
pub async fn get(
    scope: &Scope,
    db: &Db,
    graph: Uuid,
    version: i32,
) -> Result<StateRow, StoreError> {
    let mut connection = db.pool().acquire().await?;
    find(scope, &mut connection, graph, version).await
}

/// One page of a graph's states, newest first; `before` is the last version of the page before.
pub async fn list(
    scope: &Scope,
    db: &Db,
    graph: Uuid,
    before: Option<i32>,
    limit: u32,
) -> Result<Page<StateItem, i32>, StoreError> {
    let items = sqlx::query_as!(
        StateItem,
        r#"select s.version, s.graph_version, s.parent, s.score, s.content_hash,
                  (f.state_version = s.version) as "in_force!", s.created_at, s.created_by
           from state_versions s
           join states_in_force f on f.graph_id = s.graph_id and f.graph_version = s.graph_version
           where s.workspace_id = $1 and s.graph_id = $2 and s.version < coalesce($3, 2147483647)
           order by s.version desc limit $4"#,
        scope.workspace,
        graph,
        before,
        fetch_count(limit)
    )
    .fetch_all(db.pool())
    .await?;
    Ok(Page::cut(items, limit, |item| item.version))
}

pub(super) async fn find(
    scope: &Scope,
    connection: &mut PgConnection,
    graph: Uuid,
    version: i32,
) -> Result<StateRow, StoreError> {
    sqlx::query_as!(
        StateRow,
        r#"select version, graph_version, parent, score, predictors::text as "predictors!",
                  content_hash, created_at, created_by
           from state_versions where workspace_id = $1 and graph_id = $2 and version = $3"#,
        scope.workspace,
        graph,
        version
    )
    .fetch_optional(connection)
    .await?
    .ok_or_else(|| StoreError::not_found("state version", version))
}

/// Writes version `version` of the graph's states; the caller holds the graph's lock.
pub(super) async fn insert(
    scope: &Scope,
    connection: &mut PgConnection,
    graph: Uuid,
    version: i32,
    graph_version: i32,
    new: &NewState<'_>,
    at: DateTime<Utc>,
) -> Result<StateRow, StoreError> {
    sqlx::query!(
        "insert into state_versions (graph_id, version, workspace_id, graph_version, parent, score,
                                     predictors, content_hash, created_at, created_by)
         values ($1, $2, $3, $4, $5, $6, $7::text::json, $8, $9, $10)",
        graph,
        version,
        scope.workspace,
        graph_version,
        new.parent,
        new.score,
        new.predictors,
        new.content_hash,
        at,
        &*scope.actor
    )
    .execute(connection)
    .await?;
    Ok(StateRow {
        version,
        graph_version,
        parent: new.parent,
        score: new.score,
        predictors: new.predictors.to_owned(),
        content_hash: new.content_hash.to_owned(),
        created_at: at,
        created_by: scope.actor.to_string(),
    })
}

/// Moves the pointer of the state's graph version and records the move.
pub(super) async fn put_in_force(
    scope: &Scope,
    connection: &mut PgConnection,
    graph: Uuid,
    state: &StateRow,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "with moved as (
             insert into states_in_force (graph_id, graph_version, workspace_id, state_version)
             values ($1, $2, $3, $4)
             on conflict (graph_id, graph_version) do update set state_version = $4
         )
         insert into state_activations (workspace_id, graph_id, state_version, created_at, created_by)
         values ($3, $1, $4, $5, $6)",
        graph,
        state.graph_version,
        scope.workspace,
        state.version,
        at,
        &*scope.actor
    )
    .execute(connection)
    .await?;
    Ok(())
}
