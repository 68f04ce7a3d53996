//! LMs and embedding models that are paid from a budget. Every reply is recorded, in memory and in a
//! store that outlives the process, so that no reply is paid twice. Does not know the work that the
//! budget is for.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use tokio::time::Instant;

use super::payment::{Payment, bound_answer, refused, request_of};
use super::{
    BudgetAccount, CacheLookup, DeltaSink, Embedder, EmbeddingModel, Embeddings, Lm, LmError,
    LmErrorKind, LmReply, LmRequest, Model, ReplyCache, RequestKey, RequestTrace, Usage, Vectors,
};

/// Bytes of replies in memory.
const MEMORY_BYTES: u64 = 64 << 20;

/// Longer than any optimization.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 86_400);

/// A request that was paid, with its reply.
#[derive(Clone, Debug)]
pub struct RecordedReply {
    /// The request and its model.
    pub key: RequestKey,
    /// The reply; `None` if the request failed.
    pub reply: Option<LmReply>,
    /// Its cost.
    pub usage: Usage,
}

/// Why the store could not record or look up. The work ends: its next steps would be lost, or
/// another worker has taken it over.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct RecordingError(pub String);

/// Stores replies beyond the lifetime of the process.
pub trait ReplyStore: Send + Sync {
    /// The reply that an earlier process recorded under a key, if there is one.
    fn find(&self, key: RequestKey) -> BoxFuture<'_, Result<Option<LmReply>, RecordingError>>;

    /// Records a reply. May return before it is durable.
    fn record(&self, recorded: RecordedReply) -> BoxFuture<'_, Result<(), RecordingError>>;
}

/// Stores nothing beyond the lifetime of the process.
pub struct NoStore;

impl ReplyStore for NoStore {
    fn find(&self, _: RequestKey) -> BoxFuture<'_, Result<Option<LmReply>, RecordingError>> {
        async { Ok(None) }.boxed()
    }

    fn record(&self, _: RecordedReply) -> BoxFuture<'_, Result<(), RecordingError>> {
        async { Ok(()) }.boxed()
    }
}

/// Pays for requests from one budget and records their replies.
pub struct BudgetedReplies {
    account: BudgetAccount,
    replies: ReplyCache,
    store: Arc<dyn ReplyStore>,
    /// The first failure of the store.
    recording_error: OnceLock<RecordingError>,
}

impl BudgetedReplies {
    /// No replies yet.
    #[must_use]
    pub fn new(account: BudgetAccount, store: Arc<dyn ReplyStore>) -> Self {
        let replies = ReplyCache::of(MEMORY_BYTES, FOREVER);
        Self { account, replies, store, recording_error: OnceLock::new() }
    }

    /// The budget and what has been spent of it.
    #[must_use]
    pub const fn account(&self) -> &BudgetAccount {
        &self.account
    }

    /// The first failure of the store, if it has failed.
    #[must_use]
    pub fn recording_error(&self) -> Option<&RecordingError> {
        self.recording_error.get()
    }

    /// The request with a limit of its answer, if the budget needs one and the request has none.
    #[must_use]
    pub fn bound_answer(&self, request: &LmRequest) -> Option<LmRequest> {
        bound_answer(&self.account, request)
    }

    /// The recorded reply to a request. Waits for a request of the same key in flight.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn find(&self, key: RequestKey) -> Result<CacheLookup<'_>, LmError> {
        let slot = match self.replies.find(key).await {
            hit @ CacheLookup::Hit(_) => return Ok(hit),
            CacheLookup::Miss(slot) => slot,
        };
        Ok(match self.store.find(key).await.map_err(|error| self.recording_failed(error))? {
            Some(reply) => {
                slot.fill(&reply);
                CacheLookup::Hit(reply)
            }
            None => CacheLookup::Miss(slot),
        })
    }

    /// An LM for one request, which is paid from the budget each time it is sent.
    #[must_use]
    pub fn lm<'a>(&'a self, model: &'a Model, key: RequestKey) -> BudgetedLm<'a> {
        let payment = Payment::of(&self.account, model);
        let payment = RecordedPayment { replies: self, payment, key };
        BudgetedLm { payment, lm: &*model.lm, permitted_at: OnceLock::new() }
    }

    /// Records a reply that cost nothing here: the same request may get another reply later.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn record(&self, key: RequestKey, reply: &LmReply) -> Result<(), LmError> {
        let recorded = RecordedReply { key, reply: Some(reply.clone()), usage: Usage::default() };
        self.store.record(recorded).await.map_err(|error| self.recording_failed(error))
    }

    /// An embedding model whose requests are paid from the budget, unless their vectors are
    /// recorded.
    #[must_use]
    pub const fn embedder<'a>(&'a self, model: &'a EmbeddingModel) -> BudgetedEmbedder<'a> {
        BudgetedEmbedder { replies: self, model }
    }

    fn recording_failed(&self, error: RecordingError) -> LmError {
        let failure = refused(LmErrorKind::Cancelled, error.to_string());
        let _ = self.recording_error.set(error);
        failure
    }
}

/// One request, and where its reply is recorded.
#[derive(Clone, Copy)]
struct RecordedPayment<'a> {
    replies: &'a BudgetedReplies,
    payment: Payment<'a>,
    key: RequestKey,
}

