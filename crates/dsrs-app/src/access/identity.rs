//! A caller: its workspace, its name, and what its key allows. May not know where the key is stored.

use uuid::Uuid;

use crate::AppError;
use dsrs_api::key::KeyLimits;
use dsrs_store::Scope;
use dsrs_store::key_scope::{KeyScope, KeyScopes};
use dsrs_store::scope::DEFAULT_WORKSPACE;

/// A caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// Its workspace and the name that is stored with its rows.
    pub scope: Scope,
    /// What it may do.
    pub scopes: KeyScopes,
    /// Its key, if that is in the database.
    pub key: Option<IdentityKey>,
}

/// What is to be counted of a caller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IdentityKey {
    pub id: Uuid,
    pub limits: KeyLimits,
}

impl Identity {
    /// A caller that may do everything, in the workspace `default`.
    #[must_use]
    pub fn administrator(actor: &str) -> Self {
        Self { scope: Scope::of(actor), scopes: KeyScopes::ALL, key: None }
    }

    /// A caller that may do nothing.
    #[must_use]
    pub fn without_rights() -> Self {
        let scope = Scope { workspace: Uuid::nil(), actor: "".into() };
        Self { scope, scopes: KeyScopes::NONE, key: None }
    }

    /// Refuses it if its key lacks a scope.
    ///
    /// # Errors
    /// `Forbidden`, with the scopes that the key has.
    pub fn require(&self, scope: KeyScope) -> Result<(), AppError> {
        if self.scopes.allow(scope) {
            return Ok(());
        }
        let has = match self.scopes.is_empty() {
            true => "no scope".to_owned(),
            false => format!("`{}`", self.scopes.words().join("`, `")),
        };
        let detail =
            format!("this needs a key with the scope `{scope}`; the key of this request has {has}");
        Err(AppError::Forbidden(detail))
    }

    /// Whether it may manage workspaces, and keys of all of them.
    #[must_use]
    pub fn is_operator(&self) -> bool {
        self.is_of_default_workspace() && self.scopes.allow(KeyScope::Admin)
    }

    /// Whether it may see what is of the whole server.
    #[must_use]
    pub fn is_of_default_workspace(&self) -> bool {
        self.scope.workspace == DEFAULT_WORKSPACE
    }
}
