//! What an agent has done so far: its thoughts, the calls that it asked for and their results. All
//! of it is kept; when it grows beyond what the LM can read, the oldest steps are shown no longer.

use std::sync::Arc;

use crate::adapter::ChatAdapter;
use crate::value::{Fields, Payload};

/// The steps of one run.
#[derive(Debug, Default)]
pub(super) struct Steps {
    done: Vec<Step>,
    /// How many of the first ones are not shown.
    hidden: usize,
    /// How many are hidden next time.
    next: usize,
}

/// One step.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) thought: Arc<str>,
    pub(super) calls: Vec<Call>,
    /// The result of each call but for `finish`, in the order of the calls.
    pub(super) results: Vec<String>,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) name: Arc<str>,
    pub(super) args: Payload,
}

impl Steps {
    pub(super) fn push(&mut self, step: Step) {
        self.done.push(step);
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.done.is_empty()
    }

    /// What the LM is shown.
    pub(super) fn shown(&self) -> String {
        ChatAdapter::format_trajectory(self.hidden, self.done.iter().map(Step::entries))
    }

    /// Every step.
    pub(super) fn whole(&self) -> String {
        ChatAdapter::format_trajectory(0, self.done.iter().map(Step::entries))
    }

    /// Hides the oldest steps that are shown: one, then two more, then four, so that a little too
    /// much costs little and far too much is not asked about often. `false` when none is left.
    pub(super) fn forget(&mut self) -> bool {
        if self.hidden >= self.done.len() {
            return false;
        }
        self.next = (self.next * 2).max(1);
        self.hidden = (self.hidden + self.next).min(self.done.len());
        true
    }
}

impl Step {
    fn entries(&self) -> Vec<(&'static str, String)> {
        let mut entries = Vec::with_capacity(1 + 2 * self.calls.len());
        entries.push(("thought", self.thought.to_string()));
        let mut results = self.results.iter();
        for call in &self.calls {
            entries.push(("call", call.told()));
            if !call.is_finish() {
                entries.extend(results.next().map(|result| ("result", result.clone())));
            }
        }
        entries
    }
}

impl Call {
    /// A call as an LM wrote it. Quotes around the name, brackets behind it and the namespace that
    /// some put before it do not count.
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

    fn told(&self) -> String {
        format!("{} {}", self.name, self.args.to_json())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(count: usize) -> Steps {
        let mut steps = Steps::default();
        for number in 0..count {
            let call = Call::of("`look()`", Payload::Null);
            let thought = format!("t{number}").into();
            steps.push(Step { thought, calls: vec![call], results: vec!["seen".to_owned()] });
        }
        steps
    }

    #[test]
    fn a_step_tells_its_thought_its_calls_and_their_results() {
        let told = "Step 1\nthought: t0\ncall: look {}\nresult: seen";
        assert_eq!(steps(1).shown(), told);
    }

    #[test]
    fn more_and_more_of_the_oldest_steps_are_hidden_and_kept_all_the_same() {
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
