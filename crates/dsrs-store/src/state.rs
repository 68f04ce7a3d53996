//! Predictor states: numbered within their graph, each made for one graph version, one of them
//! active for it. Writing one is `graph_edit`, which holds the graph's lock; the history of
//! activations is `state_activation`.

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, FromRow, PgConnection};
use uuid::Uuid;

use super::graph_ref::GraphRef;
use super::{Db, ListQuery, Page, Scope, StoreError};

/// A state to be written. What is left at its default is not known.
#[derive(Clone, Debug, Default)]
pub struct NewState<'a> {
    /// The state it was made from.
    pub parent: Option<i32>,
    /// The optimization that made it; a client did where there is none.
    pub optimization: Option<Uuid>,
    /// What was measured with it.
    pub score: Option<f64>,
    /// The content hash of the data that the score was measured on.
    pub dataset_hash: Option<&'a str>,
    /// The overrides by predictor path: JSON text, stored as it is.
    pub predictors: &'a str,
    /// The hash of `predictors`.
    pub content_hash: &'a str,
}

/// A state version. `COLUMNS` names its columns apart from those of a graph.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct StateRow {
    /// Its number within the graph.
    #[sqlx(rename = "state_version")]
    pub version: i32,
    /// The graph version that it fits.
    pub graph_version: i32,
    /// The state it was made from.
    pub parent: Option<i32>,
    /// The optimization that made it; a client did where there is none.
    #[sqlx(rename = "optimization_id")]
    pub optimization: Option<Uuid>,
    /// What was measured with it.
    pub score: Option<f64>,
    /// The content hash of the data that the score was measured on.
    pub dataset_hash: Option<String>,
    /// The overrides by predictor path, as stored.
    pub predictors: String,
    /// The hash of `predictors`.
    #[sqlx(rename = "state_hash")]
    pub content_hash: String,
    /// When it was made.
    #[sqlx(rename = "state_created_at")]
    pub created_at: DateTime<Utc>,
    /// Who made it.
    #[sqlx(rename = "state_created_by")]
    pub created_by: String,
}

/// The columns of a [`StateRow`] from `state_versions s`.
pub(super) const COLUMNS: &str = "s.version as state_version, s.graph_version, s.parent, \
    s.optimization_id, s.score, s.dataset_hash, s.predictors::text, s.content_hash as state_hash, \
    s.created_at as state_created_at, s.created_by as state_created_by";

/// One line of a graph's state history.
#[derive(Clone, Debug, PartialEq)]
pub struct StateSummaryRow {
    /// Its number within the graph.
    pub version: i32,
    /// The graph version that it fits.
    pub graph_version: i32,
    /// The state it was made from.
    pub parent: Option<i32>,
    /// The optimization that made it; a client did where there is none.
    pub optimization: Option<Uuid>,
    /// What was measured with it.
    pub score: Option<f64>,
    /// The content hash of the data that the score was measured on.
    pub dataset_hash: Option<String>,
    /// The hash of its predictors.
    pub content_hash: String,
    /// Whether it is the active one for its graph version.
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
    let mut connection = db.scoped(scope).await?;
    find(scope, &mut connection, graph, version).await
}

/// A graph's id and the version of the active state: one look into the index of names (or ids) and
/// one into that of active states, without any document.
pub async fn in_force(scope: &Scope, db: &Db, graph: &GraphRef) -> Result<(Uuid, i32), StoreError> {
    let found = match graph {
        GraphRef::Id(id) => sqlx::query!(
            "select g.id, f.state_version from graphs g
                 join states_in_force f on f.graph_id = g.id and f.graph_version = g.version
                 where g.workspace_id = $1 and g.deleted_at is null and g.id = $2",
            scope.workspace,
            id
        )
        .fetch_optional(&mut *db.scoped(scope).await?)
        .await?
        .map(|row| (row.id, row.state_version)),
        GraphRef::Name(_) => sqlx::query!(
            "select g.id, f.state_version from graphs g
                 join states_in_force f on f.graph_id = g.id and f.graph_version = g.version
                 where g.workspace_id = $1 and g.deleted_at is null and g.name = $2",
            scope.workspace,
            graph.name()
        )
        .fetch_optional(&mut *db.scoped(scope).await?)
        .await?
        .map(|row| (row.id, row.state_version)),
    };
    found.ok_or_else(|| graph.not_found())
}

