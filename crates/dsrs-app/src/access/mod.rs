//! Who calls: the keys of the settings and of the database, and what they may do. Keys of the database are
//! read all at once and cached until one changes. May not know HTTP.

mod identity;
mod key_table;
mod key_uses;

use std::collections::HashMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::AppError;
use dsrs_config::ApiKeys;
use dsrs_store::{Db, Scope};

pub use identity::{Identity, IdentityKey};
use key_table::KeyTables;
use key_uses::KeyUses;

/// Recognizes callers by their keys. Cheap to ask: no query as long as no key changes.
pub struct Access {
    configured: ApiKeys,
    /// The callers with a key of the settings, by the names of the keys.
    administrators: HashMap<String, Arc<Identity>>,
    anonymous: Arc<Identity>,
    /// `None` only in tests without a database.
    stored: Option<KeyTables>,
    uses: KeyUses,
}

impl Access {
    /// The keys of the settings and those of a database.
    #[must_use]
    pub fn new(configured: &ApiKeys, db: Option<Db>) -> Self {
        let administrator = |name: &str| (name.to_owned(), Arc::new(Identity::administrator(name)));
        Self {
            administrators: configured.names().map(administrator).collect(),
            configured: configured.clone(),
            anonymous: Arc::new(Identity::administrator("anonymous")),
            stored: db.map(KeyTables::new),
            uses: KeyUses::default(),
        }
    }

    /// Whether callers need a key: one is configured, or the database has one. Keys that are revoked or
    /// have expired count, so that the end of the last key does not open the server.
    ///
    /// # Errors
    /// If the database cannot be read, unless it was read before and had no key.
    pub async fn requires_key(&self) -> Result<bool, AppError> {
        if !self.configured.is_empty() {
            return Ok(true);
        }
        match &self.stored {
            Some(stored) => stored.exist().await,
            None => Ok(false),
        }
    }

    /// The caller who presents this key; `None` if the key is unknown, revoked or expired.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn identify(&self, presented: &str) -> Result<Option<Arc<Identity>>, AppError> {
        if let Some(name) = self.configured.identify(presented) {
            return Ok(self.administrators.get(name).cloned());
        }
        let Some(stored) = &self.stored else { return Ok(None) };
        let caller = stored.find(&digest_of(presented)).await?;
        if let Some(key) = caller.as_ref().and_then(|caller| caller.key) {
            self.uses.add(key.id);
        }
        Ok(caller)
    }

    /// The caller of this name in this workspace, without its key; `None` if the key was revoked or has expired.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub(crate) async fn of_actor(&self, scope: &Scope) -> Result<Option<Arc<Identity>>, AppError> {
        let configured = self.administrators.values().find(|known| known.scope == *scope);
        if let Some(known) = configured {
            return Ok(Some(known.clone()));
        }
        if self.anonymous.scope == *scope {
            return Ok((!self.requires_key().await?).then(|| self.anonymous()));
        }
        match &self.stored {
            Some(stored) => stored.of_actor(scope).await,
            None => Ok(None),
        }
    }

    /// Writes when keys are used, for as long as the server runs.
    pub(crate) async fn write_uses(&self, db: &Db) {
        self.uses.write_always(db).await;
    }

    /// The caller without a key, where none is needed.
    #[must_use]
    pub fn anonymous(&self) -> Arc<Identity> {
        self.anonymous.clone()
    }
}

/// The digest under which a key is stored.
pub(crate) fn digest_of(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}
