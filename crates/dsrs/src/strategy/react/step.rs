//! One step of an agent: a thought, the calls that follow from it, and their results.

use std::sync::Arc;

use crate::strategy::steps::StepTexts;
use crate::value::{Fields, Payload};

/// One step.
#[derive(Debug)]
pub(super) struct AgentStep {
    pub(super) thought: Arc<str>,
    pub(super) calls: Vec<AgentCall>,
    /// The result of each call but for `finish`, in the order of the calls.
    pub(super) results: Vec<String>,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AgentCall {
    pub(super) name: Arc<str>,
    pub(super) args: Payload,
}

impl AgentStep {
    /// Its texts for the LM.
    pub(super) fn texts(self) -> StepTexts {
        let mut texts = Vec::with_capacity(1 + 2 * self.calls.len());
        texts.push(("thought", self.thought.to_string()));
        let mut results = self.results.into_iter();
        for call in &self.calls {
            texts.push(("call", call.text()));
            if !call.is_finish() {
                texts.extend(results.next().map(|result| ("result", result)));
            }
        }
        texts
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

    /// Whether it ends the steps.
    pub(super) fn is_finish(&self) -> bool {
        self.name.eq_ignore_ascii_case(super::FINISH)
    }

    fn text(&self) -> String {
        format!("{} {}", self.name, self.args.to_json())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_has_a_text_for_its_thought_and_for_each_call_and_result() {
        let calls = ["`look()`", "finish"].map(|name| AgentCall::of(name, Payload::Null)).to_vec();
        let step = AgentStep { thought: "t".into(), calls, results: vec!["seen".to_owned()] };
        let texts = step.texts();
        let texts: Vec<_> = texts.iter().map(|(label, text)| (*label, text.as_str())).collect();
        let expected =
            [("thought", "t"), ("call", "look {}"), ("result", "seen"), ("call", "finish {}")];
        assert_eq!(texts, expected);
    }
}
