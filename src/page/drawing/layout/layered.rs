//! Columns of large graphs, in linear time: each box in the column behind its sources, sorted by the middle of its
//! neighbours.

use std::collections::HashMap;

use super::columns::{Columns, Origin, Placed};
use super::{Block, Link, Place};

/// How often the columns are sorted.
const SWEEPS: usize = 6;

/// The column of each box: one behind its last source.
pub(super) fn ranks(blocks: &[Block], links: &[Link]) -> Vec<usize> {
    let first = |block: &Block| usize::from(block.place != Place::First);
    let mut ranks: Vec<usize> = blocks.iter().map(first).collect();
    let mut waits = vec![0_usize; blocks.len()];
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); blocks.len()];
    for link in links {
        waits[link.to.0] += 1;
        followers[link.from.0].push(link.to.0);
    }
    let mut ready: Vec<usize> = (0..blocks.len()).filter(|index| waits[*index] == 0).collect();
    while let Some(index) = ready.pop() {
        for follower in &followers[index] {
            ranks[*follower] = ranks[*follower].max(ranks[index] + 1);
            waits[*follower] -= 1;
            if waits[*follower] == 0 {
                ready.push(*follower);
            }
        }
    }
    let is_last = |index: &usize| blocks[*index].place == Place::Last;
    let middle = (0..blocks.len()).filter(|index| !is_last(index)).map(|index| ranks[index]).max();
    let last = middle.map_or(0, |rank| rank + 1);
    (0..blocks.len()).filter(is_last).for_each(|index| ranks[index] = last);
    close_gaps(&mut ranks);
    ranks
}

fn close_gaps(ranks: &mut [usize]) {
    let dense = super::columns::dense(ranks.iter().copied());
    ranks.iter_mut().for_each(|rank| *rank = dense[rank]);
}

/// The columns of these ranks.
pub(super) fn columns(blocks: &[Block], links: &[Link], ranks: &[usize]) -> Columns {
    let count = ranks.iter().max().map_or(0, |last| last + 1);
    let lanes = Lanes::of(links, ranks);
    let mut order = Order::of(blocks.len() + lanes.owners.len(), count, ranks, &lanes);
    let pairs = lanes.pairs(links, ranks, blocks.len());
    for sweep in 0..SWEEPS {
        order.sort(&pairs, sweep % 2 == 0);
    }
    let mut heights: Vec<Vec<(f64, Placed)>> = vec![Vec::new(); count];
    for (index, rank) in ranks.iter().enumerate() {
        heights[*rank].push((order.at[index], Placed::Block(index)));
    }
    for (index, link) in links.iter().enumerate() {
        for rank in ranks[link.from.0] + 1..ranks[link.to.0] {
            let lane = blocks.len() + lanes.by_place[&(link.from, rank)];
            heights[rank].push((order.at[lane], Placed::Link(index)));
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

    /// The items that are next to each other on a link, each pair once.
    fn pairs(&self, links: &[Link], ranks: &[usize], blocks: usize) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        for ((origin, rank), lane) in self.owners.iter().zip(blocks..) {
            let before = self.by_place.get(&(*origin, rank - 1)).map(|lane| blocks + lane);
            pairs.push((before.unwrap_or(origin.0), lane));
        }
        for link in links {
            let before = ranks[link.to.0].checked_sub(1);
            let lane = before.and_then(|rank| self.by_place.get(&(link.from, rank)));
            pairs.push((lane.map_or(link.from.0, |lane| blocks + lane), link.to.0));
        }
        pairs
    }
}

/// The order of the items of each column.
struct Order {
    columns: Vec<Vec<usize>>,
    column_of: Vec<usize>,
    at: Vec<f64>,
}

impl Order {
    fn of(items: usize, count: usize, ranks: &[usize], lanes: &Lanes) -> Self {
        let column_of: Vec<usize> =
            ranks.iter().copied().chain(lanes.owners.iter().map(|(_, rank)| *rank)).collect();
        let mut columns = vec![Vec::new(); count];
        column_of.iter().enumerate().for_each(|(item, column)| columns[*column].push(item));
        let mut order = Self { columns, column_of, at: vec![0.0; items] };
        (0..count).for_each(|column| order.number(column));
        order
    }

    /// Positions in a column, around its middle.
    fn number(&mut self, column: usize) {
        let count = self.columns[column].len() as f64;
        for (position, item) in self.columns[column].iter().enumerate() {
            self.at[*item] = position as f64 - (count - 1.0) / 2.0;
        }
    }

    /// Sorts each column by the middle of its neighbours before it, or behind it.
    fn sort(&mut self, pairs: &[(usize, usize)], forward: bool) {
        let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); self.at.len()];
        for (from, to) in pairs {
            let (item, other) = if forward { (*to, *from) } else { (*from, *to) };
            neighbours[item].push(other);
        }
        let count = self.columns.len();
        for step in 0..count {
            let column = if forward { step } else { count - 1 - step };
            let middle = |item: usize| {
                let others = &neighbours[item];
                let sum: f64 = others.iter().map(|other| self.at[*other]).sum();
                if others.is_empty() { self.at[item] } else { sum / others.len() as f64 }
            };
            let mut keyed: Vec<(f64, usize)> =
                self.columns[column].iter().map(|item| (middle(*item), *item)).collect();
            keyed.sort_by(|one, two| one.0.total_cmp(&two.0));
            self.columns[column] = keyed.into_iter().map(|(_, item)| item).collect();
            self.number(column);
        }
        debug_assert_eq!(self.column_of.len(), self.at.len());
    }
}
