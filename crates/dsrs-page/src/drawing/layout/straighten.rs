//! The heights of boxes and lanes: so that links are as straight as the order of each column allows. Each column is
//! an isotonic regression (pool adjacent violators).

use super::columns::{Columns, End, Item};
use super::{Block, Link};

/// How often all columns are placed again.
const SWEEPS: usize = 12;

/// From which sweep on both sides count.
const BOTH: usize = 6;

/// How far an item moves to make one link straight.
const SNAP: f64 = 14.0;

/// The distances between two boxes, a box and a lane, and two lanes.
const BETWEEN_BLOCKS: f64 = 26.0;
const BESIDE_LANE: f64 = 15.0;
const BETWEEN_LANES: f64 = 12.0;

/// The distance between inputs, or outputs, of the graph: small boxes.
const BETWEEN_SMALL: f64 = 12.0;
const SMALL: f64 = 32.0;

/// A part of a link, from the view of one of its ends.
struct Pull {
    /// The number of the other item.
    other: usize,
    /// What to add to the top of the other item for the top of this one.
    offset: f64,
    weight: f64,
}

/// The tops of all items, by their numbers. The highest is 0.
pub(super) fn tops(columns: &Columns, blocks: &[Block], links: &[Link]) -> Vec<f64> {
    let pulls = Pulls::of(columns, blocks, links);
    let mut tops = stacked(columns, blocks);
    let count = columns.items.len();
    for sweep in 0..SWEEPS {
        for step in 0..count {
            let column = if sweep % 2 == 0 { step } else { count - 1 - step };
            let sides = match sweep {
                sweep if sweep >= BOTH => (true, true),
                sweep => (sweep % 2 == 0, sweep % 2 == 1),
            };
            place(columns, column, blocks, &pulls, sides, &mut tops);
        }
    }
    (0..count).for_each(|column| snap(columns, column, blocks, &pulls, &mut tops));
    let highest = tops.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = if highest.is_finite() { highest } else { 0.0 };
    tops.iter().map(|top| top - highest).collect()
}

/// The pulls of each item to the left and to the right.
struct Pulls {
    left: Vec<Vec<Pull>>,
    right: Vec<Vec<Pull>>,
}

impl Pulls {
    fn of(columns: &Columns, blocks: &[Block], links: &[Link]) -> Self {
        let count = blocks.len() + columns.lane_count;
        let empty = || std::iter::repeat_with(Vec::new).take(count).collect::<Vec<Vec<Pull>>>();
        let mut pulls = Self { left: empty(), right: empty() };
        for (index, link) in links.iter().enumerate() {
            for (from, to) in columns.parts(index, link, blocks) {
                pulls.add(columns, from, to);
            }
        }
        pulls
    }

    fn add(&mut self, columns: &Columns, from: End, to: End) {
        let weight = match (from.0, to.0) {
            (Item::Lane(_), Item::Lane(_)) => 8.0,
            (Item::Block(_), Item::Block(_)) => 1.0,
            _ => 2.0,
        };
        let (source, target) = (columns.number(from.0), columns.number(to.0));
        let offset = from.1 - to.1;
        self.left[target].push(Pull { other: source, offset, weight });
        self.right[source].push(Pull { other: target, offset: -offset, weight });
    }
}

fn height(item: Item, blocks: &[Block]) -> f64 {
    match item {
        Item::Block(block) => blocks[block].height,
        Item::Lane(_) => 0.0,
    }
}

/// The least distance between the tops of two neighbours.
fn step(above: Item, below: Item, blocks: &[Block]) -> f64 {
    let is_small = |item: Item| height(item, blocks) < SMALL;
    let distance = match (above, below) {
        (Item::Lane(_), Item::Lane(_)) => BETWEEN_LANES,
        (Item::Block(_), Item::Block(_)) if is_small(above) && is_small(below) => BETWEEN_SMALL,
        (Item::Block(_), Item::Block(_)) => BETWEEN_BLOCKS,
        _ => BESIDE_LANE,
    };
    height(above, blocks) + distance
}

/// Every column around the same middle, without gaps.
fn stacked(columns: &Columns, blocks: &[Block]) -> Vec<f64> {
    let mut tops = vec![0.0; blocks.len() + columns.lane_count];
    for items in &columns.items {
        let Some(last) = items.last() else { continue };
        let steps = items.windows(2).map(|pair| step(pair[0], pair[1], blocks));
        let mut at = -(steps.sum::<f64>() + height(*last, blocks)) / 2.0;
        for (position, item) in items.iter().enumerate() {
            tops[columns.number(*item)] = at;
            if let Some(next) = items.get(position + 1) {
                at += step(*item, *next, blocks);
            }
        }
    }
    tops
}

/// A run of items that stand as close as they may.
struct Run {
    weight: f64,
    sum: f64,
    count: usize,
}

/// Places one column: every item as near to where its links pull it as the order and the distances allow.
fn place(
    columns: &Columns,
    column: usize,
    blocks: &[Block],
    pulls: &Pulls,
    (left, right): (bool, bool),
    tops: &mut [f64],
) {
    let items = &columns.items[column];
    let (mut runs, mut before) = (Vec::<Run>::with_capacity(items.len()), Vec::new());
    let mut packed = 0.0;
    for (position, item) in items.iter().enumerate() {
        if let Some(above) = position.checked_sub(1).and_then(|above| items.get(above)) {
            packed += step(*above, *item, blocks);
        }
        before.push(packed);
        let number = columns.number(*item);
        let sides = [(left, &pulls.left[number]), (right, &pulls.right[number])];
        let active = sides.into_iter().filter(|(is_on, _)| *is_on).flat_map(|(_, pulls)| pulls);
        let (mut weight, mut sum) = (0.01, 0.01 * (tops[number] - packed));
        for pull in active {
            weight += pull.weight;
            sum += pull.weight * (tops[pull.other] + pull.offset - packed);
        }
        let mut run = Run { weight, sum, count: 1 };
        while let Some(above) =
            runs.pop_if(|above| above.sum * run.weight >= run.sum * above.weight)
        {
            run = Run {
                weight: above.weight + run.weight,
                sum: above.sum + run.sum,
                count: above.count + run.count,
            };
        }
        runs.push(run);
    }
    let wanted = runs.iter().flat_map(|run| std::iter::repeat_n(run.sum / run.weight, run.count));
    for ((item, at), before) in items.iter().zip(wanted).zip(before) {
        tops[columns.number(*item)] = at + before;
    }
}

/// Moves items of one column a little, so that a link from before them is straight, where there is room.
fn snap(columns: &Columns, column: usize, blocks: &[Block], pulls: &Pulls, tops: &mut [f64]) {
    let items = &columns.items[column];
    for (position, item) in items.iter().enumerate() {
        let number = columns.number(*item);
        let top = tops[number];
        let wanted = pulls.left[number].iter().map(|pull| tops[pull.other] + pull.offset);
        let nearest = wanted.min_by(|one, two| (one - top).abs().total_cmp(&(two - top).abs()));
        let Some(wanted) = nearest.filter(|wanted| (wanted - top).abs() <= SNAP) else { continue };
        let above = position.checked_sub(1).and_then(|above| items.get(above));
        let has_room_above = above.is_none_or(|above| {
            tops[columns.number(*above)] + step(*above, *item, blocks) <= wanted + 0.01
        });
        let has_room_below = items.get(position + 1).is_none_or(|below| {
            wanted + step(*item, *below, blocks) <= tops[columns.number(*below)] + 0.01
        });
        if has_room_above && has_room_below {
            tops[number] = wanted;
        }
    }
}
