//! Changes of graphs and active states, on this server or another: look-ups may be cached between them. May
//! not know what is cached.
//!
//! Every change of a graph advances an epoch: on this server at once, on others by a notification that
//! commits with the change. What was read in an epoch is valid until the epoch advances. Without a
//! listening connection there is no epoch, and nothing may be cached.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sqlx::{Postgres, Transaction};

use super::{Db, StoreError};

/// The channel that announces changes.
pub(super) const CHANNEL: &str = "dsrs_graphs";

/// A counter of changes, shared by all clones of the [`Db`].
#[derive(Clone, Debug, Default)]
pub struct Changes(Arc<Counter>);

#[derive(Debug, Default)]
struct Counter {
    epoch: AtomicU64,
    listening: AtomicBool,
}

impl Changes {
    /// The current epoch, or `None` while changes of other servers would be missed. Read it before the
    /// look-up that is cached under it.
    pub fn epoch(&self) -> Option<u64> {
        self.0.listening.load(Ordering::Acquire).then(|| self.0.epoch.load(Ordering::Acquire))
    }

    pub(super) fn bump(&self) {
        self.0.epoch.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn set_listening(&self, listening: bool) {
        // A change may have been missed without a connection.
        self.bump();
        self.0.listening.store(listening, Ordering::Release);
    }
}

impl Db {
    /// The counter of changes to graphs and states.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Commits a change of a graph and notifies all servers; this one before the call returns.
    pub(super) async fn commit_change(
        &self,
        mut tx: Transaction<'_, Postgres>,
    ) -> Result<(), StoreError> {
        sqlx::query!("select pg_notify($1, '')", CHANNEL).execute(&mut *tx).await?;
        let committed = tx.commit().await;
        // Also after an error: the commit may have succeeded.
        self.changes.bump();
        Ok(committed?)
    }
}

/// Ends caching when the listener stops, even when its task is dropped.
pub(super) struct ListeningGuard<'a>(pub(super) &'a Changes);

impl Drop for ListeningGuard<'_> {
    fn drop(&mut self) {
        self.0.set_listening(false);
    }
}
