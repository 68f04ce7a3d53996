//! The results of one node's calls, by their arguments, for a limited time. In the memory of this process.

use std::time::Duration;

use moka::sync::Cache;

use super::key::CallKey;
use crate::value::Payload;

/// The bytes of the results of a node.
const CAPACITY: u64 = 8 << 20;

/// The size of an entry without its result.
const ENTRY: usize = 128;

/// Results by arguments.
pub(super) struct ResultCache(Cache<CallKey, Payload>);

impl ResultCache {
    /// A cache whose results expire after `ttl`.
    pub(super) fn of(ttl: Duration) -> Self {
        let weight = |_: &CallKey, result: &Payload| {
            u32::try_from(ENTRY + result.to_json().len()).unwrap_or(u32::MAX)
        };
        Self(Cache::builder().max_capacity(CAPACITY).weigher(weight).time_to_live(ttl).build())
    }

    /// The result of an earlier call.
    pub(super) fn get(&self, key: CallKey) -> Option<Payload> {
        self.0.get(&key)
    }

    /// Stores a result.
    pub(super) fn insert(&self, key: CallKey, result: &Payload) {
        self.0.insert(key, result.clone());
    }
}
