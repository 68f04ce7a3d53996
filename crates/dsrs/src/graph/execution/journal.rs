//! The journal of a run that lasts: who keeps what each node gave before any node that waits for it
//! starts, so that another process can go on from there. Knows nothing of where it is kept.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::outcome::{NodeOutcome, NodeStatus};
use super::restore::restore;
use crate::expr::Condition;
use crate::graph::node::Node;
use crate::graph::program::Program;
use crate::predict::Span;
use crate::problem::{At, Code, Problems};
use crate::types::{Constraint, ConstraintKind, admit};
use crate::value::{Failure, Map, Payload};

/// A node that came to an end that a run can go on from.
#[derive(Debug)]
pub struct CompletedNode {
    /// Its name.
    pub name: Arc<str>,
    /// How it ended.
    pub outcome: NodeOutcome,
    /// What happened in it: a trace of its own, whose first span is the node's.
    pub spans: Vec<Span>,
}

/// Why a node's end could not be kept. The run stops: what it did next would be lost, or is another's
/// to do by now.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct JournalError(pub String);

/// Keeps the ends of nodes.
pub trait Journal: Send + Sync {
    /// Keeps one. The nodes that wait for it start when this is done; all others go on meanwhile.
    fn record(&self, node: CompletedNode) -> BoxFuture<'_, Result<(), JournalError>>;
}

/// How nodes ended in an earlier run of the same program over the same inputs, by name.
pub type CompletedNodes = HashMap<Arc<str>, NodeOutcome>;

impl Program {
    /// The outputs that a value from outside stands for, of a node that waits for it: an object of
    /// all of them, or for a node of one output that output's value alone. `None`, with everything
    /// that does not fit, where it is neither, or breaks an assert.
    pub fn admit_signal(
        &self,
        node: &Node,
        value: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Payload> {
        let outputs = self.admit_outputs(node, value, at, problems)?;
        for field in &node.schema().outputs {
            let given = outputs.as_map().and_then(|outputs| outputs.get(&field.name));
            let asserts =
                field.constraints.iter().filter(|known| known.kind == ConstraintKind::Assert);
            for broken in asserts.filter(|known| !given.is_some_and(|given| holds(known, given))) {
                let detail = format!("`{}` breaks the assert `{}`", field.name, broken.expression);
                problems.add(at, Code::InvalidValue, detail);
            }
        }
        Some(outputs)
    }

    fn admit_outputs(
        &self,
        node: &Node,
        value: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Payload> {
        let alone = match node.schema().outputs.as_slice() {
            [one] if value.as_map().is_none_or(|members| !members.contains_key(&one.name)) => {
                Some(&one.name)
            }
            _ => None,
        };
        let Some(name) = alone else { return admit(value, node.outputs(), at, problems) };
        let mut found = Problems::new();
        let outputs = Payload::map(Map::from_iter([(name.clone(), value.clone())]));
        let admitted = admit(&outputs, node.outputs(), &At::Root, &mut found);
        let inside = format!("/{name}");
        for mut problem in found {
            let rest = problem.pointer.strip_prefix(&inside).unwrap_or_default();
            problem.pointer = format!("{}{rest}", at.pointer());
            problems.push(problem);
        }
        admitted
    }

    /// How a node ended whose outputs were kept as plain JSON data; `None` when there is no such
    /// node, or its outputs are no longer of these types.
    #[must_use]
    pub fn restore_completed_node(&self, name: &str, outputs: &Payload) -> Option<NodeOutcome> {
        let ty = self.graph().node(name)?.outputs();
        let outputs = restore(outputs, &ty.ir, ty)?;
        let status = NodeStatus::Succeeded;
        Some(NodeOutcome { status, outputs: Some(outputs), ..NodeOutcome::pending() })
    }

    /// How a node ended whose failure another took; `None` when there is no such node.
    #[must_use]
    pub fn restore_failed_node(
        &self,
        name: &str,
        code: &str,
        message: &str,
    ) -> Option<NodeOutcome> {
        self.graph().node(name)?;
        let failure = Payload::Error(Arc::new(Failure::new(code, message).at(name)));
        let status = NodeStatus::Failed;
        Some(NodeOutcome { status, outputs: Some(failure), ..NodeOutcome::pending() })
    }
}

fn holds(constraint: &Constraint, value: &Payload) -> bool {
    Condition::compile(&constraint.expression)
        .and_then(|condition| condition.holds(value))
        .unwrap_or(false)
}
