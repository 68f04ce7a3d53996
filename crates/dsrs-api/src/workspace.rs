//! Workspaces: what clients say of a new one.

use facet::Facet;

use crate::plain_name::PLAIN_NAME;

/// A workspace to be created.
#[derive(Clone, Debug, PartialEq, Facet)]
#[facet(dsrs::schema("WorkspaceBody"))]
pub struct WorkspaceRequest {
    /// The name: 1 to 64 letters, digits, `-`, `_` and `.`; no other workspace has it.
    #[facet(dsrs::text(&PLAIN_NAME))]
    pub name: String,
}
