//! Keys of clients.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::document::SchemaPart;
use super::time::{timestamp, timestamp_or_null};
use super::{PageView, example};
use dsrs_api::key::{KeyLimits, KeyRequest, KeyScope};
use dsrs_app::KeyInWorkspace;

/// A key to be created.
pub type KeyBody = SchemaPart<KeyRequest>;

/// The limits of a key.
type KeyLimitsPart = SchemaPart<KeyLimits>;

/// A scope of a key.
pub type KeyScopeName = SchemaPart<KeyScope>;

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
    #[schema(value_type = KeyLimitsPart)]
    pub limits: KeyLimits,
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
            limits: row.limits,
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
            limits: KeyLimits { runs_per_minute: Some(60), ..KeyLimits::default() },
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
