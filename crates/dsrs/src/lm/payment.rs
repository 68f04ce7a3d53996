//! What a request may cost at most, and its payment from a budget. Does not know where replies are
//! recorded.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};

use super::{
    Budget, BudgetAccount, BudgetLimit, Chat, DecodingConstraint, DeltaSink, Embedder,
    EmbeddingModel, Embeddings, Lm, LmError, LmErrorKind, LmParams, LmReply, LmRequest, Message,
    Model, Prefix, Prices, RequestTrace, Usage,
};

/// The longest answer in tokens, where the budget needs a bound and the request has none.
const LONGEST_ANSWER: u32 = 4096;

/// Tokens that a provider may add to each message, and to each tool call in it.
const PER_MESSAGE: u64 = 16;

/// The budget of each run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunBudget {
    /// The limits.
    pub budget: Budget,
    /// What stands before the name of a limit where it was set, for error texts.
    pub prefix: &'static str,
}

/// The budget of one run, and what the run has spent.
pub struct RunAccount {
    account: BudgetAccount,
    prefix: &'static str,
}

impl RunBudget {
    /// The account of a run that has already spent something.
    #[must_use]
    pub fn open(&self, spent: Usage) -> RunAccount {
        RunAccount { account: BudgetAccount::open(self.budget, spent, 0.0), prefix: self.prefix }
    }
}

impl RunAccount {
    /// The request with a limit of its answer, if the budget needs one and the request has none.
    #[must_use]
    pub fn bound_answer(&self, request: &LmRequest) -> Option<LmRequest> {
        bound_answer(&self.account, request)
    }

    /// An LM that is paid from the budget each time a request is sent.
    #[must_use]
    pub fn lm<'a>(&'a self, model: &'a Model) -> PaidLm<'a> {
        let payment = Payment { prefix: self.prefix, ..Payment::of(&self.account, model) };
        PaidLm { payment, lm: &*model.lm }
    }

    /// An embedding model that is paid from the budget each time a request is sent.
    #[must_use]
    pub fn embedder<'a>(&'a self, model: &'a EmbeddingModel) -> PaidEmbedder<'a> {
        let (alias, prices) = (&*model.alias, model.prices.as_ref());
        let payment = Payment { account: &self.account, alias, prices, prefix: self.prefix };
        PaidEmbedder { payment, embedder: &*model.embedder }
    }
}

/// An embedding model that is paid from a budget each time a request is sent.
pub struct PaidEmbedder<'a> {
    payment: Payment<'a>,
    embedder: &'a dyn Embedder,
}

impl Embedder for PaidEmbedder<'_> {
    fn embed<'a>(
        &'a self,
        texts: &'a [Arc<str>],
        trace: Option<&'a RequestTrace>,
    ) -> BoxFuture<'a, Result<Embeddings, LmError>> {
        async move {
            if texts.is_empty() {
                return Ok(Embeddings::default());
            }
            let request = request_of(texts);
            self.payment.pay(&request, || (), self.embedder.embed(texts, trace)).await?.0
        }
        .boxed()
    }
}

/// An LM that is paid from a budget each time a request is sent.
pub struct PaidLm<'a> {
    payment: Payment<'a>,
    lm: &'a dyn Lm,
}

impl Lm for PaidLm<'_> {
    fn complete<'a>(
        &'a self,
        request: &'a LmRequest,
        deltas: DeltaSink<'a>,
    ) -> BoxFuture<'a, Result<LmReply, LmError>> {
        let paying = self.payment.pay(request, || (), self.lm.complete(request, deltas));
        async { paying.await?.0 }.boxed()
    }
}

/// The request with a limit of its answer, if the budget needs one and the request has none.
pub(super) fn bound_answer(account: &BudgetAccount, request: &LmRequest) -> Option<LmRequest> {
    let is_open = account.limits_answers() && request.params.max_tokens.is_none();
    is_open.then(|| {
        let mut bounded = request.clone();
        bounded.params.max_tokens = Some(LONGEST_ANSWER);
        bounded
    })
}

/// Something that a provider charges for.
pub(super) trait Paid: Send {
    /// The usage that the provider reports.
    fn usage(&self) -> Usage;
}

