//! Workspaces: for now the store only looks the one up.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{Db, Scope, StoreError};

/// A workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceRow {
    /// Its id, carried by every row of every other table.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
}

/// The caller's workspace.
pub async fn get(scope: &Scope, db: &Db) -> Result<WorkspaceRow, StoreError> {
    sqlx::query_as!(
        WorkspaceRow,
        "select id, name, created_at from workspaces where id = $1",
        scope.workspace
    )
    .fetch_optional(&mut *db.scoped(scope).await?)
    .await?
    .ok_or_else(|| StoreError::not_found("workspace", scope.workspace))
}
