//! The journal of a background run: it records the outputs of each node before any follower starts, so
//! that another process can continue the run. Knows nothing of where it is stored.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::outcome::{NodeOutcome, NodeStatus};
use super::restore::restore;
use crate::graph::node::Node;
use crate::graph::program::Program;
use crate::predict::Span;
use crate::problem::{At, Problems};
use crate::types::admit;
use crate::value::{Failure, Map, Payload};

/// A completed node that a later attempt can reuse, or one that waits in the middle of its work.
#[derive(Debug)]
pub struct CompletedNode {
    /// Its name.
    pub name: Arc<str>,
    /// How it ended, or what it waits for.
    pub outcome: NodeOutcome,
    /// Its trace; the first span is the span of the node.
    pub spans: Vec<Span>,
}

/// Why a completed node could not be recorded. The run stops, because further work would be lost or
/// now belongs to another worker.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct JournalError(pub String);

/// Records completed nodes, and nodes that wait in the middle of their work.
pub trait Journal: Send + Sync {
    /// Records one. Its followers start afterwards; all other nodes continue meanwhile.
    fn record(&self, node: CompletedNode) -> BoxFuture<'_, Result<(), JournalError>>;
}

/// Outcomes of nodes from an earlier run of the same program and inputs, by name.
pub type CompletedNodes = HashMap<Arc<str>, NodeOutcome>;

impl Program {
    /// Converts a signal to the outputs of the waiting node: an object of all outputs, or the bare value
    /// for a node with one output. Returns `None` and adds problems if the value does not fit or breaks
    /// an assert.
    pub fn admit_signal(
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
        problems.append(found.map(|mut problem| {
            let rest = problem.pointer.strip_prefix(&inside).unwrap_or_default();
            problem.pointer = format!("{}{rest}", at.pointer());
            problem
        }));
        admitted
    }

    /// Restores the outcome of a node from its recorded outputs; `None` if there is no such node or the
    /// outputs no longer fit its types.
    #[must_use]
    pub fn restore_completed_node(&self, name: &str, outputs: &Payload) -> Option<NodeOutcome> {
        let ty = self.graph().node(name)?.outputs();
        let outputs = restore(outputs, &ty.ir, ty)?;
        let status = NodeStatus::Succeeded;
        Some(NodeOutcome { status, outputs: Some(outputs), ..NodeOutcome::pending() })
    }

    /// Restores the outcome of a node whose failure was absorbed; `None` if there is no such node.
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
