//! Keys of clients.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::time::{timestamp, timestamp_or_null};
use super::{PageView, example};
use dsrs_app::KeyInWorkspace;
use dsrs_store::key::KeyLimits;

/// A key to be created.
#[derive(ToSchema)]
#[schema(as = KeyBody)]
pub struct KeyBody {
    /// The name: 1 to 64 letters, digits, `-`, `_` and `.`; no other key of the workspace has it.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]+$")]
    pub name: String,
    /// The scopes of the key; at least one of `read`, `execute`, `write` and `admin`.
    #[schema(value_type = Vec<KeyScopeName>, min_items = 1)]
    pub scopes: Vec<String>,
    /// The name of the workspace. Default: the caller's. Only `admin` keys of the workspace `default` may
    /// name another.
    pub workspace: Option<String>,
    /// The time when the key ends (RFC 3339, in the future). Default: never.
    #[schema(format = DateTime)]
    pub expires_at: Option<String>,
    /// The limits of the key. Default: none.
    pub limits: Option<KeyLimitsView>,
}

/// A scope of a key.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[allow(dead_code, reason = "describes words that are stored as text")]
pub enum KeyScopeName {
    /// Reads, and computes without a model.
    Read,
    /// Starts, cancels and signals runs and other jobs.
    Execute,
    /// Creates, changes, activates and deletes graphs, states and datasets.
    Write,
    /// Manages keys and workspaces and reads the audit log; includes all others.
    Admin,
}

/// The limits of a key. A limit that is absent or null does not apply.
#[derive(Serialize, ToSchema)]
#[schema(as = KeyLimits)]
pub struct KeyLimitsView {
    /// Requests in a minute.
    #[schema(minimum = 1)]
    pub requests_per_minute: Option<i64>,
    /// Runs that start in a minute.
    #[schema(minimum = 1)]
    pub runs_per_minute: Option<i64>,
    /// Runs at the same time.
    #[schema(minimum = 1)]
    pub concurrent_runs: Option<i64>,
    /// Tokens in a day (UTC).
    #[schema(minimum = 1)]
    pub tokens_per_day: Option<i64>,
    /// Money in a day (UTC), in the unit of the configured prices.
    #[schema(exclusive_minimum = 0)]
    pub cost_per_day: Option<f64>,
}

impl From<KeyLimits> for KeyLimitsView {
    fn from(limits: KeyLimits) -> Self {
        Self {
            requests_per_minute: limits.requests_per_minute,
            runs_per_minute: limits.runs_per_minute,
            concurrent_runs: limits.concurrent_runs,
            tokens_per_day: limits.tokens_per_day,
            cost_per_day: limits.cost_per_day,
        }
    }
}

/// A key, without its text.
#[derive(Serialize, ToSchema)]
#[schema(as = Key, examples(json!(KeyView::example())))]
pub struct KeyView<'a> {
    /// The id of the key.
    pub id: Uuid,
    /// The name of the key.
    pub name: &'a str,
    /// The name of its workspace.
    pub workspace: &'a str,
    /// The name by which other resources refer to the key, as in `created_by`.
    pub actor: &'a str,
    /// The first characters of the key.
    pub prefix: &'a str,
    /// The scopes of the key.
    #[schema(value_type = Vec<KeyScopeName>)]
    pub scopes: Vec<&'static str>,
    /// The limits of the key.
    pub limits: KeyLimitsView,
    /// The time when the key ends; null: never.
    #[serde(serialize_with = "timestamp_or_null")]
    #[schema(required)]
    pub expires_at: Option<DateTime<Utc>>,
    /// The time when the key was created.
    #[serde(serialize_with = "timestamp")]
    pub created_at: DateTime<Utc>,
    /// The actor that created the key.
    pub created_by: &'a str,
    /// The time when the key was revoked; null if it was not.
    #[serde(serialize_with = "timestamp_or_null")]
    #[schema(required)]
    pub revoked_at: Option<DateTime<Utc>>,
    /// The time when the key was last used, within about a minute; null: never.
    #[serde(serialize_with = "timestamp_or_null")]
    #[schema(required)]
    pub last_used_at: Option<DateTime<Utc>>,
}

impl<'a> From<&'a KeyInWorkspace> for KeyView<'a> {
    fn from(key: &'a KeyInWorkspace) -> Self {
        let KeyInWorkspace { row, workspace } = key;
        Self {
            id: row.id,
            name: &row.name,
            workspace,
            actor: &row.label,
            prefix: &row.prefix,
            scopes: row.scopes.words(),
            limits: row.limits.into(),
            expires_at: row.expires_at,
            created_at: row.created_at,
            created_by: &row.created_by,
            revoked_at: row.revoked_at,
            last_used_at: row.last_used_at,
        }
    }
}

impl KeyView<'static> {
    fn example() -> Self {
        Self {
            id: example::ID,
            name: "ci",
            workspace: "default",
            actor: "ci-6e2b7f0a",
            prefix: "dsrs_4f9a1b2c",
            scopes: vec!["read", "execute"],
            limits: KeyLimits { runs_per_minute: Some(60), ..KeyLimits::default() }.into(),
            expires_at: None,
            created_at: example::time(0),
            created_by: example::CLIENT,
            revoked_at: None,
            last_used_at: Some(example::time(0)),
        }
    }
}

/// A page of keys, newest first.
pub type KeyPage = PageView<KeyView<'static>>;

/// A new key with its text.
#[derive(Serialize, ToSchema)]
#[schema(as = CreatedKey, examples(json!(CreatedKeyView::example())))]
pub struct CreatedKeyView<'a> {
    /// The key, for `Authorization: Bearer`. It is shown only in this answer.
    pub key: &'a str,
    /// The key, as the server stores it.
    #[serde(flatten)]
    pub about: KeyView<'a>,
}

impl CreatedKeyView<'static> {
    fn example() -> Self {
        let key = "dsrs_4f9a1b2c0d3e5f60718293a4b5c6d7e8f901234567890abc";
        Self { key, about: KeyView::example() }
    }
}
