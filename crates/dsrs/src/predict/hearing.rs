//! A predictor's answer as it is heard: told to the listener of the run field by field, and read
//! along the way; in the end every field was told as what it is. Nothing here is done for a run that
//! nobody listens to.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::event::{RunEvent, Speaker};
use super::{Ctx, SpanId};
use crate::adapter::{AnswerEvent, ChatPlan, ParseError, ParsedOutput, PartialAnswer};
use crate::lm::LmReply;
use crate::types::TypeIR;
use crate::value::{Fields, Payload};

/// The answers of one call of a predictor.
pub(super) struct Hearing<'c> {
    ctx: &'c Ctx,
    plan: &'c ChatPlan,
    predictor: &'c Arc<str>,
    span: SpanId,
    /// The answer that is coming in.
    answer: Option<PartialAnswer>,
    /// What the last answer says, if it was heard to its end.
    read: Option<Result<ParsedOutput, ParseError>>,
    /// The number of the request whose answer is heard.
    attempt: u32,
    /// What was told of each output, and not taken back.
    told: HashMap<Arc<str>, String>,
    /// Why the last answer does not count.
    void: Option<String>,
}

impl<'c> Hearing<'c> {
    /// Listens to the answers under a span.
    pub(super) fn new(
        ctx: &'c Ctx,
        plan: &'c ChatPlan,
        predictor: &'c Arc<str>,
        span: SpanId,
    ) -> Self {
        let (answer, read, told, void) = (None, None, HashMap::new(), None);
        Self { ctx, plan, predictor, span, answer, read, attempt: 0, told, void }
    }

    /// A request was sent; the number counts those of the call.
    pub(super) fn begin(&mut self, attempt: u32) {
        self.attempt = attempt;
        let again = (!self.told.is_empty()).then(|| "the LM has called tools".to_owned());
        if let Some(reason) = self.void.take().or(again) {
            self.take_back(&reason);
        }
        self.read = None;
        self.answer = Some(self.plan.listen());
    }

    /// The next piece of the answer has come.
    pub(super) fn hear(&mut self, piece: &str) {
        let events = self.answer.as_mut().map(|answer| answer.push(piece));
        self.tell(events.unwrap_or_default());
    }

    /// The answer is whole.
    pub(super) fn end(&mut self, reply: &LmReply) {
        // What was heard may have been no more than a part of what the provider meant.
        let whole = self.answer.take().filter(|answer| answer.text() == &*reply.text);
        if let Some(answer) = whole {
            let (events, read) = answer.end();
            self.tell(events);
            self.read = Some(read);
        }
    }

    /// What the answer says, if it was heard to its end.
    pub(super) fn take(&mut self) -> Option<Result<ParsedOutput, ParseError>> {
        self.read.take()
    }

    /// The answer, or its absence, does not count.
    pub(super) fn void(&mut self, reason: String) {
        self.void = Some(reason);
    }

    /// The outputs of the call are certain: tells what of them was not told yet. An answer that was
    /// one piece of data, or calls of tools, tells nothing of them before.
    pub(super) fn settle(&mut self, outputs: &Fields) {
        let plan = self.plan;
        let fields = || plan.schema().outputs.iter().map(|field| (&field.name, &field.ty));
        if fields().any(|(name, ty)| self.has_mistold(name, ty, outputs.get(name))) {
            self.take_back("the answer is another than it seemed to be");
        }
        for (name, ty) in fields() {
            let told = self.told.get(name).map_or(0, String::len);
            let text =
                outputs.get(name).and_then(text_of).filter(|_| told == 0 || *ty == TypeIR::Str);
            let rest = text.as_deref().and_then(|text| text.get(told..)).unwrap_or_default();
            if !rest.is_empty() {
                self.tell_text(name, rest);
            }
        }
    }

    /// Whether something else was told of a text than the beginning of what it is.
    fn has_mistold(&self, name: &str, ty: &TypeIR, value: Option<&Payload>) -> bool {
        let Some(told) = self.told.get(name).filter(|_| *ty == TypeIR::Str) else { return false };
        !matches!(value, Some(Payload::Str(text)) if text.starts_with(told.as_str()))
    }

    fn tell(&mut self, events: Vec<AnswerEvent>) {
        for event in events {
            if let AnswerEvent::Text { field, text } = event {
                self.tell_text(&field, &text);
            }
        }
    }

    fn tell_text(&mut self, field: &Arc<str>, text: &str) {
        self.told.entry(field.clone()).or_default().push_str(text);
        self.ctx.tell(RunEvent::NodeDelta { of: self.speaker(), field, text });
    }

    fn take_back(&mut self, reason: &str) {
        self.told.clear();
        let (of, attempt) = (self.speaker(), self.attempt);
        self.ctx.tell(RunEvent::NodeRetry { of, attempt, reason });
    }

    fn speaker(&self) -> Speaker<'c> {
        Speaker { node: &self.ctx.node.node, predictor: self.predictor, span: self.span }
    }
}

/// A value as the text of its output; absence has none.
fn text_of(value: &Payload) -> Option<Cow<'_, str>> {
    match value {
        Payload::Null => None,
        Payload::Str(text) => Some(Cow::Borrowed(text)),
        value => Some(Cow::Owned(value.to_json())),
    }
}
