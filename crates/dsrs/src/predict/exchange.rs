//! What one call of a predictor exchanges with its model: requests, sent when it is their turn and
//! again when they fail in passing, or answered by what is kept of the same request; each a span of
//! the trace. Knows nothing of what the answers say.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::Ctx;
use super::hearing::Hearing;
use super::schema_predictor::SchemaPredictor;
use super::trace::{Constrained, SpanId, SpanKind, SpanStatus};
use crate::adapter::{ParseError, ParsedOutput};
use crate::lm::retry::{self, RetryEvent, RetryPolicy};
use crate::lm::{
    BudgetedLm, BudgetedReplies, CacheLookup, CachedLm, Gates, Lm, LmError, LmErrorKind, LmReply,
    LmRequest, Model, ReplyCache, RequestKey, Usage,
};
use crate::value::Fields;

/// A shorter wait for one's turn is none.
const NOTICEABLE: Duration = Duration::from_millis(1);

/// The requests of one call.
pub(super) struct Exchange<'c> {
    ctx: &'c Ctx,
    predictor: &'c SchemaPredictor,
    /// The model that is asked.
    pub(super) model: &'c Arc<Model>,
    /// The span of the call.
    span: SpanId,
    /// Requests so far, over retries and asking again.
    attempts: u32,
    /// The span of the last request.
    last: Option<SpanId>,
    /// For whoever listens to the run.
    hearing: Option<Hearing<'c>>,
    /// Where the last answer is kept.
    kept: Option<(&'c ReplyCache, RequestKey)>,
}

/// Tells the run of a request whose time went by, more of it before it was its turn than after.
/// Whoever waits is dropped then, here or further up.
struct Waiting<'w> {
    paying: &'w BudgetedLm<'w>,
    ctx: &'w Ctx,
    begun: Instant,
}

impl<'w> Waiting<'w> {
    fn begin(paying: &'w BudgetedLm<'w>, ctx: &'w Ctx) -> Self {
        Self { paying, ctx, begun: Instant::now() }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let deadline = self.ctx.node.deadline;
        let allowed = self.paying.permitted_at().unwrap_or(deadline);
        let waited = allowed.saturating_duration_since(self.begun);
        if deadline <= Instant::now() && waited > deadline.saturating_duration_since(allowed) {
            self.ctx.run.starved.store(true, Ordering::Relaxed);
        }
    }
}

impl<'c> Exchange<'c> {
    /// None yet.
    pub(super) fn new(
        predictor: &'c SchemaPredictor,
        ctx: &'c Ctx,
        model: &'c Arc<Model>,
        span: SpanId,
    ) -> Self {
        let heard = ctx.run.listener.is_some();
        let hearing = heard.then(|| Hearing::new(ctx, &predictor.plan, &predictor.path, span));
        Self { ctx, predictor, model, span, attempts: 0, last: None, hearing, kept: None }
    }

    /// An answer to a request: one that is kept of the same, or one that is sent for.
    pub(super) async fn ask(&mut self, request: &LmRequest) -> Result<LmReply, LmError> {
        match &self.ctx.run.budgeted {
            None => self.ask_of(self.model.lm.as_ref(), request).await,
            Some(budgeted) => {
                let bounded = budgeted.bound_answer(request);
                let bought = self.buy(budgeted, bounded.as_ref().unwrap_or(request)).await;
                if bought.as_ref().is_err_and(LmError::is_unpaid) {
                    self.ctx.run.unpaid.store(true, Ordering::Relaxed);
                }
                bought
            }
        }
    }

    /// An answer that is paid for, unless the same was bought before.
    async fn buy(
        &mut self,
        budgeted: &'c BudgetedReplies,
        request: &LmRequest,
    ) -> Result<LmReply, LmError> {
        let key = RequestKey::of_model(&self.model.alias, request);
        let lm = budgeted.lm(self.model, key);
        let _waiting = Waiting::begin(&lm, self.ctx);
        let found = tokio::select! {
            biased;
            () = self.ctx.run.cancelled.cancelled() => return Err(retry::cancelled()),
            found = budgeted.find(key) => found?,
        };
        let slot = match found {
            CacheLookup::Hit(reply) => return self.served(request, reply),
            CacheLookup::Miss(slot) => slot,
        };
        let reply = self.ask_of(&lm, request).await?;
        if lm.permitted_at().is_none() {
            budgeted.record(key, &reply).await?;
        }
        slot.fill(&reply);
        Ok(reply)
    }

    /// As [`Self::ask`], of this LM of the model.
    async fn ask_of(&mut self, lm: &dyn Lm, request: &LmRequest) -> Result<LmReply, LmError> {
        let Some(cache) = self.model.cache.as_deref() else {
            return self.send(request, lm, || false).await;
        };
        let key = RequestKey::of(request);
        self.kept = Some((cache, key));
        let cached = CachedLm::new(lm, cache, key);
        match cached.hit() {
            Some(reply) => self.served(request, reply),
            None => self.send(request, &cached, || cached.is_hit()).await,
        }
    }

    /// What the last answer says, if it was heard to its end.
    pub(super) fn heard(&mut self) -> Option<Result<ParsedOutput, ParseError>> {
        self.hearing.as_mut().and_then(Hearing::take)
    }

