//! Positions for boxes and routes for the links between their ports, from left to right. Knows rectangles and
//! numbers, no graphs and no SVG.
//!
//! Boxes are in columns; a link that passes a column has a lane in it, where no box is. Links bend only between
//! columns, so they cross no box.

mod columns;
mod crossings;
mod layered;
mod ranked;
mod ranks;
mod route;
mod straighten;

pub(super) use route::{Route, Step};

use self::columns::Columns;
use self::route::Frame;

/// The most boxes and parts of links whose columns are the best possible. Beyond it, they are found in linear time.
const CAREFUL: usize = 500;

/// Where a box belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the first column.
    First,
    /// Anywhere between.
    Middle,
    /// In the last column.
    Last,
}

/// A box to place.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) place: Place,
    pub(super) width: f64,
    pub(super) height: f64,
    /// The heights of the ports at its left side, from its top.
    pub(super) left: Vec<f64>,
    /// The heights of the ports at its right side, from its top.
    pub(super) right: Vec<f64>,
    /// The room for labels to the left and to the right of it.
    pub(super) margins: (f64, f64),
}

/// A link: from the right port of a box to the left port of another one. Links form no circle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) from: (usize, usize),
    pub(super) to: (usize, usize),
}

/// A placed box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Where everything is.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) width: f64,
    pub(super) height: f64,
    /// As many as there are boxes, in their order.
    pub(super) rects: Vec<Rect>,
    /// As many as there are links, in their order.
    pub(super) routes: Vec<Route>,
}

/// Places boxes and routes links.
pub(super) fn lay_out(blocks: &[Block], links: &[Link]) -> Layout {
    let columns = order(blocks, links);
    let tops = straighten::tops(&columns, blocks, links);
    Frame::of(&columns, blocks, links, &tops).layout(&columns, blocks, links, &tops)
}

fn order(blocks: &[Block], links: &[Link]) -> Columns {
    let ranks = ranks::ranks(blocks, links);
    let spans = links.iter().map(|link| ranks[link.to.0].saturating_sub(ranks[link.from.0]));
    let size = blocks.len() + spans.sum::<usize>();
    let careful = if size <= CAREFUL { ranked::ranked(blocks, links) } else { None };
    match careful {
        Some(found) => layered::columns(blocks, links, &found.ranks, Some(&found.heights)),
        None => layered::columns(blocks, links, &ranks, None),
    }
}

#[cfg(test)]
mod tests;
