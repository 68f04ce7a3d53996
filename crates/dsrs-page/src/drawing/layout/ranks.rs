//! The columns of large graphs, in linear time: each box behind its last source, or nearer to what reads it.

use super::columns::dense;
use super::{Block, Link, Place};

/// The column of each box.
pub(super) fn ranks(blocks: &[Block], links: &[Link]) -> Vec<usize> {
    let order = order(blocks, links);
    let mut ranks: Vec<usize> =
        blocks.iter().map(|block| usize::from(block.place != Place::First)).collect();
    let (mut sources, mut targets) =
        (vec![Vec::new(); blocks.len()], vec![Vec::new(); blocks.len()]);
    for link in links {
        sources[link.to.0].push(link.from.0);
        targets[link.from.0].push(link.to.0);
    }
    for index in &order {
        let behind = sources[*index].iter().map(|source| ranks[*source] + 1).max();
        ranks[*index] = ranks[*index].max(behind.unwrap_or(0));
    }
    let middle = blocks.iter().zip(&ranks).filter(|(block, _)| block.place != Place::Last);
    let last = middle.map(|(_, rank)| rank + 1).max().unwrap_or(0);
    for (rank, block) in ranks.iter_mut().zip(blocks) {
        if block.place == Place::Last {
            *rank = last;
        }
    }
    for index in order.iter().rev() {
        let before = targets[*index].iter().map(|target| ranks[*target]).min();
        let is_free =
            blocks[*index].place == Place::Middle && targets[*index].len() > sources[*index].len();
        if let Some(before) = before.filter(|_| is_free) {
            ranks[*index] = ranks[*index].max(before - 1);
        }
    }
    let dense = dense(ranks.iter().copied());
    ranks.iter().map(|rank| dense[rank]).collect()
}

/// The boxes so that each is behind its sources.
fn order(blocks: &[Block], links: &[Link]) -> Vec<usize> {
    let mut waits = vec![0_usize; blocks.len()];
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); blocks.len()];
    for link in links {
        waits[link.to.0] += 1;
        followers[link.from.0].push(link.to.0);
    }
    let mut order: Vec<usize> = (0..blocks.len()).filter(|index| waits[*index] == 0).collect();
    let mut at = 0;
    while let Some(index) = order.get(at).copied() {
        for follower in &followers[index] {
            waits[*follower] -= 1;
            if waits[*follower] == 0 {
                order.push(*follower);
            }
        }
        at += 1;
    }
    order
}
