//! What has been bought of LMs: replies that are kept for as long as the work lasts they were bought
//! for, in memory and with whoever keeps them longer, so that nothing is bought twice; and what was
//! spent on them. Knows nothing of what the work is.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use tokio::time::Instant;

use super::{
    BudgetAccount, BudgetLimit, CacheLookup, Chat, DecodingConstraint, DeltaSink, Embedder,
    Embeddings, Lm, LmError, LmErrorKind, LmParams, LmReply, LmRequest, Message, Model, Prefix,
    ReplyCache, RequestKey, Usage, Vectors,
};

/// Bytes of replies that are at hand.
const AT_HAND: u64 = 64 << 20;

/// Longer than any work lasts.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 86_400);

/// The longest answer, in tokens, where a budget must know one and nobody has said it.
const LONGEST_ANSWER: u32 = 4096;

/// What a provider may add to each message, and to each call of a tool in it.
const PER_MESSAGE: u64 = 16;

/// Something that was paid for.
#[derive(Clone, Debug)]
pub struct RecordedReply {
    /// What was asked, and of which model.
    pub key: RequestKey,
    /// The answer; `None` when the request failed.
    pub reply: Option<LmReply>,
    /// What it cost.
    pub usage: Usage,
}

/// Why a recorded could not be kept or looked up. The work ends: what it did next would be lost, or
/// is another's to do by now.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct RecordingError(pub String);

/// Keeps purchases for longer than the process lasts.
pub trait ReplyStore: Send + Sync {
    /// The reply that was bought under a key before this process, if one was.
    fn find(&self, key: RequestKey) -> BoxFuture<'_, Result<Option<LmReply>, RecordingError>>;

    /// Keeps a recorded; may return before it is safe.
    fn record(&self, recorded: RecordedReply) -> BoxFuture<'_, Result<(), RecordingError>>;
}

/// Nothing is kept for longer.
pub struct NoStore;

impl ReplyStore for NoStore {
    fn find(&self, _: RequestKey) -> BoxFuture<'_, Result<Option<LmReply>, RecordingError>> {
        async { Ok(None) }.boxed()
    }

    fn record(&self, _: RecordedReply) -> BoxFuture<'_, Result<(), RecordingError>> {
        async { Ok(()) }.boxed()
    }
}

/// Pays for requests out of one budget, and keeps what it bought.
pub struct BudgetedReplies {
    account: BudgetAccount,
    replies: ReplyCache,
    store: Arc<dyn ReplyStore>,
    /// Why nothing more is kept, from the first time on.
    recording_error: OnceLock<RecordingError>,
}

impl BudgetedReplies {
    /// A replies for a budget.
    #[must_use]
    pub fn new(account: BudgetAccount, store: Arc<dyn ReplyStore>) -> Self {
        Self {
            account,
            replies: ReplyCache::of(AT_HAND, FOREVER),
            store,
            recording_error: OnceLock::new(),
        }
    }

    /// The budget and what was spent of it.
    #[must_use]
    pub const fn account(&self) -> &BudgetAccount {
        &self.account
    }

    /// Why purchases can no longer be kept or looked up, if that is so.
    #[must_use]
    pub fn recording_error(&self) -> Option<&RecordingError> {
        self.recording_error.get()
    }

    /// A request as it is sent: with an end to its answer, where the budget must know one.
    #[must_use]
    pub fn bound_answer(&self, request: &LmRequest) -> Option<LmRequest> {
        let open = self.account.limits_answers() && request.params.max_tokens.is_none();
        open.then(|| {
            let mut bounded = request.clone();
            bounded.params.max_tokens = Some(LONGEST_ANSWER);
            bounded
        })
    }

