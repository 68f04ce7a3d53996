//! THE call path: every prediction of every strategy goes through here. Picks the model, sends the
//! conversation, reads the answer, asks again when it does not fit, and records what happened.
//! Knows nothing of strategies or graphs.

use std::sync::Arc;

use tokio::time::Instant;

use super::exchange::Exchange;
use super::own_tools::{OwnTools, ROUNDS};
use super::schema_predictor::SchemaPredictor;
use super::trace::{SpanId, SpanKind, SpanStatus};
use super::{Ctx, Misread, PredictError, PredictErrorKind};
use crate::adapter::{ParseError, ParsedOutput};
use crate::lm::{
    Chat, DecodingConstraint, LmError, LmErrorKind, LmParams, LmReply, LmRequest, Message, Model,
    Models, Prefix, ToolSet,
};
use crate::reflect::ReflectError;
use crate::value::Fields;

/// Makes of the outputs what the caller wants, or says which of them does not fit; the LM is asked
/// again then.
pub(super) type Accept<'a, T> = &'a (dyn Fn(&Fields) -> Result<T, ReflectError> + Sync);

/// Tools that the LM is told of beside the messages, where its model has a way to be told.
pub(super) struct Offer<'a> {
    /// What it is told.
    pub(super) tools: &'a Arc<ToolSet>,
    /// The outputs that an answer with calls of tools stands for, or what is wrong with the calls.
    pub(super) read: &'a (dyn Fn(&LmReply) -> Result<Fields, String> + Sync),
}

/// Predicts once, under a span of its own.
pub(super) async fn predict<T>(
    predictor: &SchemaPredictor,
    ctx: &Ctx,
    input: Fields,
    accept: Accept<'_, T>,
    offer: Option<&Offer<'_>>,
) -> Result<(Fields, T), PredictError> {
    let hints = ctx.hints.as_ref().map_or_else(Vec::new, |hints| hints.of(&predictor.path));
    let question = predictor.plan.ask_with(&input, &hints);
    let compared = predictor.pool.as_ref().map(|_| input.clone());
    let span = ctx.trace().open(SpanKind::Predictor, &ctx.node.node, ctx.parent, |span| {
        span.predictor = Some(predictor.path.clone());
        span.inputs = Some(input);
    });
    let outcome = match model(predictor, ctx) {
        Ok(model) if predictor.tools.is_some() && !model.tools => Err(no_tools(model)),
        Ok(model) => {
            let offer = offer.filter(|_| model.tools);
            let mut call = Call::new(predictor, ctx, model, offer, span);
            match prefix(predictor, ctx, span, compared).await {
                Ok(prefix) => call.converse(prefix, question, accept).await,
                Err(error) => Err(error),
            }
        }
        Err(error) => Err(error),
    };
    close(predictor, ctx, span, outcome)
}

/// What the conversation starts with: the same for every call, or with demos chosen for this one by
/// the inputs that are to be compared.
async fn prefix(
    predictor: &SchemaPredictor,
    ctx: &Ctx,
    span: SpanId,
    compared: Option<Fields>,
) -> Result<Arc<Prefix>, PredictError> {
    match predictor.pool.as_ref().zip(compared) {
        None => Ok(predictor.prefix.clone()),
        // Boxed, so that the calls of others are not larger for it.
        Some((pool, input)) => {
            let ctx = ctx.under(span);
            Box::pin(pool.choose(&predictor.plan, &predictor.path, &ctx, &input)).await
        }
    }
}

/// The model in force: the state's over the node's over the default.
fn model<'c>(predictor: &SchemaPredictor, ctx: &'c Ctx) -> Result<&'c Arc<Model>, PredictError> {
    let models = &ctx.run.models;
    let alias = predictor.state.lm.model.as_ref().or(ctx.node.lm.model.as_ref());
    let name = alias.map_or(Models::DEFAULT, |alias| alias);
    models.get(name).ok_or_else(|| {
        if let Some(model) = models.embedding(name) {
            return failed(ctx, no_answers(&model.alias));
        }
        if models.is_empty() {
            let message = "no model is configured; set OPENAI_API_KEY or OPENAI_BASE_URL, or \
                           configure one under [models]";
            return PredictError::new(PredictErrorKind::NoModel, message);
        }
        let known: Vec<_> = models.iter().map(|model| format!("`{}`", model.alias)).collect();
        let message = format!("no model `{name}` is configured; known: {}", known.join(", "));
        PredictError::new(PredictErrorKind::UnknownModel { alias: name.into() }, message)
    })
}

/// The refusal of an embedding model.
fn no_answers(alias: &str) -> LmError {
    let message = format!(
        "`{alias}` is an embedding model, which makes vectors and does not answer; name another model \
         here"
    );
    LmError { kind: LmErrorKind::Refused, message, status: None, retry_after: None }
}

fn no_tools(model: &Model) -> PredictError {
    let alias = model.alias.clone();
    let message = format!(
        "the predictor has tools, and the model `{alias}` is not told of any; where its server can, \
         say so (the capability `tools`), or use ReAct, which needs no such server"
    );
    PredictError::new(PredictErrorKind::NoTools { alias }, message)
}