/// One page of a graph's states, newest first; `before` is the last version of the page before.
pub async fn list(
    scope: &Scope,
    db: &Db,
    graph: Uuid,
    list: ListQuery<i32>,
) -> Result<Page<StateSummaryRow, i32>, StoreError> {
    let items = sqlx::query_as!(
        StateSummaryRow,
        r#"select s.version, s.graph_version, s.parent, s.optimization_id as optimization, s.score,
                  s.dataset_hash, s.content_hash,
                  (f.state_version = s.version) as "in_force!", s.created_at, s.created_by
           from state_versions s
           join states_in_force f on f.graph_id = s.graph_id and f.graph_version = s.graph_version
           where s.workspace_id = $1 and s.graph_id = $2 and s.version < coalesce($3, 2147483647)
           order by s.version desc limit $4"#,
        scope.workspace,
        graph,
        list.after,
        list.fetch_count()
    )
    .fetch_all(&mut *db.scoped(scope).await?)
    .await?;
    Ok(list.page(items, |item| item.version))
}

/// The stored predictors of some versions, for those whose text is not longer than `most_bytes`.
pub async fn documents(
    scope: &Scope,
    db: &Db,
    graph: Uuid,
    versions: &[i32],
    most_bytes: i32,
) -> Result<Vec<(i32, String)>, StoreError> {
    let found = sqlx::query_as(
        "select version, predictors::text from state_versions
         where workspace_id = $1 and graph_id = $2 and version = any($3)
           and octet_length(predictors::text) <= $4",
    );
    let found = found.bind(scope.workspace).bind(graph).bind(versions).bind(most_bytes);
    Ok(found.fetch_all(&mut *db.scoped(scope).await?).await?)
}

pub(super) async fn find(
    scope: &Scope,
    connection: &mut PgConnection,
    graph: Uuid,
    version: i32,
) -> Result<StateRow, StoreError> {
    let sql = format!(
        "select {COLUMNS} from state_versions s
         where s.workspace_id = $1 and s.graph_id = $2 and s.version = $3"
    );
    let row = sqlx::query_as(AssertSqlSafe(sql)).bind(scope.workspace).bind(graph).bind(version);
    row.fetch_optional(connection)
        .await?
        .ok_or_else(|| StoreError::not_found("state version", version))
}

/// What an optimization has made for a graph version already, by what it says.
pub(super) async fn made_by(
    scope: &Scope,
    connection: &mut PgConnection,
    graph: Uuid,
    graph_version: i32,
    new: &NewState<'_>,
) -> Result<Option<i32>, StoreError> {
    let found = sqlx::query_scalar!(
        "select version from state_versions
         where workspace_id = $1 and graph_id = $2 and graph_version = $3
           and optimization_id = $4 and content_hash = $5
         order by version limit 1",
        scope.workspace,
        graph,
        graph_version,
        new.optimization,
        new.content_hash
    )
    .fetch_optional(connection)
    .await?;
    Ok(found)
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
                                     predictors, content_hash, created_at, created_by,
                                     optimization_id, dataset_hash)
         values ($1, $2, $3, $4, $5, $6, $7::text::json, $8, $9, $10, $11, $12)",
        graph,
        version,
        scope.workspace,
        graph_version,
        new.parent,
        new.score,
        new.predictors,
        new.content_hash,
        at,
        &*scope.actor,
        new.optimization,
        new.dataset_hash
    )
    .execute(connection)
    .await?;
    Ok(StateRow {
        version,
        graph_version,
        parent: new.parent,
        optimization: new.optimization,
        score: new.score,
        dataset_hash: new.dataset_hash.map(str::to_owned),
        predictors: new.predictors.to_owned(),
        content_hash: new.content_hash.to_owned(),
        created_at: at,
        created_by: scope.actor.to_string(),
    })
}
