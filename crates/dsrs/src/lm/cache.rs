//! A cache of the replies of one model, by exact request. Concurrent requests of the same key wait for
//! the first one. Does not send requests itself.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use moka::sync::Cache;
use sha2::{Digest, Sha256};
use tokio::sync::watch;

use super::{AnswerEnd, DecodingConstraint, LmParams, LmReply, LmRequest};

/// The approximate size of an entry without the texts of its reply.
const ENTRY: usize = 256;

/// A hash of everything in a request: messages, settings, constraint and tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestKey([u8; 32]);

impl RequestKey {
    /// The key of a request, independent of the model.
    #[must_use]
    pub fn of(request: &LmRequest) -> Self {
        Self::of_model("", request)
    }

    /// The key of a request to a model.
    #[must_use]
    pub fn of_model(alias: &str, request: &LmRequest) -> Self {
        let mut hash = Sha256::new();
        // Each part is preceded by its length, so that different requests never hash the same bytes.
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        part(alias.as_bytes());
        part(request.chat.prefix.json().as_bytes());
        part(&serde_json::to_vec(&request.chat.turns).unwrap_or_default());
        part(settings(&request.params).as_bytes());
        match &request.constraint {
            None => part(b""),
            Some(DecodingConstraint::Gbnf(grammar)) => part(format!("gbnf {grammar}").as_bytes()),
            Some(DecodingConstraint::JsonSchema { schema, strict }) => {
                part(format!("schema {strict} {schema}").as_bytes());
            }
        }
        part(request.tools.as_ref().map_or("", |tools| tools.json()).as_bytes());
        if request.logprobs {
            part(b"logprobs");
        }
        if request.tools.as_ref().is_some_and(|tools| tools.forced().is_some()) {
            part(b"forced");
        }
        Self(hash.finalize().into())
    }

    /// The key as bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The settings as a unique text.
fn settings(params: &LmParams) -> String {
    let LmParams { temperature, max_tokens, top_p, seed, stop, .. } = params;
    let LmParams { reasoning_effort, service_tier, extra_body, extra_headers, .. } = params;
    let usual = format!("{temperature:?} {max_tokens:?} {top_p:?} {seed:?} {stop:?}");
    if (reasoning_effort, service_tier, extra_body, extra_headers) == (&None, &None, &None, &None) {
        return usual;
    }
    format!("{usual} {reasoning_effort:?} {service_tier:?} {extra_body:?} {extra_headers:?}")
}

/// The replies of a model.
pub struct ReplyCache {
    replies: Cache<RequestKey, LmReply>,
    /// The requests in flight. Each channel closes when its request ends.
    in_flight: Mutex<HashMap<RequestKey, watch::Receiver<()>>>,
}

/// The result of a lookup.
#[derive(Debug)]
pub enum CacheLookup<'c> {
    /// The cached reply.
    Hit(LmReply),
    /// No reply: the caller has to send the request and to fill the slot.
    Miss(CacheSlot<'c>),
}

/// A request in flight. Dropping it wakes the requests of the same key that wait for it.
#[derive(Debug)]
pub struct CacheSlot<'c> {
    cache: &'c ReplyCache,
    key: RequestKey,
    /// `None` if another request of the same key is in flight.
    first: Option<watch::Sender<()>>,
}

impl ReplyCache {
    /// A cache of about this many bytes. Each reply expires after `ttl`.
    #[must_use]
    pub fn of(bytes: u64, ttl: Duration) -> Self {
        let replies =
            Cache::builder().max_capacity(bytes).weigher(weight).time_to_live(ttl).build();
        Self { replies, in_flight: Mutex::default() }
    }

    /// The cached reply to a request.
    #[must_use]
    pub fn get(&self, key: RequestKey) -> Option<LmReply> {
        self.replies.get(&key)
    }