/// One prediction on its way.
struct Call<'c> {
    predictor: &'c SchemaPredictor,
    ctx: &'c Ctx,
    offer: Option<&'c Offer<'c>>,
    span: SpanId,
    exchange: Exchange<'c>,
    /// The models that are asked when this one fails for good; known once one has.
    others: Option<std::vec::IntoIter<&'c Arc<Model>>>,
}

impl<'c> Call<'c> {
    fn new(
        predictor: &'c SchemaPredictor,
        ctx: &'c Ctx,
        model: &'c Arc<Model>,
        offer: Option<&'c Offer<'c>>,
        span: SpanId,
    ) -> Self {
        let exchange = Exchange::new(predictor, ctx, model, span);
        Self { predictor, ctx, offer, span, exchange, others: None }
    }

    /// Asks until the answer fits or the tries are used up.
    async fn converse<T>(
        &mut self,
        prefix: Arc<Prefix>,
        question: Message,
        accept: Accept<'_, T>,
    ) -> Result<(ParsedOutput, T), PredictError> {
        let chat = Chat { prefix, turns: vec![question] };
        let params = self.params();
        let constraint = self.constraint(params.max_tokens);
        let tools = self.offer.map(|offer| offer.tools).or(self.own_tools().map(OwnTools::offer));
        let tools = tools.cloned();
        let mut asked = 1;
        let mut request = LmRequest { constraint, tools, ..LmRequest::new(chat, params) };
        for remaining in (0..=self.ctx.node.parse_retries).rev() {
            let before = request.chat.turns.len();
            let reply = self.answer(&mut request).await?;
            if request.chat.turns.len() > before {
                asked = request.chat.turns.len();
            }
            let error = match self.read(&reply) {
                Ok(parsed) => match accept(&parsed.fields) {
                    Ok(accepted) => {
                        self.exchange.settled(&parsed.fields);
                        return Ok((parsed, accepted));
                    }
                    Err(error) => self.predictor.plan.refused(parsed, &error),
                },
                Err(error) => error,
            };
            self.exchange.note(&error);
            if remaining == 0 {
                return Err(misfit(&error, &reply));
            }
            // Only the last answer is shown again: older ones would teach the same mistakes.
            request.chat.turns.truncate(asked);
            request.chat.turns.push(Message::assistant(said(&reply)));
            request.chat.turns.push(self.predictor.plan.ask_again(&error));
        }
        Err(PredictError::new(PredictErrorKind::Lm, "the LM was not asked"))
    }

    /// The tools of the predictor's own, where it is not called with others.
    fn own_tools(&self) -> Option<&OwnTools> {
        self.predictor.tools.as_deref().filter(|_| self.offer.is_none())
    }

    /// An answer. While the LM asks for calls of the predictor's own tools, they are made and it is
    /// asked again; after so many rounds it is not told of tools any more.
    async fn answer(&mut self, request: &mut LmRequest) -> Result<LmReply, PredictError> {
        for left in (0..ROUNDS).rev() {
            let reply = self.send(request).await?;
            let own = self.own_tools().filter(|_| !reply.tool_calls.is_empty());
            let Some(own) = own else { return Ok(reply) };
            let results = own.call(&self.ctx.under(self.span), &reply.tool_calls).await?;
            let turns = &mut request.chat.turns;
            let called = reply.tool_calls.iter().zip(results);
            let results: Vec<_> = called.map(|(call, text)| Message::result(call, text)).collect();
            turns.push(Message::calling(reply.text, reply.tool_calls));
            turns.extend(results);
            if left == 0 {
                request.tools = None;
            }
        }
        self.send(request).await
    }

    /// The outputs of an answer: in its text, or in the calls that it asks for.
    fn read(&mut self, reply: &LmReply) -> Result<ParsedOutput, ParseError> {
        let plan = &self.predictor.plan;
        let heard = self.exchange.heard();
        match self.offer.filter(|_| !reply.tool_calls.is_empty()) {
            Some(offer) => (offer.read)(reply).map(ParsedOutput::of).map_err(ParseError::of_answer),
            None => heard.unwrap_or_else(|| plan.parse(&reply.text)),
        }
    }

    /// What the answer is held to, where the model's server can and has not refused it. A server
    /// that may answer with calls of tools cannot be held to the layout of a text.
    fn constraint(&self, max_tokens: Option<u32>) -> Option<DecodingConstraint> {
        let constrain = &self.exchange.model.constrain;
        let free = self.offer.is_some() || self.own_tools().is_some() || constrain.is_refused();
        let form = constrain.form().filter(|_| !free)?;
        self.predictor.plan.constraint(form, max_tokens)
    }

    /// The settings in force: the state's over the node's over the model's.
    fn params(&self) -> LmParams {
        let (own, node) = (&self.predictor.state.lm.params, &self.ctx.node.lm.params);
        let mut params = own.over(node).over(&self.exchange.model.params);
        params.seed = self.ctx.varied_seed(params.seed);
        params
    }

