//! LMs and embedding models that are paid from a budget. Every reply is recorded, in memory and in a
//! store that outlives the process, so that no reply is paid twice. Does not know the work that the
//! budget is for.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use tokio::time::Instant;

use super::{
    BudgetAccount, BudgetLimit, CacheLookup, Chat, DecodingConstraint, DeltaSink, Embedder,
    EmbeddingModel, Embeddings, Lm, LmError, LmErrorKind, LmParams, LmReply, LmRequest, Message,
    Model, Prefix, Prices, ReplyCache, RequestKey, Usage, Vectors,
};

/// Bytes of replies in memory.
const MEMORY_BYTES: u64 = 64 << 20;

/// Longer than any optimization.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 86_400);

/// The longest answer in tokens, where the budget needs a bound and the request has none.
const LONGEST_ANSWER: u32 = 4096;

/// Tokens that a provider may add to each message, and to each tool call in it.
const PER_MESSAGE: u64 = 16;

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
        let is_open = self.account.limits_answers() && request.params.max_tokens.is_none();
        is_open.then(|| {
            let mut bounded = request.clone();
            bounded.params.max_tokens = Some(LONGEST_ANSWER);
            bounded
        })
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
        let payment =
            Payment { replies: self, alias: &model.alias, prices: model.prices.as_ref(), key };
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

/// One request, and what its budget needs to know of its model.
#[derive(Clone, Copy)]
struct Payment<'a> {
    replies: &'a BudgetedReplies,
    alias: &'a str,
    prices: Option<&'a Prices>,
    key: RequestKey,
}

impl Payment<'_> {
    /// Waits for the budget, sends the request, settles its cost and records its reply.
    async fn pay(
        &self,
        request: &LmRequest,
        on_permit: impl FnOnce() + Send,
        reply: BoxFuture<'_, Result<LmReply, LmError>>,
    ) -> Result<LmReply, LmError> {
        let worst = self.worst(request)?;
        let permit = self.replies.account.acquire(worst).await.map_err(spent)?;
        on_permit();
        let reply = reply.await;
        let usage = match &reply {
            Ok(reply) => self.price(reply, &worst),
            Err(error) if is_free(error) => Usage { lm_calls: 1, ..Usage::default() },
            Err(_) => worst,
        };
        permit.settle(usage);
        let recorded = RecordedReply { key: self.key, reply: reply.as_ref().ok().cloned(), usage };
        let stored = self.replies.store.record(recorded).await;
        stored.map_err(|error| self.replies.recording_failed(error))?;
        reply
    }

    /// The highest possible cost of a request. A text has at most as many tokens as bytes.
    fn worst(&self, request: &LmRequest) -> Result<Usage, LmError> {
        let account = &self.replies.account;
        let mut worst = Usage { lm_calls: 1, ..Usage::default() };
        if !account.limits_answers() {
            return Ok(worst);
        }
        let tools = request.tools.as_ref().map_or(0, |tools| tools.json().len());
        let constraint = match &request.constraint {
            Some(DecodingConstraint::Gbnf(grammar)) => grammar.len(),
            Some(DecodingConstraint::JsonSchema { schema, .. }) => schema.get().len(),
            None => 0,
        };
        let messages = request.chat.messages().map(most_tokens).sum::<u64>();
        worst.input_tokens = messages + (tools + constraint) as u64;
        worst.output_tokens = u64::from(request.params.max_tokens.unwrap_or(LONGEST_ANSWER));
        if account.budget().cost.is_some() {
            let prices = self.prices.ok_or_else(|| unpriced(self.alias))?;
            worst.cost = Some(prices.cost(&worst));
        }
        Ok(worst)
    }

    /// The cost of a reply. A provider that reports no tokens may have used the most possible.
    fn price(&self, reply: &LmReply, worst: &Usage) -> Usage {
        let is_reported = reply.usage.input_tokens + reply.usage.output_tokens > 0;
        let usage = if is_reported { reply.usage } else { *worst };
        let cost = self.prices.map(|prices| prices.cost(&usage)).or(reply.usage.cost);
        Usage { lm_calls: 1, cost, ..usage }
    }
}

/// An LM for one request, which is paid from a budget each time it is sent.
pub struct BudgetedLm<'a> {
    payment: Payment<'a>,
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
    async fn embed_batch(&self, texts: &[Arc<str>]) -> Result<Embeddings, LmError> {
        let EmbeddingModel { alias, prices, .. } = self.model;
        let request = request_of(texts);
        let key = RequestKey::of_model(alias, &request);
        let slot = match self.replies.find(key).await? {
            CacheLookup::Hit(reply) => return unpacked(&reply, texts.len()),
            CacheLookup::Miss(slot) => slot,
        };
        let reply = async { packed(self.model, &self.model.embedder.embed(texts).await?) };
        let payment = Payment { replies: self.replies, alias, prices: prices.as_ref(), key };
        let reply = payment.pay(&request, || (), reply.boxed()).await?;
        slot.fill(&reply);
        unpacked(&reply, texts.len())
    }
}

impl Embedder for BudgetedEmbedder<'_> {
    fn embed<'a>(&'a self, texts: &'a [Arc<str>]) -> BoxFuture<'a, Result<Embeddings, LmError>> {
        async move {
            match texts {
                [] => Ok(Embeddings::default()),
                texts => self.embed_batch(texts).await,
            }
        }
        .boxed()
    }
}

/// Texts for an embedding model as a request without output tokens.
fn request_of(texts: &[Arc<str>]) -> LmRequest {
    let turns = texts.iter().cloned().map(Message::user).collect();
    let params = LmParams { max_tokens: Some(0), ..LmParams::default() };
    LmRequest::new(Chat { prefix: Prefix::of([]), turns }, params)
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

/// The most tokens that a message may have.
fn most_tokens(message: &Message) -> u64 {
    let calls = message
        .tool_calls
        .iter()
        .map(|call| (call.id.len() + call.name.len() + call.arguments.len()) as u64 + PER_MESSAGE);
    let result_of = message.tool_call_id.as_ref().map_or(0, |id| id.len());
    (message.content.len() + result_of) as u64 + PER_MESSAGE + calls.sum::<u64>()
}

/// Whether a failed request certainly cost no tokens: the provider reported the failure before it
/// answered, or was not reached.
const fn is_free(error: &LmError) -> bool {
    use LmErrorKind::{
        Connection, ConstraintRefused, ContextOverflow, Provider, RateLimited, Refused,
    };
    matches!(
        error.kind,
        Connection | ConstraintRefused | ContextOverflow | Provider | RateLimited | Refused
    )
}

fn spent(limit: BudgetLimit) -> LmError {
    refused(LmErrorKind::Budget, format!("the budget of `{limit}` is spent"))
}

fn unpriced(alias: &str) -> LmError {
    let message = format!(
        "the model `{alias}` has no prices, so a budget of `cost` cannot be enforced; configure \
         its prices, or limit `tokens` instead"
    );
    refused(LmErrorKind::Budget, message)
}

const fn refused(kind: LmErrorKind, message: String) -> LmError {
    LmError { kind, message, status: None, retry_after: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lm::{Budget, Chat, LmParams, Prefix, ScriptedLm, ToolCall};

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
        let payment = replies.lm(&model, RequestKey::of(&request)).payment;
        assert!(payment.worst(&request).unwrap().input_tokens > 30_000);
    }
}