impl RecordedPayment<'_> {
    /// Waits for the budget, sends the request, settles its cost and records its reply.
    async fn pay(
        &self,
        request: &LmRequest,
        on_permit: impl FnOnce() + Send,
        reply: BoxFuture<'_, Result<LmReply, LmError>>,
    ) -> Result<LmReply, LmError> {
        let (reply, usage) = self.payment.pay(request, on_permit, reply).await?;
        let recorded = RecordedReply { key: self.key, reply: reply.as_ref().ok().cloned(), usage };
        let stored = self.replies.store.record(recorded).await;
        stored.map_err(|error| self.replies.recording_failed(error))?;
        reply
    }
}

/// An LM for one request, which is paid from a budget each time it is sent.
pub struct BudgetedLm<'a> {
    payment: RecordedPayment<'a>,
    lm: &'a dyn Lm,
    permitted_at: OnceLock<Instant>,
}

impl BudgetedLm<'_> {
    /// When the budget first permitted the request; `None` if it was answered without being paid.
    #[must_use]
    pub fn permitted_at(&self) -> Option<Instant> {
        self.permitted_at.get().copied()
    }
}

impl Lm for BudgetedLm<'_> {
    fn complete<'a>(
        &'a self,
        request: &'a LmRequest,
        deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<LmReply, LmError>> {
        // A retry does not change the time of the first permit.
        let on_permit = || {
            let _ = self.permitted_at.set(Instant::now());
        };
        self.payment.pay(request, on_permit, self.lm.complete(request, deltas)).boxed()
    }
}

/// An embedding model whose requests are paid from a budget. Vectors are recorded as a reply whose
/// text is [`Vectors::to_base64`].
pub struct BudgetedEmbedder<'a> {
    replies: &'a BudgetedReplies,
    model: &'a EmbeddingModel,
}

impl BudgetedEmbedder<'_> {
    async fn embed_batch(
        &self,
        texts: &[Arc<str>],
        trace: Option<&RequestTrace>,
    ) -> Result<Embeddings, LmError> {
        let EmbeddingModel { alias, prices, .. } = self.model;
        let request = request_of(texts);
        let key = RequestKey::of_model(alias, &request);
        let slot = match self.replies.find(key).await? {
            CacheLookup::Hit(reply) => return unpacked(&reply, texts.len()),
            CacheLookup::Miss(slot) => slot,
        };
        let reply = async { packed(self.model, &self.model.embedder.embed(texts, trace).await?) };
        let payment =
            Payment { account: &self.replies.account, alias, prices: prices.as_ref(), prefix: "" };
        let payment = RecordedPayment { replies: self.replies, payment, key };
        let reply = payment.pay(&request, || (), reply.boxed()).await?;
        slot.fill(&reply);
        unpacked(&reply, texts.len())
    }
}

impl Embedder for BudgetedEmbedder<'_> {
    fn embed<'a>(
        &'a self,
        texts: &'a [Arc<str>],
        trace: Option<&'a RequestTrace>,
    ) -> BoxFuture<'a, Result<Embeddings, LmError>> {
        async move {
            match texts {
                [] => Ok(Embeddings::default()),
                texts => self.embed_batch(texts, trace).await,
            }
        }
        .boxed()
    }
}

fn packed(model: &EmbeddingModel, embeddings: &Embeddings) -> Result<LmReply, LmError> {
    let vectors = Vectors::of(&embeddings.vectors).ok_or_else(|| misfit(&model.alias))?;
    let reply = LmReply::of(vectors.to_base64(), model.model.clone());
    Ok(LmReply { usage: embeddings.usage, ..reply })
}

fn unpacked(reply: &LmReply, texts: usize) -> Result<Embeddings, LmError> {
    // Four characters of base64 are three bytes; the padding is shorter than a number.
    let numbers = reply.text.len() / 4 * 3 / size_of::<f32>();
    let vectors = Vectors::from_base64(&reply.text, numbers / texts.max(1));
    let vectors = vectors.ok().filter(|vectors| vectors.len() == texts);
    let vectors = vectors.ok_or_else(|| misfit(&reply.model))?;
    Ok(Embeddings { vectors: Vec::from(&vectors), usage: reply.usage })
}

fn misfit(model: &str) -> LmError {
    let message =
        format!("the embedding model `{model}` did not return one vector of one length per text");
    refused(LmErrorKind::Malformed, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lm::{
        Budget, Chat, DecodingConstraint, LmParams, Message, Prefix, ScriptedLm, ToolCall,
    };

    #[test]
    fn every_part_of_a_request_counts_as_input() {
        let budget = Budget { tokens: Some(1), ..Budget::default() };
        let account = BudgetAccount::open(budget, Usage::default(), 0.0);
        let replies = BudgetedReplies::new(account, Arc::new(NoStore));
        let model = Model::of("m", Arc::new(ScriptedLm::always("")));
        let long: Arc<str> = "1".repeat(10_000).into();
        let call = ToolCall { id: "c".into(), name: "find".into(), arguments: long.clone() };
        let turns = vec![Message::calling("", vec![call.clone()]), Message::result(&call, &*long)];
        let chat = Chat { prefix: Prefix::of([]), turns };
        let constraint = Some(DecodingConstraint::Gbnf(long));
        let request = LmRequest { constraint, ..LmRequest::new(chat, LmParams::default()) };
        let payment = replies.lm(&model, RequestKey::of(&request)).payment.payment;
        assert!(payment.worst(&request).unwrap().input_tokens > 30_000);
    }
}
