//! A diagram with sizes and positions: what fits into a box, and where it is in it. Knows the layout, but no SVG.

use super::diagram::{BoxKind, Diagram, DiagramBox};
use super::layout::{Block, Link, PictureLayout, Place, lay_out};
use super::text::{Face, width};

/// The sizes of texts.
pub(super) const NAME: f64 = 13.0;
pub(super) const PORT: f64 = 12.0;
pub(super) const TYPE: f64 = 10.5;

/// How much wider bold letters are.
pub(super) const BOLD: f64 = 1.08;

/// The height of the name and the strategy of a box, and of each row of ports.
pub(super) const HEADER: f64 = 42.0;
pub(super) const ROW: f64 = 22.0;
/// The room above and below the rows, and at the sides of texts.
const PADDING: f64 = 5.0;
pub(super) const SIDE: f64 = 12.0;
/// The height of an input or output of the graph.
const SMALL: f64 = 26.0;
/// The widest texts; longer ones are cut.
const MOST_NAME: f64 = 190.0;
pub(super) const MOST_PORT: f64 = 132.0;
pub(super) const MOST_TYPE: f64 = 112.0;
/// The room for an arrow head.
const ARROW: f64 = 14.0;
/// The head of what is inside a box.
const INSIDE_HEAD: f64 = 20.0;

/// A diagram with positions.
#[derive(Debug)]
pub(crate) struct Picture {
    pub(super) diagram: Diagram,
    pub(super) layout: PictureLayout,
    /// What is inside of each box.
    pub(super) inside: Vec<Vec<Inside>>,
}

/// A part in a box.
#[derive(Debug)]
pub(super) struct Inside {
    pub(super) label: String,
    /// The place of its picture, from the corner of the box.
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) picture: Picture,
}

impl Picture {
    /// Sizes and positions for a diagram.
    pub(super) fn of(mut diagram: Diagram) -> Self {
        let (mut blocks, mut inside) = (Vec::new(), Vec::new());
        for index in 0..diagram.boxes.len() {
            let mut block = block(&diagram, index);
            let shown = &mut diagram.boxes[index];
            inside.push(place_parts(shown, &mut block));
            blocks.push(block);
        }
        let links = diagram.edges.iter().map(|edge| Link { from: edge.from, to: edge.to });
        let links: Vec<Link> = links.collect();
        margins(&diagram, &mut blocks);
        let layout = lay_out(&blocks, &links);
        Self { diagram, layout, inside }
    }

    /// How much there is to draw.
    pub(super) fn weight(&self) -> usize {
        let inside = self.inside.iter().flatten().map(|part| part.picture.weight());
        self.diagram.boxes.len() + self.diagram.edges.len() + inside.sum::<usize>()
    }
}

/// The height of a port in its box.
pub(super) fn port_height(shown: &DiagramBox, position: usize) -> f64 {
    if shown.is_node() { HEADER + PADDING + ROW * (position as f64 + 0.5) } else { SMALL / 2.0 }
}

/// The text at the target's end of an edge: the part of the field that it connects.
pub(super) fn selection_text(selection: &str) -> String {
    if selection.is_empty() || selection.starts_with(['[', '.']) {
        selection.to_owned()
    } else {
        format!(".{selection}")
    }
}

fn block(diagram: &Diagram, index: usize) -> Block {
    let shown = &diagram.boxes[index];
    let rows = shown.inputs.len().max(shown.outputs.len());
    let height = if shown.is_node() { HEADER + 2.0 * PADDING + ROW * rows as f64 } else { SMALL };
    let heights = |count: usize| (0..count).map(|port| port_height(shown, port)).collect();
    let place = match shown.kind {
        BoxKind::Input => Place::First,
        BoxKind::Output => Place::Last,
        _ => Place::Middle,
    };
    Block {
        place,
        width: box_width(shown),
        height,
        left: heights(shown.inputs.len()),
        right: heights(shown.outputs.len()),
        margins: (ARROW, ARROW),
    }
}

fn box_width(shown: &DiagramBox) -> f64 {
    let port = |name: &str| width(name, Face::Sans, PORT).min(MOST_PORT);
    if !shown.is_node() {
        return port(&shown.name) + 2.0 * SIDE;
    }
    let toggle = if shown.opens { 28.0 } else { 0.0 };
    let name = width(&shown.name, Face::Sans, NAME * BOLD);
    let strategy = width(&shown.strategy, Face::Mono, TYPE) + 12.0;
    let head = name.max(strategy).min(MOST_NAME) + 2.0 * SIDE + toggle;
    let rows = shown.inputs.len().max(shown.outputs.len());
    let row = |row: usize| {
        let side =
            |ports: &[super::diagram::Port]| ports.get(row).map_or(0.0, |found| port(&found.name));
        let (left, right) = (side(&shown.inputs), side(&shown.outputs));
        let between = if left > 0.0 && right > 0.0 { 28.0 } else { 0.0 };
        left + between + right + 2.0 * SIDE
    };
    (0..rows).map(row).fold(head.max(120.0), f64::max).ceil()
}

/// The room for the types of connected ports, and for the selections of edges.
fn margins(diagram: &Diagram, blocks: &mut [Block]) {
    for edge in &diagram.edges {
        let (source, target) = (edge.from.0, edge.to.0);
        let ty = &diagram.boxes[source].outputs[edge.from.1].ty;
        let wanted = width(ty, Face::Mono, TYPE).min(MOST_TYPE) + 12.0;
        blocks[source].margins.1 = blocks[source].margins.1.max(wanted);
        if !edge.selection.is_empty() {
            let text = selection_text(&edge.selection);
            let wanted = width(&text, Face::Mono, TYPE).min(MOST_TYPE) + ARROW + 6.0;
            blocks[target].margins.0 = blocks[target].margins.0.max(wanted);
        }
    }
}

/// Makes room in a box for what is inside.
fn place_parts(shown: &mut DiagramBox, block: &mut Block) -> Vec<Inside> {
    let mut inside = Vec::new();
    for part in shown.parts.drain(..) {
        let picture = Picture::of(part.diagram);
        let y = block.height + if part.label.is_empty() { PADDING } else { INSIDE_HEAD };
        block.height = y + picture.layout.height + PADDING;
        block.width = block.width.max(picture.layout.width + 2.0 * SIDE);
        inside.push(Inside { label: part.label, x: SIDE, y, picture });
    }
    if !inside.is_empty() {
        block.height += PADDING;
    }
    inside
}
