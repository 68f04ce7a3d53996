//! Reports a predictor's answer to the listener of the run, field by field, while it streams, and
//! parses it at the same time. At the end every field has been reported with its final value. Only
//! used if the run has a listener.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::event::{PredictorCallId, RunEvent};
use super::{Ctx, SpanId};
use crate::adapter::{AnswerEvent, ChatPlan, ParseError, ParsedOutput, PartialAnswer};
use crate::lm::LmReply;
use crate::signature::FieldSchema;
use crate::types::TypeIR;
use crate::value::{Fields, Payload};

/// The answers of one call of a predictor.
pub(super) struct StreamReporter<'c> {
    ctx: &'c Ctx,
    plan: &'c ChatPlan,
    predictor: &'c Arc<str>,
    span: SpanId,
    /// The answer that is arriving.
    answer: Option<PartialAnswer>,
    /// How much of it arrived with earlier requests.
    before: usize,
    /// The parsed outputs of the last answer, if one request streamed it to its end.
    read: Option<Result<ParsedOutput, ParseError>>,
    /// The number of the current request.
    attempt: u32,
    /// The text reported for each output and not retracted.
    reported: HashMap<Arc<str>, String>,
    /// Why the last answer is void.
    void: Option<String>,
}

impl<'c> StreamReporter<'c> {
    /// Reports the answers of the call with this span.
    pub(super) fn new(
        ctx: &'c Ctx,
        plan: &'c ChatPlan,
        predictor: &'c Arc<str>,
        span: SpanId,
    ) -> Self {
        let (answer, read, reported, void) = (None, None, HashMap::new(), None);
        Self { ctx, plan, predictor, span, answer, before: 0, read, attempt: 0, reported, void }
    }

    /// A request was sent; `attempt` numbers the requests of the call.
    pub(super) fn begin(&mut self, attempt: u32) {
        self.attempt = attempt;
        if let Some(answer) = self.answer.as_ref().filter(|_| self.void.is_none()) {
            self.before = answer.text().len();
            return;
        }
        let again = (!self.reported.is_empty()).then(|| "the LM has called tools".to_owned());
        if let Some(reason) = self.void.take().or(again) {
            self.retract(&reason);
        }
        self.read = None;
        self.answer = Some(self.plan.stream());
        self.before = 0;
    }

    /// Receives the next piece of the answer.
    pub(super) fn receive(&mut self, piece: &str) {
        let events = self.answer.as_mut().map(|answer| answer.push(piece));
        self.emit_all(events.unwrap_or_default());
    }

    /// Receives the end of the answer. `continues`: the next request may ask for the rest of it.
    pub(super) fn end(&mut self, reply: &LmReply, continues: bool) {
        // The stream may contain only a part of the provider's reply.
        let is_whole =
            |answer: &PartialAnswer| answer.text().get(self.before..) == Some(&*reply.text);
        let Some(answer) = self.answer.take().filter(is_whole) else { return };
        if continues {
            self.answer = Some(answer);
            return;
        }
        let (events, read) = answer.end();
        self.emit_all(events);
        // The parts of an answer are joined without what they repeat, which was streamed.
        self.read = (self.before == 0).then_some(read);
    }

    /// The parsed outputs of the last answer, if one request streamed it to its end.
    pub(super) fn take(&mut self) -> Option<Result<ParsedOutput, ParseError>> {
        self.read.take()
    }

    /// Marks the answer, or its absence, as void.
    pub(super) fn void(&mut self, reason: String) {
        self.void = Some(reason);
    }

    /// Reports the parts of the final outputs that are not reported yet. An answer that was one
    /// object, or tool calls, reports nothing before.
    pub(super) fn complete(&mut self, outputs: &Fields) {
        let plan = self.plan;
        // The text of code is streamed with its fence, which the value does not have.
        let is_text = |field: &FieldSchema| field.ty == TypeIR::Str && field.language.is_none();
        let fields = || plan.schema().outputs.iter().map(|field| (&field.name, is_text(field)));
        if fields().any(|(name, is_text)| is_text && self.differs(name, outputs.get(name))) {
            self.retract("the final answer differs from the streamed text");
        }
        for (name, is_text) in fields() {
            let reported = self.reported.get(name).map_or(0, String::len);
            let text = outputs.get(name).and_then(text_of).filter(|_| reported == 0 || is_text);
            let rest = text.as_deref().and_then(|text| text.get(reported..)).unwrap_or_default();
            if !rest.is_empty() {
                self.emit_text(name, rest);
            }
        }
    }

    /// Whether the reported text of an output is not a prefix of its value.
    fn differs(&self, name: &str, value: Option<&Payload>) -> bool {
        let Some(reported) = self.reported.get(name) else { return false };
        !matches!(value, Some(Payload::Str(text)) if text.starts_with(reported.as_str()))
    }

    fn emit_all(&mut self, events: Vec<AnswerEvent>) {
        for event in events {
            if let AnswerEvent::Text { field, text } = event {
                self.emit_text(&field, &text);
            }
        }
    }

    fn emit_text(&mut self, field: &Arc<str>, text: &str) {
        self.reported.entry(field.clone()).or_default().push_str(text);
        self.ctx.emit(RunEvent::NodeDelta { call: self.call(), field, text });
    }

    fn retract(&mut self, reason: &str) {
        self.reported.clear();
        let (call, attempt) = (self.call(), self.attempt);
        self.ctx.emit(RunEvent::NodeRetry { call, attempt, reason });
    }

    fn call(&self) -> PredictorCallId<'c> {
        PredictorCallId { node: &self.ctx.node.node, predictor: self.predictor, span: self.span }
    }
}

/// A value as the text of its output. Null has none.
fn text_of(value: &Payload) -> Option<Cow<'_, str>> {
    match value {
        Payload::Null => None,
        Payload::Str(text) => Some(Cow::Borrowed(text)),
        value => Some(Cow::Owned(value.to_json())),
    }
}
