//! API keys: what clients say of a new one, and the scopes and limits that all of them have.

use std::fmt;

use dsrs::document::word_of;
use facet::Facet;
use serde::Serialize;

use crate::plain_name::PLAIN_NAME;
use crate::time::TIME;

/// A key to be created.
#[derive(Clone, Debug, PartialEq, Facet)]
#[facet(dsrs::schema("KeyBody"))]
pub struct KeyRequest {
    /// The name: 1 to 64 letters, digits, `-`, `_` and `.`; no other key of the workspace has it.
    #[facet(dsrs::text(&PLAIN_NAME))]
    pub name: String,
    /// The scopes of the key; at least one of `read`, `execute`, `write` and `admin`.
    #[facet(dsrs::items(1))]
    pub scopes: Vec<KeyScope>,
    /// The name of the workspace. Default: the caller's. Only `admin` keys of the workspace `default` may
    /// name another.
    pub workspace: Option<String>,
    /// The time when the key ends (RFC 3339, in the future). Default: never.
    #[facet(dsrs::text(&TIME))]
    pub expires_at: Option<String>,
    /// The limits of the key. Default: none.
    #[facet(default)]
    pub limits: KeyLimits,
}

/// A scope of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Facet)]
#[facet(rename_all = "lowercase", dsrs::schema("KeyScopeName"))]
#[repr(u8)]
pub enum KeyScope {
    /// Reads, and computes without a model.
    Read,
    /// Starts, cancels and signals runs and other jobs.
    Execute,
    /// Creates, changes, activates and deletes graphs, states and datasets.
    Write,
    /// Manages keys and workspaces and reads the audit log. Includes all other scopes.
    Admin,
}

impl KeyScope {
    /// Every scope.
    pub const ALL: [Self; 4] = [Self::Read, Self::Execute, Self::Write, Self::Admin];

    /// The word that is stored and shown.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        word_of(&self)
    }

    /// The scope of a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
    }
}

impl fmt::Display for KeyScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The limits of a key. A limit that is absent or null does not apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Facet, Serialize)]
pub struct KeyLimits {
    /// Requests in a minute.
    #[facet(dsrs::minimum(1))]
    pub requests_per_minute: Option<i64>,
    /// Runs that start in a minute.
    #[facet(dsrs::minimum(1))]
    pub runs_per_minute: Option<i64>,
    /// Runs at the same time.
    #[facet(dsrs::minimum(1))]
    pub concurrent_runs: Option<i64>,
    /// Tokens in a day (UTC).
    #[facet(dsrs::minimum(1))]
    pub tokens_per_day: Option<i64>,
    /// Money in a day (UTC), in the unit of the configured prices.
    #[facet(dsrs::above(0))]
    pub cost_per_day: Option<f64>,
}
