//! The plan of a complete graph: everything that execution would otherwise look up by name or
//! decide again in every run, as indices. Knows no runs.

use std::sync::Arc;

use super::check::absent_input;
use super::edge::{INPUT, Source, Target};
use super::program_graph::ProgramGraph;
use crate::problem::{At, Problem};
use crate::types::Conversion;
use crate::value::{Payload, Selection};

/// How a graph runs.
pub(super) struct Plan {
    /// In the order of the graph's nodes.
    pub(super) nodes: Vec<PlannedNode>,
    pub(super) outputs: Vec<(Arc<str>, Origin)>,
}

/// A node's sources and followers, by index.
pub(super) struct PlannedNode {
    pub(super) name: Arc<str>,
    pub(super) feeds: Vec<Feed>,
    /// How many distinct nodes must be done first.
    pub(super) waits_for: usize,
    /// The distinct nodes that wait for this one.
    pub(super) followers: Vec<usize>,
}

/// What fills one input of a node.
pub(super) struct Feed {
    pub(super) field: Arc<str>,
    pub(super) from: FeedFrom,
}

/// Where the value of an input comes from.
pub(super) enum FeedFrom {
    /// Its default, or null.
    Constant(Payload),
    /// An edge.
    Edge(Origin, Conversion),
}

/// A selection into a node's outputs, or into the graph's inputs where there is no node.
pub(super) struct Origin {
    pub(super) node: Option<usize>,
    pub(super) selection: Selection,
}

impl Plan {
    /// Plans a graph of which every input has been seen to be fed or to need no source.
    pub(super) fn of(graph: &ProgramGraph) -> Result<Self, Problem> {
        let fed = graph.fed();
        let mut nodes = Vec::with_capacity(graph.nodes.len());
        for (name, node) in &graph.nodes {
            let mut feeds = Vec::with_capacity(node.schema().inputs.len());
            for field in &node.schema().inputs {
                let target = Target { node: name.clone(), field: field.name.clone() };
                let from = match fed.get(&target) {
                    Some(edge) => {
                        let from = graph.type_of(&edge.from, &At::Root)?;
                        let to = node.schema().type_of(field);
                        FeedFrom::Edge(origin(graph, &edge.from), Conversion::between(&from, &to))
                    }
                    None => {
                        FeedFrom::Constant(absent_input(node.schema(), field).unwrap_or_default())
                    }
                };
                feeds.push(Feed { field: field.name.clone(), from });
            }
            let name = name.clone();
            nodes.push(PlannedNode { name, feeds, waits_for: 0, followers: Vec::new() });
        }
        link(&mut nodes);
        let outputs = graph.outputs.iter();
        let outputs =
            outputs.map(|(name, found)| (name.clone(), origin(graph, &found.source))).collect();
        Ok(Self { nodes, outputs })
    }
}

fn origin(graph: &ProgramGraph, source: &Source) -> Origin {
    let node = (source.node.as_ref() != INPUT).then(|| graph.nodes.get_index_of(&source.node));
    Origin { node: node.flatten(), selection: source.selection.clone() }
}

fn link(nodes: &mut [PlannedNode]) {
    for index in 0..nodes.len() {
        let feeds = nodes[index].feeds.iter();
        let mut sources: Vec<usize> = feeds
            .filter_map(|feed| match &feed.from {
                FeedFrom::Edge(origin, _) => origin.node,
                FeedFrom::Constant(_) => None,
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
