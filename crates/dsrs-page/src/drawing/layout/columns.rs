//! Boxes and lanes in columns, each in its order from top to bottom.

use std::collections::HashMap;

use super::{Block, Link};

/// Something in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Item {
    /// A box, by index.
    Block(usize),
    /// A lane, by index: the passage of links from one port.
    Lane(usize),
}

/// The right port of a box, by indices.
pub(super) type Origin = (usize, usize);

/// A part of a link between neighbouring columns: items with the place of the port, from 0 to 1 of their height.
pub(super) struct Wire {
    pub(super) from: (usize, f64),
    pub(super) to: (usize, f64),
}

/// The columns from left to right.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    pub(super) items: Vec<Vec<Item>>,
    /// The column of each box.
    pub(super) column_of: Vec<usize>,
    /// The lanes of each link, one for each column that it passes.
    pub(super) lanes: Vec<Vec<usize>>,
    /// How many lanes there are.
    pub(super) lane_count: usize,
}

impl Columns {
    /// Columns of boxes and of lanes with their heights, which are sorted here. Neighbouring lanes of one port are
    /// joined.
    pub(super) fn sorted(
        column_of: Vec<usize>,
        mut heights: Vec<Vec<(f64, Placed)>>,
        links: &[Link],
    ) -> Self {
        let mut lanes: Vec<Vec<usize>> = vec![Vec::new(); links.len()];
        let mut items = Vec::with_capacity(heights.len());
        let mut lane_count = 0;
        for column in &mut heights {
            column.sort_by(|one, two| one.0.total_cmp(&two.0));
            let mut sorted: Vec<Item> = Vec::with_capacity(column.len());
            let mut last: Option<Origin> = None;
            for (_, placed) in column.iter() {
                match *placed {
                    Placed::Block(block) => {
                        sorted.push(Item::Block(block));
                        last = None;
                    }
                    Placed::Link(link) => {
                        let origin = links[link].from;
                        if last != Some(origin) {
                            sorted.push(Item::Lane(lane_count));
                            lane_count += 1;
                            last = Some(origin);
                        }
                        lanes[link].push(lane_count - 1);
                    }
                }
            }
            items.push(sorted);
        }
        Self { items, column_of, lanes, lane_count }
    }

    /// The parts of a link between columns: pairs of items with the heights of their ends in them.
    pub(super) fn parts(&self, index: usize, link: &Link, blocks: &[Block]) -> Vec<(End, End)> {
        let start = (Item::Block(link.from.0), blocks[link.from.0].right[link.from.1]);
        let end = (Item::Block(link.to.0), blocks[link.to.0].left[link.to.1]);
        let lanes = self.lanes[index].iter().map(|lane| (Item::Lane(*lane), 0.0));
        let stops: Vec<End> = [start].into_iter().chain(lanes).chain([end]).collect();
        stops.windows(2).map(|pair| (pair[0], pair[1])).collect()
    }

    /// The number of an item among all: boxes first.
    pub(super) fn number(&self, item: Item) -> usize {
        match item {
            Item::Block(block) => block,
            Item::Lane(lane) => self.column_of.len() + lane,
        }
    }
}

/// An item, and a height in it.
pub(super) type End = (Item, f64);

/// What is sorted into a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placed {
    /// A box.
    Block(usize),
    /// A link that passes.
    Link(usize),
}

/// Numbers the ranks that are used from 0, without gaps.
pub(super) fn dense(ranks: impl IntoIterator<Item = usize>) -> HashMap<usize, usize> {
    let mut used: Vec<usize> = ranks.into_iter().collect();
    used.sort_unstable();
    used.dedup();
    used.into_iter().enumerate().map(|(column, rank)| (rank, column)).collect()
}
