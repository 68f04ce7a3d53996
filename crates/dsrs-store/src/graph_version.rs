//! The versions of a graph: written once, listed newest first.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Db, ListQuery, Page, Scope, StoreError};

/// A version to be written.
#[derive(Clone, Debug)]
pub struct NewGraphVersion<'a> {
    /// What the definition says of itself; also stored beside it, for lists.
    pub description: Option<&'a str>,
    /// The format of `definition`.
    pub format: i32,
    /// The canonical definition: JSON text, stored as it is.
    pub definition: &'a str,
    /// The hash of `definition`.
    pub content_hash: &'a str,
    /// What the definition declares of its exposure, as JSON; also stored beside it, for look-ups.
    pub expose: Option<String>,
}

/// One line of a graph's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphVersionRow {
    pub version: i32,
    /// What it says of itself.
    pub description: Option<String>,
    /// The hash of its definition.
    pub content_hash: String,
    /// The active state for it.
    pub state_version: i32,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// Who made it.
    pub created_by: String,
}

/// One page of a graph's versions, newest first; `before` is the last version of the page before.
pub async fn list(
    scope: &Scope,
    db: &Db,
    graph: Uuid,
    list: ListQuery<i32>,
) -> Result<Page<GraphVersionRow, i32>, StoreError> {
    let rows = sqlx::query!(
        r#"select v.version, v.description::text, v.content_hash, f.state_version, v.created_at,
                  v.created_by
           from graph_versions v
           join states_in_force f on f.graph_id = v.graph_id and f.graph_version = v.version
           where v.workspace_id = $1 and v.graph_id = $2 and v.version < coalesce($3, 2147483647)
           order by v.version desc limit $4"#,
        scope.workspace,
        graph,
        list.after,
        list.fetch_count()
    )
    .fetch_all(&mut *db.scoped(scope).await?)
    .await?;
    let items = rows.into_iter().map(|row| {
        Ok(GraphVersionRow {
            version: row.version,
            description: decode_description(row.description)?,
            content_hash: row.content_hash,
            state_version: row.state_version,
            created_at: row.created_at,
            created_by: row.created_by,
        })
    });
    let items = items.collect::<Result<Vec<_>, StoreError>>()?;
    Ok(list.page(items, |item| item.version))
}

pub(super) async fn insert(
    scope: &Scope,
    connection: &mut PgConnection,
    graph: Uuid,
    version: i32,
    new: &NewGraphVersion<'_>,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into graph_versions (graph_id, version, workspace_id, description, format,
                                     definition, content_hash, created_at, created_by, expose)
         values ($1, $2, $3, $4::text::json, $5, $6::text::json, $7, $8, $9, $10::text::json)",
        graph,
        version,
        scope.workspace,
        encode_description(new.description)?,
        new.format,
        new.definition,
        new.content_hash,
        at,
        &*scope.actor,
        new.expose
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub(super) async fn exists(
    scope: &Scope,
    db: &Db,
    graph: Uuid,
    version: i32,
) -> Result<bool, StoreError> {
    let found = sqlx::query_scalar!(
        "select version from graph_versions
         where workspace_id = $1 and graph_id = $2 and version = $3",
        scope.workspace,
        graph,
        version
    )
    .fetch_optional(&mut *db.scoped(scope).await?)
    .await?;
    Ok(found.is_some())
}

/// A description is stored as a JSON string: a text column cannot hold U+0000.
fn encode_description(description: Option<&str>) -> Result<Option<String>, StoreError> {
    let encode =
        |text| serde_json::to_string(text).map_err(|error| StoreError::Internal(error.into()));
    description.map(encode).transpose()
}

pub(super) fn decode_description(stored: Option<String>) -> Result<Option<String>, StoreError> {
    let decode = |text: String| {
        serde_json::from_str(&text).map_err(|error| StoreError::Internal(error.into()))
    };
    stored.map(decode).transpose()
}

/// What a run runs: a definition and a state that fits it, each with its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedDefinition {
    /// The canonical definition.
    pub definition: String,
    /// The hash of `definition`.
    pub content_hash: String,
    /// The overrides by predictor path.
    pub predictors: String,
    /// The hash of `predictors`.
    pub state_hash: String,
}

/// A graph version with a state version, also when the graph has been deleted since: what a run
/// was accepted for, it is run for.
pub async fn recorded(
    scope: &Scope,
    db: &Db,
    graph: Uuid,
    version: i32,
    state_version: i32,
) -> Result<RecordedDefinition, StoreError> {
    sqlx::query_as!(
        RecordedDefinition,
        r#"select v.definition::text as "definition!", v.content_hash,
                  s.predictors::text as "predictors!", s.content_hash as state_hash
           from graph_versions v
           join state_versions s on s.graph_id = v.graph_id and s.graph_version = v.version
           where v.workspace_id = $1 and v.graph_id = $2 and v.version = $3 and s.version = $4"#,
        scope.workspace,
        graph,
        version,
        state_version
    )
    .fetch_optional(&mut *db.scoped(scope).await?)
    .await?
    .ok_or_else(|| StoreError::not_found("graph version", version))
}
