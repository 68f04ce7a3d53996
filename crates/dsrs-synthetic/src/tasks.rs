//! The tasks of the synthetic LM: a graph, any number of examples, and the parts of a prompt that
//! change the accuracy of each predictor. Plain data; no two tasks share a field.

mod orders;
mod sums;
mod triage;

use std::fmt::Write as _;

use dsrs::value::{Fields, Payload};

use crate::random::{Dice, hash};

/// A task of the synthetic LM.
///
/// ```
/// use dsrs_synthetic::SyntheticTask;
///
/// let task = SyntheticTask::named("sums").unwrap();
/// let rows = task.rows(1, 200);
/// assert_eq!(rows.len(), 200);
/// assert_eq!(task.rows(1, 200), rows);
/// // The text for a wrong answer; metrics may return it as feedback.
/// assert!(rows[0].feedback.contains("small steps"));
/// ```
#[derive(Debug)]
pub struct SyntheticTask {
    /// `triage`, `sums` or `orders`.
    pub name: &'static str,
    /// The definition of its graph, as JSON text.
    pub document: &'static str,
    /// Its predictors, in execution order.
    pub(crate) parts: &'static [TaskPart],
    /// Generates inputs.
    inputs: fn(&mut Dice) -> Vec<(&'static str, String)>,
}

/// An example: inputs and expected outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntheticRow {
    /// The inputs of the graph.
    pub inputs: Fields,
    /// The expected outputs.
    pub expected: Fields,
    /// The feedback for a wrong answer: the right answer, and what leads to it.
    pub feedback: String,
}

/// The accuracy of the LM as one predictor.
#[derive(Debug)]
pub(crate) struct TaskPart {
    /// Its inputs.
    pub(crate) inputs: &'static [&'static str],
    /// The output that is right or wrong.
    pub(crate) output: &'static str,
    /// The accuracy without help, from 0 to 1.
    pub(crate) base: f64,
    /// The highest accuracy.
    pub(crate) most: f64,
    /// The highest gain from demos.
    pub(crate) demos: f64,
    /// The gain from an output for reasoning.
    pub(crate) reasoning: f64,
    /// Helpful phrases in an instruction.
    pub(crate) helps: &'static [Phrase],
    /// Harmful phrases in an instruction; their gains are subtracted.
    pub(crate) hinders: &'static [Phrase],
    /// The right answer; `None` for inputs of another task.
    pub(crate) right: fn(&[&str]) -> Option<String>,
    /// A plausible wrong answer; the number selects one of several.
    pub(crate) wrong: fn(&[&str], u64) -> String,
}

/// A phrase of an instruction that changes the accuracy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Phrase {
    /// The phrase in lower case.
    pub(crate) words: &'static str,
    /// A sentence with the phrase.
    pub(crate) sentence: &'static str,
    /// The topic in feedback, in lower case; empty if feedback does not name it.
    pub(crate) topic: &'static str,
    /// The change of the accuracy.
    pub(crate) gain: f64,
}

const TASKS: [&SyntheticTask; 3] = [&triage::TASK, &sums::TASK, &orders::TASK];

impl SyntheticTask {
    /// All tasks: `triage`, `sums`, `orders`.
    #[must_use]
    pub const fn all() -> [&'static Self; 3] {
        TASKS
    }

    /// The task of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        TASKS.into_iter().find(|task| task.name == name)
    }

    /// Distinct examples from a seed. A longer list starts with the shorter one. Each task has some
    /// thousands of examples; the list is shorter if more are requested.
    #[must_use]
    pub fn rows(&self, seed: u64, count: usize) -> Vec<SyntheticRow> {
        let mut dice = Dice::of(hash([self.name]) ^ seed);
        let mut rows: Vec<SyntheticRow> = Vec::with_capacity(count.min(1 << 16));
        let mut seen = std::collections::HashSet::new();
        for _ in 0..count.saturating_mul(20) {
            if rows.len() == count {
                break;
            }
            let inputs = (self.inputs)(&mut dice);
            if seen.insert(inputs.clone()) {
                rows.extend(self.row(inputs));
            }
        }
        rows
    }

    /// The feedback for these outputs: `right`, or the feedback of the row.
    #[must_use]
    pub fn feedback(&self, row: &SyntheticRow, outputs: &Fields) -> String {
        let is_right = |(name, value): (_, &Payload)| outputs.get(name) == Some(value);
        match row.expected.iter().all(is_right) {
            true => "right".to_owned(),
            false => row.feedback.clone(),
        }
    }

    /// The row of the inputs, if they belong to the task.
    fn row(&self, inputs: Vec<(&'static str, String)>) -> Option<SyntheticRow> {
        let mut known: Vec<(&str, String)> = inputs.clone();
        let mut last = None;
        for part in self.parts {
            let values: Vec<&str> = part.inputs.iter().map(|name| value_of(&known, name)).collect();
            let answer = (part.right)(&values)?;
            known.push((part.output, answer.clone()));
            last = Some((part.output, answer));
        }
        let (output, answer) = last?;
        let feedback = self.feedback_of(&answer);
        let text = |text: String| Payload::Str(text.into());
        // An answer that is a number is an output of type int.
        let expected = answer.parse().map_or_else(|_| text(answer), Payload::Int);
        let inputs = inputs.into_iter().map(|(name, value)| (name.into(), text(value))).collect();
        let expected = [(output.into(), expected)].into_iter().collect();
        Some(SyntheticRow { inputs, expected, feedback })
    }

    fn feedback_of(&self, answer: &str) -> String {
        let mut text = format!("`{answer}` would have been right.");
        for part in self.parts {
            for help in part.helps.iter().filter(|help| !help.topic.is_empty()) {
                let _ = write!(text, " For `{}`: {}.", part.output, help.topic);
            }
        }
        text
    }
}

fn value_of<'a>(known: &'a [(&str, String)], name: &str) -> &'a str {
    known.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
}
