//! Selections of a part of a value (`person.name`, `items[0]`, `scores['a b']`). Knows nothing of
//! types (`types/select.rs` checks selections) nor of nodes: callers that read `node.field` remove
//! the first step.

mod parse;

use std::fmt;
use std::sync::Arc;

use crate::value::Payload;

/// One step from a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SelectionStep {
    /// The field of a class.
    Field(Arc<str>),
    /// The element of a tuple or a list, from 0.
    Index(usize),
    /// The value of a dict.
    Key(Arc<str>),
}

/// The steps from a value to a part of it; without steps, the value itself.
///
/// ```
/// use dsrs::value::Selection;
/// let selection = Selection::parse("reply.items[0]['it\\'s']").unwrap();
/// assert_eq!(selection.steps().len(), 4);
/// assert_eq!(selection.to_string(), "reply.items[0]['it\\'s']");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Selection(Vec<SelectionStep>);

/// The text is not a selection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {reason}")]
pub struct SelectionSyntaxError {
    /// The place: 1-based, in characters.
    pub column: usize,
    /// What was expected.
    pub reason: String,
}

impl Selection {
    /// A selection of these steps.
    #[must_use]
    pub const fn new(steps: Vec<SelectionStep>) -> Self {
        Self(steps)
    }

    /// Reads `name.field`, `[0]` and `['key']` in any order, the first name without a dot. In keys,
    /// `\\` is a backslash, `\'` a quote and `\u{HEX}` any character.
    ///
    /// # Errors
    /// If the text violates this grammar or is empty.
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

    /// This selection with one more step.
    #[must_use]
    pub fn step(&self, step: impl Into<SelectionStep>) -> Self {
        self.0.iter().cloned().chain([step.into()]).collect()
    }

    /// This selection followed by another one.
    #[must_use]
    pub fn then(&self, further: &Self) -> Self {
        self.0.iter().chain(&further.0).cloned().collect()
    }

    /// The rest of this selection after a prefix.
    #[must_use]
    pub fn after(&self, start: &Self) -> Option<Self> {
        self.0.strip_prefix(start.0.as_slice()).map(|rest| Self(rest.to_vec()))
    }

    /// The first step and the rest.
    #[must_use]
    pub fn split_first(&self) -> Option<(&SelectionStep, Self)> {
        self.0.split_first().map(|(first, rest)| (first, Self(rest.to_vec())))
    }

    /// The selected part of a value; null if there is none.
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
    /// A field.
    fn from(name: &str) -> Self {
        Self::Field(name.into())
    }
}

impl From<usize> for SelectionStep {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// A key as a selection writes it: `['it\'s']`.
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
