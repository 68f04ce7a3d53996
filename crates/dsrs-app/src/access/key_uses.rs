//! When keys of the database are used: written from time to time, not with each request.

use std::collections::HashSet;
use std::mem::take;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;
use uuid::Uuid;

use dsrs_store::{Db, key};

/// The shortest time between two writes.
const PAUSE: Duration = Duration::from_secs(60);

/// The keys that were used since the last write.
#[derive(Default)]
pub(super) struct KeyUses {
    used: Mutex<HashSet<Uuid>>,
    added: Notify,
}

impl KeyUses {
    /// Notes that a key is used now.
    pub(super) fn add(&self, key: Uuid) {
        if self.used().insert(key) {
            self.added.notify_one();
        }
    }

    /// Writes uses: the first ones at once, those that follow once a minute.
    pub(super) async fn write_always(&self, db: &Db) {
        loop {
            self.added.notified().await;
            let used: Vec<Uuid> = take(&mut *self.used()).into_iter().collect();
            if let Err(error) = key::mark_used(db, &used).await {
                tracing::warn!(cause = error.cause(), "cannot write when keys were used");
                self.used().extend(used);
                self.added.notify_one();
            }
            sleep(PAUSE).await;
        }
    }

    fn used(&self) -> MutexGuard<'_, HashSet<Uuid>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