    /// The cached reply to a request. Waits for a request of the same key in flight. If that one fails,
    /// every waiting request is sent on its own, because the failure may not concern it.
    pub async fn find(&self, key: RequestKey) -> CacheLookup<'_> {
        if let Some(reply) = self.replies.get(&key) {
            return CacheLookup::Hit(reply);
        }
        let mut other = match self.enter(key) {
            Ok(found) => return found,
            Err(other) => other,
        };
        // No value is ever sent: the channel closes when the request ends.
        while other.changed().await.is_ok() {}
        match self.replies.get(&key) {
            Some(reply) => CacheLookup::Hit(reply),
            None => CacheLookup::Miss(CacheSlot { cache: self, key, first: None }),
        }
    }

    /// Removes a reply that was not usable, so that the next request gets another one.
    pub fn remove(&self, key: RequestKey) {
        self.replies.invalidate(&key);
    }

    fn enter(&self, key: RequestKey) -> Result<CacheLookup<'_>, watch::Receiver<()>> {
        let mut in_flight = self.in_flight();
        if let Some(other) = in_flight.get(&key) {
            return Err(other.clone());
        }
        // A reply is cached before its request ends, so it cannot be missed in between.
        if let Some(reply) = self.replies.get(&key) {
            return Ok(CacheLookup::Hit(reply));
        }
        let (first, others) = watch::channel(());
        in_flight.insert(key, others);
        Ok(CacheLookup::Miss(CacheSlot { cache: self, key, first: Some(first) }))
    }

    fn in_flight(&self) -> MutexGuard<'_, HashMap<RequestKey, watch::Receiver<()>>> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ReplyCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplyCache").finish_non_exhaustive()
    }
}

impl CacheSlot<'_> {
    /// Ends the request with a reply, which is cached if it is complete.
    pub fn fill_if_complete(self, reply: &LmReply) {
        if is_complete(reply) {
            self.fill(reply);
        }
    }

    /// Ends the request with a reply, which is cached in any case.
    pub fn fill(self, reply: &LmReply) {
        self.cache.replies.insert(self.key, reply.clone());
    }
}

impl Drop for CacheSlot<'_> {
    fn drop(&mut self) {
        if self.first.is_some() {
            self.cache.in_flight().remove(&self.key);
        }
    }
}

/// Whether the model finished the answer, according to its finish reason.
fn is_complete(reply: &LmReply) -> bool {
    reply.finish_reason.is_some() && reply.end() == AnswerEnd::Finished
}

