//! The store of completed rollouts, so that none is made twice and another process can continue. Knows
//! no particular storage.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use sha2::{Digest, Sha256};

use super::candidate::CandidateHash;
use super::{Example, Rollout};
use crate::lm::{NoStore, RecordingError};
use crate::predict::Variation;

/// Identifies a rollout: candidate, example, metric and variation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RolloutKey(pub [u8; 32]);

impl RolloutKey {
    /// The key of a rollout; `metric` is its text.
    #[must_use]
    pub fn of(
        candidate: &CandidateHash,
        example: &Example,
        metric: &str,
        variation: Option<Variation>,
    ) -> Self {
        let mut hash = Sha256::new();
        hash.update(candidate);
        hash.update((example.id.len() as u64).to_le_bytes());
        hash.update(example.id.as_bytes());
        hash.update((metric.len() as u64).to_le_bytes());
        hash.update(metric);
        if let Some(Variation { number, temperature }) = variation {
            hash.update((number as u64).to_le_bytes());
            hash.update(temperature.to_le_bytes());
        }
        Self(hash.finalize().into())
    }
}

/// Stores rollouts beyond the lifetime of the process.
pub trait RolloutStore: Send + Sync {
    /// The stored rollout of a key, if there is one.
    fn find(&self, key: RolloutKey) -> BoxFuture<'_, Result<Option<Rollout>, RecordingError>>;

    /// Stores a rollout; may return before it is durable.
    fn keep<'a>(
        &'a self,
        key: RolloutKey,
        rollout: &'a Arc<Rollout>,
    ) -> BoxFuture<'a, Result<(), RecordingError>>;
}

impl RolloutStore for NoStore {
    fn find(&self, _: RolloutKey) -> BoxFuture<'_, Result<Option<Rollout>, RecordingError>> {
        async { Ok(None) }.boxed()
    }

    fn keep<'a>(
        &'a self,
        _: RolloutKey,
        _: &'a Arc<Rollout>,
    ) -> BoxFuture<'a, Result<(), RecordingError>> {
        async { Ok(()) }.boxed()
    }
}
