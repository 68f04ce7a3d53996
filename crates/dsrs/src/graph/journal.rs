//! The journal of a run that lasts: who keeps what each node gave before any node that waits for it
//! starts, so that another process can go on from there. Knows nothing of where it is kept.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::node::Node;
use super::outcome::{NodeOutcome, NodeStatus};
use super::program::Program;
use crate::predict::Span;
use crate::problem::{At, Problems};
use crate::types::admit;
use crate::value::{Map, Payload};

/// A node that came to an end that a run can go on from.
#[derive(Debug)]
pub struct EndedNode {
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
pub struct Unkept(pub String);

/// Keeps the ends of nodes.
pub trait Journal: Send + Sync {
    /// Keeps one. The nodes that wait for it start when this is done; all others go on meanwhile.
    fn keep(&self, node: EndedNode) -> BoxFuture<'_, Result<(), Unkept>>;
}

/// How nodes ended in an earlier run of the same program over the same inputs, by name.
pub type EndedNodes = HashMap<Arc<str>, NodeOutcome>;

impl Program {
    /// The outputs that a value from outside stands for, of a node that waits for it: an object of
    /// all of them, or for a node of one output that output's value alone. `None`, with everything
    /// that does not fit, where it is neither.
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
    pub fn ended_node(&self, name: &str, outputs: &Payload) -> Option<NodeOutcome> {
        let mut problems = Problems::new();
        let node = self.graph().node(name)?;
        let outputs = admit(outputs, node.outputs(), &At::Root, &mut problems)?;
        problems.is_empty().then_some(NodeOutcome {
            status: NodeStatus::Succeeded,
            started: None,
            duration: None,
            outputs: Some(outputs),
            error: None,
        })
    }
}