fn weight(_: &RequestKey, reply: &LmReply) -> u32 {
    let calls = reply.tool_calls.iter().map(|call| call.arguments.len() + ENTRY);
    let reasoning =
        reply.reasoning.iter().flat_map(|found| found.texts.iter().chain(&found.signatures));
    let reasoning: usize = reasoning.map(|text| text.len()).sum();
    let bytes = ENTRY + reply.text.len() + calls.sum::<usize>() + reasoning;
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::future::FutureExt;
    use serde_json::value::RawValue;

    use super::*;
    use crate::lm::{Chat, Message, Prefix, ToolSet, ToolSpec};

    fn request() -> LmRequest {
        let chat = Chat {
            prefix: Prefix::of([Message::system("be brief")]),
            turns: vec![Message::user("why?")],
        };
        LmRequest::new(chat, LmParams::default())
    }

    fn reply(text: &str) -> LmReply {
        LmReply { finish_reason: Some("stop".into()), ..LmReply::of(text, "m") }
    }

    fn cache() -> ReplyCache {
        ReplyCache::of(1 << 20, Duration::from_secs(600))
    }

    /// The text of the cached reply.
    async fn found(cache: &ReplyCache, key: RequestKey) -> Option<String> {
        match cache.find(key).await {
            CacheLookup::Hit(reply) => Some(reply.text.to_string()),
            CacheLookup::Miss(_) => None,
        }
    }

    async fn fill(cache: &ReplyCache, key: RequestKey, reply: &LmReply) {
        match cache.find(key).await {
            CacheLookup::Miss(asking) => asking.fill_if_complete(reply),
            CacheLookup::Hit(_) => panic!("there is one already"),
        }
    }

    #[test]
    fn requests_with_any_difference_have_different_keys() {
        let object: Arc<RawValue> = RawValue::from_string("{}".into()).unwrap().into();
        let tool = |name: &str| ToolSpec {
            name: name.into(),
            description: "".into(),
            parameters: object.clone(),
        };
        let changes: [fn(&mut LmRequest); 9] = [
            |r| r.chat.prefix = Prefix::of([Message::system("be briefer")]),
            |r| r.chat.turns.push(Message::user("")),
            |r| r.chat.turns = vec![Message::assistant("why?")],
            |r| r.params.temperature = Some(0.0),
            |r| r.params.temperature = Some(-0.0),
            |r| r.params.seed = Some(1),
            |r| r.params.max_tokens = Some(1),
            |r| r.params.stop = Some(vec!["a".into(), "b".into()]),
            |r| r.params.stop = Some(vec!["a\", \"b".into()]),
        ];
        let changed = changes.map(|change| {
            let mut request = request();
            change(&mut request);
            request
        });
        let held = |constraint| LmRequest { constraint: Some(constraint), ..request() };
        let with_tool = |name| LmRequest { tools: Some(ToolSet::of([tool(name)])), ..request() };
        let others = [
            held(DecodingConstraint::Gbnf("{}".into())),
            held(DecodingConstraint::JsonSchema { schema: object.clone(), strict: true }),
            held(DecodingConstraint::JsonSchema { schema: object.clone(), strict: false }),
            with_tool("add"),
            with_tool("sub"),
            LmRequest { tools: Some(ToolSet::forcing(tool("sub"))), ..request() },
        ];
        let all: Vec<_> = [request()].into_iter().chain(changed).chain(others).collect();
        let keys: std::collections::HashSet<_> = all.iter().map(RequestKey::of).collect();
        assert_eq!(keys.len(), all.len());
        assert_eq!(RequestKey::of(&request()), RequestKey::of(&request()));
    }

    #[tokio::test]
    async fn a_reply_is_cached_until_it_is_removed() {
        let (cache, key) = (cache(), RequestKey::of(&request()));
        fill(&cache, key, &reply("because")).await;
        assert_eq!(found(&cache, key).await.as_deref(), Some("because"));
        cache.remove(key);
        assert_eq!(found(&cache, key).await, None);
    }

    #[tokio::test]
    async fn an_incomplete_reply_is_not_cached() {
        let (cache, key) = (cache(), RequestKey::of(&request()));
        for reason in [None, Some("length"), Some("content_filter")] {
            let cut = LmReply { finish_reason: reason.map(Into::into), ..reply("beca") };
            fill(&cache, key, &cut).await;
            assert_eq!(found(&cache, key).await, None, "{reason:?}");
        }
    }

    #[tokio::test]
    async fn concurrent_requests_of_one_key_wait_for_the_first() {
        let (cache, key) = (cache(), RequestKey::of(&request()));
        let CacheLookup::Miss(first) = cache.find(key).await else { panic!("it is empty") };
        let mut others = [Box::pin(found(&cache, key)), Box::pin(found(&cache, key))];
        assert!(others.iter_mut().all(|other| other.now_or_never().is_none()));
        first.fill_if_complete(&reply("because"));
        for other in others {
            assert_eq!(other.await.as_deref(), Some("because"));
        }
    }

    #[tokio::test]
    async fn after_a_failed_first_request_the_others_are_sent() {
        let (cache, key) = (cache(), RequestKey::of(&request()));
        let CacheLookup::Miss(first) = cache.find(key).await else { panic!("it is empty") };
        let mut others = [Box::pin(cache.find(key)), Box::pin(cache.find(key))];
        assert!(others.iter_mut().all(|other| other.now_or_never().is_none()));
        drop(first);
        let asking = futures_util::future::join_all(others).await;
        assert!(asking.iter().all(|found| matches!(found, CacheLookup::Miss(_))));
    }

    #[tokio::test]
    async fn a_reply_expires() {
        let cache = ReplyCache::of(1 << 20, Duration::from_millis(5));
        let key = RequestKey::of(&request());
        fill(&cache, key, &reply("because")).await;
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(found(&cache, key).await, None);
    }

    #[tokio::test]
    async fn the_cache_stays_within_its_size() {
        let cache = ReplyCache::of(64 << 10, Duration::from_secs(600));
        for number in 0..1_000 {
            let mut request = request();
            request.params.seed = Some(number);
            fill(&cache, RequestKey::of(&request), &reply(&"a".repeat(1_000))).await;
        }
        cache.replies.run_pending_tasks();
        assert!((1..=64).contains(&cache.replies.entry_count()), "{}", cache.replies.entry_count());
    }
}
