//! Embeds texts for a run: waits for its turn, retries transient failures, charges the budget of
//! the run and records a span. Does not know what the vectors are compared with.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::trace::{Span, SpanId, SpanKind, SpanStatus};
use super::{Ctx, PredictError, PredictErrorKind};
use crate::lm::retry::{self, RetryPolicy};
use crate::lm::{
    EmbeddingModel, Embeddings, Gates, LmAttempt, LmError, LmErrorKind, RequestTrace, Usage,
};

/// One vector for each text, and the span of the request. `fill` completes the span.
///
/// # Errors
/// The alias has no embedding model, or the model failed; the error names the alias.
pub(crate) async fn embed(
    ctx: &Ctx,
    alias: &str,
    texts: &[Arc<str>],
    fill: impl FnOnce(&mut Span),
) -> Result<(Embeddings, SpanId), PredictError> {
    let model = embedding_model(ctx, alias)?;
    let trace = ctx.trace();
    let span = trace.open(SpanKind::Embedding, &ctx.node.node, ctx.parent, |span| {
        span.alias = Some(model.alias.clone());
        span.model = Some(model.model.clone());
        fill(span);
    });
    let begun = Instant::now();
    let headers = ctx.run.trace_context.clone().map(RequestTrace::new);
    if let Some(headers) = &headers {
        headers.set_span(span.0);
    }
    match ask(ctx, model, texts, headers.as_ref()).await {
        Ok(embedded) => {
            let cost = model.prices.map(|prices| prices.cost(&embedded.usage));
            let usage = Usage { cost: cost.or(embedded.usage.cost), ..embedded.usage };
            observe(ctx, model, begun, Ok(&usage));
            if let Some(tally) = &ctx.tally {
                tally.add(usage);
            }
            trace.close(span, SpanStatus::Succeeded, |span| span.usage = Some(usage));
            Ok((Embeddings { usage, ..embedded }, span))
        }
        Err(error) => {
            observe(ctx, model, begun, Err(error.kind));
            let cancelled = error.kind == LmErrorKind::Cancelled;
            let status = if cancelled { SpanStatus::Cancelled } else { SpanStatus::Failed };
            trace.close(span, status, |span| {
                span.error = Some(error.message.as_str().into());
                span.error_kind = Some(error.kind.as_str());
            });
            if error.is_unpaid() {
                return Err(ctx.request_error(error));
            }
            let message = format!("the embedding model `{alias}` failed: {}", error.message);
            Err(ctx.request_error(LmError { message, ..error }))
        }
    }
}

/// Reports the requests for some texts to the observer of the run, as one.
fn observe(ctx: &Ctx, model: &EmbeddingModel, begun: Instant, result: Result<&Usage, LmErrorKind>) {
    if let Some(observer) = &ctx.run.observer {
        observer.attempted(&LmAttempt {
            alias: &model.alias,
            is_retry: false,
            is_fallback: false,
            is_stored: false,
            queued: Duration::ZERO,
            duration: begun.elapsed(),
            first_token: None,
            result,
        });
    }
}

fn embedding_model<'c>(ctx: &'c Ctx, alias: &str) -> Result<&'c Arc<EmbeddingModel>, PredictError> {
    let models = &ctx.run.models;
    models.embedding(alias).ok_or_else(|| {
        let able: Vec<_> =
            models.embedding_models().map(|model| format!("`{}`", model.alias)).collect();
        let known = if able.is_empty() { "none".to_owned() } else { able.join(", ") };
        let is_known = models.get(alias).is_some();
        let why = if is_known { "is not an embedding model" } else { "is not configured" };
        let message = format!("the model `{alias}` {why}; configured embedding models: {known}");
        PredictError::new(PredictErrorKind::UnknownModel { alias: alias.into() }, message)
    })
}

async fn ask(
    ctx: &Ctx,
    model: &EmbeddingModel,
    texts: &[Arc<str>],
    trace: Option<&RequestTrace>,
) -> Result<Embeddings, LmError> {
    let policy = RetryPolicy {
        retries: ctx.node.retries,
        deadline: ctx.node.deadline,
        cancelled: &ctx.run.cancelled,
        is_streamed: false,
        gates: Gates {
            lane: &ctx.run.lane,
            model: model.gate.as_ref(),
            all: ctx.run.models.gate(),
        },
    };
    let Some(budgeted) = &ctx.run.budgeted else {
        return match &ctx.run.budget {
            None => retry::embed(&*model.embedder, texts, trace, &policy).await,
            Some(account) => retry::embed(&account.embedder(model), texts, trace, &policy).await,
        };
    };
    let made = retry::embed(&budgeted.embedder(model), texts, trace, &policy).await;
    if made.as_ref().is_err_and(LmError::is_unpaid) {
        ctx.run.out_of_budget.store(true, Ordering::Relaxed);
    }
    made
}
