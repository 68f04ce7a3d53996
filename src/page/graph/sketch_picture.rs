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
/// The height of an input or output of the graph.
const BORDER: usize = 26;

/// A box of the picture: a node, or an input or output of the graph.
struct Placed<'s> {
    /// What its ports are named after: the node, `input` or `@output`.
    owner: &'s str,
    name: &'s str,
    strategy: &'s str,
    inputs: &'s [Port],
    outputs: &'s [Port],
    x: usize,
    y: usize,
    height: usize,
}

impl Placed<'_> {
    fn is_border(&self) -> bool {
        matches!(self.owner, "input" | "@output")
    }

    /// The height of a port.
    fn port_height(&self, row: usize) -> usize {
        if self.is_border() { BORDER / 2 } else { HEAD + ROW * row + ROW / 2 }
    }

    fn width(&self) -> usize {
        if self.is_border() { WIDTH - 60 } else { WIDTH }
    }
}

/// The picture of a graph.
pub(super) fn picture(sketch: &GraphSketch) -> Markup {
    let ends: Vec<Port> = sketch.outputs.iter().map(|output| output.port.clone()).collect();
    let boxes = place(sketch, &ends);
    let width = boxes.iter().map(|placed| placed.x + placed.width()).max().unwrap_or(WIDTH) + 12;
    let height = boxes.iter().map(|placed| placed.y + placed.height).max().unwrap_or(ROW) + 12;
    let edges = sketch
        .edges
        .iter()
        .enumerate()
        .map(|(index, (from, to))| (format!("/edges/{index}"), from.clone(), to.clone()));
    let outputs = sketch.outputs.iter().map(|output| {
        (
            format!("/outputs/{}", output.port.name),
            output.from.clone(),
            format!("@output.{}", output.port.name),
        )
    });
    html! {
        svg.drawing-picture xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (width) " " (height) } width=(width) height=(height)
            role="group" aria-label="Picture of the graph" {
            @for (pointer, from, to) in edges.chain(outputs) { (edge(&boxes, &pointer, &from, &to)) }
            @for placed in &boxes { @if placed.is_border() { (border(placed)) } @else { (node(placed)) } }
        }
    }
}

fn place<'s>(sketch: &'s GraphSketch, ends: &'s [Port]) -> Vec<Placed<'s>> {
    let columns = columns(sketch);
    let last = columns.values().max().map_or(1, |last| last + 1);
    let alone = std::slice::from_ref::<Port>;
    let inputs =
        sketch.inputs.iter().map(|port| ("input", port.name.as_ref(), "", &[][..], alone(port), 0));
    let outputs =
        ends.iter().map(|port| ("@output", port.name.as_ref(), "", alone(port), &[][..], last));
    let nodes = sketch.nodes.iter().map(|node: &NodeSketch| {
        let column = columns.get(node.name.as_ref()).copied().unwrap_or(1);
        let name = node.name.as_ref();
        (name, name, node.strategy.as_ref(), &node.inputs[..], &node.outputs[..], column)
    });
    let mut bottoms: HashMap<usize, usize> = HashMap::new();
    let boxes = inputs.chain(nodes).chain(outputs);
    let boxes = boxes.map(|(owner, name, strategy, inputs, outputs, column)| {
        let mut placed = Placed {
            owner,
            name,
            strategy,
            inputs,
            outputs,
            x: 12 + column * (WIDTH + GAP_X),
            y: 0,
            height: BORDER,
        };
        if !placed.is_border() {
            placed.height = HEAD + ROW * inputs.len().max(outputs.len()).max(1) + 4;
        }
        let bottom = bottoms.entry(column).or_insert(12);
        placed.y = *bottom;
        *bottom += placed.height + GAP_Y;
        placed
    });
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
    html! {
        g.node data-node=(placed.name) transform={ "translate(" (placed.x) " " (placed.y) ")" } {
            title { (placed.name) " " (placed.strategy) }
            rect.body width=(WIDTH) height=(placed.height) rx="7" {}
            text.name x="12" y="18" { (cut(placed.name, 24)) }
            text.strategy x="12" y="33" { (cut(placed.strategy, 28)) }
            @for (row, port) in placed.inputs.iter().enumerate() { (port_of(placed, port, row, "in")) }
            @for (row, port) in placed.outputs.iter().enumerate() { (port_of(placed, port, row, "out")) }
        }
    }
}

fn border(placed: &Placed<'_>) -> Markup {
    let is_input = placed.owner == "input";
    let ports = if is_input { placed.outputs } else { placed.inputs };
    html! {
        @for port in ports {
            g.border.input[is_input].output[!is_input] data-port={ (placed.owner) "." (port.name) } data-side=(if is_input { "out" } else { "in" })
                transform={ "translate(" (placed.x) " " (placed.y) ")" } {
                title { (hover(port)) }
                rect width=(placed.width()) height=(BORDER) rx="13" {}
                text.port-name x=(placed.width() / 2) y="17" text-anchor="middle" { (cut(&port.name, 16)) }
            }
        }
    }
}

fn port_of(placed: &Placed<'_>, port: &Port, row: usize, side: &str) -> Markup {
    let (x, anchor, text) =
        if side == "in" { (0, "start", 12) } else { (WIDTH, "end", WIDTH - 12) };
    let y = placed.port_height(row);
    html! {
        g.port data-port={ (placed.owner) "." (port.name) } data-side=(side) {
            title { (hover(port)) }
            rect.reach x=(if side == "in" { 0 } else { WIDTH / 2 }) y=(y - ROW / 2) width=(WIDTH / 2) height=(ROW) fill="transparent" {}
            circle cx=(x) cy=(y) r="4" {}
            text.port-name x=(text) y=(y + 4) text-anchor=(anchor) { (cut(&port.name, 12)) }
        }
    }
}

fn hover(port: &Port) -> String {
    format!("{}: {}", port.name, port.ty.as_deref().unwrap_or("not known yet"))
}

fn edge(boxes: &[Placed<'_>], pointer: &str, from: &str, to: &str) -> Markup {
    let (start, end) = (point(boxes, from, true), point(boxes, to, false));
    html! {
        @if let (Some((x1, y1, source)), Some((x2, y2, target))) = (start, end) {
            @let bend = x2.abs_diff(x1).max(60) / 2;
            @let path = format!("M{x1} {y1}C{} {y1} {} {y2} {x2} {y2}", x1 + bend, x2.saturating_sub(bend));
            g.edge data-edge=(pointer) data-from=(source) data-to=(target) {
                title { (from) " → " (to) }
                path.hit d=(path) fill="none" {}
                path.line d=(path) fill="none" {}
            }
        }
    }
}

/// The place of an end of an edge, and the name of its port.
fn point(boxes: &[Placed<'_>], end: &str, is_source: bool) -> Option<(usize, usize, String)> {
    let (owner, field) = end.split_once('.')?;
    let field = field.split(['.', '[']).next()?;
    for placed in boxes.iter().filter(|placed| placed.owner == owner) {
        let ports = if is_source { placed.outputs } else { placed.inputs };
        if let Some(row) = ports.iter().position(|port| port.name.as_ref() == field) {
            let x = placed.x + if is_source { placed.width() } else { 0 };
            return Some((x, placed.y + placed.port_height(row), format!("{owner}.{field}")));
        }
    }
    None
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}
