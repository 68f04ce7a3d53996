//! The columns of graphs of ordinary size, by `dagre`: network simplex, so that links are short. Its order within the
//! columns is a proposal; ports are not known to it.

use dagre::graph::{Graph, GraphOptions};
use dagre::{EdgeLabel, LayoutOptions, NodeLabel, RankDir};

use super::columns::dense;
use super::{Block, Link, Place};

/// The names of the boxes before and behind all others, which hold the borders in their columns.
const START: &str = "start";
const END: &str = "end";

/// How strongly the borders are held: more than any box has links.
const HOLD: i32 = 10_000;

/// The column of each box, and its height there.
pub(super) struct Ranked {
    pub(super) ranks: Vec<usize>,
    pub(super) heights: Vec<f64>,
}

/// The columns; `None` if the borders did not end up at the borders.
pub(super) fn ranked(blocks: &[Block], links: &[Link]) -> Option<Ranked> {
    let mut graph = graph_of(blocks, links);
    let options = LayoutOptions { rankdir: RankDir::LR, ..LayoutOptions::default() };
    dagre::layout(&mut graph, Some(options));
    let found: Option<Vec<(usize, f64)>> =
        (0..blocks.len()).map(|index| position(&graph, index)).collect();
    let found = found?;
    let column_at = dense(found.iter().map(|(rank, _)| *rank));
    let ranks: Vec<usize> = found.iter().map(|(rank, _)| column_at[rank]).collect();
    let last = column_at.len().checked_sub(1)?;
    let is_right = |(block, rank): (&Block, &usize)| match block.place {
        Place::First => *rank == 0,
        Place::Last => *rank == last,
        Place::Middle => true,
    };
    let heights = found.into_iter().map(|(_, y)| y).collect();
    blocks.iter().zip(&ranks).all(is_right).then_some(Ranked { ranks, heights })
}

fn name(index: usize) -> String {
    index.to_string()
}

fn graph_of(blocks: &[Block], links: &[Link]) -> Graph<NodeLabel, EdgeLabel> {
    let options = GraphOptions { directed: true, multigraph: false, compound: false };
    let mut graph = Graph::with_options(options);
    let node = |width: f64, height: f64| Some(NodeLabel { width, height, ..NodeLabel::default() });
    let edge =
        |weight: i32, minlen: i32| Some(EdgeLabel { weight, minlen, ..EdgeLabel::default() });
    graph.set_node(START, node(1.0, 1.0));
    for (index, block) in blocks.iter().enumerate() {
        graph.set_node(name(index), node(block.width, block.height));
    }
    graph.set_node(END, node(1.0, 1.0));
    let (mut has_source, mut has_target) = (vec![false; blocks.len()], vec![false; blocks.len()]);
    for link in links {
        graph.set_edge(name(link.from.0), name(link.to.0), edge(1, 1), None);
        (has_target[link.from.0], has_source[link.to.0]) = (true, true);
    }
    for (index, block) in blocks.iter().enumerate() {
        match block.place {
            Place::First => drop(graph.set_edge(START, name(index), edge(HOLD, 1), None)),
            Place::Last => drop(graph.set_edge(name(index), END, edge(HOLD, 1), None)),
            Place::Middle => {}
        }
        if block.place != Place::First && !has_source[index] {
            graph.set_edge(START, name(index), edge(0, 2), None);
        }
        if block.place != Place::Last && !has_target[index] {
            graph.set_edge(name(index), END, edge(0, 2), None);
        }
    }
    graph
}

fn position(graph: &Graph<NodeLabel, EdgeLabel>, index: usize) -> Option<(usize, f64)> {
    let label = graph.node(&name(index))?;
    Some((usize::try_from(label.rank?).ok()?, label.y?))
}
