//! The call path of every prediction of every strategy: selects the model, sends the conversation,
//! parses the answer, asks again if it does not fit, and records what happened. Does not know
//! strategies or graphs.

use std::sync::Arc;

use tokio::time::Instant;

use super::cut_answer;
use super::evidence_reader::{no_logprobs, no_probabilities, with_evidence};
use super::exchange::{Exchange, observe_repairs};
use super::predictor_core::PredictorCore;
use super::predictor_tools::{PredictorTools, ROUNDS};
use super::rejection::{correct, correct_calls, rejected};
use super::step_turns::{StepTurns, identify};
use super::trace::{SpanId, SpanKind, SpanStatus};
use super::{Ctx, PredictError, PredictErrorKind};
use crate::adapter::{CheckOutcome, ParseError, ParsedOutput};
use crate::lm::{
    Chat, DecodingConstraint, LmError, LmErrorKind, LmParams, LmReply, LmRequest, Message, Model,
    Models, RequestTrace, ToolSet,
};
use crate::reflect::ReflectError;
use crate::value::Fields;

/// How often the rest of a cut answer is asked for.
const CONTINUATIONS: usize = 4;

/// Reading an answer over this length, in bytes, counts as long work.
const LONG_ANSWER: usize = 32 << 10;

/// Converts outputs for the caller, or names the output that does not fit; the LM is asked again
/// then.
pub(super) type Accept<'a, T> = &'a (dyn Fn(&Fields) -> Result<T, ReflectError> + Sync);

/// Tools offered to the LM outside the messages, if its model supports native tool calls.
pub(super) struct ToolOffer<'a> {
    /// The specifications of the tools.
    pub(super) tools: &'a Arc<ToolSet>,
    /// Reads the outputs from a reply with tool calls, or says what is wrong with the calls.
    pub(super) read: &'a (dyn Fn(&LmReply) -> Result<Fields, String> + Sync),
    /// The outputs of a reply in words that do not fit the layout, if it means something.
    pub(super) words: &'a (dyn Fn(&LmReply) -> Option<Fields> + Sync),
    /// The steps so far, if they are turns of the conversation.
    pub(super) turns: Option<&'a StepTurns>,
}

/// A prediction.
pub(super) struct Predicted<T> {
    pub(super) fields: Fields,
    /// The outputs as the caller wants them.
    pub(super) accepted: T,
    /// The reply that they were read from.
    pub(super) reply: LmReply,
}

/// Predicts once, in its own span.
pub(super) async fn predict<T>(
    predictor: &PredictorCore,
    ctx: &Ctx,
    input: Fields,
    accept: Accept<'_, T>,
    offer: Option<&ToolOffer<'_>>,
) -> Result<Predicted<T>, PredictError> {
    let hints = ctx.hints.as_ref().map_or_else(Vec::new, |hints| hints.of(&predictor.path));
    let opening = Opening::of(predictor, &input, &hints, offer);
    let compared = predictor.pool.as_ref().map(|_| input.clone());
    let judged = predictor.plan.judge_inputs(&input);
    let span = ctx.trace().open(SpanKind::Predictor, &ctx.node.node, ctx.parent, |span| {
        span.predictor = Some(predictor.path.clone());
        span.inputs = Some(input);
    });
    let (input_checks, refused) = match judged {
        Ok(checks) => (checks, None),
        Err(broken) => (Vec::new(), Some(PredictError::broken_input(broken))),
    };
    let outcome = match refused.map_or_else(|| model(predictor, ctx), Err) {
        Ok(model) if predictor.tools.is_some() && !model.tools => Err(no_tools(model)),
        Ok(model) if predictor.evidence.is_some() && !model.logprobs => {
            Err(ctx.request_error(no_logprobs(model)))
        }
        Ok(model) => {
            let offer = offer.filter(|_| model.tools);
            let mut call = PredictorConversation::new(predictor, ctx, model, offer, span);
            match demos(predictor, ctx, span, compared).await {
                Ok(demos) => call.converse(opening, demos, accept).await,
                Err(error) => Err(error),
            }
        }
        Err(error) => Err(error),
    };
    close(predictor, ctx, span, input_checks, outcome)
}

