//! Rollouts that are offered to other processes while they wait for their turn in this one. Knows no particular
//! way to reach other processes.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::candidate::CandidateHash;
use super::{Candidate, Rollout, RolloutKey};
use crate::lm::RecordingError;
use crate::predict::Variation;

/// A rollout that another process may make.
#[derive(Clone, Debug)]
pub struct OfferedRollout {
    /// Identifies it.
    pub key: RolloutKey,
    /// What to run.
    pub candidate: Arc<Candidate>,
    /// The hash of the candidate.
    pub hash: CandidateHash,
    /// The id of the example.
    pub example: Arc<str>,
    /// How it differs from other rollouts of the candidate on the example.
    pub variation: Option<Variation>,
}

/// What another process made of an offered rollout.
#[derive(Clone, Debug)]
pub enum OfferOutcome {
    /// The rollout.
    Made(Arc<Rollout>),
    /// Nothing: it is made here.
    Returned,
}

/// Offers rollouts to other processes.
pub trait RolloutOffers: Send + Sync {
    /// Offers a rollout. One of the same key remains one offer.
    fn offer(&self, rollout: OfferedRollout);

    /// Waits until another process has ended its work on an offered rollout. `Returned` at once if there is
    /// no such offer.
    fn outcome(&self, key: RolloutKey) -> BoxFuture<'_, Result<OfferOutcome, RecordingError>>;

    /// Withdraws an offer. False if another process works on it, or has ended its work: [`Self::outcome`]
    /// has the result.
    fn withdraw(&self, key: RolloutKey) -> BoxFuture<'_, Result<bool, RecordingError>>;
}
