//! Which state is active, and how that changed: creation, promotion and rollback alike. It is changed by
//! `graph_edit`, which holds the graph's lock.

use chrono::{DateTime, Utc};
use sqlx::{FromRow, PgConnection};
use uuid::Uuid;

use super::state::StateRow;
use super::{Db, ListQuery, Page, Scope, StoreError};

/// The activation of a state for a graph version.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ActivationItem {
    /// Its number; later activations have greater ones.
    pub id: i64,
    /// The graph version for which it has been active since then.
    pub graph_version: i32,
    /// The state that was active before; none when the graph version was new.
    pub before: Option<i32>,
    /// The state that was activated.
    pub state_version: i32,
    /// The optimization that did it; a client did where there is none.
    pub optimization: Option<Uuid>,
    /// When.
    pub created_at: DateTime<Utc>,
    /// Who did it, or started the optimization that did.
    pub created_by: String,
}

/// One page of the activations of a graph, newest first; `before` is the last id of the page before.
pub async fn list(
    scope: &Scope,
    db: &Db,
    graph: Uuid,
    list: ListQuery<i64>,
) -> Result<Page<ActivationItem, i64>, StoreError> {
    let items = sqlx::query_as!(
        ActivationItem,
        r#"select a.id, s.graph_version, a.state_version, a.optimization_id as optimization,
                  a.created_at, a.created_by,
                  (select p.state_version from state_activations p
                   join state_versions t on t.graph_id = p.graph_id and t.version = p.state_version
                   where p.graph_id = a.graph_id and p.id < a.id
                     and t.graph_version = s.graph_version
                   order by p.id desc limit 1) as before
           from state_activations a
           join state_versions s on s.graph_id = a.graph_id and s.version = a.state_version
           where a.workspace_id = $1 and a.graph_id = $2
             and a.id < coalesce($3, 9223372036854775807)
           order by a.id desc limit $4"#,
        scope.workspace,
        graph,
        list.after,
        list.fetch_count()
    )
    .fetch_all(&mut *db.scoped(scope).await?)
    .await?;
    Ok(list.page(items, |item| item.id))
}

/// The activations of stored states in a span of time, newest first, at most `most`: promotions and rollbacks. A
/// state that was activated as it was created is none of them.
pub async fn moves(
    scope: &Scope,
    db: &Db,
    graph: Uuid,
    span: (DateTime<Utc>, DateTime<Utc>),
    most: i64,
) -> Result<Vec<ActivationItem>, StoreError> {
    let items = sqlx::query_as(
        "select a.id, s.graph_version, a.state_version, a.optimization_id as optimization,
                a.created_at, a.created_by,
                (select p.state_version from state_activations p
                 join state_versions t on t.graph_id = p.graph_id and t.version = p.state_version
                 where p.graph_id = a.graph_id and p.id < a.id
                   and t.graph_version = s.graph_version
                 order by p.id desc limit 1) as before
         from state_activations a
         join state_versions s on s.graph_id = a.graph_id and s.version = a.state_version
         where a.workspace_id = $1 and a.graph_id = $2 and a.created_at <> s.created_at
           and a.created_at >= $3 and a.created_at < $4
         order by a.id desc limit $5",
    );
    let items = items.bind(scope.workspace).bind(graph).bind(span.0).bind(span.1).bind(most);
    Ok(items.fetch_all(&mut *db.scoped(scope).await?).await?)
}

/// The active state for a graph version.
pub(super) async fn in_force(
    connection: &mut PgConnection,
    graph: Uuid,
    graph_version: i32,
) -> Result<i32, StoreError> {
    let found = sqlx::query_scalar!(
        "select state_version from states_in_force where graph_id = $1 and graph_version = $2",
        graph,
        graph_version
    )
    .fetch_one(connection)
    .await?;
    Ok(found)
}

/// The last activation by an optimization: the graph version and the state version.
pub(super) async fn made_by(
    connection: &mut PgConnection,
    workspace: Uuid,
    graph: Uuid,
    optimization: Uuid,
) -> Result<Option<(i32, i32)>, StoreError> {
    let found = sqlx::query!(
        "select s.graph_version, a.state_version from state_activations a
         join state_versions s on s.graph_id = a.graph_id and s.version = a.state_version
         where a.workspace_id = $1 and a.graph_id = $2 and a.optimization_id = $3
         order by a.id desc limit 1",
        workspace,
        graph,
        optimization
    )
    .fetch_optional(connection)
    .await?;
    Ok(found.map(|found| (found.graph_version, found.state_version)))
}

/// Moves the pointer of the state's graph version and records the move.
pub(super) async fn put_in_force(
    scope: &Scope,
    connection: &mut PgConnection,
    graph: Uuid,
    state: &StateRow,
    optimization: Option<Uuid>,
    at: DateTime<Utc>,
) -> Result<(), StoreError> {
    sqlx::query!(
        "with moved as (
             insert into states_in_force (graph_id, graph_version, workspace_id, state_version)
             values ($1, $2, $3, $4)
             on conflict (graph_id, graph_version) do update set state_version = $4
         )
         insert into state_activations (workspace_id, graph_id, state_version, created_at,
                                        created_by, optimization_id)
         values ($3, $1, $4, $5, $6, $7)",
        graph,
        state.graph_version,
        scope.workspace,
        state.version,
        at,
        &*scope.actor,
        optimization
    )
    .execute(connection)
    .await?;
    Ok(())
}
