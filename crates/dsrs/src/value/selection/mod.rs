//! Selections: a way into a value (`person.name`, `items[0]`, `scores['a b']`). Knows nothing of
//! types, by which `types/select.rs` checks them, nor of nodes; whoever reads `node.field` takes the
//! first step off.

mod parse;

use std::fmt;
use std::sync::Arc;

use crate::value::Payload;

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SelectionStep {
    /// The field of a class.
    Field(Arc<str>),
    /// The element of a tuple or a list, from 0.
    Index(usize),
    /// The value of a dict.
    Key(Arc<str>),
}

/// Steps into a value; without steps the value itself.
///
/// ```
/// use dsrs::value::Selection;
/// let selection = Selection::parse("reply.items[0]['it\\'s']").unwrap();
/// assert_eq!(selection.steps().len(), 4);
/// assert_eq!(selection.to_string(), "reply.items[0]['it\\'s']");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Selection(Vec<SelectionStep>);

/// The text is no selection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {reason}")]
pub struct SelectionSyntaxError {
    /// Where, in characters from 1.
    pub column: usize,
    /// What stands there and what should.
    pub reason: String,
}

impl Selection {
    /// A selection of these steps.
    #[must_use]
    pub const fn new(steps: Vec<SelectionStep>) -> Self {
        Self(steps)
    }

    /// Reads `name.field`, `[0]` and `['key']` in any succession, the first name without a point.
    /// In keys, `\\` stands for a backslash, `\'` for a quote and `\u{HEX}` for any character.
    ///
    /// # Errors
    /// Where the text leaves this grammar; an empty text too.
    pub fn parse(text: &str) -> Result<Self, SelectionSyntaxError> {
        parse::parse(text).map(Self)
    }

    /// The steps.
    #[must_use]
    pub fn steps(&self) -> &[SelectionStep] {
        &self.0
    }

    /// Whether it selects the value itself.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// This selection and one step further.
    #[must_use]
    pub fn step(&self, step: impl Into<SelectionStep>) -> Self {
        self.0.iter().cloned().chain([step.into()]).collect()
    }

    /// This selection, and then another one.
    #[must_use]
    pub fn then(&self, further: &Self) -> Self {
        self.0.iter().chain(&further.0).cloned().collect()
    }

    /// What is left of this selection behind another one that it begins with.
    #[must_use]
    pub fn after(&self, start: &Self) -> Option<Self> {
        self.0.strip_prefix(start.0.as_slice()).map(|rest| Self(rest.to_vec()))
    }

    /// The first step and the selection that is left.
    #[must_use]
    pub fn split_first(&self) -> Option<(&SelectionStep, Self)> {
        self.0.split_first().map(|(first, rest)| (first, Self(rest.to_vec())))
    }

    /// What it selects in a value; null where that is not there.
    #[must_use]
    pub fn get(&self, value: &Payload) -> Payload {
        let mut found = value;
        for step in &self.0 {
            let next = match (step, found) {
                (SelectionStep::Field(name) | SelectionStep::Key(name), Payload::Map(map)) => {
                    map.get(name)
                }
                (SelectionStep::Index(index), Payload::List(list)) => list.get(*index),
                _ => None,
            };
            match next {
                Some(next) => found = next,
                None => return Payload::Null,
            }
        }
        found.clone()
    }
}

impl FromIterator<SelectionStep> for Selection {
    fn from_iter<I: IntoIterator<Item = SelectionStep>>(steps: I) -> Self {
        Self(steps.into_iter().collect())
    }
}

impl From<&str> for SelectionStep {
    /// The field of that name.
    fn from(name: &str) -> Self {
        Self::Field(name.into())
    }
}

impl From<usize> for SelectionStep {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// A key as a step is written: `['it\'s']`.
pub(crate) fn key_step(key: &str) -> String {
    let mut text = String::from("['");
    for character in key.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '\'' => text.push_str("\\'"),
            c if c.is_control() => text.push_str(&format!("\\u{{{:X}}}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push_str("']");
    text
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                SelectionStep::Field(name) if position == 0 => f.write_str(name)?,
                SelectionStep::Field(name) => write!(f, ".{name}")?,
                SelectionStep::Index(index) => write!(f, "[{index}]")?,
                SelectionStep::Key(key) => f.write_str(&key_step(key))?,
            }
        }
        Ok(())
    }
}
