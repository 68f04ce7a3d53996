//! Workspaces: created, listed, found. Who may do so is decided above: these functions see all workspaces,
//! and the scope only names who acts.

use chrono::{DateTime, Utc};
use sqlx::{Connection, FromRow, Postgres, QueryBuilder};
use uuid::Uuid;

use super::audit::{self, AuditAction, AuditThing};
use super::error::violated_index;
use super::page::ListedRow;
use super::{Cursor, Db, ListQuery, Page, Scope, StoreError};

#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct WorkspaceRow {
    /// Its id, carried by every row of every other table.
    pub id: Uuid,
    pub name: String,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// By whom.
    pub created_by: String,
}

impl ListedRow for WorkspaceRow {
    fn cursor(&self) -> Cursor {
        Cursor { created_at: self.created_at, id: self.id }
    }
}

/// The caller's workspace.
pub async fn get(scope: &Scope, db: &Db) -> Result<WorkspaceRow, StoreError> {
    let row =
        sqlx::query_as("select id, name, created_at, created_by from workspaces where id = $1")
            .bind(scope.workspace);
    let row = row.fetch_optional(&mut *db.all_workspaces().await?).await?;
    row.ok_or_else(|| StoreError::not_found("workspace", scope.workspace))
}

pub async fn named(_: &Scope, db: &Db, name: &str) -> Result<WorkspaceRow, StoreError> {
    let row =
        sqlx::query_as("select id, name, created_at, created_by from workspaces where name = $1")
            .bind(name);
    row.fetch_optional(&mut *db.all_workspaces().await?)
        .await?
        .ok_or_else(|| StoreError::not_found("workspace", name))
}

/// Creates a workspace. A name in use is [`StoreError::AlreadyExists`].
pub async fn create(
    scope: &Scope,
    db: &Db,
    id: Uuid,
    name: &str,
    at: DateTime<Utc>,
) -> Result<WorkspaceRow, StoreError> {
    let mut connection = db.all_workspaces().await?;
    let mut tx = connection.begin().await?;
    let inserted = sqlx::query_as(
        "insert into workspaces (id, name, created_at, created_by) values ($1, $2, $3, $4)
         returning id, name, created_at, created_by",
    );
    let inserted = inserted.bind(id).bind(name).bind(at).bind(&*scope.actor);
    let row: WorkspaceRow = match inserted.fetch_one(&mut *tx).await {
        Err(error) if violated_index(&error) == Some("workspaces_name_key") => {
            return Err(StoreError::AlreadyExists { what: "workspace", name: name.to_owned() });
        }
        other => other?,
    };
    let thing = AuditThing::named("workspace", id, name);
    audit::add(scope, &mut tx, AuditAction::Create, thing, at).await?;
    tx.commit().await?;
    Ok(row)
}

/// One page of the workspaces, newest first.
pub async fn list(_: &Scope, db: &Db, list: ListQuery) -> Result<Page<WorkspaceRow>, StoreError> {
    let sql = "select id, name, created_at, created_by from workspaces where true";
    list.newest_first(&mut *db.all_workspaces().await?, QueryBuilder::<Postgres>::new(sql), "")
        .await
}

/// The ids of all workspaces, for upkeep.
pub async fn all(db: &Db) -> Result<Vec<Uuid>, StoreError> {
    Ok(sqlx::query_scalar("select id from workspaces")
        .fetch_all(&mut *db.all_workspaces().await?)
        .await?)
}
