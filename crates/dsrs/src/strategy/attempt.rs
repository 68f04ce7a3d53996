//! Attempts: several runs of one thing on the same inputs, one after the other or at once, each
//! under a span of its own. Knows nothing of what becomes of their results.

use std::future::Future;
use std::ops::ControlFlow;

use futures_util::stream::{FuturesUnordered, StreamExt};

use super::wrapped::Wrapped;
use crate::module::{Module, Prediction};
use crate::predict::fields;
use crate::predict::{Ctx, PredictError, PredictErrorKind, SpanId, SpanKind, SpanStatus};
use crate::value::Fields;

/// Something that can be tried again and again: a wrapped strategy, or a typed module, on inputs.
pub(super) trait Tried: Sync {
    /// What an attempt gives.
    type Found: Send;

    /// Tries once.
    fn attempt(&self, ctx: &Ctx) -> impl Future<Output = Result<Self::Found, PredictError>> + Send;

    /// The outputs of an attempt as data.
    fn outputs(&self, found: &Self::Found) -> Result<Fields, PredictError>;
}

/// A wrapped strategy on inputs.
pub(super) struct Untyped<'a> {
    pub(super) module: &'a Wrapped,
    pub(super) input: &'a Fields,
}

impl Tried for Untyped<'_> {
    type Found = Fields;

    async fn attempt(&self, ctx: &Ctx) -> Result<Fields, PredictError> {
        self.module.forward(ctx, self.input.clone()).await
    }

    fn outputs(&self, found: &Fields) -> Result<Fields, PredictError> {
        Ok(found.clone())
    }
}

/// A typed module on inputs.
pub(super) struct Typed<'a, M: Module> {
    pub(super) module: &'a M,
    pub(super) input: &'a M::Input,
}

impl<M: Module> Tried for Typed<'_, M>
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

/// One attempt on its way.
pub(super) struct Attempt {
    /// Its number, from 0.
    pub(super) number: usize,
    span: SpanId,
    /// The context around it, under its span.
    pub(super) around: Ctx,
}

impl Attempt {
    /// Begins an attempt.
    pub(super) fn open(ctx: &Ctx, number: usize) -> Self {
        let span = ctx.trace().open(SpanKind::Attempt, &ctx.node.node, ctx.parent, |span| {
            span.attempt = u32::try_from(number + 1).ok();
        });
        Self { number, span, around: ctx.under(span) }
    }

    /// The context in which it runs: unlike that of the others, so that it may end otherwise.
    pub(super) fn varied(&self, temperature: Option<f64>) -> Ctx {
        match temperature {
            Some(temperature) => self.around.for_attempt_at(self.number, temperature),
            None => self.around.for_attempt(self.number),
        }
    }

    /// Tells the trace how good it is.
    pub(super) fn rewarded(&self, reward: f64) {
        self.around.trace().amend(self.span, |span| {
            span.reward = Some(reward).filter(|reward| reward.is_finite());
        });
    }

    /// Ends it, and hands its result on.
    pub(super) fn close<T>(&self, result: Result<T, PredictError>) -> Result<T, PredictError> {
        let trace = self.around.trace();
        match &result {
            Ok(_) => trace.close(self.span, SpanStatus::Succeeded, |_| {}),
            Err(error) => {
                let cancelled = error.kind == PredictErrorKind::Cancelled;
                let status = if cancelled { SpanStatus::Cancelled } else { SpanStatus::Failed };
                trace.close(self.span, status, |span| {
                    span.error = Some(error.message.as_str().into());
                });
            }
        }
        result
    }
}

/// Runs attempts at once and hands over what each gives as it comes, with its number, until `take`
/// breaks off or all are done. Those that still run then are stopped.
pub(super) async fn at_once<'a, T, B, Running>(
    ctx: &Ctx,
    count: usize,
    start: impl Fn(Attempt) -> Running,
    mut take: impl FnMut(usize, T) -> ControlFlow<B>,
) -> Option<B>
where
    Running: Future<Output = T> + Send + 'a,
{
    let mut spans = Vec::with_capacity(count);
    let mut running: FuturesUnordered<_> = (0..count)
        .map(|number| {
            let attempt = Attempt::open(ctx, number);
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
                // Nothing happens to those that have ended.
                spans.iter().for_each(|span| ctx.trace().cancel(*span));
            }
            return Some(end);
        }
    }
    None
}
