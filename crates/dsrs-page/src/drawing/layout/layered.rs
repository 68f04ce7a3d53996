//! The order within the columns: every item near the middle of its neighbours, with as few crossings as a few sweeps
//! find. Knows ports, so that links of one box do not cross without need.

use std::collections::HashMap;

use super::columns::{Columns, Origin, Placed, Wire};
use super::crossings::crossings;
use super::{Block, Link};

/// How often the columns are sorted for each proposal.
const SWEEPS: usize = 12;

/// The columns of these ranks. The first order is that of the boxes; `heights` is another proposal.
pub(super) fn columns(
    blocks: &[Block],
    links: &[Link],
    ranks: &[usize],
    heights: Option<&[f64]>,
) -> Columns {
    let count = ranks.iter().max().map_or(0, |last| last + 1);
    let lanes = Lanes::of(links, ranks);
    let wires = lanes.wires(blocks, links, ranks);
    let mut best = Order::of(count, ranks, &lanes);
    best.improve(&wires);
    if let Some(heights) = heights {
        let mut other = Order::of(count, ranks, &lanes);
        other.arrange(heights);
        other.improve(&wires);
        if other.crossings < best.crossings {
            best = other;
        }
    }
    let mut heights: Vec<Vec<(f64, Placed)>> = vec![Vec::new(); count];
    for (index, rank) in ranks.iter().enumerate() {
        heights[*rank].push((best.at[index], Placed::Block(index)));
    }
    for (index, link) in links.iter().enumerate() {
        let passed = ranks[link.from.0] + 1..ranks[link.to.0];
        for (rank, column) in heights.iter_mut().enumerate().take(passed.end).skip(passed.start) {
            let lane = blocks.len() + lanes.by_place[&(link.from, rank)];
            column.push((best.at[lane], Placed::Link(index)));
        }
    }
    Columns::sorted(ranks.to_vec(), heights, links)
}

/// One lane for each port and column that its links pass.
struct Lanes {
    by_place: HashMap<(Origin, usize), usize>,
    owners: Vec<(Origin, usize)>,
}

impl Lanes {
    fn of(links: &[Link], ranks: &[usize]) -> Self {
        let mut lanes = Self { by_place: HashMap::new(), owners: Vec::new() };
        for link in links {
            for rank in ranks[link.from.0] + 1..ranks[link.to.0] {
                let place = (link.from, rank);
                if !lanes.by_place.contains_key(&place) {
                    lanes.by_place.insert(place, lanes.owners.len());
                    lanes.owners.push(place);
                }
            }
        }
        lanes
    }

    /// The parts of links between columns, each once.
    fn wires(&self, blocks: &[Block], links: &[Link], ranks: &[usize]) -> Vec<Wire> {
        let start =
            |(block, port): Origin| (block, blocks[block].right[port] / blocks[block].height);
        let lane = |origin: Origin, rank: usize| {
            let lane = self.by_place.get(&(origin, rank));
            lane.map_or_else(|| start(origin), |lane| (blocks.len() + lane, 0.5))
        };
        let mut wires = Vec::with_capacity(self.owners.len() + links.len());
        for ((origin, rank), number) in self.owners.iter().zip(blocks.len()..) {
            wires.push(Wire { from: lane(*origin, rank - 1), to: (number, 0.5) });
        }
        for Link { from, to } in links {
            let end = (to.0, blocks[to.0].left[to.1] / blocks[to.0].height);
            wires.push(Wire { from: lane(*from, ranks[to.0].saturating_sub(1)), to: end });
        }
        wires
    }
}

/// The order of the items of each column: boxes first, then lanes, by number.
struct Order {
    columns: Vec<Vec<usize>>,
    /// The position of each item in its column, counted from the middle.
    at: Vec<f64>,
    column_of: Vec<usize>,
    crossings: usize,
}

impl Order {
    fn of(count: usize, ranks: &[usize], lanes: &Lanes) -> Self {
        let of_lanes = lanes.owners.iter().map(|(_, rank)| *rank);
        let column_of: Vec<usize> = ranks.iter().copied().chain(of_lanes).collect();
        let mut columns = vec![Vec::new(); count];
        column_of.iter().enumerate().for_each(|(item, column)| columns[*column].push(item));
        let at = vec![0.0; column_of.len()];
        let mut order = Self { columns, at, column_of, crossings: usize::MAX };
        (0..count).for_each(|column| order.number(column));
        order
    }

    /// Sorts the boxes by their heights; lanes follow in the next sweep.
    fn arrange(&mut self, heights: &[f64]) {
        for column in 0..self.columns.len() {
            let key = |item: &usize| heights.get(*item).copied().unwrap_or(f64::INFINITY);
            self.columns[column].sort_by(|one, two| key(one).total_cmp(&key(two)));
            self.number(column);
        }
    }

    /// Positions in a column, around its middle.
    fn number(&mut self, column: usize) {
        let count = self.columns[column].len() as f64;
        for (position, item) in self.columns[column].iter().enumerate() {
            self.at[*item] = position as f64 - count / 2.0;
        }
    }

    /// Sweeps forward and back, and retains the order with the fewest crossings.
    fn improve(&mut self, wires: &[Wire]) {
        let neighbours = Neighbours::of(wires, self.at.len());
        let mut best = (usize::MAX, Vec::new());
        for sweep in 0..SWEEPS {
            self.sort(&neighbours, sweep % 2 == 0);
            let found = crossings(wires, &self.column_of, &self.at);
            if found < best.0 {
                best = (found, self.columns.clone());
            }
            if found == 0 {
                break;
            }
        }
        (self.crossings, self.columns) = best;
        (0..self.columns.len()).for_each(|column| self.number(column));
    }

    /// Sorts each column by the middle of its neighbours before it, or behind it.
    fn sort(&mut self, neighbours: &Neighbours, forward: bool) {
        let count = self.columns.len();
        for step in 0..count {
            let column = if forward { step } else { count - 1 - step };
            let sides = if forward { &neighbours.before } else { &neighbours.behind };
            let middle = |item: usize| {
                let others = &sides[item];
                let sum: f64 = others.iter().map(|(other, part)| self.at[*other] + part).sum();
                if others.is_empty() { self.at[item] } else { sum / others.len() as f64 }
            };
            let mut keyed: Vec<(f64, usize)> =
                self.columns[column].iter().map(|item| (middle(*item), *item)).collect();
            keyed.sort_by(|one, two| one.0.total_cmp(&two.0));
            self.columns[column] = keyed.into_iter().map(|(_, item)| item).collect();
            self.number(column);
        }
    }
}

/// The neighbours of each item at both sides, with the places of ports.
struct Neighbours {
    before: Vec<Vec<(usize, f64)>>,
    behind: Vec<Vec<(usize, f64)>>,
}

impl Neighbours {
    fn of(wires: &[Wire], items: usize) -> Self {
        let mut found = Self { before: vec![Vec::new(); items], behind: vec![Vec::new(); items] };
        for wire in wires {
            found.before[wire.to.0].push(wire.from);
            found.behind[wire.from.0].push(wire.to);
        }
        found
    }
}
