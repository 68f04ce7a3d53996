//! The steps of an agent so far: thoughts, tool calls and results. All are stored; if they exceed the
//! context of the LM, the oldest are hidden from it.

use std::sync::Arc;

use crate::adapter::ChatAdapter;
use crate::value::{Fields, Payload};

/// The steps of one run.
#[derive(Debug, Default)]
pub(super) struct AgentSteps {
    done: Vec<AgentStep>,
    /// How many of the first steps are hidden.
    hidden: usize,
    /// How many were hidden last time.
    next: usize,
}

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

impl AgentSteps {
    pub(super) fn push(&mut self, step: AgentStep) {
        self.done.push(step);
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.done.is_empty()
    }

    /// The steps that the LM sees.
    pub(super) fn shown(&self) -> String {
        ChatAdapter::format_trajectory(self.hidden, self.done.iter().map(AgentStep::entries))
    }

    /// Every step.
    pub(super) fn whole(&self) -> String {
        ChatAdapter::format_trajectory(0, self.done.iter().map(AgentStep::entries))
    }

    /// Hides the oldest visible steps: one, then two more, then four, so that a small excess costs
    /// little and a large one needs few requests. `false` if none is left.
    pub(super) fn forget(&mut self) -> bool {
        if self.hidden >= self.done.len() {
            return false;
        }
        self.next = (self.next * 2).max(1);
        self.hidden = (self.hidden + self.next).min(self.done.len());
        true
    }
}

impl AgentStep {
    fn entries(&self) -> Vec<(&'static str, String)> {
        let mut entries = Vec::with_capacity(1 + 2 * self.calls.len());
        entries.push(("thought", self.thought.to_string()));
        let mut results = self.results.iter();
        for call in &self.calls {
            entries.push(("call", call.text()));
            if !call.is_finish() {
                entries.extend(results.next().map(|result| ("result", result.clone())));
            }
        }
        entries
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

    fn steps(count: usize) -> AgentSteps {
        let mut steps = AgentSteps::default();
        for number in 0..count {
            let call = AgentCall::of("`look()`", Payload::Null);
            let thought = format!("t{number}").into();
            steps.push(AgentStep { thought, calls: vec![call], results: vec!["seen".to_owned()] });
        }
        steps
    }

    #[test]
    fn a_step_is_written_with_thought_calls_and_results() {
        let text = "Step 1\nthought: t0\ncall: look {}\nresult: seen";
        assert_eq!(steps(1).shown(), text);
    }

    #[test]
    fn the_oldest_steps_are_hidden_but_stored() {
        let mut steps = steps(8);
        let mut hidden = Vec::new();
        while steps.forget() {
            hidden.push(steps.hidden);
        }
        assert_eq!(hidden, [1, 3, 7, 8]);
        assert_eq!(steps.shown(), "(8 earlier steps left out)");
        assert!(steps.whole().starts_with("Step 1\nthought: t0"));
    }
}
