//! Knows when a graph or its state in force may have changed, on this server or another, so that
//! look-ups may be remembered in between. It may not know what is remembered.
//!
//! Every change of a graph bumps an epoch: here at once, elsewhere by a notification that commits
//! with the change. What was read during an epoch holds until the epoch moves. Without a listening
//! connection there is no epoch, and nothing may be remembered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use sqlx::postgres::{PgListener, PgPoolOptions};
use sqlx::{Postgres, Transaction};

use super::{Db, StoreError};

const CHANNEL: &str = "dsrs_graphs";
/// No shorter than a pooled connection is trusted unseen.
const RETRY: Duration = super::pool::TRUSTED_IDLE;

/// A counter of changes, shared by everyone who holds the [`Db`].
#[derive(Clone, Debug, Default)]
pub struct Changes(Arc<Counter>);

#[derive(Debug, Default)]
struct Counter {
    epoch: AtomicU64,
    listening: AtomicBool,
}

impl Changes {
    /// The present epoch, or `None` while changes made elsewhere would go unseen. Read it before
    /// the look-up whose answer is to be remembered under it.
    pub fn epoch(&self) -> Option<u64> {
        self.0.listening.load(Ordering::Acquire).then(|| self.0.epoch.load(Ordering::Acquire))
    }

    pub(super) fn bump(&self) {
        self.0.epoch.fetch_add(1, Ordering::AcqRel);
    }

    fn set_listening(&self, listening: bool) {
        // a change may have been missed while nobody listened
        self.bump();
        self.0.listening.store(listening, Ordering::Release);
    }
}

impl Db {
    /// The counter of changes to graphs and states.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Commits a change of a graph and tells everyone, this server before the call returns.
    pub(super) async fn commit_change(
        &self,
        mut tx: Transaction<'_, Postgres>,
    ) -> Result<(), StoreError> {
        sqlx::query!("select pg_notify($1, '')", CHANNEL).execute(&mut *tx).await?;
        let committed = tx.commit().await;
        // also after an error: the commit may have come through
        self.changes.bump();
        Ok(committed?)
    }

    /// Listens for changes made by other servers, connecting again when the connection is lost.
    /// Never ends: run it as a task, and drop it to stop.
    pub async fn watch_changes(&self) {
        loop {
            if let Err(error) = self.listen().await {
                tracing::debug!(%error, "lost the connection that tells of changed graphs");
            }
            self.changes.set_listening(false);
            tokio::time::sleep(RETRY).await;
        }
    }

    async fn listen(&self) -> Result<(), StoreError> {
        let _deaf_when_dropped = Deaf(&self.changes);
        // a pool of its own: this connection is held for good
        let own = PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None);
        let mut listener = PgListener::connect_with(&own.connect_lazy_with(self.options())).await?;
        listener.listen(CHANNEL).await?;
        self.changes.set_listening(true);
        // `None` is a lost connection: what came meanwhile is unknown
        while listener.try_recv().await?.is_some() {
            self.changes.bump();
        }
        Ok(())
    }
}

/// Ends remembering when the watcher is stopped, however it is stopped.
struct Deaf<'a>(&'a Changes);

impl Drop for Deaf<'_> {
    fn drop(&mut self) {
        self.0.set_listening(false);
    }
}
