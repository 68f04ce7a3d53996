//! Attempts: several runs of one module on the same inputs, in sequence or at once, each under a span
//! of its own. Does not know what the results are for.

use std::future::Future;
use std::ops::ControlFlow;

use futures_util::stream::{FuturesUnordered, StreamExt};

use super::inner_module::InnerModule;
use crate::module::{Module, Prediction};
use crate::predict::fields;
use crate::predict::{Ctx, PredictError, PredictErrorKind, SpanId, SpanKind, SpanStatus};
use crate::value::Fields;

/// A module with inputs, of which several attempts are made.
pub(super) trait AttemptTarget: Sync {
    /// The result of an attempt.
    type Found: Send;

    /// Makes one attempt.
    fn attempt(&self, ctx: &Ctx) -> impl Future<Output = Result<Self::Found, PredictError>> + Send;

    /// The outputs of an attempt as data.
    fn outputs(&self, found: &Self::Found) -> Result<Fields, PredictError>;
}

/// A module over data.
pub(super) struct ModuleTarget<'a> {
    pub(super) module: &'a InnerModule,
    pub(super) input: &'a Fields,
}

impl AttemptTarget for ModuleTarget<'_> {
    type Found = Fields;

    async fn attempt(&self, ctx: &Ctx) -> Result<Fields, PredictError> {
        self.module.forward(ctx, self.input.clone()).await
    }

    fn outputs(&self, found: &Fields) -> Result<Fields, PredictError> {
        Ok(found.clone())
    }
}

/// A typed module.
pub(super) struct TypedTarget<'a, M: Module> {
    pub(super) module: &'a M,
    pub(super) input: &'a M::Input,
}

impl<M: Module> AttemptTarget for TypedTarget<'_, M>
where
    M::Input: Clone,
{
    type Found = Prediction<M::Output>;

    async fn attempt(&self, ctx: &Ctx) -> Result<Prediction<M::Output>, PredictError> {
        self.module.call(ctx, self.input.clone()).await
    }

    fn outputs(&self, found: &Prediction<M::Output>) -> Result<Fields, PredictError> {
        fields(&**found).map_err(|error| {
            let kind = PredictErrorKind::Parse { field: None, failure: Box::default() };
            PredictError::new(kind, error.to_string())
        })
    }
}

/// A running attempt and its span.
pub(super) struct AttemptSpan {
    /// Its number, from 0.
    pub(super) number: usize,
    span: SpanId,
    /// The context under its span, without the variation of the attempt.
    pub(super) around: Ctx,
}

impl AttemptSpan {
    /// Begins an attempt.
    pub(super) fn open(ctx: &Ctx, number: usize) -> Self {
        let span = ctx.trace().open(SpanKind::Attempt, &ctx.node.node, ctx.parent, |span| {
            span.attempt = u32::try_from(number + 1).ok();
        });
        Self { number, span, around: ctx.under(span).with_attempt_tally() }
    }

    /// The context in which it runs. Each attempt varies its requests, so that answers differ.
    pub(super) fn varied(&self, temperature: Option<f64>) -> Ctx {
        match temperature {
            Some(temperature) => self.around.for_attempt_at(self.number, temperature),
            None => self.around.for_attempt(self.number),
        }
    }

    /// Records its reward in the trace.
    pub(super) fn rewarded(&self, reward: f64) {
        self.around.trace().amend(self.span, |span| {
            span.reward = Some(reward).filter(|reward| reward.is_finite());
        });
    }

    /// Closes its span and returns the result.
    pub(super) fn close<T>(&self, result: Result<T, PredictError>) -> Result<T, PredictError> {
        let trace = self.around.trace();
        match &result {
            Ok(_) => trace.close(self.span, SpanStatus::Succeeded, |_| {}),
            Err(error) => {
                let cancelled = error.kind == PredictErrorKind::Cancelled;
                let status = if cancelled { SpanStatus::Cancelled } else { SpanStatus::Failed };
                trace.close(self.span, status, |span| span.fail(error));
            }
        }
        result
    }
}

/// Runs attempts at once and passes each result with its number to `take` as it arrives, until `take`
/// breaks or all are done. Attempts that are still running then are cancelled.
pub(super) async fn run_concurrently<'a, T, B, Running>(
    ctx: &Ctx,
    count: usize,
    start: impl Fn(AttemptSpan) -> Running,
    mut take: impl FnMut(usize, T) -> ControlFlow<B>,
) -> Option<B>
where
    Running: Future<Output = T> + Send + 'a,
{
    let mut spans = Vec::with_capacity(count);
    let mut running: FuturesUnordered<_> = (0..count)
        .map(|number| {
            let attempt = AttemptSpan::open(ctx, number);
            spans.push(attempt.span);
            let running = start(attempt);
            async move { (number, running.await) }
        })
        .collect();
    while let Some((number, result)) = running.next().await {
        if let ControlFlow::Break(end) = take(number, result) {
            let is_stopped = !running.is_empty();
            drop(running);
            if is_stopped {
                // Cancelling a closed span has no effect.
                spans.iter().for_each(|span| ctx.trace().cancel(*span));
            }
            return Some(end);
        }
    }
    None
}
