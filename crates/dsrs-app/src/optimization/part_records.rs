//! What a helper records: the replies and rollouts of offers, with what each offer has spent. A writer stores them in
//! groups, while the part is held. May not know programs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use dsrs::lm::{LmReply, RecordedReply, RecordingError, ReplyStore, RequestKey, Usage};
use dsrs::optimize::Rollout;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use crate::App;
use crate::job::active::{ActiveGuard, StopReason};
use crate::job::attempt::JobAttempt;
use crate::optimization::recorded_replies::{lease_lost, read};
use crate::optimization::usage::totals;
use dsrs_store::job::Job;
use dsrs_store::optimization_part::{self, OfferStep, PartRecords};
use dsrs_store::optimization_record::{self, RecordKey};
use dsrs_store::persist;
use dsrs_store::{Scope, StoreError};

/// Records that are written at a time.
const GROUP: usize = 128;

/// A record that waits to be written.
pub(crate) enum PartRecord {
    /// A reply, what its offer has spent by then, and the channel to confirm that it is written.
    Purchase {
        /// Identifies the request.
        request: RecordKey,
        reply: LmReply,
        /// Identifies the rollout of the offer.
        offer: RecordKey,
        spent: Usage,
        written: oneshot::Sender<()>,
    },
    /// How far an offer is.
    Offer {
        /// Identifies its rollout.
        key: RecordKey,
        step: OfferStep,
        /// The rollout, if it is made.
        rollout: Option<Rollout>,
        spent: Usage,
    },
}

/// Records the replies of one offer, and finds those that any worker has recorded.
pub(crate) struct OfferReplies {
    app: Arc<App>,
    scope: Scope,
    optimization: Uuid,
    offer: RecordKey,
    spent: Mutex<Usage>,
    sender: mpsc::Sender<PartRecord>,
}

impl OfferReplies {
    /// For an offer of an optimization on which something may have been spent.
    pub(crate) fn new(
        attempt: &JobAttempt,
        optimization: Uuid,
        offer: RecordKey,
        spent: Usage,
        sender: &mpsc::Sender<PartRecord>,
    ) -> Arc<Self> {
        Arc::new(Self {
            app: attempt.app.clone(),
            scope: attempt.job.scope.clone(),
            optimization,
            offer,
            spent: Mutex::new(spent),
            sender: sender.clone(),
        })
    }

    fn add(&self, usage: Usage) -> Usage {
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        *spent += usage;
        *spent
    }
}

impl ReplyStore for OfferReplies {
    fn find(&self, key: RequestKey) -> BoxFuture<'_, Result<Option<LmReply>, RecordingError>> {
        async move {
            if self.app.shutdown.is_draining() {
                return Err(RecordingError("the server is stopping".to_owned()));
            }
            let (scope, db, id, key) =
                (&self.scope, &self.app.db, self.optimization, key.as_bytes());
            let found = persist(|| optimization_record::purchase(scope, db, id, key)).await;
            Ok(read(found)?.as_ref().and_then(LmReply::from_payload))
        }
        .boxed()
    }

    /// Waits until the reply is written, so that a killed server loses only requests in flight. The cost of a
    /// failed request is written with the next record.
    fn record(&self, recorded: RecordedReply) -> BoxFuture<'_, Result<(), RecordingError>> {
        let RecordedReply { key, reply, usage } = recorded;
        let spent = self.add(usage);
        async move {
            let Some(reply) = reply else { return Ok(()) };
            let (written, is_written) = oneshot::channel();
            let (request, offer) = (*key.as_bytes(), self.offer);
            let record = PartRecord::Purchase { request, reply, offer, spent, written };
            self.sender.send(record).await.map_err(|_| lease_lost())?;
            is_written.await.map_err(|_| lease_lost())
        }
        .boxed()
    }
}

/// Writes records in groups until all senders are gone, or the part is lost.
pub(crate) async fn write_records(
    app: &App,
    job: &Job,
    optimization: Uuid,
    guard: &ActiveGuard,
    mut records: mpsc::Receiver<PartRecord>,
) -> Result<(), StoreError> {
    let mut group = Vec::with_capacity(GROUP);
    while records.recv_many(&mut group, GROUP).await > 0 {
        let (rows, waiting) = rows(group.drain(..));
        let (scope, db, lease) = (&job.scope, &app.db, job.lease);
        let write = || optimization_part::record(scope, db, lease, optimization, &rows);
        let is_held = persist(write).await.inspect_err(|_| guard.stop(StopReason::Lost))?;
        if !is_held {
            guard.stop(StopReason::Lost);
            return Ok(());
        }
        for written in waiting {
            // The receiver is gone if its task was stopped.
            let _ = written.send(());
        }
    }
    Ok(())
}

fn rows(group: impl Iterator<Item = PartRecord>) -> (PartRecords, Vec<oneshot::Sender<()>>) {
    let (mut rows, mut offers, mut waiting) = (PartRecords::default(), HashMap::new(), Vec::new());
    for record in group {
        match record {
            PartRecord::Purchase { request, reply, offer, spent, written } => {
                rows.purchases.push((request, reply.to_payload().to_json()));
                offers.entry(offer).or_insert((OfferStep::Open, spent)).1 = spent;
                waiting.push(written);
            }
            PartRecord::Offer { key, step, rollout, spent } => {
                rows.rollouts.extend(rollout.map(|rollout| (key, rollout.to_payload().to_json())));
                offers.insert(key, (step, spent));
            }
        }
    }
    let offers = offers.into_iter().map(|(key, (step, spent))| (key, step, totals(&spent)));
    rows.offers.extend(offers);
    (rows, waiting)
}