    /// Sends a request; where its model fails for good, to those that it falls back to. The rest of
    /// the conversation stays with the one that has answered.
    async fn send(&mut self, request: &mut LmRequest) -> Result<LmReply, PredictError> {
        let mut failures: Vec<String> = Vec::new();
        loop {
            let mut error = match self.ask(request).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            failures.push(std::mem::take(&mut error.message));
            if !self.falls_back(&error) {
                error.message = failures.join("; then ");
                return Err(failed(self.ctx, error));
            }
            self.fit(request);
        }
    }

    /// Asks the model; without a constraint when its server refuses that.
    async fn ask(&mut self, request: &mut LmRequest) -> Result<LmReply, LmError> {
        match self.exchange.ask(request).await {
            Err(error) if error.kind == LmErrorKind::ConstraintRefused => {
                self.exchange.model.constrain.refuse();
                request.constraint = None;
                self.exchange.ask(request).await
            }
            outcome => outcome,
        }
    }

    /// Goes on to the next model that can be asked instead, if there is one and it may do better.
    fn falls_back(&mut self, error: &LmError) -> bool {
        let in_time = Instant::now() < self.ctx.node.deadline;
        if !in_time || self.ctx.run.cancelled.is_cancelled() || !error.is_the_models() {
            return false;
        }
        let (models, first) = (&self.ctx.run.models, self.exchange.model);
        let others = self.others.get_or_insert_with(|| models.after(first).into_iter());
        let mut able = others.filter(|model| model.tools || self.predictor.tools.is_none());
        let Some(next) = able.next() else { return false };
        self.exchange.model = next;
        true
    }

    /// Makes of a request one to the model that is asked now.
    fn fit(&mut self, request: &mut LmRequest) {
        if !self.exchange.model.tools {
            self.offer = None;
            request.tools = None;
        }
        request.params = self.params();
        request.constraint = self.constraint(request.params.max_tokens);
    }
}

/// What an LM said, as a text to show it again.
fn said(reply: &LmReply) -> Arc<str> {
    if !reply.text.is_empty() || reply.tool_calls.is_empty() {
        return reply.text.clone();
    }
    let calls = reply.tool_calls.iter().map(|call| format!("{}({})", call.name, call.arguments));
    calls.collect::<Vec<_>>().join("\n").into()
}

/// Closes the predictor's span and gives the outcome to the caller.
fn close<T>(
    predictor: &SchemaPredictor,
    ctx: &Ctx,
    span: SpanId,
    outcome: Result<(ParsedOutput, T), PredictError>,
) -> Result<(Fields, T), PredictError> {
    match outcome {
        Ok((ParsedOutput { fields, report, checks }, accepted)) => {
            ctx.trace().close(span, SpanStatus::Succeeded, |span| {
                span.outputs = Some(fields.clone());
                span.parse_report = (!report.is_empty()).then(|| report.to_payload());
                span.checks = checks;
            });
            Ok((fields, accepted))
        }
        Err(error) => {
            let error = error.at(&predictor.path);
            let cancelled = error.kind == PredictErrorKind::Cancelled;
            let status = if cancelled { SpanStatus::Cancelled } else { SpanStatus::Failed };
            ctx.trace()
                .close(span, status, |span| span.error = Some(error.message.as_str().into()));
            Err(error)
        }
    }
}

/// A request that failed for good, in the terms of a prediction.
pub(super) fn failed(ctx: &Ctx, error: LmError) -> PredictError {
    let (kind, message) = match error.kind {
        LmErrorKind::Cancelled => (PredictErrorKind::Cancelled, "the run was cancelled".to_owned()),
        LmErrorKind::Budget => (PredictErrorKind::Budget, error.message.clone()),
        LmErrorKind::Timeout if Instant::now() >= ctx.node.deadline => {
            (PredictErrorKind::Timeout, error.message.clone())
        }
        LmErrorKind::RateLimited => {
            let retry_after = error.retry_after;
            (PredictErrorKind::RateLimited { retry_after }, error.message.clone())
        }
        _ => (PredictErrorKind::Lm, error.message.clone()),
    };
    PredictError { source: Some(Box::new(error)), ..PredictError::new(kind, message) }
}

/// An answer that did not fit to the last.
fn misfit(error: &ParseError, reply: &LmReply) -> PredictError {
    let cut = if reply.finish_reason.as_deref() == Some("length") {
        "; the answer was cut off at max_tokens"
    } else {
        ""
    };
    let misread = Box::new(Misread {
        raw: reply.text.clone(),
        reason: error.reason().into(),
        report: error.report.clone(),
    });
    match error.failed_assert() {
        Some((field, constraint)) => {
            let (field, constraint) = (field.clone(), constraint.clone());
            let kind = PredictErrorKind::Constraint { field, constraint, misread };
            PredictError::new(kind, format!("the LM's answer breaks a constraint: {error}"))
        }
        None => {
            let kind = PredictErrorKind::Parse { field: error.field().cloned(), misread };
            PredictError::new(kind, format!("the LM's answer does not fit: {error}{cut}"))
        }
    }
}
