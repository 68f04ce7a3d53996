//! Keys of clients: created, listed, revoked. The text of a key exists only in the answer to its creation.
//! The command line uses these functions without an [`App`](crate::App).

use std::sync::Arc;

use chrono::{DateTime, Utc};
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::AppError;
use crate::access::{Identity, digest_of};
use crate::clock::now;
use dsrs_api::key::{KeyLimits, KeyRequest};
use dsrs_api::plain_name::PlainName;
use dsrs_store::key::{self, KeyRow, NewKey};
use dsrs_store::{Db, ListQuery, Page, Scope, StoreError, workspace};

/// What every key begins with, so that scanners of secrets recognize one.
const MARK: &str = "dsrs_";

/// The random bytes of a key.
const RANDOM_BYTES: usize = 24;

/// The characters of a key that are shown later.
const SHOWN: usize = MARK.len() + 8;

/// The bytes of the digest in a label.
const LABEL_BYTES: usize = 4;

/// A key and the workspace that it belongs to.
pub struct KeyInWorkspace {
    pub row: KeyRow,
    /// The name of the workspace.
    pub workspace: Arc<str>,
}

/// A new key with its text, which is shown once.
pub struct CreatedKey {
    pub key: KeyInWorkspace,
    pub text: SecretString,
}

/// The keys of one workspace, for one who may manage them.
pub struct KeyAdministration<'a> {
    db: &'a Db,
    scope: Scope,
    workspace: Arc<str>,
    /// Whether the key of the caller has limits.
    is_limited: bool,
}

/// The refusal of a caller whose key has limits.
const LIMITED: &str = "a key with limits creates no keys, because what those use would not count for it; use \
     an `admin` key without limits";

/// The refusal of a caller that names another workspace.
const OTHER_WORKSPACE: &str = "this key manages only its own workspace; for others use an `admin` key of \
     the workspace `default`";

impl<'a> KeyAdministration<'a> {
    /// The keys of the workspace of this name, or of the caller's own. Only operators manage others; anyone
    /// else receives the same answer whether the workspace exists or not.
    pub async fn open(
        db: &'a Db,
        caller: &Identity,
        named: Option<&str>,
    ) -> Result<Self, AppError> {
        let own = &caller.scope;
        let found = match named {
            Some(name) if caller.is_operator() => {
                let plain = PlainName::parse(name);
                let plain = plain.ok_or_else(|| StoreError::not_found("workspace", name))?;
                workspace::named(own, db, plain.as_str()).await?
            }
            _ => workspace::get(own, db).await?,
        };
        if named.is_some_and(|name| name != found.name) {
            return Err(AppError::Forbidden(OTHER_WORKSPACE.to_owned()));
        }
        let scope = Scope { workspace: found.id, actor: own.actor.clone() };
        let is_limited = caller.key.is_some_and(|key| key.limits != KeyLimits::default());
        Ok(Self { db, scope, workspace: found.name.into(), is_limited })
    }

    /// Creates a key that ends at a time, which takes the place of the text of the request.
    ///
    /// # Errors
    /// If the key of the caller has limits, besides those of the database.
    pub async fn create(
        &self,
        request: &KeyRequest,
        expires_at: Option<DateTime<Utc>>,
    ) -> Result<CreatedKey, AppError> {
        if self.is_limited {
            return Err(AppError::Forbidden(LIMITED.to_owned()));
        }
        let text = random_text()?;
        let digest = digest_of(text.expose_secret());
        let name = &request.name;
        let new = NewKey {
            id: Uuid::now_v7(),
            name,
            label: &label(name, &digest),
            prefix: text.expose_secret().get(..SHOWN).unwrap_or(MARK),
            digest: &digest,
            scopes: request.scopes.iter().copied().collect(),
            limits: request.limits,
            expires_at,
            at: now(),
        };
        let row = key::create(&self.scope, self.db, new).await?;
        Ok(CreatedKey { key: self.shown(row), text })
    }

    /// One page of keys, newest first.
    pub async fn list(&self, list: ListQuery) -> Result<Page<KeyInWorkspace>, AppError> {
        let Page { items, next } = key::list(&self.scope, self.db, list).await?;
        Ok(Page { items: items.into_iter().map(|row| self.shown(row)).collect(), next })
    }

    pub async fn get(&self, id: Uuid) -> Result<KeyInWorkspace, AppError> {
        Ok(self.shown(key::get(&self.scope, self.db, id).await?))
    }

    /// The key of a name or an id, if it is not revoked.
    pub async fn find(&self, reference: &str) -> Result<KeyInWorkspace, AppError> {
        match Uuid::try_parse(reference) {
            Ok(id) => self.get(id).await,
            Err(_) => Ok(self.shown(key::named(&self.scope, self.db, reference).await?)),
        }
    }

    /// Revokes a key. It stays listed.
    pub async fn revoke(&self, id: Uuid) -> Result<KeyInWorkspace, AppError> {
        Ok(self.shown(key::revoke(&self.scope, self.db, id, now()).await?))
    }

    fn shown(&self, row: KeyRow) -> KeyInWorkspace {
        KeyInWorkspace { row, workspace: self.workspace.clone() }
    }
}

fn random_text() -> Result<SecretString, AppError> {
    let mut bytes = [0; RANDOM_BYTES];
    getrandom::fill(&mut bytes)
        .map_err(|error| AppError::Internal(format!("no random bytes: {error}")))?;
    Ok(SecretString::from(format!("{MARK}{}", hex(&bytes))))
}

/// A name that no other key of the workspace has, not even a later one of the same name.
fn label(name: &str, digest: &[u8; 32]) -> String {
    format!("{name}-{}", hex(digest.get(..LABEL_BYTES).unwrap_or_default()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_random_and_recognizable() {
        let (one, other) = (random_text().unwrap(), random_text().unwrap());
        let (one, other) = (one.expose_secret(), other.expose_secret());
        assert!(one != other && one.starts_with("dsrs_"), "{one}");
        assert_eq!(one.len(), "dsrs_".len() + 48, "192 bits");
    }

    #[test]
    fn a_name_has_no_spaces_slashes_or_control_characters() {
        for name in ["ci", "team-a.nightly_2", &"x".repeat(64)] {
            assert!(PlainName::parse(name).is_some(), "{name}");
        }
        for wrong in ["", "a b", "a/b", "ü", "a\0", &"x".repeat(65)] {
            assert!(PlainName::parse(wrong).is_none(), "{wrong}");
        }
    }
}
