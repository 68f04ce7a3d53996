//! The picture of a graph that may be unfinished: nodes in columns, left to right, with a port for each field. Knows no
//! view.

use std::collections::HashMap;

use maud::{Markup, html};

use crate::app::{GraphSketch, NodeSketch, Port};

const WIDTH: usize = 190;
const ROW: usize = 20;
const HEAD: usize = 40;
const GAP_X: usize = 80;
const GAP_Y: usize = 24;

/// A box of the picture: a node, the inputs or the outputs of the graph.
struct Placed<'s> {
    name: &'s str,
    strategy: &'s str,
    inputs: &'s [Port],
    outputs: &'s [Port],
    x: usize,
    y: usize,
    height: usize,
}

/// The picture of a graph.
pub(super) fn picture(sketch: &GraphSketch) -> Markup {
    let ends: Vec<Port> = sketch.outputs.iter().map(|output| output.port.clone()).collect();
    let boxes = place(sketch, &ends);
    let width = boxes.iter().map(|placed| placed.x + WIDTH).max().unwrap_or(WIDTH) + 12;
    let height = boxes.iter().map(|placed| placed.y + placed.height).max().unwrap_or(ROW) + 12;
    let of_outputs = sketch
        .outputs
        .iter()
        .map(|output| (output.from.clone(), format!("output.{}", output.port.name)));
    html! {
        svg.drawing xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height) role="img" aria-label="Picture of the graph" {
            @for (from, to) in sketch.edges.iter().cloned().chain(of_outputs) { (edge(&boxes, &from, &to)) }
            @for placed in &boxes { (node(placed)) }
        }
    }
}

fn place<'s>(sketch: &'s GraphSketch, ends: &'s [Port]) -> Vec<Placed<'s>> {
    let columns = columns(sketch);
    let last = columns.values().max().map_or(1, |last| last + 1);
    let inputs =
        (!sketch.inputs.is_empty()).then_some(("input", "", &[][..], &sketch.inputs[..], 0));
    let outputs = (!ends.is_empty()).then_some(("output", "", ends, &[][..], last));
    let nodes = sketch.nodes.iter().map(|node: &NodeSketch| {
        let column = columns.get(node.name.as_ref()).copied().unwrap_or(1);
        (node.name.as_ref(), node.strategy.as_ref(), &node.inputs[..], &node.outputs[..], column)
    });
    let mut bottoms: HashMap<usize, usize> = HashMap::new();
    let boxes = inputs.into_iter().chain(nodes).chain(outputs).map(
        |(name, strategy, inputs, outputs, column)| {
            let height = HEAD + ROW * inputs.len().max(outputs.len()).max(1);
            let bottom = bottoms.entry(column).or_insert(12);
            let y = *bottom;
            *bottom += height + GAP_Y;
            Placed { name, strategy, inputs, outputs, x: 12 + column * (WIDTH + GAP_X), y, height }
        },
    );
    boxes.collect()
}

/// The column of each node: one behind the last of those that feed it.
fn columns(sketch: &GraphSketch) -> HashMap<&str, usize> {
    let mut columns: HashMap<&str, usize> =
        sketch.nodes.iter().map(|node| (node.name.as_ref(), 1)).collect();
    let ends = |(from, to): &'_ (String, String)| Some((from.find('.')?, to.find('.')?));
    for _ in 0..sketch.nodes.len().min(64) {
        let mut moved = false;
        for edge in &sketch.edges {
            let Some((from, to)) = ends(edge).map(|(from, to)| (&edge.0[..from], &edge.1[..to]))
            else {
                continue;
            };
            let Some(before) = columns.get(from).copied() else { continue };
            if let Some(column) =
                columns.get_mut(to).filter(|column| **column <= before && from != to)
            {
                *column = before + 1;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    columns
}

fn node(placed: &Placed<'_>) -> Markup {
    let is_border = matches!(placed.name, "input" | "output");
    html! {
        g.node.border[is_border] data-node=(placed.name) transform={ "translate(" (placed.x) " " (placed.y) ")" } {
            title { (placed.name) " " (placed.strategy) }
            rect.box width=(WIDTH) height=(placed.height) rx="6" {}
            text.name x="12" y="18" { (cut(if is_border { if placed.name == "input" { "Inputs" } else { "Outputs" } } else { placed.name }, 24)) }
            text.strategy x="12" y="33" { (cut(placed.strategy, 28)) }
            @for (row, port) in placed.inputs.iter().enumerate() { (port_of(placed, port, row, "in")) }
            @for (row, port) in placed.outputs.iter().enumerate() { (port_of(placed, port, row, "out")) }
        }
    }
}

fn port_of(placed: &Placed<'_>, port: &Port, row: usize, side: &str) -> Markup {
    let (x, anchor, text) =
        if side == "in" { (0, "start", 12) } else { (WIDTH, "end", WIDTH - 12) };
    html! {
        g.port data-node=(placed.name) data-port=(port.name) data-side=(side) data-type=[port.ty.as_deref()] transform={ "translate(0 " (HEAD + ROW * row + ROW / 2) ")" } {
            title { (port.name) ": " (port.ty.as_deref().unwrap_or("not known yet")) }
            circle.dot cx=(x) r="5" {}
            text x=(text) y="4" text-anchor=(anchor) { (cut(&port.name, 12)) }
        }
    }
}

fn edge(boxes: &[Placed<'_>], from: &str, to: &str) -> Markup {
    let start = point(boxes, from, true);
    let end = point(boxes, to, false);
    html! {
        @if let (Some((x1, y1)), Some((x2, y2))) = (start, end) {
            @let bend = x2.abs_diff(x1).max(60) / 2;
            path.edge data-from=(from) data-to=(to) fill="none"
                d={ "M" (x1) " " (y1) " C" (x1 + bend) " " (y1) " " (x2.saturating_sub(bend)) " " (y2) " " (x2) " " (y2) } {
                title { (from) " → " (to) }
            }
        }
    }
}

fn point(boxes: &[Placed<'_>], end: &str, is_source: bool) -> Option<(usize, usize)> {
    let (node, field) = end.split_once('.')?;
    let field = field.split(['.', '[']).next()?;
    let placed = boxes.iter().find(|placed| placed.name == node)?;
    let ports = if is_source { placed.outputs } else { placed.inputs };
    let row = ports.iter().position(|port| port.name.as_ref() == field)?;
    Some((placed.x + if is_source { WIDTH } else { 0 }, placed.y + HEAD + ROW * row + ROW / 2))
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}
