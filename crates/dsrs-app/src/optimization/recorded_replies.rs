//! Recorded replies and rollouts of an optimization: what one attempt has paid for, later attempts find
//! in the database. The writer (`writer`) stores them. This attempt reads them back, too: the engine
//! holds only some in memory. May not know optimizers.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dsrs::lm::{LmReply, RecordedReply, RecordingError, ReplyStore, RequestKey, Usage};
use dsrs::optimize::{Rollout, RolloutKey, RolloutStore};
use dsrs::value::Payload;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use crate::App;
use dsrs_store::optimization_record::{self, RecordKey};
use dsrs_store::persist;
use dsrs_store::{Scope, StoreError};

/// Records that may wait for the writer. A sender of more waits.
const WAITING: usize = 256;

/// A record that waits to be written.
pub(crate) enum PendingRecord {
    /// A reply, and the channel to confirm that it is written.
    Purchase(RecordKey, LmReply, oneshot::Sender<()>),
    /// A finished rollout.
    Rollout(RecordKey, Arc<Rollout>),
    /// An offer that has ended, what was granted for it and what was spent.
    Offer {
        /// Identifies the rollout.
        key: RecordKey,
        /// What it was allowed to spend.
        grant: Usage,
        /// What other workers have spent.
        spent: Usage,
    },
}

/// Records what an attempt pays for, and finds the records of all attempts by their keys.
pub(crate) struct OptimizationStore {
    app: Arc<App>,
    scope: Scope,
    optimization: Uuid,
    purchases: Mutex<HashSet<RecordKey>>,
    rollouts: Mutex<HashSet<RecordKey>>,
    /// Whether workers of other servers help, so that the database may have replies under other keys.
    has_helpers: AtomicBool,
    /// The greatest usage of a rollout so far, judging included.
    costliest: Mutex<Option<Usage>>,
    sender: mpsc::Sender<PendingRecord>,
}

impl OptimizationStore {
    /// Loads the keys of earlier attempts. New records arrive at the receiver.
    pub(crate) async fn open(
        app: Arc<App>,
        scope: Scope,
        optimization: Uuid,
    ) -> Result<(Self, mpsc::Receiver<PendingRecord>), StoreError> {
        let keys = persist(|| optimization_record::keys(&scope, &app.db, optimization)).await?;
        let (purchases, rollouts) = (known(&keys.0), known(&keys.1));
        let (sender, items) = mpsc::channel(WAITING);
        let (has_helpers, costliest) = (AtomicBool::new(false), Mutex::default());
        let store =
            Self { app, scope, optimization, purchases, rollouts, has_helpers, costliest, sender };
        Ok((store, items))
    }

    /// From now on, other workers may have recorded replies.
    pub(crate) fn expect_helpers(&self) {
        self.has_helpers.store(true, Ordering::Relaxed);
    }

    /// The greatest usage of a rollout so far, judging included. `None` before the first rollout.
    pub(crate) fn costliest_rollout(&self) -> Option<Usage> {
        *lock(&self.costliest)
    }

    fn note_cost(&self, rollout: &Rollout) {
        let mut all = rollout.usage;
        all += rollout.judging;
        let mut costliest = lock(&self.costliest);
        *costliest = Some(costliest.map_or(all, |known| known.max(all)));
    }

    /// Another worker has recorded a rollout.
    pub(crate) fn expect_rollout(&self, key: RecordKey) {
        lock(&self.rollouts).insert(key);
    }