/// The indexes of the demos nearest to these inputs. `None` if every call shows all demos.
async fn demos(
    predictor: &PredictorCore,
    ctx: &Ctx,
    span: SpanId,
    compared: Option<Fields>,
) -> Result<Option<Vec<usize>>, PredictError> {
    match predictor.pool.as_ref().zip(compared) {
        None => Ok(None),
        // Boxed to keep the futures of other calls small.
        Some((pool, input)) => {
            let ctx = ctx.under(span);
            Box::pin(pool.choose(&predictor.plan, &predictor.path, &ctx, &input)).await.map(Some)
        }
    }
}

/// The selected model: that of the state, else of the node, else the default.
pub(super) fn model<'c>(
    predictor: &PredictorCore,
    ctx: &'c Ctx,
) -> Result<&'c Arc<Model>, PredictError> {
    let models = &ctx.run.models;
    let alias = predictor.state.lm.model.as_ref().or(ctx.node.lm.model.as_ref());
    let name = alias.map_or(Models::DEFAULT, |alias| alias);
    models.get(name).ok_or_else(|| {
        if let Some(model) = models.embedding(name) {
            return ctx.request_error(no_answers(&model.alias));
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
        "the predictor has tools, but native tool calls are off for the model `{alias}`; if its server \
         supports them, set the capability `tools`, or use ReAct, which does not need them"
    );
    PredictError::new(PredictErrorKind::NoTools { alias }, message)
}

/// The messages of a call after those that every call starts with.
struct Opening {
    question: Message,
    /// The question and the steps so far, for models that call tools natively.
    in_turns: Option<Vec<Message>>,
}

impl Opening {
    fn of(
        predictor: &PredictorCore,
        input: &Fields,
        hints: &[&str],
        offer: Option<&ToolOffer<'_>>,
    ) -> Self {
        let plan = &predictor.plan;
        let question = plan.user_message_with_hints(input, hints);
        let turns = predictor.steps.as_ref().zip(offer.and_then(|offer| offer.turns));
        let in_turns = turns.map(|(prompt, turns)| {
            let first = prompt.question(plan, input, hints, &turns.note);
            [first].into_iter().chain(turns.messages.iter().cloned()).collect()
        });
        Self { question, in_turns }
    }
}

/// What is wrong with a reply that calls no tool.
fn no_call() -> ParseError {
    ParseError::of_answer("it calls no tool".to_owned())
}

/// One prediction in progress.
struct PredictorConversation<'c> {
    predictor: &'c PredictorCore,
    ctx: &'c Ctx,
    offer: Option<&'c ToolOffer<'c>>,
    span: SpanId,
    exchange: Exchange<'c>,
    /// The fallback models that are left. `None` until the first model has failed for good.
    others: Option<std::vec::IntoIter<&'c Arc<Model>>>,
    /// The conversation for a fallback model that does not call tools natively, if the current one is made of calls.
    in_text: Option<Chat>,
    /// Whether the last request replaced the conversation by that one.
    is_replaced: bool,
}

impl<'c> PredictorConversation<'c> {
    fn new(
        predictor: &'c PredictorCore,
        ctx: &'c Ctx,
        model: &'c Arc<Model>,
        offer: Option<&'c ToolOffer<'c>>,
        span: SpanId,
    ) -> Self {
        let exchange = Exchange::new(predictor, ctx, model, span);
        let (others, in_text, is_replaced) = (None, None, false);
        Self { predictor, ctx, offer, span, exchange, others, in_text, is_replaced }
    }

    /// Whether the conversation is made of native tool calls and their results.
    const fn is_in_turns(&self) -> bool {
        self.in_text.is_some()
    }

    /// The conversation so far.
    fn begin(&mut self, opening: Opening, demos: Option<Vec<usize>>) -> Chat {
        let Opening { question, in_turns } = opening;
        let demos = demos.as_deref();
        let in_text = Chat { prefix: self.predictor.text_prefix(demos), turns: vec![question] };
        let prefix = self.predictor.call_prefix(demos);
        match in_turns.zip(prefix).filter(|_| self.offer.is_some()) {
            None => in_text,
            Some((turns, prefix)) => {
                self.in_text = Some(in_text);
                Chat { prefix, turns }
            }
        }
    }

