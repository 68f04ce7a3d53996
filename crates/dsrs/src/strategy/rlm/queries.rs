//! The prompts that programs send: counted, and answered by a predictor like any other. Knows no sandbox.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::stream::{self, StreamExt};

use super::prompt::{PROMPT, RESPONSE};
use super::{LLM_QUERY, LLM_QUERY_BATCHED};
use crate::predict::{
    Ctx, DynPredictor, LmOverrides, NodeScope, PredictError, PredictErrorKind, SchemaPredictor,
};
use crate::sandbox::{HostAnswer, HostCall};
use crate::value::{Fields, Payload};

/// What stands before the reason why a prompt of several has no answer.
const ERROR: &str = "[ERROR]";

/// The prompts of one call of the module.
pub(super) struct SubQueries<'m> {
    predictor: &'m SchemaPredictor,
    /// The model, unless the state of the predictor names one.
    model: Option<&'m Arc<str>>,
    most: usize,
    at_once: usize,
    sent: AtomicUsize,
}

impl<'m> SubQueries<'m> {
    pub(super) const fn new(
        predictor: &'m SchemaPredictor,
        model: Option<&'m Arc<str>>,
        most: usize,
        at_once: usize,
    ) -> Self {
        Self { predictor, model, most, at_once, sent: AtomicUsize::new(0) }
    }

    /// Answers one prompt. A prompt that cannot be answered is an exception in the program; a failure that no other prompt
    /// avoids is that of the call.
    pub(super) async fn one(&self, ctx: &Ctx, call: &HostCall) -> Result<HostAnswer, PredictError> {
        let prompt = match only_argument(call, PROMPT).map(Payload::as_str) {
            Some(Some(prompt)) if !prompt.trim().is_empty() => prompt,
            _ => {
                return Ok(raise(format!(
                    "{LLM_QUERY}() takes one prompt, a text that is not empty"
                )));
            }
        };
        if let Err(refused) = self.count(1) {
            return Ok(refused);
        }
        match self.answer(&self.ctx(ctx), prompt).await {
            Ok(answer) => Ok(HostAnswer::Return(answer)),
            Err(error) if is_of_the_prompt(&error) => Ok(raise(error.message)),
            Err(error) => Err(error),
        }
    }

    /// Answers several prompts at the same time. Those that have no answer get the reason instead, unless all fail alike.
    pub(super) async fn batched(
        &self,
        ctx: &Ctx,
        call: &HostCall,
    ) -> Result<HostAnswer, PredictError> {
        let prompts = only_argument(call, "prompts").and_then(Payload::as_list);
        let prompts = prompts.and_then(|all| all.iter().map(Payload::as_str).collect());
        let prompts: Vec<&str> = match prompts {
            Some(prompts) => prompts,
            None => return Ok(raise(format!("{LLM_QUERY_BATCHED}() takes one list of texts"))),
        };
        if let Err(refused) = self.count(prompts.len()) {
            return Ok(refused);
        }
        let ctx = self.ctx(ctx);
        let asked: Vec<_> = prompts.iter().map(|prompt| self.answer(&ctx, prompt)).collect();
        let answers: Vec<_> = stream::iter(asked).buffered(self.at_once).collect().await;
        let is_lost = answers
            .iter()
            .all(|answer| answer.as_ref().is_err_and(|error| !is_of_the_prompt(error)));
        let texts = answers.into_iter().map(|answer| match answer {
            Err(error) if ctx.is_fatal(&error) || is_lost => Err(error),
            Err(error) => Ok(Payload::from(format!("{ERROR} {error}"))),
            Ok(answer) => Ok(answer),
        });
        Ok(HostAnswer::Return(Payload::list(texts.collect::<Result<_, _>>()?)))
    }

    async fn answer(&self, ctx: &Ctx, prompt: &str) -> Result<Payload, PredictError> {
        let input = Fields::from_iter([(PROMPT.into(), prompt.into())]);
        let mut answer = self.predictor.forward(ctx, input).await?;
        Ok(answer.shift_remove(RESPONSE).unwrap_or_default())
    }

    /// Counts prompts, or refuses them.
    fn count(&self, more: usize) -> Result<(), HostAnswer> {
        let within = |sent: usize| sent.checked_add(more).filter(|all| *all <= self.most);
        let counted = self.sent.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within);
        counted.map(drop).map_err(|sent| {
            raise(format!(
                "{sent} prompts were sent and {more} more are too many: at most {} are allowed. Continue without asking \
                 the model",
                self.most
            ))
        })
    }

    fn ctx(&self, ctx: &Ctx) -> Ctx {
        let Some(model) = self.model else { return ctx.clone() };
        let lm = LmOverrides { model: Some(model.clone()), ..ctx.node.lm.clone() };
        let node = NodeScope { lm, ..NodeScope::clone(&ctx.node) };
        Ctx { node: node.into(), ..ctx.clone() }
    }
}

/// Whether another prompt may be answered.
fn is_of_the_prompt(error: &PredictError) -> bool {
    error.is_context_overflow()
        || matches!(
            error.kind,
            PredictErrorKind::Filtered
                | PredictErrorKind::Incomplete { .. }
                | PredictErrorKind::Parse { .. }
                | PredictErrorKind::Constraint { .. }
        )
}

fn only_argument<'c>(call: &'c HostCall, name: &str) -> Option<&'c Payload> {
    match (call.args.as_slice(), call.named.len()) {
        ([value], 0) => Some(value),
        ([], 1) => call.named.get(name),
        _ => None,
    }
}

fn raise(message: String) -> HostAnswer {
    HostAnswer::Raise(message.into())
}
