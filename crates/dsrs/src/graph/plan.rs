//! The execution plan of a complete graph: connections as indices, so that a run looks up nothing by
//! name. Knows no runs.

use std::sync::Arc;

use super::check::absent_input;
use super::edge::{INPUT, Source, Target};
use super::order::Precedence;
use super::passed_inputs::PassedInputs;
use super::program_graph::ProgramGraph;
use crate::problem::{At, Problem};
use crate::types::Conversion;
use crate::value::{Payload, Selection};

/// The plan of a graph.
pub(super) struct ExecutionPlan {
    /// In the order of the graph's nodes.
    pub(super) nodes: Vec<PlannedNode>,
    pub(super) outputs: Vec<(Arc<str>, ValueSource)>,
    /// The inputs of the graph that nodes hold to constraints.
    pub(super) passed_inputs: PassedInputs,
}

/// A node's sources and followers, by index.
pub(super) struct PlannedNode {
    pub(super) name: Arc<str>,
    pub(super) feeds: Vec<PlannedInput>,
    /// The number of distinct nodes that must complete first.
    pub(super) waits_for: usize,
    /// The distinct nodes that wait for this one.
    pub(super) followers: Vec<usize>,
    /// Whether the run continues if this node fails, because every path from it ends in nodes that
    /// accept errors.
    pub(super) absorbed: bool,
}

/// The source of one input of a node.
pub(super) struct PlannedInput {
    pub(super) field: Arc<str>,
    pub(super) from: InputSource,
    /// Whether the node accepts a failure in place of this value.
    pub(super) accepts_error: bool,
}

/// Where the value of an input comes from.
pub(super) enum InputSource {
    /// Its default, or null.
    Constant(Payload),
    /// An edge.
    Edge(ValueSource, Conversion),
}

/// A selection into the outputs of a node, or into the inputs of the graph if `node` is `None`.
pub(super) struct ValueSource {
    pub(super) node: Option<usize>,
    pub(super) selection: Selection,
}

impl ExecutionPlan {
    /// Plans a graph. Every input must have a source, or need none.
    pub(super) fn of(graph: &ProgramGraph) -> Result<Self, Problem> {
        let fed = graph.edges_by_target();
        let mut nodes = Vec::with_capacity(graph.nodes.len());
        for (name, node) in &graph.nodes {
            let mut feeds = Vec::with_capacity(node.schema().inputs.len());
            for field in &node.schema().inputs {
                let target = Target { node: name.clone(), field: field.name.clone() };
                let from = match fed.get(&target) {
                    Some(edge) => {
                        let from = graph.type_of(&edge.from, &At::Root)?;
                        let to = node.schema().type_of(field);
                        InputSource::Edge(
                            origin(graph, &edge.from),
                            Conversion::between(&from, &to),
                        )
                    }
                    None => InputSource::Constant(
                        absent_input(node.schema(), field).unwrap_or_default(),
                    ),
                };
                let accepts_error = node.module.accepts_error(&field.name);
                feeds.push(PlannedInput { field: field.name.clone(), from, accepts_error });
            }
            let (name, followers) = (name.clone(), Vec::new());
            nodes.push(PlannedNode { name, feeds, waits_for: 0, followers, absorbed: false });
        }
        link(&mut nodes);
        let outputs = graph.outputs.iter();
        let outputs: Vec<(Arc<str>, ValueSource)> =
            outputs.map(|(name, found)| (name.clone(), origin(graph, &found.source))).collect();
        absorb(&mut nodes, outputs.iter().filter_map(|(_, origin)| origin.node));
        Ok(Self { nodes, outputs, passed_inputs: PassedInputs::of(graph)? })
    }
}

fn origin(graph: &ProgramGraph, source: &Source) -> ValueSource {
    let node = (source.node.as_ref() != INPUT).then(|| graph.nodes.get_index_of(&source.node));
    ValueSource { node: node.flatten(), selection: source.selection.clone() }
}

fn link(nodes: &mut [PlannedNode]) {
    for index in 0..nodes.len() {
        let feeds = nodes[index].feeds.iter();
        let mut sources: Vec<usize> = feeds
            .filter_map(|feed| match &feed.from {
                InputSource::Edge(origin, _) => origin.node,
                InputSource::Constant(_) => None,
            })
            .collect();
        sources.sort_unstable();
        sources.dedup();
        nodes[index].waits_for = sources.len();
        for source in sources {
            nodes[source].followers.push(index);
        }
    }
}

/// Marks the nodes whose failure the run survives: no output of the graph reads them, at least one node
/// does, and each of these accepts errors or is marked itself.
fn absorb(nodes: &mut [PlannedNode], outputs: impl Iterator<Item = usize>) {
    if !nodes.iter().flat_map(|node| &node.feeds).any(|feed| feed.accepts_error) {
        return;
    }
    let mut read = vec![false; nodes.len()];
    outputs.for_each(|node| read[node] = true);
    let edges: Vec<(usize, usize)> = nodes
        .iter()
        .enumerate()
        .flat_map(|(from, node)| node.followers.iter().map(move |to| (from, *to)))
        .collect();
    let order = Precedence { nodes: nodes.len(), edges: &edges }.sound_order();
    for index in order.into_iter().rev() {
        let node = &nodes[index];
        let mut followers = node.followers.iter().map(|follower| &nodes[*follower]);
        let absorbed = !read[index]
            && !node.followers.is_empty()
            && followers.all(|follower| follower.absorbed || accepts_errors_of(follower, index));
        nodes[index].absorbed = absorbed;
    }
}

/// Whether a node accepts errors in every input that reads another node.
fn accepts_errors_of(node: &PlannedNode, other: usize) -> bool {
    node.feeds.iter().all(|feed| match &feed.from {
        InputSource::Edge(origin, _) if origin.node == Some(other) => feed.accepts_error,
        _ => true,
    })
}
