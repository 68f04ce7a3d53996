//! The requests of one call of a predictor: sent in turn, repeated after transient failures, or
//! answered from a cache or from recorded replies. Each request is a span of the trace. Does not
//! know what the answers say.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::Ctx;
use super::predictor_core::PredictorCore;
use super::stream_reporter::StreamReporter;
use super::trace::{ConstraintStatus, SpanId, SpanKind, SpanStatus};
use crate::adapter::{ParseError, ParsedOutput};
use crate::coerce::ParseReport;
use crate::lm::retry::{self, RetryEvent, RetryPolicy};
use crate::lm::{
    AnswerEnd, BudgetedLm, BudgetedReplies, CacheLookup, CachedLm, Gates, Lm, LmAttempt, LmError,
    LmErrorKind, LmReply, LmRequest, Model, OnLength, ReplyCache, RequestKey, Usage,
};
use crate::value::Fields;

/// Shorter waits are not recorded.
const NOTICEABLE: Duration = Duration::from_millis(1);

/// The requests of one call.
pub(super) struct Exchange<'c> {
    ctx: &'c Ctx,
    predictor: &'c PredictorCore,
    /// The current model.
    pub(super) model: &'c Arc<Model>,
    /// The span of the call.
    span: SpanId,
    /// Requests so far, retries included.
    attempts: u32,
    /// The span of the last request.
    last: Option<SpanId>,
    /// Reports the answer to the listener of the run, if there is one.
    reporter: Option<StreamReporter<'c>>,
    /// The request in flight.
    current: CurrentAttempt,
    /// The first model; others are fallbacks.
    first: &'c Arc<Model>,
    /// The cache entry of the last answer.
    cached: Option<(&'c ReplyCache, RequestKey)>,
}

/// The request that was sent last.
#[derive(Clone, Copy, Default)]
struct CurrentAttempt {
    begun: Option<Instant>,
    queued: Duration,
    first_token: Option<Duration>,
    is_retry: bool,
}

/// Marks the run as starved if a request spends more of its time waiting than running. The guard
/// drops with the future that waits, here or further up.
struct StarvationGuard<'w> {
    paying: &'w BudgetedLm<'w>,
    ctx: &'w Ctx,
    begun: Instant,
}

impl<'w> StarvationGuard<'w> {
    fn begin(paying: &'w BudgetedLm<'w>, ctx: &'w Ctx) -> Self {
        Self { paying, ctx, begun: Instant::now() }
    }
}

