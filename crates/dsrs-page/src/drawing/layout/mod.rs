//! Positions for boxes and routes for the links between their ports, from left to right. Knows rectangles and
//! numbers, no graphs and no SVG.
//!
//! Boxes are in columns; a link that passes a column has a lane in it, where no box is. Links bend only between
//! columns, so they cross no box.

mod circles;
mod columns;
mod crossings;
mod layered;
mod ranked;
mod ranks;
mod route;
mod straighten;

pub(super) use route::{EdgeRoute, Step};

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

/// A link: from the right port of a box to the left port of another one.
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
pub(super) struct PictureLayout {
    pub(super) width: f64,
    pub(super) height: f64,
    /// As many as there are boxes, in their order.
    pub(super) rects: Vec<Rect>,
    /// As many as there are links, in their order.
    pub(super) routes: Vec<EdgeRoute>,
}

/// Places boxes and routes links. A link that closes a circle is routed last, and may cross boxes.
pub(super) fn lay_out(blocks: &[Block], links: &[Link]) -> PictureLayout {
    let is_forward = circles::forward(blocks.len(), links);
    let forward = links.iter().zip(&is_forward).filter(|(_, is_forward)| **is_forward);
    let forward: Vec<Link> = forward.map(|(link, _)| *link).collect();
    let columns = order(blocks, &forward);
    let tops = straighten::tops(&columns, blocks, &forward);
    let frame = Frame::of(&columns, blocks, &forward, &tops);
    let mut layout = frame.layout(&columns, blocks, &forward, &tops);
    if forward.len() < links.len() {
        let mut routed = std::mem::take(&mut layout.routes).into_iter();
        let route = |(link, is_forward): (&Link, &bool)| {
            let next = if *is_forward { routed.next() } else { None };
            next.unwrap_or_else(|| EdgeRoute::back(link, blocks, &layout.rects))
        };
        layout.routes = links.iter().zip(&is_forward).map(route).collect();
    }
    layout
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
