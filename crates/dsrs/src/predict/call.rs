//! THE call path: every prediction of every strategy goes through here. Picks the model, sends the
//! conversation, reads the answer, asks again when it does not fit, and records what happened.
//! Knows nothing of strategies or graphs.

use std::sync::Arc;

use tokio::time::Instant;

use super::hearing::Hearing;
use super::own_tools::{OwnTools, ROUNDS};
use super::schema_predictor::SchemaPredictor;
use super::trace::{Constrained, SpanId, SpanKind, SpanStatus};
use super::{Ctx, Misread, PredictError, PredictErrorKind};
use crate::adapter::{ParseError, ParsedOutput};
use crate::lm::retry::{self, Attempt, RetryPolicy};
use crate::lm::{
    Chat, Constraint, LmError, LmErrorKind, LmReply, LmRequest, Message, Model, Models, ToolSet,
    Usage,
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
    let span = ctx.trace().open(SpanKind::Predictor, &ctx.node.node, ctx.parent, |span| {
        span.predictor = Some(predictor.path.clone());
        span.inputs = Some(input);
    });
    let outcome = match model(predictor, ctx) {
        Ok(model) if predictor.tools.is_some() && !model.tools => Err(no_tools(model)),
        Ok(model) => {
            let offer = offer.filter(|_| model.tools);
            let mut call = Call::new(predictor, ctx, model, offer, span);
            call.converse(question, accept).await
        }
        Err(error) => Err(error),
    };
    close(predictor, ctx, span, outcome)
}