    /// Asks until the answer fits or no retries are left.
    async fn converse<T>(
        &mut self,
        opening: Opening,
        demos: Option<Vec<usize>>,
        accept: Accept<'_, T>,
    ) -> Result<(ParsedOutput, T, LmReply), PredictError> {
        let chat = self.begin(opening, demos);
        let params = self.params();
        let constraint = self.constraint(params.max_tokens, false);
        let tools = self
            .offer
            .map(|offer| offer.tools)
            .or(self.predictor_tools().map(PredictorTools::offer));
        let tools = tools.cloned();
        let mut asked = chat.turns.len();
        let mut last_turn = chat.turns.last().cloned();
        let trace = self.ctx.run.trace_context.clone().map(RequestTrace::new);
        let logprobs = self.predictor.evidence.is_some();
        let mut request =
            LmRequest { constraint, tools, logprobs, trace, ..LmRequest::new(chat, params) };
        for remaining in (0..=self.ctx.node.parse_retries).rev() {
            let before = request.chat.turns.len();
            let mut reply = self.answer(&mut request).await?;
            if self.is_in_turns() {
                identify(&mut reply.tool_calls, &request.chat.turns);
                if self.others.is_some() {
                    // The next step asks the first model, to which the reasoning of another means nothing.
                    reply.reasoning = None;
                }
            }
            if reply.text.len() > LONG_ANSWER {
                self.ctx.run.begin_long_work().await;
            }
            if request.chat.turns.len() > before || std::mem::take(&mut self.is_replaced) {
                asked = request.chat.turns.len();
                last_turn = request.chat.turns.last().cloned();
            }
            if logprobs && reply.logprobs.is_empty() && !reply.text.is_empty() {
                let error = no_probabilities(self.exchange.model);
                self.exchange.refuse(error.kind.as_str(), &error.message);
                return Err(self.ctx.request_error(error));
            }
            let read = self.read(&reply);
            let read = match &self.predictor.evidence {
                None => read,
                Some(reader) => {
                    read.and_then(|read| with_evidence(read, &reply, &self.predictor.plan, reader))
                }
            };
            let read = cut_answer::check(&self.predictor.plan, &reply, read, &request.params)
                .inspect_err(|error| self.exchange.refuse(error.kind.code(), &error.message))?;
            if remaining == self.ctx.node.parse_retries {
                self.record_fit(&request, read.is_ok());
            }
            let error = match read {
                Ok(parsed) => match accept(&parsed.fields) {
                    Ok(accepted) => {
                        self.exchange.complete(&parsed.fields);
                        return Ok((parsed, accepted, reply));
                    }
                    Err(error) => self.predictor.plan.rejection(parsed, &error),
                },
                Err(error) => error,
            };
            self.exchange.reject(&error);
            if remaining == 0 {
                return Err(rejected(&error, &reply));
            }
            // Only the last answer is shown again: older ones would repeat the same mistakes.
            request.chat.turns.truncate(asked);
            if let (Some(turn), Some(unchanged)) = (request.chat.turns.last_mut(), &last_turn) {
                turn.clone_from(unchanged);
            }
            match self.is_in_turns() {
                true => correct_calls(&mut request.chat.turns, &reply, &error),
                false => {
                    let correction = self.predictor.plan.correction(&error);
                    correct(&mut request.chat.turns, &reply, correction);
                }
            }
            request.constraint = self.constraint(request.params.max_tokens, true);
        }
        Err(PredictError::new(PredictErrorKind::Lm, "the LM was not asked"))
    }

    /// The predictor's own tools, unless the caller offers others.
    fn predictor_tools(&self) -> Option<&PredictorTools> {
        self.predictor.tools.as_deref().filter(|_| self.offer.is_none())
    }

    /// An answer. While the LM requests calls of the predictor's own tools, the calls are made and
    /// the LM is asked again; after `ROUNDS` rounds it gets no more tools.
    async fn answer(&mut self, request: &mut LmRequest) -> Result<LmReply, PredictError> {
        for left in (0..ROUNDS).rev() {
            let reply = self.whole(request).await?;
            let own = self.predictor_tools().filter(|_| !reply.tool_calls.is_empty());
            let Some(own) = own else { return Ok(reply) };
            let results = own.call(&self.ctx.under(self.span), &reply.tool_calls).await?;
            let turns = &mut request.chat.turns;
            let called = reply.tool_calls.iter().zip(results);
            let results: Vec<_> = called.map(|(call, text)| Message::result(call, text)).collect();
            turns.push(Message::of_reply(reply));
            turns.extend(results);
            if left == 0 {
                request.tools = None;
            }
        }
        self.whole(request).await
    }