impl Drop for StarvationGuard<'_> {
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
    pub(super) fn new(
        predictor: &'c PredictorCore,
        ctx: &'c Ctx,
        model: &'c Arc<Model>,
        span: SpanId,
    ) -> Self {
        let listens = ctx.has_listener();
        let reporter =
            listens.then(|| StreamReporter::new(ctx, &predictor.plan, &predictor.path, span));
        Self {
            ctx,
            predictor,
            model,
            span,
            attempts: 0,
            last: None,
            reporter,
            current: CurrentAttempt::default(),
            first: model,
            cached: None,
        }
    }

    /// The reply to a request: a recorded one, or a new one.
    pub(super) async fn ask(&mut self, request: &LmRequest) -> Result<LmReply, LmError> {
        match &self.ctx.run.budgeted {
            None => match &self.ctx.run.budget {
                None => self.ask_of(self.model.lm.as_ref(), request).await,
                Some(account) => {
                    let bounded = account.bound_answer(request);
                    let lm = account.lm(self.model);
                    self.ask_of(&lm, bounded.as_ref().unwrap_or(request)).await
                }
            },
            Some(budgeted) => {
                let bounded = budgeted.bound_answer(request);
                let bought = self.buy(budgeted, bounded.as_ref().unwrap_or(request)).await;
                if bought.as_ref().is_err_and(LmError::is_unpaid) {
                    self.ctx.run.out_of_budget.store(true, Ordering::Relaxed);
                }
                bought
            }
        }
    }

    /// A reply that the budget pays for, unless the same request was paid for before.
    async fn buy(
        &mut self,
        budgeted: &'c BudgetedReplies,
        request: &LmRequest,
    ) -> Result<LmReply, LmError> {
        let key = RequestKey::of_model(&self.model.alias, request);
        let lm = budgeted.lm(self.model, key);
        let _waiting = StarvationGuard::begin(&lm, self.ctx);
        let found = tokio::select! {
            biased;
            () = self.ctx.run.cancelled.cancelled() => return Err(retry::cancelled()),
            found = budgeted.find(key) => found?,
        };
        let slot = match found {
            CacheLookup::Hit(reply) => return self.use_stored(request, reply),
            CacheLookup::Miss(slot) => slot,
        };
        let reply = self.ask_of(&lm, request).await?;
        if lm.permitted_at().is_none() {
            budgeted.record(key, &reply).await?;
        }
        slot.fill(&reply);
        Ok(reply)
    }

    /// Like [`Self::ask`], with this LM of the model.
    async fn ask_of(&mut self, lm: &dyn Lm, request: &LmRequest) -> Result<LmReply, LmError> {
        let Some(cache) = self.model.cache.as_deref() else {
            return self.send(request, lm, || false).await;
        };
        let key = RequestKey::of(request);
        self.cached = Some((cache, key));
        let cached = CachedLm::new(lm, cache, key);
        match cached.hit() {
            Some(reply) => self.use_stored(request, reply),
            None => self.send(request, &cached, || cached.is_hit()).await,
        }
    }

    /// The parsed outputs of the last answer, if one request streamed it to its end.
    pub(super) fn streamed(&mut self) -> Option<Result<ParsedOutput, ParseError>> {
        self.reporter.as_mut().and_then(StreamReporter::take)
    }

    /// Reports the final outputs of the call.
    pub(super) fn complete(&mut self, outputs: &Fields) {
        if let Some(reporter) = &mut self.reporter {
            reporter.complete(outputs);
        }
    }

    /// The failure of an answer that was refused or filtered. Its usage counts.
    pub(super) fn filtered(&self, reply: &LmReply) -> Option<LmError> {
        if reply.end() != AnswerEnd::Filtered {
            return None;
        }
        let reason = reply.finish_reason.as_deref().unwrap_or("refusal");
        let explanation =
            reply.refusal.as_ref().map_or_else(String::new, |refusal| format!(": {refusal}"));
        let message =
            format!("model {} refused to answer (`{reason}`){explanation}", self.model.model);
        Some(LmError { kind: LmErrorKind::Filtered, message, status: None, retry_after: None })
    }

    /// Records on the span of an answer why it does not fit, and removes it from the cache.
    pub(super) fn reject(&mut self, error: &ParseError) {
        observe_repairs(self.ctx, &error.report);
        self.refuse("parse_error", &error.to_string());
        if let Some(last) = self.last {
            let report = error.report.to_payload();
            self.ctx.trace().amend(last, |span| span.parse_report = Some(report));
        }
    }

    /// Records on the span of an answer why it is not used, and removes it from the cache.
    pub(super) fn refuse(&mut self, kind: &'static str, reason: &str) {
        if let Some((cache, key)) = self.cached.take() {
            cache.remove(key);
        }
        if let Some(reporter) = &mut self.reporter {
            reporter.void(reason.to_owned());
        }
        if let Some(last) = self.last {
            self.ctx.trace().amend(last, |span| {
                span.error = Some(reason.into());
                span.error_kind = Some(kind);
            });
        }
    }

    fn policy(&self) -> RetryPolicy<'c> {
        let (ctx, model) = (self.ctx, self.model);
        RetryPolicy {
            retries: ctx.node.retries,
            deadline: ctx.node.deadline,
            cancelled: &ctx.run.cancelled,
            is_streamed: self.reporter.is_some(),
            gates: Gates {
                lane: &ctx.run.lane,
                model: model.gate.as_ref(),
                all: ctx.run.models.gate(),
            },
        }
    }

    /// Sends a request in turn; `is_stored` says whether its reply came from the cache.
    async fn send(
        &mut self,
        request: &LmRequest,
        lm: &dyn Lm,
        is_stored: impl Fn() -> bool + Send + Sync,
    ) -> Result<LmReply, LmError> {
        let (policy, before) = (self.policy(), self.attempts);
        let record = |attempt: RetryEvent<'_>| match attempt {
            RetryEvent::Started { number, waited } => {
                self.attempts = before + number;
                self.begin(request, waited);
                self.current.is_retry = number > 1;
            }
            RetryEvent::Delta(piece) => self.receive(piece),
            RetryEvent::Ended(result) => self.end(result, is_stored(), request),
        };
        retry::complete(lm, request, &policy, record).await
    }

    /// A stored reply does not wait for a turn.
    fn use_stored(&mut self, request: &LmRequest, reply: LmReply) -> Result<LmReply, LmError> {
        self.attempts += 1;
        self.begin(request, Duration::ZERO);
        self.receive(&reply.text);
        let answered = Ok(reply);
        self.end(&answered, true, request);
        answered
    }

    /// Opens the span of a request.
    fn begin(&mut self, request: &LmRequest, waited: Duration) {
        let trace = self.ctx.trace();
        let opened = trace.open(SpanKind::Lm, &self.ctx.node.node, Some(self.span), |span| {
            span.predictor = Some(self.predictor.path.clone());
            span.messages = Some((request.chat.prefix.clone(), request.chat.turns.clone()));
            span.alias = Some(self.model.alias.clone());
            span.requested = Some(self.model.model.clone());
            span.model = Some(self.model.model.clone());
            span.params = Some(Arc::new(request.params.clone()));
            span.attempt = Some(self.attempts);
            span.queued = (waited >= NOTICEABLE).then_some(waited);
            span.constraint = self.constrained(request);
        });
        self.last = Some(opened);
        if let Some(trace) = &request.trace {
            trace.set_span(opened.0);
        }
        let (begun, queued) = (Some(Instant::now()), waited);
        self.current = CurrentAttempt { begun, queued, ..CurrentAttempt::default() };
        if let Some(reporter) = &mut self.reporter {
            reporter.begin(self.attempts);
        }
    }

    fn receive(&mut self, piece: &str) {
        if self.current.first_token.is_none() {
            self.current.first_token = self.current.begun.map(|begun| begun.elapsed());
        }
        if let Some(reporter) = &mut self.reporter {
            reporter.receive(piece);
        }
    }

    /// How the request is constrained, if its model supports that.
    fn constrained(&self, request: &LmRequest) -> Option<ConstraintStatus> {
        let form = self.model.constrain.form()?;
        match &request.constraint {
            Some(_) => Some(ConstraintStatus::Applied(form)),
            None => self.model.constrain.has_refused_any().then_some(ConstraintStatus::Refused),
        }
    }

    /// Closes the span of the last request.
    fn end(&mut self, result: &Result<LmReply, LmError>, is_stored: bool, request: &LmRequest) {
        match (&mut self.reporter, result) {
            (Some(reporter), Ok(reply)) => {
                let may_continue = request.params.on_length == Some(OnLength::Continue);
                reporter.end(reply, may_continue && reply.end() == AnswerEnd::Cut);
            }
            (Some(reporter), Err(error)) => reporter.void(error.message.clone()),
            (None, _) => {}
        }
        self.observe(result, is_stored);
        let Some(last) = self.last else { return };
        let status = match result {
            Ok(_) => SpanStatus::Succeeded,
            Err(error) if error.kind == LmErrorKind::Cancelled => SpanStatus::Cancelled,
            Err(_) => SpanStatus::Failed,
        };
        if let Ok(reply) = result {
            self.count(reply, last, is_stored);
        }
        let first_token = self.first_token(is_stored);
        self.ctx.trace().close(last, status, |span| match result {
            Ok(reply) => {
                span.raw = Some(reply.text.clone());
                span.tool_calls = reply.tool_calls.clone();
                span.reasoning = reply.reasoning.clone();
                span.omitted = reply.omitted;
                span.model = Some(reply.model.clone());
                span.response_id.clone_from(&reply.id);
                span.finish_reason.clone_from(&reply.finish_reason);
                span.first_token = first_token;
                span.usage = Some(self.usage(reply, is_stored));
                span.cached = is_stored;
            }
            Err(error) => {
                span.error = Some(error.message.as_str().into());
                span.error_kind = Some(error.kind.as_str());
            }
        });
    }

    /// When the first text of a streamed answer arrived.
    fn first_token(&self, is_stored: bool) -> Option<Duration> {
        self.current.first_token.filter(|_| self.reporter.is_some() && !is_stored)
    }

    /// Reports the last request to the observer of the run.
    fn observe(&self, result: &Result<LmReply, LmError>, is_stored: bool) {
        let Some(observer) = &self.ctx.run.observer else { return };
        let CurrentAttempt { begun, queued, is_retry, .. } = self.current;
        let usage = result.as_ref().map(|reply| self.usage(reply, is_stored));
        observer.attempted(&LmAttempt {
            alias: &self.model.alias,
            is_retry,
            is_fallback: !Arc::ptr_eq(self.model, self.first),
            is_stored,
            queued,
            duration: begun.map(|begun| begun.elapsed()).unwrap_or_default(),
            first_token: self.first_token(is_stored),
            result: usage.as_ref().map_err(|error| error.kind),
        });
    }

    /// Adds a reply to the tally.
    fn count(&self, reply: &LmReply, span: SpanId, is_stored: bool) {
        if let Some(tally) = &self.ctx.tally {
            tally.count(self.usage(reply, is_stored), &reply.text, span);
        }
    }

    /// The usage of a reply: none if it was stored. Runs that are compared count a stored reply as
    /// if it was new.
    fn usage(&self, reply: &LmReply, is_stored: bool) -> Usage {
        let is_free = is_stored && self.ctx.run.budgeted.is_none();
        let used = if is_free { Usage::default() } else { reply.usage };
        let cost = self.model.prices.map(|prices| prices.cost(&used));
        Usage { cost: cost.or(used.cost), ..used }
    }
}

/// Reports the leniencies with which an answer was read to the observer of the run.
pub(super) fn observe_repairs(ctx: &Ctx, report: &ParseReport) {
    if let Some(observer) = &ctx.run.observer {
        for entry in report.entries() {
            observer.repaired(entry.kind.as_str());
        }
    }
}
