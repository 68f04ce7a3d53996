//! Graphs: made, found, listed. Changing one is `graph_edit`.

use chrono::{DateTime, Utc};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, FromRow, PgConnection};
use uuid::Uuid;

use super::audit::{self, AuditAction, AuditThing};
use super::error::violated_index;
pub use super::graph_ref::GraphRef;
use super::graph_version::{self, NewGraphVersion};
use super::state::{self, NewState, StateRow};
use super::state_activation::put_in_force;
use super::{Cursor, Db, ListQuery, Page, Scope, StoreError};

/// Which of a graph's versions, and which state with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct VersionSelection {
    /// The newest when absent.
    pub version: Option<i32>,
    /// The active one for that graph version when absent.
    pub state_version: Option<i32>,
}

impl VersionSelection {
    /// The newest version with the active state.
    pub const NEWEST: Self = Self { version: None, state_version: None };
}

/// One version of a graph with one state that fits it.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct GraphRow {
    /// The graph's id.
    pub id: Uuid,
    pub name: String,
    /// Its newest version.
    pub newest_version: i32,
    /// The version that this row holds.
    pub version: i32,
    /// What that version says of itself.
    #[sqlx(json(nullable))]
    pub description: Option<String>,
    /// The format of `definition`.
    pub format: i32,
    /// The canonical definition, as stored.
    pub definition: String,
    /// The hash of `definition`.
    pub content_hash: String,
    /// When the graph was made.
    pub created_at: DateTime<Utc>,
    /// When this version was made.
    pub updated_at: DateTime<Utc>,
    /// Who made this version.
    pub created_by: String,
    /// The state asked for, or the active one.
    #[sqlx(flatten)]
    pub state: StateRow,
}

/// What a [`GraphRow`] is, without its documents: enough to look one up in a cache.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ResolvedGraph {
    /// The graph's id.
    pub id: Uuid,
    pub name: String,
    pub version: i32,
    pub state_version: i32,
    /// The hash of the definition.
    pub content_hash: String,
    pub state_hash: String,
}

/// One line of the list of graphs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphSummaryRow {
    /// The graph's id.
    pub id: Uuid,
    pub name: String,
    /// What its newest version says of itself.
    pub description: Option<String>,
    /// Its newest version.
    pub version: i32,
    /// The active state for that version.
    pub state_version: i32,
    /// When the graph was made.
    pub created_at: DateTime<Utc>,
    /// When its newest version was made.
    pub updated_at: DateTime<Utc>,
}

/// A graph to be made: version 1 with state 1, active.
#[derive(Clone, Debug)]
pub struct NewGraph<'a> {
    /// Its id, from the caller.
    pub id: Uuid,
    /// Its name, checked by the caller.
    pub name: &'a str,
    /// Version 1.
    pub version: NewGraphVersion<'a>,
    /// State 1.
    pub state: NewState<'a>,
    /// The time of all of it.
    pub at: DateTime<Utc>,
}

/// Makes a graph; a name in use is [`StoreError::AlreadyExists`].
pub async fn create(scope: &Scope, db: &Db, new: NewGraph<'_>) -> Result<GraphRow, StoreError> {
    let mut tx = db.begin(scope).await?;
    let inserted = sqlx::query!(
        "insert into graphs (id, workspace_id, name, version, state_version, created_at, created_by)
         values ($1, $2, $3, 1, 1, $4, $5)",
        new.id,
        scope.workspace,
        new.name,
        new.at,
        &*scope.actor
    )
    .execute(&mut *tx)
    .await;
    match inserted {
        Err(error) if violated_index(&error) == Some("graphs_name") => {
            let name = new.name.to_owned();
            return Err(StoreError::AlreadyExists { what: "graph", name });
        }
        other => other?,
    };
    graph_version::insert(scope, &mut tx, new.id, 1, &new.version, new.at).await?;
    let state = state::insert(scope, &mut tx, new.id, 1, 1, &new.state, new.at).await?;
    put_in_force(scope, &mut tx, new.id, &state, None, new.at).await?;
    let thing = AuditThing::named("graph", new.id, new.name).version(1);
    audit::add(scope, &mut tx, AuditAction::Create, thing, new.at).await?;
    db.commit_change(tx, new.id, new.name).await?;
    Ok(GraphRow {
        id: new.id,
        name: new.name.to_owned(),
        newest_version: 1,
        version: 1,
        description: new.version.description.map(str::to_owned),
        format: new.version.format,
        definition: new.version.definition.to_owned(),
        content_hash: new.version.content_hash.to_owned(),
        created_at: new.at,
        updated_at: new.at,
        created_by: scope.actor.to_string(),
        state,
    })
}

/// One version of a graph, its documents included.
pub async fn get(
    scope: &Scope,
    db: &Db,
    graph: &GraphRef,
    pick: VersionSelection,
) -> Result<GraphRow, StoreError> {
    let mut connection = db.scoped(scope).await?;
    if let Some(row) = find(scope, &mut connection, graph, pick).await? {
        return Ok(row);
    }
    drop(connection);
    Err(what_is_missing(scope, db, graph, pick).await)
}

