//! An LM with a reply cache: a cached reply is returned, a request that is already in flight is
//! awaited, anything else is sent. It knows no gates: its caller already has a permit, so that no
//! request waits for another one that is itself waiting for a permit.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::{BoxFuture, FutureExt};

use super::{CacheLookup, DeltaSink, Lm, LmError, LmReply, LmRequest, ReplyCache, RequestKey};

/// One LM request whose replies are cached.
pub struct CachedLm<'a> {
    lm: &'a dyn Lm,
    cache: &'a ReplyCache,
    key: RequestKey,
    is_hit: AtomicBool,
}

impl<'a> CachedLm<'a> {
    /// Accepts only requests of this key.
    #[must_use]
    pub const fn new(lm: &'a dyn Lm, cache: &'a ReplyCache, key: RequestKey) -> Self {
        Self { lm, cache, key, is_hit: AtomicBool::new(false) }
    }

    /// Whether its reply came from the cache.
    #[must_use]
    pub fn is_hit(&self) -> bool {
        self.is_hit.load(Ordering::Relaxed)
    }

    /// The cached reply, if there is one.
    #[must_use]
    pub fn hit(&self) -> Option<LmReply> {
        self.cache.get(self.key).map(|reply| self.serve(reply))
    }

    fn serve(&self, reply: LmReply) -> LmReply {
        self.is_hit.store(true, Ordering::Relaxed);
        reply
    }
}

impl Lm for CachedLm<'_> {
    fn complete<'a>(
        &'a self,
        request: &'a LmRequest,
        mut deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<LmReply, LmError>> {
        let reply = async move {
            let slot = match self.cache.find(self.key).await {
                CacheLookup::Hit(reply) => {
                    deltas.send(&reply.text);
                    return Ok(self.serve(reply));
                }
                CacheLookup::Miss(slot) => slot,
            };
            let reply = self.lm.complete(request, deltas).await?;
            slot.fill_if_complete(&reply);
            Ok(reply)
        };
        reply.boxed()
    }
}
