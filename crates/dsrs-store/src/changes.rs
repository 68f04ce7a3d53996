//! Changes of graphs, active states and keys, on this server or another: look-ups may be cached between them.
//! May not know what is cached.
//!
//! Every change of a graph advances the epoch of this graph: on this server at once, on others by a
//! notification that commits with the change. What was read in an epoch is valid until the epoch advances.
//! There is an epoch only while a heartbeat has confirmed recently that notifications arrive: without it
//! nothing may be cached. Keys change rarely and are cached as a whole, so they have one epoch.
//!
//! Graphs share a fixed number of counters by the hashes of their ids and names. A graph that shares a
//! counter with a changed one is looked up once more than necessary.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sqlx::{Postgres, Transaction};
use uuid::Uuid;

use super::graph_ref::GraphRef;
use super::{Db, StoreError};

/// The channel that announces changes.
pub(super) const CHANNEL: &str = "dsrs_graphs";

/// The channel that announces changes of keys.
pub(super) const KEYS: &str = "dsrs_keys";

/// Counters of changes, shared by all clones of the [`Db`].
#[derive(Clone, Debug)]
pub struct Changes(Arc<Counter>);

/// How many counters the graphs share.
const SHARDS: usize = 4096;

/// The state of everything that is known of a graph, as far as changes are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch {
    /// Changes that may concern any graph.
    all: u64,
    /// Changes of this graph, or of one that shares its counter.
    own: u64,
}

#[derive(Debug)]
struct Counter {
    /// Changes that may concern any graph: interruptions, and changes that older releases announce.
    all: AtomicU64,
    /// Changes of graphs, by the hashes of their ids and names.
    graphs: Box<[AtomicU64]>,
    /// All of these changes.
    total: AtomicU64,
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
    /// The newest time at which a pooled connection was found to be lost.
    lost_connection: AtomicU64,
}

impl Changes {
    pub(super) fn new(max_staleness: Duration) -> Self {
        Self(Arc::new(Counter {
            all: AtomicU64::new(0),
            graphs: (0..SHARDS).map(|_| AtomicU64::new(0)).collect(),
            total: AtomicU64::new(0),
            keys: AtomicU64::new(0),
            start: Instant::now(),
            max_staleness,
            confirmed: AtomicU64::new(0),
            valid_until: AtomicU64::new(0),
            lost_connection: AtomicU64::new(0),
        }))
    }

    /// The current epoch of a graph, or `None` while changes of other servers might be missed. Read it
    /// before the look-up that is cached under it.
    pub fn epoch(&self, graph: &GraphRef) -> Option<Epoch> {
        let own = match graph {
            GraphRef::Id(id) => self.counter(id),
            GraphRef::Name(name) => self.counter(&**name),
        };
        self.is_valid().then(|| Epoch {
            all: self.0.all.load(Ordering::Acquire),
            own: own.load(Ordering::Acquire),
        })
    }

    /// The current epoch of all graphs together, for what depends on many of them.
    pub fn epoch_of_all(&self) -> Option<u64> {
        self.is_valid().then(|| self.0.total.load(Ordering::Acquire))
    }

