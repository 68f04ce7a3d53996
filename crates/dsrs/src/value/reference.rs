//! References: the node, input or parameter that a value comes from, and the part of it. Knows names,
//! but nothing of the graphs that have them.

use std::fmt;
use std::sync::Arc;

use super::{Selection, SelectionStep};

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ValueOrigin {
    /// An input of a graph, by name.
    Input(Arc<str>),
    /// A predictor's state, by its path in the graph.
    Param(Arc<str>),
    /// A node, by name.
    Node(Arc<str>),
}

/// Where a value comes from. For a value that is not available yet, it is the placeholder.
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
    /// The source of the value.
    pub origin: ValueOrigin,
    /// The part of the source; empty for all of it. For a node, it begins with an output field.
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

    /// A part of the target.
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
        // The path of a parameter has dots of its own, so `#` separates the selection from it.
        match (&self.origin, self.selection.steps().first()) {
            (_, None) => Ok(()),
            (ValueOrigin::Param(_), Some(_)) => write!(f, "#{}", self.selection),
            (_, Some(SelectionStep::Field(_))) => write!(f, ".{}", self.selection),
            (_, Some(_)) => write!(f, "{}", self.selection),
        }
    }
}
