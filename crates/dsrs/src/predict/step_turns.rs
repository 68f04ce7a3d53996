//! The steps of an agent as turns of its conversation, for models that call tools natively: what the conversation begins
//! with, and the identity of its calls. Does not know what a step is, nor when the LM is asked.

use std::collections::HashSet;
use std::sync::Arc;

use super::Demo;
use crate::adapter::{ChatAdapter, ChatPlan};
use crate::lm::{LmReply, Message, Prefix, ToolCall};
use crate::value::{Fields, Payload};

/// How the steps of an agent are written.
#[derive(Clone, Debug)]
pub(crate) struct StepLayout {
    /// The input that has the steps so far as text, for models that do not call tools natively.
    pub(crate) input: &'static str,
    /// What only these models need to know beside the instruction: the tools, and how a call is written.
    pub(crate) guide: Arc<str>,
    /// The outputs of a demo as text.
    pub(crate) demo: fn(&Fields) -> String,
}

/// The steps so far as turns.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepTurns {
    /// What the LM has to know of the steps that are not among the turns; may be empty.
    pub(crate) note: String,
    /// The turns.
    pub(crate) messages: Vec<Message>,
}

/// The messages that a conversation with native calls begins with, rendered once.
#[derive(Clone, Debug)]
pub(super) struct StepPrompt {
    pub(super) layout: StepLayout,
    instruction: Arc<str>,
    /// The text of each demo.
    demos: Vec<String>,
    /// The prefix with all demos.
    pub(super) prefix: Arc<Prefix>,
}

impl StepPrompt {
    pub(super) fn of(layout: StepLayout) -> Self {
        let (instruction, prefix) = ("".into(), Arc::default());
        Self { layout, instruction, demos: Vec::new(), prefix }
    }

    /// Renders it for an instruction and demos.
    pub(super) fn render(&mut self, plan: &ChatPlan, instruction: &str, demos: &[Demo]) {
        let text = |demo: &Demo| {
            let inputs = ChatAdapter::inputs_text(plan.schema(), &demo.input);
            format!("{inputs}\n{}", (self.layout.demo)(&demo.output))
        };
        self.instruction = instruction.into();
        self.demos = demos.iter().map(text).collect();
        self.prefix = self.with_demos(plan, 0..self.demos.len());
    }

    /// The prefix with some of the demos.
    pub(super) fn with_demos(
        &self,
        plan: &ChatPlan,
        demos: impl IntoIterator<Item = usize>,
    ) -> Arc<Prefix> {
        let shown = demos.into_iter().filter_map(|index| self.demos.get(index));
        let shown: Vec<_> = shown.map(String::as_str).collect();
        Prefix::of([plan.system_for_calls(self.layout.input, &self.instruction, &shown)])
    }

    /// The instruction for models that do not call tools natively.
    pub(super) fn with_guide(&self, instruction: &str) -> String {
        format!("{}\n\n{}", instruction.trim_end(), self.layout.guide)
    }

    /// The question: the inputs without the steps, which follow as turns.
    pub(super) fn question(
        &self,
        plan: &ChatPlan,
        input: &Fields,
        hints: &[&str],
        note: &str,
    ) -> Message {
        let mut input = input.clone();
        input.shift_remove(self.layout.input);
        plan.user_message_for_calls(&input, hints, note)
    }
}

/// Gives calls without an id, or with the id of another call of the conversation, an id of their own: each result refers to
/// one call.
pub(crate) fn identify(calls: &mut [ToolCall], turns: &[Message]) {
    let before = turns.iter().flat_map(|turn| &turn.tool_calls);
    let mut known: HashSet<Arc<str>> = before.map(|call| call.id.clone()).collect();
    for call in calls {
        let mut number = known.len();
        while call.id.is_empty() || known.contains(&call.id) {
            number += 1;
            call.id = match call.id.rsplit_once('#') {
                // The client of Gemini makes such ids where the provider has none, and does not send them.
                Some((stand_in, _)) => format!("{stand_in}#{number}").into(),
                None => format!("call_{number}").into(),
            };
        }
        known.insert(call.id.clone());
    }
}

/// The message of a reply as its model expects to see it again. Arguments that are no JSON are left out: some servers refuse
/// to repeat them.
pub(crate) fn repeat(mut reply: LmReply) -> Message {
    for call in &mut reply.tool_calls {
        if Payload::from_json(&call.arguments).is_err() {
            call.arguments = "{}".into();
        }
    }
    Message::of_reply(reply)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> ToolCall {
        ToolCall { id: id.into(), name: "look".into(), arguments: "{}".into() }
    }

    #[test]
    fn a_call_has_an_id_that_no_other_call_of_the_conversation_has() {
        let turns = [Message::calling("", vec![call("a"), call("call_3")])];
        let mut calls = ["b", "", "a", "b", "call#look#0", "call#look#0"].map(call);
        identify(&mut calls, &turns);
        let ids: Vec<_> = calls.iter().map(|call| &*call.id).collect();
        let expected = ["b", "call_4", "call_5", "call_6", "call#look#0", "call#look#8"];
        assert_eq!(ids, expected);
    }
}
