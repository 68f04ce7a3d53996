//! The turn of a rollout: it runs here once the limit allows it, unless another process makes it before.
//! Knows nothing of scores.

use std::sync::Arc;

use tokio::sync::SemaphorePermit;

use super::Workbench;
use crate::lm::RecordingError;
use crate::optimize::rollout_offers::{OfferOutcome, OfferedRollout, RolloutOffers};
use crate::optimize::{EarlyStop, Rollout, RolloutKey};

/// How a rollout that is needed comes about.
pub(super) enum Turn<'a> {
    /// It runs here, while the permit is there.
    Own(SemaphorePermit<'a>),
    /// Another process has made it.
    Made(Arc<Rollout>),
}

impl Workbench {
    /// Waits for the turn of a rollout. If it has to wait, it is offered to other processes.
    pub(super) async fn turn(
        &self,
        rollout: impl FnOnce() -> OfferedRollout,
    ) -> Result<Turn<'_>, EarlyStop> {
        let Some(offers) = &self.task().offers else { return self.own_turn().await };
        if let Ok(permit) = self.shared.limit.try_acquire() {
            return Ok(Turn::Own(permit));
        }
        let rollout = rollout();
        let key = rollout.key;
        offers.offer(rollout);
        let cancelled = &self.task().evaluator.cancelled;
        tokio::select! {
            biased;
            () = cancelled.cancelled() => Err(EarlyStop::Cancelled),
            outcome = offers.outcome(key) => self.after(outcome.map_err(not_recorded)?).await,
            turn = self.own_turn() => self.withdrawn(offers.as_ref(), key, turn?).await,
        }
    }

    async fn own_turn(&self) -> Result<Turn<'_>, EarlyStop> {
        let permit = self.shared.limit.acquire().await;
        permit.map(Turn::Own).map_err(|_| EarlyStop::Cancelled)
    }

    /// The turn is there. If another process works on the rollout, its result is awaited without the permit.
    async fn withdrawn<'a>(
        &'a self,
        offers: &dyn RolloutOffers,
        key: RolloutKey,
        turn: Turn<'a>,
    ) -> Result<Turn<'a>, EarlyStop> {
        if offers.withdraw(key).await.map_err(not_recorded)? {
            return Ok(turn);
        }
        drop(turn);
        tokio::select! {
            () = self.task().evaluator.cancelled.cancelled() => Err(EarlyStop::Cancelled),
            outcome = offers.outcome(key) => self.after(outcome.map_err(not_recorded)?).await,
        }
    }

    async fn after(&self, outcome: OfferOutcome) -> Result<Turn<'_>, EarlyStop> {
        match outcome {
            OfferOutcome::Made(rollout) => Ok(Turn::Made(rollout)),
            OfferOutcome::Returned => self.own_turn().await,
        }
    }
}

pub(super) fn not_recorded(error: RecordingError) -> EarlyStop {
    EarlyStop::NotRecorded(error.0.into())
}
