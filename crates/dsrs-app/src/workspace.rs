//! Workspaces: created, listed, found. May not know who may do so.

use dsrs_api::plain_name::PlainName;
use dsrs_api::workspace::WorkspaceRequest;
use uuid::Uuid;

use crate::AppError;
use crate::clock::now;
use dsrs_store::workspace::{self, WorkspaceRow};
use dsrs_store::{Db, ListQuery, Page, Scope, StoreError};

pub async fn workspace_create(
    scope: &Scope,
    db: &Db,
    request: &WorkspaceRequest,
) -> Result<WorkspaceRow, AppError> {
    Ok(workspace::create(scope, db, Uuid::now_v7(), &request.name, now()).await?)
}

/// One page of workspaces, newest first.
pub async fn workspace_list(
    scope: &Scope,
    db: &Db,
    list: ListQuery,
) -> Result<Page<WorkspaceRow>, AppError> {
    Ok(workspace::list(scope, db, list).await?)
}

pub async fn workspace_get(scope: &Scope, db: &Db, name: &str) -> Result<WorkspaceRow, AppError> {
    let Some(name) = PlainName::parse(name) else {
        return Err(StoreError::not_found("workspace", name).into());
    };
    Ok(workspace::named(scope, db, name.as_str()).await?)
}
