//! One step of an agent: a thought, the calls that follow from it, and their results; as texts, and as turns of a
//! conversation.

use std::sync::Arc;

use crate::lm::{LmReply, Message, ToolCall};
use crate::predict::{identify, is_tool_name, repeat};
use crate::strategy::steps::StepTexts;
use crate::value::{Fields, Payload};

/// One step.
#[derive(Debug)]
pub(super) struct AgentStep {
    pub(super) thought: Arc<str>,
    pub(super) calls: Vec<MadeCall>,
}

/// A call and what the LM sees of it.
#[derive(Debug)]
pub(super) struct MadeCall {
    pub(super) call: AgentCall,
    /// Its result. `None` if it ends the steps.
    pub(super) result: Option<String>,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AgentCall {
    pub(super) name: Arc<str>,
    pub(super) args: Payload,
}

impl AgentStep {
    /// Its texts for the LM.
    pub(super) fn texts(&self) -> StepTexts {
        let mut texts = Vec::with_capacity(1 + 2 * self.calls.len());
        texts.push(("thought", self.thought.to_string()));
        for made in &self.calls {
            texts.push(("call", made.call.text()));
            texts.extend(made.result.clone().map(|result| ("result", result)));
        }
        texts
    }

    /// Its turns after those before: the reply of the LM, and the result of each call. A step that the LM wrote as text has
    /// the calls that it means.
    pub(super) fn turns(&self, mut reply: LmReply, before: &[Message]) -> Vec<Message> {
        let results = || self.calls.iter().map(|made| made.result.clone().unwrap_or_default());
        if reply.tool_calls.is_empty() {
            if self.calls.iter().all(|made| made.call.is_finish()) {
                let said = !self.thought.is_empty();
                return said
                    .then(|| Message::assistant(self.thought.clone()))
                    .into_iter()
                    .collect();
            }
            reply.text = self.thought.clone();
            reply.tool_calls = self.calls.iter().map(|made| made.call.as_native()).collect();
            identify(&mut reply.tool_calls, before);
        }
        // Each call needs its result.
        reply.tool_calls.truncate(self.calls.len());
        let results: Vec<_> = reply
            .tool_calls
            .iter()
            .zip(results())
            .map(|(call, result)| Message::result(call, result))
            .collect();
        [repeat(reply)].into_iter().chain(results).collect()
    }
}

impl AgentCall {
    /// A call as an LM wrote it, without quotes around the name, parentheses after it and a
    /// `functions.` prefix.
    pub(super) fn of(name: &str, args: Payload) -> Self {
        let bare = name.trim().trim_matches(['`', '"', '\'', '*']).trim_end_matches("()");
        let bare = bare.strip_prefix("functions.").unwrap_or(bare);
        let args = if args.is_null() { Payload::map(Fields::new()) } else { args };
        Self { name: bare.into(), args }
    }

    /// Whether it ends the steps without outputs.
    pub(super) fn is_finish(&self) -> bool {
        self.name.eq_ignore_ascii_case(super::FINISH)
    }

    /// Whether it ends the steps with the outputs, if they are submitted.
    pub(super) fn is_submit(&self) -> bool {
        self.name.eq_ignore_ascii_case(super::SUBMIT)
    }

    pub(super) fn text(&self) -> String {
        format!("{} {}", self.name, self.args.to_json())
    }

    fn as_native(&self) -> ToolCall {
        let name = if is_tool_name(&self.name) { self.name.clone() } else { "unknown".into() };
        ToolCall { id: "".into(), name, arguments: self.args.to_json().into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(result: &str) -> AgentStep {
        let made = |name: &str, result: Option<&str>| MadeCall {
            call: AgentCall::of(name, Payload::Null),
            result: result.map(str::to_owned),
        };
        AgentStep {
            thought: "t".into(),
            calls: vec![made("`look()`", Some(result)), made("finish", None)],
        }
    }

    #[test]
    fn a_step_has_a_text_for_its_thought_and_for_each_call_and_result() {
        let texts = step("seen").texts();
        let texts: Vec<_> = texts.iter().map(|(label, text)| (*label, text.as_str())).collect();
        let expected =
            [("thought", "t"), ("call", "look {}"), ("result", "seen"), ("call", "finish {}")];
        assert_eq!(texts, expected);
    }

    #[test]
    fn a_step_that_was_written_as_text_has_the_turns_of_its_calls() {
        let turns = step("seen").turns(LmReply::of("[[ ## next_thought ## ]]", "m"), &[]);
        let [asked, first, second] = &turns[..] else { panic!("{turns:?}") };
        assert_eq!((&*asked.content, &*asked.tool_calls[0].name), ("t", "look"));
        assert_eq!(first.tool_call_id.as_ref(), Some(&asked.tool_calls[0].id));
        assert_eq!((&*first.content, &*second.content), ("seen", ""));
    }
}
