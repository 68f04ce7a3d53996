//! The results of calls, by node and arguments, for a limited time. In the memory of this process, within one limit for all
//! nodes.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use moka::sync::Cache;

use super::key::CallKey;
use crate::value::Payload;

/// The memory of all results.
const CAPACITY: u64 = 64 << 20;

/// The memory of a value and of an entry, without what they contain.
const VALUE: usize = 64;
const ENTRY: usize = 192;

/// The results of all nodes: one node may not use what others have.
static RESULTS: LazyLock<Cache<(u64, CallKey), CachedResult>> = LazyLock::new(|| {
    let weight = |_: &(u64, CallKey), cached: &CachedResult| {
        u32::try_from(ENTRY + size(&cached.value)).unwrap_or(u32::MAX)
    };
    Cache::builder().max_capacity(CAPACITY).weigher(weight).build()
});

#[derive(Clone)]
struct CachedResult {
    value: Payload,
    expires: Instant,
}

/// The memory of a value.
fn size(value: &Payload) -> usize {
    let within = match value {
        Payload::Str(text) => text.len(),
        Payload::List(elements) => elements.iter().map(size).sum(),
        Payload::Map(members) => {
            members.iter().map(|(name, member)| VALUE + name.len() + size(member)).sum()
        }
        _ => 0,
    };
    VALUE + within
}

/// The results of one node.
pub(super) struct ResultCache {
    node: u64,
    ttl: Duration,
}

impl ResultCache {
    /// A cache whose results expire after `ttl`.
    pub(super) fn of(ttl: Duration) -> Self {
        static NODES: AtomicU64 = AtomicU64::new(0);
        Self { node: NODES.fetch_add(1, Ordering::Relaxed), ttl }
    }

    /// The result of an earlier call.
    pub(super) fn get(&self, key: CallKey) -> Option<Payload> {
        let found = RESULTS.get(&(self.node, key))?;
        if found.expires > Instant::now() {
            return Some(found.value);
        }
        RESULTS.invalidate(&(self.node, key));
        None
    }

    /// Stores a result.
    pub(super) fn insert(&self, key: CallKey, value: &Payload) {
        let Some(expires) = Instant::now().checked_add(self.ttl) else { return };
        RESULTS.insert((self.node, key), CachedResult { value: value.clone(), expires });
    }
}