    /// The reply to a request, if it was bought before, or is being bought.
    ///
    /// # Errors
    /// When nobody can say.
    pub async fn find(&self, key: RequestKey) -> Result<CacheLookup<'_>, LmError> {
        let slot = match self.replies.find(key).await {
            found @ CacheLookup::Hit(_) => return Ok(found),
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

    /// An LM whose every request is paid for.
    #[must_use]
    pub fn lm<'a>(&'a self, model: &'a Model, key: RequestKey) -> BudgetedLm<'a> {
        BudgetedLm { replies: self, model, key, permitted_at: OnceLock::new() }
    }

    /// Keeps a reply that somebody else has paid for: who asks again may not get the same.
    ///
    /// # Errors
    /// When it cannot be kept.
    pub async fn record(&self, key: RequestKey, reply: &LmReply) -> Result<(), LmError> {
        let recorded = RecordedReply { key, reply: Some(reply.clone()), usage: Usage::default() };
        self.store.record(recorded).await.map_err(|error| self.recording_failed(error))
    }

    /// An embedding model whose every request is paid for, unless the same was bought before.
    #[must_use]
    pub const fn embedder<'a>(
        &'a self,
        model: &'a Model,
        embedder: &'a dyn Embedder,
    ) -> BudgetedEmbedder<'a> {
        BudgetedEmbedder { replies: self, model, embedder }
    }

    async fn pay(
        &self,
        lm: &BudgetedLm<'_>,
        request: &LmRequest,
        sent: BoxFuture<'_, Result<LmReply, LmError>>,
    ) -> Result<LmReply, LmError> {
        let BudgetedLm { model, key, .. } = *lm;
        let worst = self.worst(model, request)?;
        let permit = self.account.acquire(worst).await.map_err(spent)?;
        // Of a request that is sent again, the first time is the one that counts.
        let _ = lm.permitted_at.set(Instant::now());
        let reply = sent.await;
        let usage = match &reply {
            Ok(reply) => price(model, reply, &worst),
            Err(error) if is_free(error) => Usage { lm_calls: 1, ..Usage::default() },
            Err(_) => worst,
        };
        permit.settle(usage);
        let recorded = RecordedReply { key, reply: reply.as_ref().ok().cloned(), usage };
        self.store.record(recorded).await.map_err(|error| self.recording_failed(error))?;
        reply
    }

    fn recording_failed(&self, error: RecordingError) -> LmError {
        let told = refused(LmErrorKind::Cancelled, error.to_string());
        let _ = self.recording_error.set(error);
        told
    }

    /// What a request may cost at worst. No tokenizer makes more tokens of a text than it has bytes.
    fn worst(&self, model: &Model, request: &LmRequest) -> Result<Usage, LmError> {
        let mut worst = Usage { lm_calls: 1, ..Usage::default() };
        if !self.account.limits_answers() {
            return Ok(worst);
        }
        let tools = request.tools.as_ref().map_or(0, |tools| tools.json().len());
        let constraint = match &request.constraint {
            Some(DecodingConstraint::Gbnf(grammar)) => grammar.len(),
            Some(DecodingConstraint::JsonSchema { schema, .. }) => schema.get().len(),
            None => 0,
        };
        let said = request.chat.messages().map(said).sum::<u64>();
        worst.input_tokens = said + (tools + constraint) as u64;
        worst.output_tokens = u64::from(request.params.max_tokens.unwrap_or(LONGEST_ANSWER));
        if self.account.budget().cost.is_some() {
            let prices = model.prices.ok_or_else(|| unpriced(&model.alias))?;
            worst.cost = Some(prices.cost(&worst));
        }
        Ok(worst)
    }
}

/// One request to an LM that is paid for, each time that it is sent.
pub struct BudgetedLm<'a> {
    replies: &'a BudgetedReplies,
    model: &'a Model,
    key: RequestKey,
    permitted_at: OnceLock<Instant>,
}

impl BudgetedLm<'_> {
    /// When the budget permitted_at it to be sent. If it was answered without, nobody had to pay.
    #[must_use]
    pub fn permitted_at(&self) -> Option<Instant> {
        self.permitted_at.get().copied()
    }
}

impl Lm for BudgetedLm<'_> {
    fn complete<'a>(&'a self, request: &'a LmRequest) -> BoxFuture<'a, Result<LmReply, LmError>> {
        let sent = self.model.lm.complete(request);
        self.replies.pay(self, request, sent).boxed()
    }

    fn stream<'a>(
        &'a self,
        request: &'a LmRequest,
        heard: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<LmReply, LmError>> {
        let sent = self.model.lm.stream(request, heard);
        self.replies.pay(self, request, sent).boxed()
    }
}

/// Requests to an embedding model that are paid for. What was bought is kept as a reply: the vectors
/// as [`Vectors::to_base64`] writes them.
pub struct BudgetedEmbedder<'a> {
    replies: &'a BudgetedReplies,
    model: &'a Model,
    embedder: &'a dyn Embedder,
}