pub(super) async fn find(
    scope: &Scope,
    connection: &mut PgConnection,
    graph: &GraphRef,
    pick: VersionSelection,
) -> Result<Option<GraphRow>, StoreError> {
    let columns = format!(
        "g.id, g.name, g.version as newest_version, g.created_at, v.version, v.description, v.format,
         v.definition::text, v.content_hash, v.created_at as updated_at, v.created_by, {}",
        state::COLUMNS
    );
    let row: Option<GraphRow> = select(scope, connection, &columns, graph, pick).await?;
    let Some(row) = row else { return Ok(None) };
    fits(row.state.version, row.state.graph_version, row.version)?;
    Ok(Some(row))
}

/// What [`get`] would find, without the documents: for callers with a cache by hash.
pub async fn pin(
    scope: &Scope,
    db: &Db,
    graph: &GraphRef,
    pick: VersionSelection,
) -> Result<ResolvedGraph, StoreError> {
    let columns = "g.id, g.name, v.version, v.content_hash, s.version as state_version,
                   s.graph_version, s.content_hash as state_hash";
    let mut connection = db.scoped(scope).await?;
    let row: Option<PinnedRow> = select(scope, &mut connection, columns, graph, pick).await?;
    drop(connection);
    let Some(PinnedRow { pin, graph_version }) = row else {
        return Err(what_is_missing(scope, db, graph, pick).await);
    };
    fits(pin.state_version, graph_version, pin.version)?;
    Ok(pin)
}

/// A [`ResolvedGraph`] with the graph version that its state fits.
#[derive(FromRow)]
struct PinnedRow {
    #[sqlx(flatten)]
    pin: ResolvedGraph,
    graph_version: i32,
}

/// Selects columns of a graph `g`, one of its versions `v`, and a state `s`.
async fn select<R: for<'r> FromRow<'r, PgRow> + Send + Unpin>(
    scope: &Scope,
    connection: &mut PgConnection,
    columns: &str,
    graph: &GraphRef,
    pick: VersionSelection,
) -> Result<Option<R>, StoreError> {
    let sql = format!(
        "select {columns}
         from graphs g
         join graph_versions v on v.graph_id = g.id and v.version = coalesce($4, g.version)
         join states_in_force f on f.graph_id = g.id and f.graph_version = v.version
         join state_versions s on s.graph_id = g.id and s.version = coalesce($5, f.state_version)
         where g.workspace_id = $1 and g.deleted_at is null and (g.id = $2 or g.name = $3)"
    );
    let row = sqlx::query_as(AssertSqlSafe(sql)).bind(scope.workspace);
    let row = row.bind(graph.id()).bind(graph.name()).bind(pick.version).bind(pick.state_version);
    Ok(row.fetch_optional(connection).await?)
}

/// One page of the graphs that are not deleted, newest first.
pub async fn list(
    scope: &Scope,
    db: &Db,
    list: ListQuery,
) -> Result<Page<GraphSummaryRow>, StoreError> {
    let rows = sqlx::query!(
        r#"select g.id, g.name, v.description::text, g.version, f.state_version, g.created_at,
                  v.created_at as updated_at
           from graphs g
           join graph_versions v on v.graph_id = g.id and v.version = g.version
           join states_in_force f on f.graph_id = g.id and f.graph_version = g.version
           where g.workspace_id = $1 and g.deleted_at is null
             and (g.created_at, g.id) < (coalesce($2::timestamptz, 'infinity'),
                                      coalesce($3, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid))
           order by g.created_at desc, g.id desc limit $4"#,
        scope.workspace,
        list.after.map(|cursor| cursor.created_at),
        list.after.map(|cursor| cursor.id),
        list.fetch_count()
    )
    .fetch_all(&mut *db.scoped(scope).await?)
    .await?;
    let items = rows.into_iter().map(|row| {
        Ok(GraphSummaryRow {
            id: row.id,
            name: row.name,
            description: graph_version::decode_description(row.description)?,
            version: row.version,
            state_version: row.state_version,
            created_at: row.created_at,
            updated_at: row.updated_at,
        })
    });
    let items = items.collect::<Result<Vec<_>, StoreError>>()?;
    Ok(list.page(items, |item| Cursor { created_at: item.created_at, id: item.id }))
}

/// A graph's id, for the nouns that live under it.
pub async fn id_of(scope: &Scope, db: &Db, graph: &GraphRef) -> Result<Uuid, StoreError> {
    sqlx::query_scalar!(
        "select id from graphs
         where workspace_id = $1 and deleted_at is null and (id = $2 or name = $3)",
        scope.workspace,
        graph.id(),
        graph.name()
    )
    .fetch_optional(&mut *db.scoped(scope).await?)
    .await?
    .ok_or_else(|| graph.not_found())
}

/// A state may only go with the graph version that it was made for.
pub(super) fn fits(state_version: i32, fits: i32, graph_version: i32) -> Result<(), StoreError> {
    if fits == graph_version {
        return Ok(());
    }
    Err(StoreError::StateMismatch { state_version, fits, graph_version })
}

/// Whether the graph or only the version is missing, after a query that found nothing.
async fn what_is_missing(
    scope: &Scope,
    db: &Db,
    graph: &GraphRef,
    pick: VersionSelection,
) -> StoreError {
    let id = match id_of(scope, db, graph).await {
        Ok(id) => id,
        Err(error) => return error,
    };
    if let Some(version) = pick.version {
        match graph_version::exists(scope, db, id, version).await {
            Ok(true) => {}
            Ok(false) => return StoreError::not_found("graph version", version),
            Err(error) => return error,
        }
    }
    match pick.state_version {
        Some(version) => StoreError::not_found("state version", version),
        None => graph.not_found(),
    }
}