    /// A place for a record among those that wait for the writer. An error if there is no writer any more.
    pub(crate) async fn place(&self) -> Result<mpsc::Permit<'_, PendingRecord>, RecordingError> {
        self.sender.reserve().await.map_err(|_| lease_lost())
    }

    /// Refuses new requests once the server is stopping. Requests in flight finish and are recorded, and
    /// another attempt continues from there.
    fn accepts_requests(&self) -> Result<(), RecordingError> {
        match self.app.shutdown.is_draining() {
            true => Err(RecordingError(
                "the server is stopping; another worker continues the optimization".to_owned(),
            )),
            false => Ok(()),
        }
    }

    /// Sends a record to the writer, without waiting if there is space: a task that is stopped while it
    /// waits would lose a paid reply.
    async fn send(&self, item: PendingRecord) -> Result<(), RecordingError> {
        let sent = match self.sender.try_send(item) {
            Err(TrySendError::Full(item)) => self.sender.send(item).await.is_ok(),
            sent => sent.is_ok(),
        };
        sent.then_some(()).ok_or_else(lease_lost)
    }

    /// Records a reply. It is used only once it is written, so that a killed server loses only requests in
    /// flight.
    async fn record_reply(&self, key: RecordKey, reply: LmReply) -> Result<(), RecordingError> {
        let (written, is_written) = oneshot::channel();
        self.send(PendingRecord::Purchase(key, reply, written)).await?;
        // Before waiting: if this task is stopped meanwhile, the reply is paid for and can be found.
        lock(&self.purchases).insert(key);
        is_written.await.map_err(|_| lease_lost())
    }

    async fn recorded_reply(&self, key: &RecordKey) -> Result<Option<LmReply>, RecordingError> {
        let (scope, db, id) = (&self.scope, &self.app.db, self.optimization);
        let found = persist(|| optimization_record::purchase(scope, db, id, key)).await;
        Ok(read(found)?.as_ref().and_then(LmReply::from_payload))
    }

    /// A recorded rollout.
    pub(crate) async fn recorded_rollout(
        &self,
        key: &RecordKey,
    ) -> Result<Option<Rollout>, RecordingError> {
        let (scope, db, id) = (&self.scope, &self.app.db, self.optimization);
        let found = persist(|| optimization_record::rollout(scope, db, id, key)).await;
        let rollout = read(found)?.as_ref().and_then(Rollout::from_payload);
        Ok(rollout.inspect(|rollout| self.note_cost(rollout)))
    }
}

pub(crate) fn lease_lost() -> RecordingError {
    RecordingError("another worker has claimed the optimization".to_owned())
}

fn known(found: &[Vec<u8>]) -> Mutex<HashSet<RecordKey>> {
    Mutex::new(found.iter().filter_map(|key| RecordKey::try_from(key.as_slice()).ok()).collect())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A record that cannot be read counts as missing: the request is paid for again.
pub(crate) fn read(
    found: Result<Option<String>, StoreError>,
) -> Result<Option<Payload>, RecordingError> {
    let found = found.map_err(|error| RecordingError(error.cause()))?;
    Ok(found.and_then(|text| Payload::from_record(&text).ok()))
}

impl ReplyStore for OptimizationStore {
    fn find(&self, key: RequestKey) -> BoxFuture<'_, Result<Option<LmReply>, RecordingError>> {
        async move {
            self.accepts_requests()?;
            let is_recorded = self.has_helpers.load(Ordering::Relaxed)
                || lock(&self.purchases).contains(key.as_bytes());
            match is_recorded {
                true => self.recorded_reply(key.as_bytes()).await,
                false => Ok(None),
            }
        }
        .boxed()
    }

    /// A failed request has no reply to record. Its cost is written with the totals.
    fn record(&self, recorded: RecordedReply) -> BoxFuture<'_, Result<(), RecordingError>> {
        let RecordedReply { key, reply, .. } = recorded;
        async move {
            match reply {
                Some(reply) => self.record_reply(*key.as_bytes(), reply).await,
                None => Ok(()),
            }
        }
        .boxed()
    }
}

impl RolloutStore for OptimizationStore {
    fn find(&self, key: RolloutKey) -> BoxFuture<'_, Result<Option<Rollout>, RecordingError>> {
        async move {
            self.accepts_requests()?;
            let is_recorded = lock(&self.rollouts).contains(&key.0);
            match is_recorded {
                true => self.recorded_rollout(&key.0).await,
                false => Ok(None),
            }
        }
        .boxed()
    }

    /// Does not wait for the database: the replies of the rollout are recorded already.
    fn keep<'a>(
        &'a self,
        key: RolloutKey,
        rollout: &'a Arc<Rollout>,
    ) -> BoxFuture<'a, Result<(), RecordingError>> {
        async move {
            self.note_cost(rollout);
            self.send(PendingRecord::Rollout(key.0, rollout.clone())).await?;
            lock(&self.rollouts).insert(key.0);
            Ok(())
        }
        .boxed()
    }
}
