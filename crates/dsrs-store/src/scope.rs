//! The scope of a call: a workspace and a caller. May not know how a caller was authenticated.

use std::sync::Arc;

use uuid::Uuid;

/// The workspace that the migrations make.
pub const DEFAULT_WORKSPACE: Uuid = Uuid::from_u128(0x00000000_0000_7000_8000_000000000001);

/// The caller: which workspace it sees, and the name that is stored with its rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    /// Nothing outside this workspace is seen or written.
    pub workspace: Uuid,
    /// The label of the caller's key, or `anonymous`; stored as `created_by`.
    pub actor: Arc<str>,
}

/// What belongs to one workspace: with it the database shows only the rows of that workspace.
pub trait InWorkspace: Sync {
    fn workspace(&self) -> Uuid;
}

impl InWorkspace for Scope {
    fn workspace(&self) -> Uuid {
        self.workspace
    }
}

impl Scope {
    /// The default workspace, seen by `actor`.
    pub fn of(actor: impl Into<Arc<str>>) -> Self {
        Self { workspace: DEFAULT_WORKSPACE, actor: actor.into() }
    }

    /// A workspace, as its upkeep sees it.
    pub fn upkeep(workspace: Uuid) -> Self {
        Self { workspace, actor: Arc::from("housekeeping") }
    }
}
