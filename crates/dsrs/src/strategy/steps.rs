//! The steps of a strategy so far, as labelled texts. All are stored; if they exceed the context of the LM, the oldest are
//! hidden from it, or a summary stands for them. Does not know what the texts are about, nor who writes a summary.

use std::future::Future;
use std::sync::Arc;

use crate::adapter::ChatAdapter;
use crate::predict::{PredictError, PredictErrorKind};
use crate::value::Fields;

/// The field with the steps, in prompts and as an additional output.
pub(super) const TRAJECTORY: &str = "trajectory";

/// The labelled texts of one step.
pub(super) type StepTexts = Vec<(&'static str, String)>;

/// The steps of one call.
#[derive(Debug, Default)]
pub(super) struct StepHistory {
    done: Vec<StepTexts>,
    /// How many of the first steps are hidden.
    hidden: usize,
    /// How many were hidden last time.
    next: usize,
    /// What stands for the first steps, and how many they are.
    summary: Option<(Arc<str>, usize)>,
}

impl StepHistory {
    pub(super) fn push(&mut self, step: StepTexts) {
        self.done.push(step);
    }

    pub(super) const fn len(&self) -> usize {
        self.done.len()
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.done.is_empty()
    }

    /// The steps that the LM sees.
    pub(super) fn shown(&self) -> String {
        ChatAdapter::format_steps_after(&self.note(), self.hidden, self.done.iter().map(texts))
    }

    /// The hidden steps as far as the LM knows them, and those after them but for the `newest`. `None` if there is nothing
    /// that a summary could leave out.
    pub(super) fn older(&self, newest: usize) -> Option<String> {
        let end = self.done.len().saturating_sub(newest);
        let steps = self.done.get(..end).filter(|_| end > self.hidden)?;
        let steps = steps.iter().map(texts);
        Some(ChatAdapter::format_steps_after(&self.note(), self.hidden, steps))
    }

    /// Hides all steps but the `newest` behind a summary of them.
    pub(super) fn summarize(&mut self, newest: usize, summary: Arc<str>) {
        self.hidden = self.done.len().saturating_sub(newest);
        self.next = 0;
        self.summary = Some((summary, self.hidden));
    }

    /// What stands for the first steps, and how many they are.
    pub(super) fn summary(&self) -> Option<(&Arc<str>, usize)> {
        self.summary.as_ref().map(|(text, steps)| (text, *steps))
    }

    /// The same summary as before the steps were stored.
    pub(super) fn restore_summary(&mut self, summary: Arc<str>, steps: usize) {
        self.hidden = steps.min(self.done.len());
        self.summary = Some((summary, self.hidden));
    }

    /// How many of the first steps the LM does not see.
    pub(super) const fn hidden(&self) -> usize {
        self.hidden
    }

    /// What the LM has to know of the steps that it does not see; empty if there are none.
    pub(super) fn note(&self) -> String {
        let summarized = self.summary.as_ref().map_or(0, |(_, steps)| *steps);
        let left_out = match self.hidden - summarized {
            0 => String::new(),
            left_out => ChatAdapter::format_trajectory(left_out, [[("", ""); 0]; 0]),
        };
        let summary = self.summary.as_ref().map(|(text, steps)| {
            let which =
                if *steps == 1 { "Step 1".to_owned() } else { format!("Steps 1 to {steps}") };
            format!("{which} in short:\n{}", text.trim())
        });
        let parts = summary.into_iter().chain((!left_out.is_empty()).then_some(left_out));
        parts.collect::<Vec<_>>().join("\n\n")
    }

    /// Every step.
    pub(super) fn whole(&self) -> String {
        ChatAdapter::format_trajectory(0, self.done.iter().map(texts))
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

fn texts(step: &StepTexts) -> impl Iterator<Item = (&str, &str)> {
    step.iter().map(|(label, text)| (*label, text.as_str()))
}

/// Asks with the steps so far in the input `field`. If they exceed the context of the LM, the oldest are left out.
pub(super) async fn with_steps<T, Asking: Future<Output = Result<T, PredictError>>>(
    steps: &mut StepHistory,
    field: &str,
    input: &Fields,
    ask: impl Fn(Fields) -> Asking,
) -> Result<T, PredictError> {
    let field: Arc<str> = field.into();
    loop {
        let mut input = input.clone();
        input.insert(field.clone(), steps.shown().into());
        match ask(input).await {
            Err(error) if error.is_context_overflow() && steps.forget() => {}
            outcome => return outcome,
        }
    }
}

/// Whether an answer was still invalid after its retries: the steps before it may be enough for the outputs.
pub(super) const fn is_invalid_answer(error: &PredictError) -> bool {
    matches!(error.kind, PredictErrorKind::Parse { .. } | PredictErrorKind::Constraint { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(count: usize) -> StepHistory {
        let mut steps = StepHistory::default();
        for number in 0..count {
            steps.push(vec![("thought", format!("t{number}")), ("result", "seen".to_owned())]);
        }
        steps
    }

    #[test]
    fn a_step_is_written_with_its_labels() {
        assert_eq!(steps(1).shown(), "Step 1\nthought: t0\nresult: seen");
    }

    #[test]
    fn a_summary_stands_for_all_but_the_newest_steps() {
        let mut steps = steps(4);
        assert!(steps.older(4).is_none());
        let older = steps.older(1).unwrap();
        assert!(
            older.starts_with("Step 1\n") && older.ends_with("Step 3\nthought: t2\nresult: seen")
        );
        steps.summarize(1, "Three looks.".into());
        let shown = "Steps 1 to 3 in short:\nThree looks.\n\nStep 4\nthought: t3\nresult: seen";
        assert_eq!(steps.shown(), shown);
        assert!(steps.older(1).is_none() && steps.forget());
        assert!(steps.shown().ends_with("Three looks.\n\n(1 earlier step left out)"));
        steps.push(vec![("thought", "t4".to_owned())]);
        let older = steps.older(0).unwrap();
        assert!(older.starts_with("Steps 1 to 3 in short:\nThree looks.") && older.ends_with("t4"));
        assert!(steps.whole().starts_with("Step 1\nthought: t0"));
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
