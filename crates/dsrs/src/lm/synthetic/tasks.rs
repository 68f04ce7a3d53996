//! The tasks that the synthetic LM knows: a graph, as many examples as one wants, and what about a
//! prompt makes the LM better at each of its predictors. Plain data; no two tasks share a field.

mod orders;
mod sums;
mod triage;

use std::fmt::Write as _;

use super::chance::{Dice, hash};
use crate::value::{Fields, Payload};

/// A task of the synthetic LM.
///
/// ```
/// use dsrs::lm::synthetic::SyntheticTask;
///
/// let task = SyntheticTask::named("sums").unwrap();
/// let rows = task.rows(1, 200);
/// assert_eq!(rows.len(), 200);
/// assert_eq!(task.rows(1, 200), rows);
/// // The row's own text for a wrong answer; metrics may give it as their feedback.
/// assert!(rows[0].feedback.contains("small steps"));
/// ```
#[derive(Debug)]
pub struct SyntheticTask {
    /// `triage`, `sums` or `orders`.
    pub name: &'static str,
    /// The graph that does it, as the JSON text of a definition.
    pub document: &'static str,
    /// Its predictors, in the order in which they run.
    pub(super) parts: &'static [Part],
    /// Texts for its inputs.
    inputs: fn(&mut Dice) -> Vec<(&'static str, String)>,
}

/// An example: what goes in, and what must come out.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntheticRow {
    /// The inputs of the graph.
    pub inputs: Fields,
    /// Its outputs, when all goes well.
    pub expected: Fields,
    /// What to say when something else came out: which answer was right, and how to come to it.
    pub feedback: String,
}

/// What the LM can and cannot do as one predictor.
#[derive(Debug)]
pub(super) struct Part {
    /// The inputs that it answers to.
    pub(super) inputs: &'static [&'static str],
    /// The output that is right or wrong.
    pub(super) output: &'static str,
    /// How often it is right without any help, from 0 to 1.
    pub(super) base: f64,
    /// How often it is right at best.
    pub(super) most: f64,
    /// What good demos add at most.
    pub(super) demos: f64,
    /// What an output for thoughts adds.
    pub(super) reasoning: f64,
    /// Words in an instruction that help.
    pub(super) helps: &'static [Phrase],
    /// Words in an instruction that harm; their gains are what they take away.
    pub(super) hinders: &'static [Phrase],
    /// The right answer to the inputs; nothing for inputs that are not of the task.
    pub(super) right: fn(&[&str]) -> Option<String>,
    /// A wrong answer that may be taken for right; one of several, by a number.
    pub(super) wrong: fn(&[&str], u64) -> String,
}

/// Words of an instruction that matter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phrase {
    /// The words, in small letters.
    pub(super) words: &'static str,
    /// A sentence for an instruction that has them.
    pub(super) sentence: &'static str,
    /// What feedback calls the matter, in small letters; nothing if it never does.
    pub(super) topic: &'static str,
    /// By how much.
    pub(super) gain: f64,
}

const TASKS: [&SyntheticTask; 3] = [&triage::TASK, &sums::TASK, &orders::TASK];

impl SyntheticTask {
    /// All of them: `triage`, `sums`, `orders`.
    #[must_use]
    pub const fn all() -> [&'static Self; 3] {
        TASKS
    }

    /// The one of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        TASKS.into_iter().find(|task| task.name == name)
    }

    /// So many examples, each once. They follow from the seed; the first of many are the same as
    /// the first of few. There are some thousands of each task; beyond them come no more.
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

    /// What to say of these outputs: that they are right, or the row's feedback.
    #[must_use]
    pub fn feedback(&self, row: &SyntheticRow, outputs: &Fields) -> String {
        let is_right = |(name, value): (_, &Payload)| outputs.get(name) == Some(value);
        match row.expected.iter().all(is_right) {
            true => "right".to_owned(),
            false => row.feedback.clone(),
        }
    }

    /// The row of inputs that are of the task.
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
        // An answer that is a bare number is an output of type int.
        let expected = answer.parse().map_or_else(|_| text(answer), Payload::Int);
        let inputs = inputs.into_iter().map(|(name, value)| (name.into(), text(value))).collect();
        let expected = [(output.into(), expected)].into_iter().collect();
        Some(SyntheticRow { inputs, expected, feedback })
    }

    fn feedback_of(&self, answer: &str) -> String {
        let mut told = format!("`{answer}` would have been right.");
        for part in self.parts {
            for help in part.helps.iter().filter(|help| !help.topic.is_empty()) {
                let _ = write!(told, " For `{}`: {}.", part.output, help.topic);
            }
        }
        told
    }
}

fn value_of<'a>(known: &'a [(&str, String)], name: &str) -> &'a str {
    known.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
}
