//! An LM before which its replies are kept: what is there is served, what is on its way already is
//! waited for, the rest is asked. Knows nothing of turns: whoever asks has had one, so that nobody
//! waits for a request that waits itself.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::{BoxFuture, FutureExt};

use super::{Found, Heard, Lm, LmError, LmReply, LmRequest, ReplyCache, RequestKey};

/// One request to an LM whose replies are kept.
pub struct Kept<'a> {
    lm: &'a dyn Lm,
    cache: &'a ReplyCache,
    key: RequestKey,
    has_served: AtomicBool,
}

impl<'a> Kept<'a> {
    /// For a request of this key only.
    #[must_use]
    pub const fn new(lm: &'a dyn Lm, cache: &'a ReplyCache, key: RequestKey) -> Self {
        Self { lm, cache, key, has_served: AtomicBool::new(false) }
    }

    /// Whether the reply that it gave is one that was kept.
    #[must_use]
    pub fn has_served(&self) -> bool {
        self.has_served.load(Ordering::Relaxed)
    }

    /// The reply if it is there, without waiting.
    #[must_use]
    pub fn at_once(&self) -> Option<LmReply> {
        self.cache.get(self.key).map(|reply| self.serve(reply))
    }

    fn serve(&self, kept: LmReply) -> LmReply {
        self.has_served.store(true, Ordering::Relaxed);
        kept
    }
}

impl Lm for Kept<'_> {
    fn complete<'a>(&'a self, request: &'a LmRequest) -> BoxFuture<'a, Result<LmReply, LmError>> {
        let answer = async {
            let asking = match self.cache.find(self.key).await {
                Found::Reply(reply) => return Ok(self.serve(reply)),
                Found::Nothing(asking) => asking,
            };
            let reply = self.lm.complete(request).await?;
            asking.answered(&reply);
            Ok(reply)
        };
        answer.boxed()
    }

    fn stream<'a>(
        &'a self,
        request: &'a LmRequest,
        heard: Heard<'a>,
    ) -> BoxFuture<'a, Result<LmReply, LmError>> {
        let answer = async {
            let asking = match self.cache.find(self.key).await {
                Found::Reply(reply) => {
                    heard(&reply.text);
                    return Ok(self.serve(reply));
                }
                Found::Nothing(asking) => asking,
            };
            let reply = self.lm.stream(request, heard).await?;
            asking.answered(&reply);
            Ok(reply)
        };
        answer.boxed()
    }
}
