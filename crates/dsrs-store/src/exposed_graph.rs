//! The graphs whose newest version declares how clients of other protocols reach it.

use sqlx::{FromRow, PgConnection, Postgres, Transaction};
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use super::{Db, Scope, StoreError};

/// The most exposed graphs of a workspace that are read.
pub const MOST_EXPOSED: i64 = 10_000;

/// A graph and what its newest version declares.
#[derive(Clone, Debug, PartialEq, FromRow)]
pub struct ExposedGraphRow {
    /// The graph's id.
    pub id: Uuid,
    pub name: String,
    /// The member `expose` of its definition.
    pub expose: String,
}

const LIST: &str = "
    select g.id, g.name, v.expose::text as expose
    from graph_versions v
    join graphs g on g.id = v.graph_id and g.version = v.version
    where v.workspace_id = $1 and g.workspace_id = $1 and v.expose is not null and g.deleted_at is null
    order by g.created_at, g.id limit $2";

/// The exposed graphs of a workspace, oldest first.
pub async fn list(scope: &Scope, db: &Db) -> Result<Vec<ExposedGraphRow>, StoreError> {
    let rows = sqlx::query_as(LIST).bind(scope.workspace).bind(MOST_EXPOSED);
    Ok(rows.fetch_all(&mut *db.scoped(scope).await?).await?)
}

const TURN: &str =
    "select pg_advisory_xact_lock(hashtextextended('exposed graphs of ' || $1::uuid::text, 0))";

/// The turn to take names in a workspace. Dropping it passes it on.
pub struct ExposureTurn {
    _tx: Transaction<'static, Postgres>,
    _place: OwnedSemaphorePermit,
}

/// Waits for the turn to take names in a workspace. Its connection counts as that of a writer of graphs.
pub async fn take_turn(scope: &Scope, db: &Db) -> Result<ExposureTurn, StoreError> {
    let place = db.graph_place().await?;
    let mut tx = db.begin(scope).await?;
    await_turn(scope, &mut tx).await?;
    Ok(ExposureTurn { _tx: tx, _place: place })
}

/// Waits for the turn, which lasts as long as the transaction.
pub(super) async fn await_turn(
    scope: &Scope,
    connection: &mut PgConnection,
) -> Result<(), StoreError> {
    sqlx::query(TURN).bind(scope.workspace).execute(connection).await?;
    Ok(())
}
