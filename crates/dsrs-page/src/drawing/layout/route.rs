//! The columns in pixels, and the routes of links: straight beside boxes, curved between columns.

use super::columns::{Columns, Item};
use super::{Block, Link, PictureLayout, Rect};

/// The edge of the picture.
const MARGIN: f64 = 12.0;

/// The room for a curve between two columns.
const LEAST_CURVE: f64 = 44.0;
const MOST_CURVE: f64 = 240.0;

/// Boxes up to this width get the width of the widest one in their column.
const ALIKE: f64 = 340.0;

/// A part of a route.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::drawing) enum Step {
    /// Straight to the right, up to x.
    Straight(f64),
    /// A curve that begins and ends level.
    Curve(f64, f64),
}

/// The way of a link from port to port.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::drawing) struct EdgeRoute {
    pub(in crate::drawing) start: (f64, f64),
    pub(in crate::drawing) steps: Vec<Step>,
}

impl EdgeRoute {
    /// The way of a link that closes a circle: out to the right, and back.
    pub(super) fn back(link: &Link, blocks: &[Block], rects: &[Rect]) -> Self {
        let (source, target) = (rects[link.from.0], rects[link.to.0]);
        let start = (source.x + source.width, source.y + blocks[link.from.0].right[link.from.1]);
        let end = (target.x, target.y + blocks[link.to.0].left[link.to.1]);
        let steps = vec![
            Step::Straight(start.0 + MARGIN),
            Step::Curve(end.0 - MARGIN, end.1),
            Step::Straight(end.0),
        ];
        Self { start, steps }
    }

    /// Where it ends.
    pub(in crate::drawing) fn end(&self) -> (f64, f64) {
        self.steps.iter().fold(self.start, |at, step| match *step {
            Step::Straight(x) => (x, at.1),
            Step::Curve(x, y) => (x, y),
        })
    }
}

/// A column in pixels.
#[derive(Clone, Copy, Debug)]
struct Column {
    left: f64,
    right: f64,
    /// The width of its boxes that are not much wider than others.
    alike: f64,
    /// The room for labels at both sides.
    margins: (f64, f64),
}

/// The columns in pixels.
pub(super) struct Frame(Vec<Column>);

impl Frame {
    pub(super) fn of(columns: &Columns, blocks: &[Block], links: &[Link], tops: &[f64]) -> Self {
        let curves = curves(columns, blocks, links, tops);
        let mut frame: Vec<Column> = Vec::with_capacity(columns.items.len());
        let mut at = MARGIN;
        for (items, curve) in columns.items.iter().zip(curves) {
            let mut column = column(items, blocks);
            let width = column.right;
            if !frame.is_empty() {
                at += column.margins.0;
            }
            (column.left, column.right) = (at, at + width);
            at += width + column.margins.1 + curve;
            frame.push(column);
        }
        Self(frame)
    }

    pub(super) fn layout(
        &self,
        columns: &Columns,
        blocks: &[Block],
        links: &[Link],
        tops: &[f64],
    ) -> PictureLayout {
        let rect = |(index, block): (usize, &Block)| {
            let column = self.0[columns.column_of[index]];
            let width = if block.width <= ALIKE { column.alike } else { block.width };
            Rect { x: column.left, y: tops[index] + MARGIN, width, height: block.height }
        };
        let rects: Vec<Rect> = blocks.iter().enumerate().map(rect).collect();
        let routes = links.iter().enumerate();
        let routes =
            routes.map(|(index, link)| self.route(columns, blocks, (index, link), &rects, tops));
        let routes = routes.collect();
        let width = self.0.last().map_or(0.0, |column| column.right) + MARGIN;
        let bottoms = rects.iter().map(|rect| rect.y + rect.height);
        let lanes = tops.iter().map(|top| top + MARGIN);
        let height = bottoms.chain(lanes).fold(0.0, f64::max) + MARGIN;
        PictureLayout { width, height, rects, routes }
    }

    fn route(
        &self,
        columns: &Columns,
        blocks: &[Block],
        (index, link): (usize, &Link),
        rects: &[Rect],
        tops: &[f64],
    ) -> EdgeRoute {
        let source = rects[link.from.0];
        let start = (source.x + source.width, source.y + blocks[link.from.0].right[link.from.1]);
        let mut steps = Vec::new();
        let (mut column, mut height) = (columns.column_of[link.from.0], start.1);
        for (_, (item, offset)) in columns.parts(index, link, blocks) {
            let here = self.0[column];
            column += 1;
            let next = self.0[column];
            steps.push(Step::Straight(here.right + here.margins.1));
            let to = tops[columns.number(item)] + offset + MARGIN;
            let bend = next.left - next.margins.0;
            // A difference that cannot be seen is no curve.
            if (to - height).abs() < 0.5 {
                steps.push(Step::Straight(bend));
            } else {
                steps.push(Step::Curve(bend, to));
                height = to;
            }
        }
        steps.push(Step::Straight(rects[link.to.0].x));
        EdgeRoute { start, steps: joined(steps) }
    }
}

/// The same without a straight part that another one continues.
fn joined(steps: Vec<Step>) -> Vec<Step> {
    let mut joined: Vec<Step> = Vec::with_capacity(steps.len());
    for step in steps {
        if let (Some(Step::Straight(end)), Step::Straight(x)) = (joined.last_mut(), step) {
            *end = x;
        } else {
            joined.push(step);
        }
    }
    joined
}

/// A column at 0, with its width as its right side.
fn column(items: &[Item], blocks: &[Block]) -> Column {
    let mut column = Column { left: 0.0, right: 0.0, alike: 0.0, margins: (0.0, 0.0) };
    for item in items {
        let Item::Block(block) = item else { continue };
        let block = &blocks[*block];
        column.right = column.right.max(block.width);
        if block.width <= ALIKE {
            column.alike = column.alike.max(block.width);
        }
        column.margins.0 = column.margins.0.max(block.margins.0);
        column.margins.1 = column.margins.1.max(block.margins.1);
    }
    column
}

/// The room for curves behind each column: the steeper they are, the more.
fn curves(columns: &Columns, blocks: &[Block], links: &[Link], tops: &[f64]) -> Vec<f64> {
    let mut curves = vec![LEAST_CURVE; columns.items.len()];
    for (index, link) in links.iter().enumerate() {
        let start = columns.column_of[link.from.0];
        for (column, (from, to)) in (start..).zip(columns.parts(index, link, blocks)) {
            let top = |(item, offset): (Item, f64)| tops[columns.number(item)] + offset;
            let wanted = LEAST_CURVE + 0.16 * (top(to) - top(from)).abs();
            curves[column] = curves[column].max(wanted).min(MOST_CURVE);
        }
    }
    curves
}