impl Paid for LmReply {
    fn usage(&self) -> Usage {
        self.usage
    }
}

impl Paid for Embeddings {
    fn usage(&self) -> Usage {
        self.usage
    }
}

/// A budget that pays for requests, and what it needs to know of their model.
#[derive(Clone, Copy)]
pub(super) struct Payment<'a> {
    pub(super) account: &'a BudgetAccount,
    pub(super) alias: &'a str,
    pub(super) prices: Option<&'a Prices>,
    /// What stands before the name of a limit where it was set.
    pub(super) prefix: &'a str,
}

impl<'a> Payment<'a> {
    /// For the requests of a model.
    pub(super) fn of(account: &'a BudgetAccount, model: &'a Model) -> Self {
        Self { account, alias: &model.alias, prices: model.prices.as_ref(), prefix: "" }
    }

    /// Waits for the budget, sends the request and settles its cost: the reply, and what it cost.
    ///
    /// # Errors
    /// If the budget does not allow the request.
    pub(super) async fn pay<T: Paid>(
        &self,
        request: &LmRequest,
        on_permit: impl FnOnce() + Send,
        reply: BoxFuture<'_, Result<T, LmError>>,
    ) -> Result<(Result<T, LmError>, Usage), LmError> {
        let worst = self.worst(request)?;
        let acquired = self.account.acquire(worst).await;
        let permit = acquired.map_err(|limit| self.spent(limit, &worst))?;
        on_permit();
        let reply = reply.await;
        let usage = match &reply {
            Ok(reply) => self.price(reply.usage(), &worst),
            Err(error) if is_free(error) => Usage { lm_calls: 1, ..Usage::default() },
            Err(_) => worst,
        };
        permit.settle(usage);
        Ok((reply, usage))
    }

    /// The highest possible cost of a request. A text has at most as many tokens as bytes.
    pub(super) fn worst(&self, request: &LmRequest) -> Result<Usage, LmError> {
        let account = self.account;
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
            let prices = self.prices.ok_or_else(|| self.unpriced())?;
            worst.cost = Some(prices.highest().cost(&worst));
        }
        Ok(worst)
    }

    /// The cost of a reply. A provider that reports no tokens may have used the most possible.
    fn price(&self, used: Usage, worst: &Usage) -> Usage {
        let is_reported = used.input_tokens + used.output_tokens > 0;
        let usage = if is_reported { used } else { *worst };
        let cost = self.prices.map(|prices| prices.cost(&usage)).or(used.cost);
        Usage { lm_calls: 1, cost, ..usage }
    }

    fn spent(&self, limit: BudgetLimit, worst: &Usage) -> LmError {
        let spent = self.account.spent();
        let most = self.account.budget().limit_text(limit);
        let message = format!(
            "the budget of `{}{limit}` is spent: it is {most}; {} requests and {} tokens{} are \
             spent, and the next request may need {} tokens",
            self.prefix,
            spent.lm_calls,
            spent.input_tokens.saturating_add(spent.output_tokens),
            spent.cost.map(|cost| format!(" for {cost}")).unwrap_or_default(),
            worst.input_tokens.saturating_add(worst.output_tokens),
        );
        refused(LmErrorKind::Budget, message)
    }

    fn unpriced(&self) -> LmError {
        let Self { alias, prefix, .. } = self;
        let message = format!(
            "the model `{alias}` has no prices, so a budget of `{prefix}cost` cannot be enforced; \
             configure its prices, or limit `{prefix}tokens` instead"
        );
        refused(LmErrorKind::Budget, message)
    }
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

pub(super) const fn refused(kind: LmErrorKind, message: String) -> LmError {
    LmError { kind, message, status: None, retry_after: None }
}

/// Texts for an embedding model as a request without output tokens.
pub(super) fn request_of(texts: &[Arc<str>]) -> LmRequest {
    let turns = texts.iter().cloned().map(Message::user).collect();
    let params = LmParams { max_tokens: Some(0), ..LmParams::default() };
    LmRequest::new(Chat { prefix: Prefix::of([]), turns }, params)
}