    /// The outputs of the call are certain.
    pub(super) fn settled(&mut self, outputs: &Fields) {
        if let Some(hearing) = &mut self.hearing {
            hearing.settle(outputs);
        }
    }

    /// Tells on the span of an answer why it does not fit, and does not keep it.
    pub(super) fn note(&mut self, error: &ParseError) {
        if let Some((cache, key)) = self.kept.take() {
            cache.remove(key);
        }
        if let Some(hearing) = &mut self.hearing {
            hearing.void(error.to_string());
        }
        if let Some(last) = self.last {
            self.ctx.trace().amend(last, |span| {
                span.parse_report = Some(error.report.to_payload());
                span.error = Some(error.to_string().into());
            });
        }
    }

    fn policy(&self) -> RetryPolicy<'c> {
        let (ctx, model) = (self.ctx, self.model);
        RetryPolicy {
            retries: ctx.node.retries,
            deadline: ctx.node.deadline,
            cancelled: &ctx.run.cancelled,
            is_streamed: self.hearing.is_some(),
            gates: Gates {
                lane: &ctx.run.lane,
                model: model.gate.as_ref(),
                all: ctx.run.models.gate(),
            },
        }
    }

    /// Sends a request when it is its turn; `is_kept` tells of its answer whether it was sent at all.
    async fn send(
        &mut self,
        request: &LmRequest,
        lm: &dyn Lm,
        is_kept: impl Fn() -> bool + Send + Sync,
    ) -> Result<LmReply, LmError> {
        let (policy, before) = (self.policy(), self.attempts);
        let record = |attempt: RetryEvent<'_>| match attempt {
            RetryEvent::Started { number, waited } => {
                self.attempts = before + number;
                self.begin(request, waited);
            }
            RetryEvent::Delta(piece) => self.hear(piece),
            RetryEvent::Ended(result) => self.ended(result, is_kept()),
        };
        retry::complete(lm, request, &policy, record).await
    }

    /// A reply that is there needs no turn.
    fn served(&mut self, request: &LmRequest, reply: LmReply) -> Result<LmReply, LmError> {
        self.attempts += 1;
        self.begin(request, Duration::ZERO);
        self.hear(&reply.text);
        let answered = Ok(reply);
        self.ended(&answered, true);
        answered
    }

    /// A request on its way, as a span.
    fn begin(&mut self, request: &LmRequest, waited: Duration) {
        let trace = self.ctx.trace();
        let opened = trace.open(SpanKind::Lm, &self.ctx.node.node, Some(self.span), |span| {
            span.predictor = Some(self.predictor.path.clone());
            span.messages = Some((request.chat.prefix.clone(), request.chat.turns.clone()));
            span.model = Some(self.model.model.clone());
            span.attempt = Some(self.attempts);
            span.queued = (waited >= NOTICEABLE).then_some(waited);
            span.constraint = self.constrained(request);
        });
        self.last = Some(opened);
        if let Some(hearing) = &mut self.hearing {
            hearing.begin(self.attempts);
        }
    }

    fn hear(&mut self, piece: &str) {
        if let Some(hearing) = &mut self.hearing {
            hearing.hear(piece);
        }
    }

    /// How the request is constrained, if its model is to be.
    fn constrained(&self, request: &LmRequest) -> Option<Constrained> {
        let form = self.model.constrain.form()?;
        match &request.constraint {
            Some(_) => Some(Constrained::To(form)),
            None => self.model.constrain.is_refused().then_some(Constrained::Refused),
        }
    }

    /// The end of the last request.
    fn ended(&mut self, result: &Result<LmReply, LmError>, is_kept: bool) {
        match (&mut self.hearing, result) {
            (Some(hearing), Ok(reply)) => hearing.end(reply),
            (Some(hearing), Err(error)) => hearing.void(error.message.clone()),
            (None, _) => {}
        }
        let Some(last) = self.last else { return };
        let status = match result {
            Ok(_) => SpanStatus::Succeeded,
            Err(error) if error.kind == LmErrorKind::Cancelled => SpanStatus::Cancelled,
            Err(_) => SpanStatus::Failed,
        };
        if let Ok(reply) = result {
            self.count(reply, last, is_kept);
        }
        self.ctx.trace().close(last, status, |span| match result {
            Ok(reply) => {
                span.raw = Some(reply.text.clone());
                span.tool_calls = reply.tool_calls.clone();
                span.model = Some(reply.model.clone());
                span.usage = Some(self.usage(reply, is_kept));
                span.cached = is_kept;
            }
            Err(error) => span.error = Some(error.message.as_str().into()),
        });
    }

    /// Counts an answer for those who wait for it.
    fn count(&self, reply: &LmReply, span: SpanId, is_kept: bool) {
        if let Some(tally) = &self.ctx.tally {
            tally.count(self.usage(reply, is_kept), &reply.text, span);
        }
    }

    /// What an answer used: nothing, if it was kept; but where runs are compared, as much as it did
    /// when it was sent for.
    fn usage(&self, reply: &LmReply, is_kept: bool) -> Usage {
        let is_free = is_kept && self.ctx.run.budgeted.is_none();
        let used = if is_free { Usage::default() } else { reply.usage };
        let cost = self.model.prices.map(|prices| prices.cost(&used));
        Usage { cost: cost.or(used.cost), ..used }
    }
}
