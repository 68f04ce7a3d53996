//! What an optimization has paid for, kept in the database so that another attempt has it for nothing:
//! replies of LMs and finished rollouts. All of it goes to the one who writes (`optimization_writer`),
//! and is found by its key again, by this attempt too: what is at hand has only room for some. Knows
//! nothing of optimizers.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dsrs::lm::{LmReply, RecordedReply, RecordingError, ReplyStore, RequestKey};
use dsrs::optimize::{Rollout, RolloutKey, RolloutStore};
use dsrs::value::Payload;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use crate::app::App;
use crate::app::persist::persist;
use crate::store::optimization_work::{self, Key};
use crate::store::{Scope, StoreError};

/// How much may wait to be written. Whoever has more waits, too.
const WAITING: usize = 256;

/// Something that is to be kept.
pub(crate) enum Item {
    /// A reply that was paid for, and who waits until it is written.
    Purchase(Key, LmReply, oneshot::Sender<()>),
    /// A rollout that has ended.
    Rollout(Key, Arc<Rollout>),
}

/// Keeps what an attempt pays for, and knows by their keys what was kept, by whichever attempt.
pub(crate) struct Keeper {
    app: Arc<App>,
    scope: Scope,
    optimization: Uuid,
    purchases: Mutex<HashSet<Key>>,
    rollouts: Mutex<HashSet<Key>>,
    sender: mpsc::Sender<Item>,
}

impl Keeper {
    /// Looks up what earlier attempts kept; what is to be kept comes out of the other end.
    pub(crate) async fn open(
        app: Arc<App>,
        scope: Scope,
        optimization: Uuid,
    ) -> Result<(Self, mpsc::Receiver<Item>), StoreError> {
        let keys = persist(|| optimization_work::keys(&scope, &app.db, optimization)).await?;
        let (purchases, rollouts) = (known(&keys.0), known(&keys.1));
        let (sender, items) = mpsc::channel(WAITING);
        Ok((Self { app, scope, optimization, purchases, rollouts, sender }, items))
    }

    /// Nothing is begun any more once the server is to end: what is under way comes to its end and
    /// is kept, and another goes on from there.
    fn goes_on(&self) -> Result<(), RecordingError> {
        match self.app.shutdown.is_draining() {
            true => Err(RecordingError(
                "the server ends; the optimization goes on elsewhere".to_owned(),
            )),
            false => Ok(()),
        }
    }

    /// Hands over without a wait where there is room, so that nobody who is stopped meanwhile loses
    /// what was paid for.
    async fn hand_over(&self, item: Item) -> Result<(), RecordingError> {
        let sent = match self.sender.try_send(item) {
            Err(TrySendError::Full(item)) => self.sender.send(item).await.is_ok(),
            sent => sent.is_ok(),
        };
        sent.then_some(()).ok_or_else(taken_over)
    }

    /// A reply counts once it is written: whoever ends at any moment has bought no more in vain than
    /// what was on its way.
    async fn keep_reply(&self, key: Key, reply: LmReply) -> Result<(), RecordingError> {
        let (written, is_written) = oneshot::channel();
        self.hand_over(Item::Purchase(key, reply, written)).await?;
        // Before the wait: whoever is stopped in it has paid, and the next finds it.
        keys(&self.purchases).insert(key);
        is_written.await.map_err(|_| taken_over())
    }

    async fn bought(&self, key: &Key) -> Result<Option<LmReply>, RecordingError> {
        let (scope, db, id) = (&self.scope, &self.app.db, self.optimization);
        let found = persist(|| optimization_work::purchase(scope, db, id, key)).await;
        Ok(read(found)?.as_ref().and_then(LmReply::from_payload))
    }

    async fn rolled_out(&self, key: &Key) -> Result<Option<Rollout>, RecordingError> {
        let (scope, db, id) = (&self.scope, &self.app.db, self.optimization);
        let found = persist(|| optimization_work::rollout(scope, db, id, key)).await;
        Ok(read(found)?.as_ref().and_then(Rollout::from_payload))
    }
}

fn taken_over() -> RecordingError {
    RecordingError("the optimization is another's by now".to_owned())
}

fn known(found: &[Vec<u8>]) -> Mutex<HashSet<Key>> {
    Mutex::new(found.iter().filter_map(|key| Key::try_from(key.as_slice()).ok()).collect())
}

fn keys(known: &Mutex<HashSet<Key>>) -> MutexGuard<'_, HashSet<Key>> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What cannot be read is as good as not there: it is paid for again.
fn read(found: Result<Option<String>, StoreError>) -> Result<Option<Payload>, RecordingError> {
    let found = found.map_err(|error| RecordingError(error.cause()))?;
    Ok(found.and_then(|text| Payload::from_record(&text).ok()))
}

impl ReplyStore for Keeper {
    fn find(&self, key: RequestKey) -> BoxFuture<'_, Result<Option<LmReply>, RecordingError>> {
        async move {
            self.goes_on()?;
            let is_kept = keys(&self.purchases).contains(key.as_bytes());
            match is_kept {
                true => self.bought(key.as_bytes()).await,
                false => Ok(None),
            }
        }
        .boxed()
    }

    /// Of a request that failed there is nothing to keep but what it cost, which is written with the
    /// rest.
    fn record(&self, recorded: RecordedReply) -> BoxFuture<'_, Result<(), RecordingError>> {
        let RecordedReply { key, reply, .. } = recorded;
        async move {
            match reply {
                Some(reply) => self.keep_reply(*key.as_bytes(), reply).await,
                None => Ok(()),
            }
        }
        .boxed()
    }
}

impl RolloutStore for Keeper {
    fn find(&self, key: RolloutKey) -> BoxFuture<'_, Result<Option<Rollout>, RecordingError>> {
        async move {
            self.goes_on()?;
            let is_kept = keys(&self.rollouts).contains(&key.0);
            match is_kept {
                true => self.rolled_out(&key.0).await,
                false => Ok(None),
            }
        }
        .boxed()
    }

    /// Does not wait: what it is made of is safe.
    fn keep<'a>(
        &'a self,
        key: RolloutKey,
        rollout: &'a Arc<Rollout>,
    ) -> BoxFuture<'a, Result<(), RecordingError>> {
        async move {
            self.hand_over(Item::Rollout(key.0, rollout.clone())).await?;
            keys(&self.rollouts).insert(key.0);
            Ok(())
        }
        .boxed()
    }
}