    /// An answer with its rest, if a limit cut it and the predictor wants it continued.
    async fn whole(&mut self, request: &mut LmRequest) -> Result<LmReply, PredictError> {
        let plan = &self.predictor.plan;
        let mut reply = self.send(request).await?;
        for _ in 0..CONTINUATIONS {
            if !cut_answer::may_continue(plan, &reply, &request.params) {
                break;
            }
            // A constraint describes whole answers.
            let (turns, constraint) = (request.chat.turns.len(), request.constraint.take());
            request.chat.turns.push(Message::assistant(reply.text.clone()));
            request.chat.turns.push(plan.continuation());
            let rest = self.send(request).await;
            request.chat.turns.truncate(turns);
            request.constraint = constraint;
            reply = cut_answer::joined(plan, reply, rest?);
        }
        Ok(reply)
    }

    /// The outputs of a reply: from its text, or from the tool calls in it.
    fn read(&mut self, reply: &LmReply) -> Result<ParsedOutput, ParseError> {
        let plan = &self.predictor.plan;
        let streamed = self.exchange.streamed();
        match self.offer.filter(|_| !reply.tool_calls.is_empty()) {
            Some(offer) => (offer.read)(reply).map(ParsedOutput::of).map_err(ParseError::of_answer),
            // No layout was asked for.
            None if self.is_in_turns() => self.words(reply).ok_or_else(no_call),
            None => match cut_answer::in_reasoning(plan, reply) {
                Some(parsed) => Ok(parsed),
                None => streamed
                    .unwrap_or_else(|| plan.parse(&reply.text))
                    .and_then(|parsed| {
                        let reasoning = reply.reasoning.as_ref().map(|found| found.text());
                        plan.with_reasoning(parsed, reasoning.as_deref())
                    })
                    .or_else(|error| self.words(reply).ok_or(error)),
            },
        }
    }

    /// The outputs of a reply without the calls that it was offered.
    fn words(&self, reply: &LmReply) -> Option<ParsedOutput> {
        let offer = self.offer.filter(|_| reply.tool_calls.is_empty())?;
        (offer.words)(reply).map(ParsedOutput::of)
    }

    /// The decoding constraint, if the model's server supports one and has not refused this one. A server
    /// that may reply with tool calls cannot be constrained to the layout of a text.
    fn constraint(
        &self,
        max_tokens: Option<u32>,
        after_misfit: bool,
    ) -> Option<DecodingConstraint> {
        let constrain = &self.exchange.model.constrain;
        let has_tools = self.offer.is_some() || self.predictor_tools().is_some();
        let applies = !has_tools && self.can_constrain() && constrain.applies(after_misfit);
        let form = constrain.form().filter(|_| applies)?;
        let constraint = self.predictor.plan.constraint(form, max_tokens)?;
        (!constrain.has_refused(&constraint)).then_some(constraint)
    }

    /// Runs that are compared must not depend on what happened before them.
    fn can_constrain(&self) -> bool {
        !self.exchange.model.constrain.is_measured() || self.ctx.run.budgeted.is_none()
    }

    /// Records whether the first answer fits, if its model is measured.
    fn record_fit(&self, request: &LmRequest, fits: bool) {
        if request.tools.is_none() && self.can_constrain() {
            self.exchange.model.constrain.record(request.constraint.is_some(), fits);
        }
    }

    /// The sampling settings: those of the state, else of the node, else of the model.
    fn params(&self) -> LmParams {
        let (own, node) = (&self.predictor.state.lm.params, &self.ctx.node.lm.params);
        let mut params = own.over(node).over(&self.exchange.model.params);
        params.seed = self.ctx.attempt_seed(params.seed);
        if self.offer.is_some_and(|offer| offer.tools.forced().is_some()) {
            // Providers refuse to force a call of a model that reasons.
            params.reasoning_effort = None;
        }
        params
    }

