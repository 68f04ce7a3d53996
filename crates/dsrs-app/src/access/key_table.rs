//! The keys of the database in memory. A table is used until a key changes, and for at most
//! `database.max_staleness` while it is not certain that changes would be noticed. May not know how a
//! caller presents its key.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::identity::{Identity, IdentityKey};
use crate::AppError;
use dsrs_store::key::{AdmittedKey, AllKeys, all};
use dsrs_store::{Db, Scope};

/// A table is read again at this age, whether keys have changed or not: it also has the clock of the
/// database, by which keys expire.
const LONGEST_AGE: Duration = Duration::from_secs(60);

/// How long reading may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// After a failure, the next attempt is made after this time.
const PAUSE: Duration = Duration::from_secs(1);

/// The table, and what reads it anew.
pub(super) struct KeyTables {
    db: Db,
    current: RwLock<Option<Arc<KeyTable>>>,
    /// When the last attempt failed. Locked by the one request that reads.
    failed: Mutex<Option<Instant>>,
}

struct KeyTable {
    /// The number of changes that were known before it was read.
    changes: u64,
    read_at: Instant,
    /// The time of the database at that moment.
    now: DateTime<Utc>,
    exist: bool,
    by_digest: HashMap<[u8; 32], TableEntry>,
}

struct TableEntry {
    identity: Arc<Identity>,
    expires_at: Option<DateTime<Utc>>,
}

impl KeyTables {
    pub(super) fn new(db: Db) -> Self {
        Self { db, current: RwLock::new(None), failed: Mutex::new(None) }
    }

    /// Whether there is any key. Where there was none, an outage of the database changes nothing.
    pub(super) async fn exist(&self) -> Result<bool, AppError> {
        match self.table().await {
            Ok(table) => Ok(table.exist),
            Err(error) => match self.current() {
                Some(last) if !last.exist => Ok(false),
                _ => Err(error),
            },
        }
    }

    /// The caller whose key has this digest.
    pub(super) async fn find(&self, digest: &[u8; 32]) -> Result<Option<Arc<Identity>>, AppError> {
        Ok(self.table().await?.find(digest))
    }

    /// The caller of this name in this workspace.
    pub(super) async fn of_actor(&self, scope: &Scope) -> Result<Option<Arc<Identity>>, AppError> {
        Ok(self.table().await?.of_actor(scope))
    }

    async fn table(&self) -> Result<Arc<KeyTable>, AppError> {
        match self.fresh() {
            Some(table) => Ok(table),
            // Boxed, because every request would carry the room for a query that few make.
            None => Box::pin(self.refresh()).await,
        }
    }

    fn current(&self) -> Option<Arc<KeyTable>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn fresh(&self) -> Option<Arc<KeyTable>> {
        let (table, changes) = (self.current()?, self.db.changes());
        let longest = match changes.is_valid() {
            true => LONGEST_AGE,
            false => changes.max_staleness(),
        };
        let is_fresh = table.changes == changes.key_changes() && table.read_at.elapsed() < longest;
        is_fresh.then_some(table)
    }

    /// Reads the table anew, once for all who wait for it.
    async fn refresh(&self) -> Result<Arc<KeyTable>, AppError> {
        let unavailable = || AppError::Unavailable("API keys cannot be read; try again".to_owned());
        let mut failed = self.failed.lock().await;
        if let Some(table) = self.fresh() {
            return Ok(table);
        }
        if failed.is_some_and(|at| at.elapsed() < PAUSE) {
            return Err(unavailable());
        }
        // Before the query: a change during it makes the table old.
        let (changes, read_at) = (self.db.changes().key_changes(), Instant::now());
        let read = timeout(PATIENCE, all(&self.db)).await;
        *failed = Some(Instant::now()).filter(|_| !matches!(read, Ok(Ok(_))));
        let table = match read {
            Ok(found) => Arc::new(KeyTable::new(found?, changes, read_at)),
            Err(_) => return Err(unavailable()),
        };
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Some(table.clone());
        Ok(table)
    }
}

impl KeyTable {
    fn new(found: AllKeys, changes: u64, read_at: Instant) -> Self {
        let AllKeys { now, exist, admitted } = found;
        let by_digest = admitted.into_iter().filter_map(entry).collect();
        Self { changes, read_at, now, exist, by_digest }
    }

    fn find(&self, digest: &[u8; 32]) -> Option<Arc<Identity>> {
        self.admitted(self.by_digest.get(digest)?)
    }

    fn of_actor(&self, scope: &Scope) -> Option<Arc<Identity>> {
        let mut entries = self.by_digest.values();
        self.admitted(entries.find(|entry| entry.identity.scope == *scope)?)
    }

    /// The caller of an entry, unless its key has ended meanwhile.
    fn admitted(&self, entry: &TableEntry) -> Option<Arc<Identity>> {
        let age = TimeDelta::from_std(self.read_at.elapsed()).unwrap_or(TimeDelta::MAX);
        let expired = entry.expires_at.is_some_and(|end| end - self.now <= age);
        (!expired).then(|| entry.identity.clone())
    }
}

fn entry(key: AdmittedKey) -> Option<([u8; 32], TableEntry)> {
    let scope = Scope { workspace: key.workspace_id, actor: Arc::from(key.label) };
    let limited = IdentityKey { id: key.id, limits: key.limits };
    let identity = Identity { scope, scopes: key.scopes, key: Some(limited) };
    let entry = TableEntry { identity: Arc::new(identity), expires_at: key.expires_at };
    Some((key.digest.try_into().ok()?, entry))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use dsrs_api::key::KeyLimits;
    use dsrs_store::key_scope::KeyScopes;

    #[test]
    fn a_key_ends_by_the_clock_of_the_database_without_another_look() {
        let now = DateTime::UNIX_EPOCH;
        let key = |digest, seconds| AdmittedKey {
            id: Uuid::nil(),
            digest: vec![digest; 32],
            workspace_id: Uuid::nil(),
            label: "k".to_owned(),
            scopes: KeyScopes::ALL,
            limits: KeyLimits::default(),
            expires_at: Some(now + TimeDelta::seconds(seconds)),
        };
        let found = AllKeys { now, exist: true, admitted: vec![key(1, 10), key(2, 3600)] };
        let Some(read_at) = Instant::now().checked_sub(Duration::from_secs(20)) else { return };
        let table = KeyTable::new(found, 0, read_at);
        assert!(table.find(&[1; 32]).is_none());
        assert!(table.find(&[2; 32]).is_some());
        assert!(table.find(&[3; 32]).is_none());
    }
}
