//! Workspaces.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::document::SchemaPart;
use super::time::timestamp;
use super::{PageView, example};
use dsrs_api::workspace::WorkspaceRequest;
use dsrs_store::workspace::WorkspaceRow;

/// A workspace to be created.
pub type WorkspaceBody = SchemaPart<WorkspaceRequest>;

/// A workspace.
#[derive(Serialize, ToSchema)]
#[schema(as = Workspace, examples(json!(WorkspaceView::example())))]
pub struct WorkspaceView<'a> {
    /// The id of the workspace.
    pub id: Uuid,
    /// The name of the workspace.
    pub name: &'a str,
    /// The time when the workspace was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The actor that created the workspace.
    pub created_by: &'a str,
}

impl<'a> From<&'a WorkspaceRow> for WorkspaceView<'a> {
    fn from(row: &'a WorkspaceRow) -> Self {
        Self {
            id: row.id,
            name: &row.name,
            created_at: row.created_at,
            created_by: &row.created_by,
        }
    }
}

impl WorkspaceView<'static> {
    fn example() -> Self {
        Self {
            id: example::ID,
            name: "team-a",
            created_at: example::time(0),
            created_by: example::CLIENT,
        }
    }
}

/// A page of workspaces, newest first.
pub type WorkspacePage = PageView<WorkspaceView<'static>>;
