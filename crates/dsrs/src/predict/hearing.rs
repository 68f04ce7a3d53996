//! A predictor's answer as it is heard: told to the listener of the run field by field, and read
//! along the way. Nothing here is done for a run that nobody listens to.

use std::sync::Arc;

use super::event::{RunEvent, Speaker};
use super::{Ctx, SpanId};
use crate::adapter::{AnswerEvent, ChatPlan, ParseError, ParsedOutput, PartialAnswer};
use crate::lm::LmReply;

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
    /// Whether something was told that the next answer takes back.
    told: bool,
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
        let (answer, read, told, void) = (None, None, false, None);
        Self { ctx, plan, predictor, span, answer, read, told, void }
    }

    /// A request was sent; the number counts those of the call.
    pub(super) fn begin(&mut self, attempt: u32) {
        let again = std::mem::take(&mut self.told).then(|| "the LM has called tools".to_owned());
        if let Some(reason) = self.void.take().or(again) {
            let reason = &reason;
            self.ctx.tell(RunEvent::NodeRetry { of: self.speaker(), attempt, reason });
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

    fn tell(&mut self, events: Vec<AnswerEvent>) {
        for event in events {
            if let AnswerEvent::Text { field, text } = event {
                self.told = true;
                let of = self.speaker();
                self.ctx.tell(RunEvent::NodeDelta { of, field: &field, text: &text });
            }
        }
    }

    fn speaker(&self) -> Speaker<'c> {
        Speaker { node: &self.ctx.node.node, predictor: self.predictor, span: self.span }
    }
}