/// The model in force: the state's over the node's over the default.
fn model<'c>(predictor: &SchemaPredictor, ctx: &'c Ctx) -> Result<&'c Arc<Model>, PredictError> {
    let models = &ctx.run.models;
    let alias = predictor.state.lm.model.as_ref().or(ctx.node.lm.model.as_ref());
    let name = alias.map_or(Models::DEFAULT, |alias| alias);
    models.get(name).ok_or_else(|| {
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
    model: &'c Arc<Model>,
    offer: Option<&'c Offer<'c>>,
    span: SpanId,
    /// Requests sent so far, over retries and asking again.
    attempts: u32,
    /// The span of the last request.
    last: Option<SpanId>,
    /// For whoever listens to the run.
    hearing: Option<Hearing<'c>>,
}

impl<'c> Call<'c> {
    fn new(
        predictor: &'c SchemaPredictor,
        ctx: &'c Ctx,
        model: &'c Arc<Model>,
        offer: Option<&'c Offer<'c>>,
        span: SpanId,
    ) -> Self {
        let heard = ctx.run.listener.is_some();
        let hearing = heard.then(|| Hearing::new(ctx, &predictor.plan, &predictor.path, span));
        Self { predictor, ctx, model, offer, span, attempts: 0, last: None, hearing }
    }

    /// Asks until the answer fits or the tries are used up.
    async fn converse<T>(
        &mut self,
        question: Message,
        accept: Accept<'_, T>,
    ) -> Result<(ParsedOutput, T), PredictError> {
        let node = &self.ctx.node;
        let mut params =
            self.predictor.state.lm.params.over(&node.lm.params).over(&self.model.params);
        params.seed = self.ctx.varied_seed(params.seed);
        let chat = Chat { prefix: self.predictor.prefix.clone(), turns: vec![question] };
        let constraint = self.constraint(params.max_tokens);
        let tools = self.offer.map(|offer| offer.tools).or(self.own_tools().map(OwnTools::offer));
        let tools = tools.cloned();
        let mut asked = 1;
        let mut request = LmRequest { constraint, tools, ..LmRequest::new(chat, params) };
        for remaining in (0..=node.parse_retries).rev() {
            let before = request.chat.turns.len();
            let reply = self.answer(&mut request).await?;
            if request.chat.turns.len() > before {
                asked = request.chat.turns.len();
            }
            let error = match self.read(&reply) {
                Ok(parsed) => match accept(&parsed.fields) {
                    Ok(accepted) => return Ok((parsed, accepted)),
                    Err(error) => self.predictor.plan.refused(parsed, &error),
                },
                Err(error) => error,
            };
            self.note(&error);
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
        let heard = self.hearing.as_mut().and_then(Hearing::take);
        match self.offer.filter(|_| !reply.tool_calls.is_empty()) {
            Some(offer) => (offer.read)(reply).map(ParsedOutput::of).map_err(ParseError::of_answer),
            None => heard.unwrap_or_else(|| plan.parse(&reply.text)),
        }
    }

    /// What the answer is held to, where the model's server can and has not refused it. A server
    /// that may answer with calls of tools cannot be held to the layout of a text.
    fn constraint(&self, max_tokens: Option<u32>) -> Option<Constraint> {
        let constrain = &self.model.constrain;
        let free = self.offer.is_some() || self.own_tools().is_some() || constrain.is_refused();
        let form = constrain.form().filter(|_| !free)?;
        self.predictor.plan.constraint(form, max_tokens)
    }

    /// Sends a request; without its constraint when the server refuses that.
    async fn send(&mut self, request: &mut LmRequest) -> Result<LmReply, PredictError> {
        match self.send_once(request).await {
            Err(error) if error.kind == LmErrorKind::ConstraintRefused => {
                self.model.constrain.refuse();
                request.constraint = None;
                self.send_once(request).await
            }
            outcome => outcome,
        }
        .map_err(|error| failed(self.ctx, error))
    }

    async fn send_once(&mut self, request: &LmRequest) -> Result<LmReply, LmError> {
        let (ctx, model) = (self.ctx, self.model);
        let policy = RetryPolicy {
            retries: ctx.node.retries,
            deadline: ctx.node.deadline,
            cancelled: &ctx.run.cancelled,
            is_heard: self.hearing.is_some(),
        };
        let before = self.attempts;
        let record = |attempt: Attempt<'_>| match attempt {
            Attempt::Started(number) => {
                self.attempts = before + number;
                self.last = Some(self.sent(request));
                if let Some(hearing) = &mut self.hearing {
                    hearing.begin(self.attempts);
                }
            }
            Attempt::Heard(piece) => {
                if let Some(hearing) = &mut self.hearing {
                    hearing.hear(piece);
                }
            }
            Attempt::Ended(result) => self.ended(result),
        };
        retry::complete(model.lm.as_ref(), request, &policy, record).await
    }

    /// A request on its way, as a span.
    fn sent(&self, request: &LmRequest) -> SpanId {
        self.ctx.trace().open(SpanKind::Lm, &self.ctx.node.node, Some(self.span), |span| {
            span.predictor = Some(self.predictor.path.clone());
            span.messages = Some((request.chat.prefix.clone(), request.chat.turns.clone()));
            span.model = Some(self.model.model.clone());
            span.attempt = Some(self.attempts);
            span.constraint = self.constrained(request);
        })
    }

    /// How the request is constrained, if its model is to be.
    fn constrained(&self, request: &LmRequest) -> Option<Constrained> {
        let form = self.model.constrain.form()?;
        match &request.constraint {
            Some(_) => Some(Constrained::To(form)),
            None => self.model.constrain.is_refused().then_some(Constrained::Refused),
        }
    }

    /// The end of the request that was sent last.
    fn ended(&mut self, result: &Result<LmReply, LmError>) {
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
            self.count(reply, last);
        }
        self.ctx.trace().close(last, status, |span| match result {
            Ok(reply) => {
                span.raw = Some(reply.text.clone());
                span.tool_calls = reply.tool_calls.clone();
                span.model = Some(reply.model.clone());
                span.usage = Some(self.usage(reply));
            }
            Err(error) => span.error = Some(error.message.as_str().into()),
        });
    }

    /// Counts an answer for those who wait for it.
    fn count(&self, reply: &LmReply, span: SpanId) {
        if let Some(tally) = &self.ctx.tally {
            tally.count(self.usage(reply), &reply.text, span);
        }
    }

    fn usage(&self, reply: &LmReply) -> Usage {
        let cost = self.model.prices.map(|prices| prices.cost(&reply.usage));
        Usage { cost: cost.or(reply.usage.cost), ..reply.usage }
    }

    /// Tells on the span of an answer why it does not fit.
    fn note(&mut self, error: &ParseError) {
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
fn failed(ctx: &Ctx, error: LmError) -> PredictError {
    let (kind, message) = match error.kind {
        LmErrorKind::Cancelled => (PredictErrorKind::Cancelled, "the run was cancelled".to_owned()),
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
