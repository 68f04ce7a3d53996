//! Knows when a graph or its state in force may have changed, on this server or another, so that
//! look-ups may be remembered in between. It may not know what is remembered.
//!
//! Every change of a graph bumps an epoch: here at once, elsewhere by a notification that commits
//! with the change. What was read during an epoch holds until the epoch moves. Without a listening
//! connection there is no epoch, and nothing may be remembered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sqlx::{Postgres, Transaction};

use super::{Db, StoreError};

/// The channel on which changes are told.
pub(super) const CHANNEL: &str = "dsrs_graphs";

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

    pub(super) fn set_listening(&self, listening: bool) {
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
}

/// Ends remembering when the watcher is stopped, however it is stopped.
pub(super) struct Deaf<'a>(pub(super) &'a Changes);

impl Drop for Deaf<'_> {
    fn drop(&mut self) {
        self.0.set_listening(false);
    }
}