    /// Sends a request. If its model fails for good, tries the fallback models; the rest of the
    /// conversation stays with the model that answered.
    async fn send(&mut self, request: &mut LmRequest) -> Result<LmReply, PredictError> {
        let mut failures: Vec<String> = Vec::new();
        loop {
            let mut error = match self.ask(request).await {
                Ok(reply) => match self.exchange.filtered(&reply) {
                    None => return Ok(reply),
                    Some(error) => {
                        self.exchange.refuse(error.kind.as_str(), &error.message);
                        error
                    }
                },
                Err(error) => error,
            };
            failures.push(std::mem::take(&mut error.message));
            if !self.falls_back(&error) {
                error.message = failures.join("; then ");
                return Err(self.ctx.request_error(error));
            }
            self.fit(request);
        }
    }

    /// Asks the model, and again without a constraint if its server refuses that. Where constraints are sent
    /// only because they may help, any failure of the model counts against them.
    async fn ask(&mut self, request: &mut LmRequest) -> Result<LmReply, LmError> {
        let outcome = self.exchange.ask(request).await;
        let Some(constraint) = &request.constraint else { return outcome };
        let decoding = &self.exchange.model.constrain;
        match outcome {
            Ok(reply) => {
                decoding.accept();
                Ok(reply)
            }
            Err(error) if error.kind == LmErrorKind::ConstraintRefused => {
                decoding.refuse(constraint);
                request.constraint = None;
                self.exchange.ask(request).await
            }
            Err(error) if decoding.is_measured() && error.may_be_of_constraint() => {
                request.constraint = None;
                let reply = self.exchange.ask(request).await?;
                // The model answers without it.
                decoding.record(true, false);
                Ok(reply)
            }
            Err(error) => Err(error),
        }
    }

    /// Switches to the next fallback model, if there is one and it may succeed.
    fn falls_back(&mut self, error: &LmError) -> bool {
        let in_time = Instant::now() < self.ctx.node.deadline;
        if !in_time || self.ctx.run.cancelled.is_cancelled() || !error.is_the_models() {
            return false;
        }
        let (models, first) = (&self.ctx.run.models, self.exchange.model);
        let others = self.others.get_or_insert_with(|| models.after(first).into_iter());
        let mut able = others.filter(|model| {
            (model.tools || self.predictor.tools.is_none())
                && (model.logprobs || self.predictor.evidence.is_none())
        });
        let Some(next) = able.next() else { return false };
        self.exchange.model = next;
        true
    }

    /// Adapts a request to the current model. The reasoning of another model means nothing to it.
    fn fit(&mut self, request: &mut LmRequest) {
        for turn in &mut request.chat.turns {
            turn.reasoning = None;
        }
        if !self.exchange.model.tools {
            self.offer = None;
            request.tools = None;
            if let Some(in_text) = self.in_text.take() {
                request.chat = in_text;
                self.is_replaced = true;
            }
        }
        request.params = self.params();
        request.constraint = self.constraint(request.params.max_tokens, false);
    }
}

/// Closes the predictor's span and returns the outcome.
fn close<T>(
    predictor: &PredictorCore,
    ctx: &Ctx,
    span: SpanId,
    mut checked: Vec<CheckOutcome>,
    outcome: Result<(ParsedOutput, T, LmReply), PredictError>,
) -> Result<Predicted<T>, PredictError> {
    match outcome {
        Ok((ParsedOutput { fields, report, checks }, accepted, reply)) => {
            if let Some(tally) = &ctx.tally {
                tally.add_checks(&predictor.path, span, &checks);
            }
            observe_repairs(ctx, &report);
            ctx.trace().close(span, SpanStatus::Succeeded, |span| {
                span.outputs = Some(fields.clone());
                span.parse_report = (!report.is_empty()).then(|| report.to_payload());
                checked.extend(checks);
                span.checks = checked;
            });
            Ok(Predicted { fields, accepted, reply })
        }
        Err(error) => {
            let error = error.at(&predictor.path);
            let cancelled = error.kind == PredictErrorKind::Cancelled;
            let status = if cancelled { SpanStatus::Cancelled } else { SpanStatus::Failed };
            ctx.trace().close(span, status, |span| span.fail(&error));
            Err(error)
        }
    }
}
