//! Edges: the source and the target of a value, as text and as data.

use std::fmt;
use std::sync::Arc;

use crate::problem::{At, Code, Problems};
use crate::read::text;
use crate::value::{Payload, Selection, SelectionStep, is_identifier};

/// The longest text of a source: messages about an edge quote it.
const LONGEST_SOURCE: usize = 2_000;

/// The name of the pseudo-node whose outputs are the graph's inputs.
pub const INPUT: &str = "input";

/// The source of a value: a node (or `input`) and a selection into its outputs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The node's name, or [`INPUT`].
    pub node: Arc<str>,
    /// The field, and deeper if need be.
    pub selection: Selection,
}

/// The target of a value: an input field of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The node's name.
    pub node: Arc<str>,
    /// The input field.
    pub field: Arc<str>,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// The source of the value.
    pub from: Source,
    /// The target of the value.
    pub to: Target,
}

impl Source {
    /// Reads `node.field…`.
    pub(super) fn read(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Self> {
        let text = text(payload, at, problems)?;
        if text.len() > LONGEST_SOURCE {
            let detail = format!("a source has at most {LONGEST_SOURCE} bytes");
            problems.add(at, Code::TooLarge, detail);
            return None;
        }
        let (node, rest) = split(text, "`node.field`, such as `triage.mood`", at, problems)?;
        match Selection::parse(rest) {
            Ok(selection) => Some(Self { node: Arc::from(node), selection }),
            Err(error) => {
                problems.add(at, Code::InvalidValue, format!("`{text}`: {error}"));
                None
            }
        }
    }

    /// A whole output field of a node.
    #[must_use]
    pub fn field_of(node: impl Into<Arc<str>>, field: impl Into<Arc<str>>) -> Self {
        Self {
            node: node.into(),
            selection: Selection::new(vec![SelectionStep::Field(field.into())]),
        }
    }

    /// The field that the selection starts at.
    #[must_use]
    pub fn field(&self) -> &str {
        match self.selection.steps().first() {
            Some(SelectionStep::Field(name)) => name,
            _ => "",
        }
    }
}

impl Target {
    /// Reads `node.field`.
    pub(super) fn read(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Self> {
        let text = text(payload, at, problems)?;
        let wanted = "`node.field`, an input field of a node";
        let (node, field) = split(text, wanted, at, problems)?;
        if !is_identifier(field) {
            problems.add(at, Code::InvalidValue, format!("`{text}` is not {wanted}"));
            return None;
        }
        Some(Self { node: Arc::from(node), field: Arc::from(field) })
    }
}

fn split<'t>(
    text: &'t str,
    wanted: &str,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<(&'t str, &'t str)> {
    let parts = text.split_once('.').filter(|(node, _)| is_identifier(node));
    if parts.is_none() {
        problems.add(at, Code::InvalidValue, format!("`{text}` is not {wanted}"));
    }
    parts
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.node, self.selection)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.node, self.field)
    }
}
