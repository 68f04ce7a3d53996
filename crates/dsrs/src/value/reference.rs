//! References: which node, input or parameter made a value, and the way into what it made. Knows
//! names, and nothing of the graphs that have them.

use std::fmt;
use std::sync::Arc;

use super::{Selection, SelectionStep};

/// What makes values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ValueOrigin {
    /// An input of a graph, by name.
    Input(Arc<str>),
    /// A predictor's state, by its path in the graph.
    Param(Arc<str>),
    /// A node, by name.
    Node(Arc<str>),
}

/// Where a value comes from. In the place of a value that is not there yet it is the placeholder,
/// which no text can be mistaken for.
///
/// ```
/// use dsrs::value::{SelectionStep, ValueRef};
/// let mood = ValueRef::node("triage").step("mood");
/// assert_eq!(mood.to_string(), "triage.mood");
/// assert_eq!(ValueRef::input("ticket").step(0).to_string(), "input:ticket[0]");
/// assert_eq!(ValueRef::param("reply.predict").step("demos").to_string(), "param:reply.predict#demos");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ValueRef {
    /// What made it.
    pub origin: ValueOrigin,
    /// Which part of that it is; without steps all of it. A node's begins with an output field.
    pub selection: Selection,
}

impl ValueRef {
    /// All of an input.
    #[must_use]
    pub fn input(name: impl Into<Arc<str>>) -> Self {
        Self { origin: ValueOrigin::Input(name.into()), selection: Selection::default() }
    }

    /// All of a predictor's state.
    #[must_use]
    pub fn param(path: impl Into<Arc<str>>) -> Self {
        Self { origin: ValueOrigin::Param(path.into()), selection: Selection::default() }
    }

    /// All outputs of a node.
    #[must_use]
    pub fn node(name: impl Into<Arc<str>>) -> Self {
        Self { origin: ValueOrigin::Node(name.into()), selection: Selection::default() }
    }

    /// A part of what this refers to.
    #[must_use]
    pub fn step(&self, step: impl Into<SelectionStep>) -> Self {
        Self { origin: self.origin.clone(), selection: self.selection.step(step) }
    }
}

impl fmt::Display for ValueRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            ValueOrigin::Input(name) => write!(f, "input:{name}")?,
            ValueOrigin::Param(path) => write!(f, "param:{path}")?,
            ValueOrigin::Node(name) => f.write_str(name)?,
        }
        // A path has points of its own, so the way into a parameter is set off by another sign.
        match (&self.origin, self.selection.steps().first()) {
            (_, None) => Ok(()),
            (ValueOrigin::Param(_), Some(_)) => write!(f, "#{}", self.selection),
            (_, Some(SelectionStep::Field(_))) => write!(f, ".{}", self.selection),
            (_, Some(_)) => write!(f, "{}", self.selection),
        }
    }
}