    fn counter<K: Hash + ?Sized>(&self, graph: &K) -> &AtomicU64 {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(graph);
        // There are few counters, so a part of the hash suffices.
        &self.0.graphs[hash as usize % SHARDS]
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

    /// A pooled connection was lost while it was idle: so were others perhaps.
    pub(super) fn report_lost_connection(&self) {
        self.0.lost_connection.store(self.elapsed(), Ordering::Release);
    }

    /// Whether a connection that was idle for so long need not be tested: the listening connection is open, and none was
    /// found to be lost since.
    pub(super) fn trusts(&self, idle: Duration) -> bool {
        let used = self.elapsed().saturating_sub(nanos(idle));
        self.is_valid() && used >= self.0.lost_connection.load(Ordering::Acquire)
    }

    /// Any graph may have changed.
    fn bump_all(&self) {
        self.0.all.fetch_add(1, Ordering::AcqRel);
        self.0.total.fetch_add(1, Ordering::AcqRel);
    }

    /// A graph has changed, or one of this name begins or ends to exist.
    fn bump(&self, id: Uuid, name: &str) {
        self.counter(&id).fetch_add(1, Ordering::AcqRel);
        self.counter(name).fetch_add(1, Ordering::AcqRel);
        self.0.total.fetch_add(1, Ordering::AcqRel);
    }

    /// A notification of a change: `ID NAME`, or nothing from an older release.
    pub(super) fn receive(&self, payload: &str) {
        let graph = payload.split_once(' ').and_then(|(id, name)| Some((id.parse().ok()?, name)));
        match graph {
            Some((id, name)) => self.bump(id, name),
            None => self.bump_all(),
        }
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
        // Invalid before the epoch moves: nothing may be cached under the new epoch without a connection.
        self.0.valid_until.store(0, Ordering::Release);
        self.bump_all();
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
        id: Uuid,
        name: &str,
    ) -> Result<(), StoreError> {
        let payload = format!("{id} {name}");
        sqlx::query!("select pg_notify($1, $2)", CHANNEL, payload).execute(&mut *tx).await?;
        let committed = tx.commit().await;
        // Also after an error: the commit may have succeeded.
        self.changes.bump(id, name);
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

    fn graph() -> GraphRef {
        GraphRef::parse("support-reply")
    }

    #[test]
    fn an_epoch_ends_when_it_is_not_confirmed_in_time() {
        let changes = Changes::new(Duration::from_secs(3600));
        assert_eq!(changes.epoch(&graph()), None, "no heartbeat has arrived");
        assert!(changes.is_confirmed(), "the server has only just started");
        changes.confirm(Instant::now());
        let epoch = changes.epoch(&graph());
        assert!(epoch.is_some());
        changes.interrupt();
        assert_eq!(changes.epoch(&graph()), None);
        changes.confirm(Instant::now());
        assert!(changes.epoch(&graph()) > epoch, "changes may have been missed");
    }

    #[test]
    fn a_confirmation_counts_from_when_its_heartbeat_was_sent() {
        let changes = Changes::new(Duration::from_millis(1));
        let sent = Instant::now();
        std::thread::sleep(Duration::from_millis(2));
        assert!(!changes.is_confirmed());
        changes.confirm(sent);
        assert_eq!(changes.epoch(&graph()), None, "it arrived too late");
        let patient = Changes::new(Duration::from_secs(3600));
        patient.confirm(sent);
        assert!(patient.epoch(&graph()).is_some() && patient.is_confirmed());
    }

    #[test]
    fn a_change_of_a_graph_ends_the_epoch_of_its_id_and_name_and_of_no_other() {
        let changes = Changes::new(Duration::from_secs(3600));
        changes.confirm(Instant::now());
        let id = Uuid::now_v7();
        let others: Vec<_> =
            (0..50).map(|number| GraphRef::parse(&format!("other-{number}"))).collect();
        let epochs = |graphs: &[GraphRef]| {
            graphs.iter().map(|graph| changes.epoch(graph)).collect::<Vec<_>>()
        };
        let changed = [GraphRef::Id(id), graph()];
        let (before, others_before) = (epochs(&changed), epochs(&others));
        let of_all = changes.epoch_of_all();
        changes.receive(&format!("{id} support-reply"));
        assert!(changes.epoch_of_all() > of_all);
        assert!(epochs(&changed).iter().zip(&before).all(|(now, before)| now > before));
        let moved = epochs(&others).iter().zip(&others_before).filter(|(a, b)| a != b).count();
        assert!(moved <= 1, "{moved} of 50 others share a counter");
        changes.receive("");
        assert!(epochs(&others).iter().zip(&others_before).all(|(now, before)| now > before));
    }
}