impl BudgetedEmbedder<'_> {
    async fn buy(&self, texts: &[Arc<str>]) -> Result<Embeddings, LmError> {
        let request = of_texts(texts);
        let key = RequestKey::of_model(&self.model.alias, &request);
        let slot = match self.replies.find(key).await? {
            CacheLookup::Hit(reply) => return unpacked(&reply, texts.len()),
            CacheLookup::Miss(slot) => slot,
        };
        let sent = async { packed(self.model, &self.embedder.embed(texts).await?) };
        let lm = self.replies.lm(self.model, key);
        let reply = self.replies.pay(&lm, &request, sent.boxed()).await?;
        slot.fill(&reply);
        unpacked(&reply, texts.len())
    }
}

impl Embedder for BudgetedEmbedder<'_> {
    fn embed<'a>(&'a self, texts: &'a [Arc<str>]) -> BoxFuture<'a, Result<Embeddings, LmError>> {
        async move {
            match texts {
                [] => Ok(Embeddings::default()),
                texts => self.buy(texts).await,
            }
        }
        .boxed()
    }
}

/// Texts for an embedding model as a request that is answered with no token.
fn of_texts(texts: &[Arc<str>]) -> LmRequest {
    let turns = texts.iter().cloned().map(Message::user).collect();
    let params = LmParams { max_tokens: Some(0), ..LmParams::default() };
    LmRequest::new(Chat { prefix: Prefix::of([]), turns }, params)
}

fn packed(model: &Model, embedded: &Embeddings) -> Result<LmReply, LmError> {
    let vectors = Vectors::of(&embedded.vectors).ok_or_else(|| misfit(&model.alias))?;
    let reply = LmReply::of(vectors.to_base64(), model.model.clone());
    Ok(LmReply { usage: embedded.usage, ..reply })
}

fn unpacked(reply: &LmReply, texts: usize) -> Result<Embeddings, LmError> {
    // Four characters of base64 are three bytes; the filling at the end is less than a number.
    let numbers = reply.text.len() / 4 * 3 / size_of::<f32>();
    let vectors = Vectors::from_base64(&reply.text, numbers / texts.max(1));
    let vectors = vectors.ok().filter(|vectors| vectors.len() == texts);
    let vectors = vectors.ok_or_else(|| misfit(&reply.model))?;
    Ok(Embeddings { vectors: Vec::from(&vectors), usage: reply.usage })
}

fn misfit(model: &str) -> LmError {
    let message = format!("the embedding model `{model}` gave no vectors of one length");
    refused(LmErrorKind::Malformed, message)
}

/// The most tokens that a message may be.
fn said(message: &Message) -> u64 {
    let calls = message
        .tool_calls
        .iter()
        .map(|call| (call.id.len() + call.name.len() + call.arguments.len()) as u64 + PER_MESSAGE);
    let result_of = message.tool_call_id.as_ref().map_or(0, |id| id.len());
    (message.content.len() + result_of) as u64 + PER_MESSAGE + calls.sum::<u64>()
}

/// Whether a request that failed cost no tokens: the provider told of it before it answered, or was
/// not reached. Of others nobody knows.
const fn is_free(error: &LmError) -> bool {
    use LmErrorKind::{
        Connection, ConstraintRefused, ContextOverflow, Provider, RateLimited, Refused,
    };
    matches!(
        error.kind,
        Connection | ConstraintRefused | ContextOverflow | Provider | RateLimited | Refused
    )
}

/// What a reply cost. A provider that tells no tokens may have used as many as there could be.
fn price(model: &Model, reply: &LmReply, worst: &Usage) -> Usage {
    let told = reply.usage.input_tokens + reply.usage.output_tokens > 0;
    let usage = if told { reply.usage } else { *worst };
    let cost = model.prices.map(|prices| prices.cost(&usage)).or(reply.usage.cost);
    Usage { lm_calls: 1, cost, ..usage }
}

fn spent(limit: BudgetLimit) -> LmError {
    refused(LmErrorKind::Budget, format!("the budget of `{limit}` is spent"))
}

fn unpriced(alias: &str) -> LmError {
    let message = format!(
        "the model `{alias}` has no prices, so that a budget of `cost` cannot be kept; configure \
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
    fn all_that_a_request_says_may_have_to_be_read() {
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
        assert!(replies.worst(&model, &request).unwrap().input_tokens > 30_000);
    }
}
