//! Columns by `dagre`: ranks by network simplex, few crossings. Its coordinates only say the order; ports are not
//! known to it.

use dagre::graph::{Graph, GraphOptions};
use dagre::{EdgeLabel, LayoutOptions, NodeLabel, Point, RankDir};

use super::columns::{Columns, Placed, dense};
use super::{Block, Link, Place};

/// The names of the boxes before and behind all others, which hold the borders in their columns.
const START: &str = "start";
const END: &str = "end";

/// How strongly the borders are held: more than any box has links.
const HOLD: i32 = 10_000;

/// The columns; `None` if the borders did not end up at the borders.
pub(super) fn columns(blocks: &[Block], links: &[Link]) -> Option<Columns> {
    let mut graph = graph_of(blocks, links);
    let options = LayoutOptions {
        rankdir: RankDir::LR,
        nodesep: 24.0,
        edgesep: 12.0,
        ranksep: 60.0,
        ..LayoutOptions::default()
    };
    dagre::layout(&mut graph, Some(options));
    let found: Option<Vec<(usize, f64, f64)>> =
        (0..blocks.len()).map(|index| position(&graph, index)).collect();
    let found = found?;
    let column_at = dense(found.iter().map(|(rank, _, _)| *rank));
    let column_of: Vec<usize> = found.iter().map(|(rank, _, _)| column_at[rank]).collect();
    let last = column_at.len().checked_sub(1)?;
    let mut middles = vec![0.0; column_at.len()];
    let mut heights = vec![Vec::new(); column_at.len()];
    for (index, (_, x, y)) in found.iter().enumerate() {
        let column = column_of[index];
        let is_wrong = match blocks[index].place {
            Place::First => column != 0,
            Place::Last => column != last,
            Place::Middle => false,
        };
        if is_wrong {
            return None;
        }
        middles[column] = *x;
        heights[column].push((*y, Placed::Block(index)));
    }
    for (index, link) in links.iter().enumerate() {
        let points = &graph.edge(&name(link.from.0), &name(link.to.0), Some(&name(index)))?.points;
        let (from, to) = (column_of[link.from.0], column_of[link.to.0]);
        for column in from + 1..to {
            heights[column].push((height_at(points, middles[column])?, Placed::Link(index)));
        }
    }
    Some(Columns::sorted(column_of, heights, links))
}

fn name(index: usize) -> String {
    index.to_string()
}

fn graph_of(blocks: &[Block], links: &[Link]) -> Graph<NodeLabel, EdgeLabel> {
    let mut graph =
        Graph::with_options(GraphOptions { directed: true, multigraph: true, compound: false });
    let node = |width: f64, height: f64| Some(NodeLabel { width, height, ..NodeLabel::default() });
    let edge =
        |weight: i32, minlen: i32| Some(EdgeLabel { weight, minlen, ..EdgeLabel::default() });
    graph.set_node(START, node(1.0, 1.0));
    for (index, block) in blocks.iter().enumerate() {
        graph.set_node(name(index), node(block.width, block.height));
    }
    graph.set_node(END, node(1.0, 1.0));
    for (index, link) in links.iter().enumerate() {
        graph.set_edge(name(link.from.0), name(link.to.0), edge(1, 1), Some(&name(index)));
    }
    let has_link = |index: usize, is_target: bool| {
        links.iter().any(|link| if is_target { link.to.0 == index } else { link.from.0 == index })
    };
    for (index, block) in blocks.iter().enumerate() {
        match block.place {
            Place::First => drop(graph.set_edge(START, name(index), edge(HOLD, 1), None)),
            Place::Last => drop(graph.set_edge(name(index), END, edge(HOLD, 1), None)),
            Place::Middle => {}
        }
        if block.place != Place::First && !has_link(index, true) {
            graph.set_edge(START, name(index), edge(0, 2), None);
        }
        if block.place != Place::Last && !has_link(index, false) {
            graph.set_edge(name(index), END, edge(0, 2), None);
        }
    }
    graph
}

fn position(graph: &Graph<NodeLabel, EdgeLabel>, index: usize) -> Option<(usize, f64, f64)> {
    let label = graph.node(&name(index))?;
    Some((usize::try_from(label.rank?).ok()?, label.x?, label.y?))
}

/// The height of a link where it passes the middle of a column.
fn height_at(points: &[Point], x: f64) -> Option<f64> {
    points.iter().find(|point| (point.x - x).abs() < 0.5).map(|point| point.y)
}
