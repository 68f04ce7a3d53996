//! Changes of graphs, active states and keys, on this server or another: look-ups may be cached between them.
//! May not know what is cached.
//!
//! Every change of a graph advances an epoch: on this server at once, on others by a notification that
//! commits with the change. What was read in an epoch is valid until the epoch advances. There is an epoch
//! only while a heartbeat has confirmed recently that notifications arrive: without it nothing may be cached.
//! Keys change rarely and are cached as a whole, so they have an epoch of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sqlx::{Postgres, Transaction};

use super::{Db, StoreError};

/// The channel that announces changes.
pub(super) const CHANNEL: &str = "dsrs_graphs";

/// The channel that announces changes of keys.
pub(super) const KEYS: &str = "dsrs_keys";

/// Counters of changes, shared by all clones of the [`Db`].
#[derive(Clone, Debug)]
pub struct Changes(Arc<Counter>);

#[derive(Debug)]
struct Counter {
    epoch: AtomicU64,
    /// The same of keys.
    keys: AtomicU64,
    /// All times are nanoseconds since then.
    start: Instant,
    /// How long a confirmation counts.
    max_staleness: Duration,
    /// The time of the newest confirmation.
    confirmed: AtomicU64,
    /// The end of the epoch without another confirmation; 0 without a listening connection.
    valid_until: AtomicU64,
}

impl Changes {
    pub(super) fn new(max_staleness: Duration) -> Self {
        Self(Arc::new(Counter {
            epoch: AtomicU64::new(0),
            keys: AtomicU64::new(0),
            start: Instant::now(),
            max_staleness,
            confirmed: AtomicU64::new(0),
            valid_until: AtomicU64::new(0),
        }))
    }

    /// The current epoch, or `None` while changes of other servers might be missed. Read it before the
    /// look-up that is cached under it.
    pub fn epoch(&self) -> Option<u64> {
        self.is_valid().then(|| self.0.epoch.load(Ordering::Acquire))
    }

    /// The number of known changes of keys.
    pub fn key_changes(&self) -> u64 {
        self.0.keys.load(Ordering::Acquire)
    }

    /// Whether every change until now is known, or will be soon.
    pub fn is_valid(&self) -> bool {
        self.elapsed() < self.0.valid_until.load(Ordering::Acquire)
    }

    /// Whether notifications were confirmed recently, or the server has only just started.
    pub fn is_confirmed(&self) -> bool {
        let age = self.elapsed().saturating_sub(self.0.confirmed.load(Ordering::Acquire));
        age <= nanos(self.0.max_staleness)
    }

    /// The longest time that a change may be missed.
    pub fn max_staleness(&self) -> Duration {
        self.0.max_staleness
    }

    pub(super) fn bump(&self) {
        self.0.epoch.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn bump_keys(&self) {
        self.0.keys.fetch_add(1, Ordering::AcqRel);
    }

    /// All notifications from before `at` have arrived.
    pub(super) fn confirm(&self, at: Instant) {
        let at = nanos(at.saturating_duration_since(self.0.start));
        self.0.confirmed.store(at, Ordering::Release);
        let end = at.saturating_add(nanos(self.0.max_staleness));
        self.0.valid_until.store(end, Ordering::Release);
    }

    /// A listening connection begins or ends: changes may have been missed.
    pub(super) fn interrupt(&self) {
        self.0.valid_until.store(0, Ordering::Release);
        self.bump();
        self.bump_keys();
    }

    fn elapsed(&self) -> u64 {
        nanos(self.0.start.elapsed())
    }
}

/// Enough for five centuries.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
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

    /// Commits a change of a key and notifies all servers; this one before the call returns.
    pub(super) async fn commit_key_change(
        &self,
        mut tx: Transaction<'_, Postgres>,
    ) -> Result<(), StoreError> {
        sqlx::query("select pg_notify($1, '')").bind(KEYS).execute(&mut *tx).await?;
        let committed = tx.commit().await;
        // Also after an error: the commit may have succeeded.
        self.changes.bump_keys();
        Ok(committed?)
    }
}

/// Ends caching when the listener stops, even when its task is dropped.
pub(super) struct ListeningGuard<'a>(pub(super) &'a Changes);

impl Drop for ListeningGuard<'_> {
    fn drop(&mut self) {
        self.0.interrupt();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_ends_when_it_is_not_confirmed_in_time() {
        let changes = Changes::new(Duration::from_secs(3600));
        assert_eq!(changes.epoch(), None, "no heartbeat has arrived");
        assert!(changes.is_confirmed(), "the server has only just started");
        changes.confirm(Instant::now());
        let epoch = changes.epoch();
        assert!(epoch.is_some());
        changes.interrupt();
        assert_eq!(changes.epoch(), None);
        changes.confirm(Instant::now());
        assert!(changes.epoch() > epoch, "changes may have been missed");
    }

    #[test]
    fn a_confirmation_counts_from_when_its_heartbeat_was_sent() {
        let changes = Changes::new(Duration::from_millis(40));
        let sent = Instant::now();
        std::thread::sleep(Duration::from_millis(50));
        assert!(!changes.is_confirmed());
        changes.confirm(sent);
        assert_eq!(changes.epoch(), None, "it arrived too late");
        changes.confirm(Instant::now());
        assert!(changes.epoch().is_some() && changes.is_confirmed());
    }
}
