//! An LM before which its replies are kept: what is there is served, what is on its way already is
//! waited for, the rest is asked. Knows nothing of turns: whoever asks has had one, so that nobody
//! waits for a request that waits itself.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::{BoxFuture, FutureExt};

use super::{CacheLookup, DeltaSink, Lm, LmError, LmReply, LmRequest, ReplyCache, RequestKey};

/// One request to an LM whose replies are kept.
pub struct CachedLm<'a> {
    lm: &'a dyn Lm,
    cache: &'a ReplyCache,
    key: RequestKey,
    is_hit: AtomicBool,
}

impl<'a> CachedLm<'a> {
    /// For a request of this key only.
    #[must_use]
    pub const fn new(lm: &'a dyn Lm, cache: &'a ReplyCache, key: RequestKey) -> Self {
        Self { lm, cache, key, is_hit: AtomicBool::new(false) }
    }

    /// Whether the reply that it gave is one that was kept.
    #[must_use]
    pub fn is_hit(&self) -> bool {
        self.is_hit.load(Ordering::Relaxed)
    }

    /// The reply if it is there, without waiting.
    #[must_use]
    pub fn hit(&self) -> Option<LmReply> {
        self.cache.get(self.key).map(|reply| self.serve(reply))
    }

    fn serve(&self, kept: LmReply) -> LmReply {
        self.is_hit.store(true, Ordering::Relaxed);
        kept
    }
}

impl Lm for CachedLm<'_> {
    fn complete<'a>(&'a self, request: &'a LmRequest) -> BoxFuture<'a, Result<LmReply, LmError>> {
        let answer = async {
            let slot = match self.cache.find(self.key).await {
                CacheLookup::Hit(reply) => return Ok(self.serve(reply)),
                CacheLookup::Miss(slot) => slot,
            };
            let reply = self.lm.complete(request).await?;
            slot.fill_if_complete(&reply);
            Ok(reply)
        };
        answer.boxed()
    }

    fn stream<'a>(
        &'a self,
        request: &'a LmRequest,
        heard: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<LmReply, LmError>> {
        let answer = async {
            let slot = match self.cache.find(self.key).await {
                CacheLookup::Hit(reply) => {
                    heard(&reply.text);
                    return Ok(self.serve(reply));
                }
                CacheLookup::Miss(slot) => slot,
            };
            let reply = self.lm.stream(request, heard).await?;
            slot.fill_if_complete(&reply);
            Ok(reply)
        };
        answer.boxed()
    }
}
