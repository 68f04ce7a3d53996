//! A picture as SVG in its frame: links and ports that work without script and are read by screen readers. Knows
//! positions, but no views: a view says where links lead.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::diagram::{BoxKind, DiagramBox, DiagramEdge, Port};
use super::layout::{Rect, Route, Step};
use super::picture::{
    BOLD, HEADER, Inside, MOST_PORT, MOST_TYPE, NAME, PORT, Picture, SIDE, TYPE, port_height,
    selection_text,
};
use super::text::{Face, cut};
use crate::page::form::encoded;

/// What a view chooses about a picture.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::page) struct FigureOptions<'o> {
    /// The path of the node that is selected.
    pub(in crate::page) selected: Option<&'o str>,
    /// The nodes that are open.
    pub(in crate::page) opened: &'o [String],
    /// The other parameters of the view's address, which links retain: names and values.
    pub(in crate::page) query: &'o [(&'o str, &'o str)],
    /// The part of the page that a selected node is described in, without `#`.
    pub(in crate::page) target: &'o str,
}

/// The picture in its frame.
pub(super) fn figure(picture: &Picture, options: &FigureOptions<'_>) -> Markup {
    let nodes = picture.diagram.nodes();
    let label = format!(
        "Graph {}: {nodes} {}, {} edges",
        picture.diagram.name,
        if nodes == 1 { "node" } else { "nodes" },
        picture.diagram.edges.len()
    );
    let (width, height) = (picture.layout.width.ceil(), picture.layout.height.ceil());
    html! {
        figure.drawing data-graph=(picture.diagram.name) {
            div.drawing-tools hidden {
                button type="button" data-zoom="out" aria-label="Zoom out" title="Zoom out (−)" { "−" }
                button type="button" data-zoom="fit" title="Fit to the frame (0)" { "Fit" }
                button type="button" data-zoom="in" aria-label="Zoom in" title="Zoom in (+)" { "+" }
            }
            div.drawing-frame tabindex="0" role="region" aria-label=(label) {
                svg.drawing-picture viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height)
                    role="graphics-document" aria-roledescription="graph" aria-label=(label) {
                    (content(picture, options))
                }
            }
        }
    }
}

fn content(picture: &Picture, options: &FigureOptions<'_>) -> Markup {
    let boxes = picture.diagram.boxes.iter().zip(&picture.layout.rects).zip(&picture.inside);
    html! {
        g.edges {
            @for (edge, route) in picture.diagram.edges.iter().zip(&picture.layout.routes) {
                (edge_group(picture, edge, route))
            }
        }
        @for ((shown, rect), inside) in boxes {
            @if shown.is_node() { (node(shown, *rect, inside, options)) } @else { (border(shown, *rect)) }
        }
        g.types {
            @for (shown, port, x, y) in connected(picture) {
                text.type data-of=(shown.port_name(port)) x=(px(x + 8.0)) y=(px(y - 4.0)) {
                    (cut(&port.ty, Face::Mono, TYPE, MOST_TYPE))
                }
            }
        }
    }
}

/// The right ports that have edges, each once, with their places.
fn connected(picture: &Picture) -> Vec<(&DiagramBox, &Port, f64, f64)> {
    let mut ports: Vec<(usize, usize)> =
        picture.diagram.edges.iter().map(|edge| edge.from).collect();
    ports.sort_unstable();
    ports.dedup();
    let place = |(index, position): (usize, usize)| {
        let (shown, rect) = (&picture.diagram.boxes[index], picture.layout.rects[index]);
        (
            shown,
            &shown.outputs[position],
            rect.x + rect.width,
            rect.y + port_height(shown, position),
        )
    };
    ports.into_iter().map(place).collect()
}

fn edge_group(picture: &Picture, edge: &DiagramEdge, route: &Route) -> Markup {
    let (source, target) = (&picture.diagram.boxes[edge.from.0], &picture.diagram.boxes[edge.to.0]);
    let (from, to) = (&source.outputs[edge.from.1], &target.inputs[edge.to.1]);
    let (x, y) = route.end();
    let path = path_data(route, 9.0);
    let selection = selection_text(&edge.selection);
    html! {
        g.edge data-edge=(edge.pointer) data-from=(source.port_name(from)) data-to=(target.port_name(to)) {
            title { (edge.source) " → " (target_name(target, to)) "\n" (edge.ty) }
            path.hit d=(path) {}
            path.line d=(path) {}
            path.head d=(format!("M{} {}l-7 -3.6v7.2z", px(x - 3.5), px(y))) {}
            @if !selection.is_empty() {
                text.selection x=(px(x - 11.0)) y=(px(y - 5.0)) { (cut(&selection, Face::Mono, TYPE, MOST_TYPE)) }
            }
        }
    }
}

fn target_name(target: &DiagramBox, port: &Port) -> String {
    match target.kind {
        BoxKind::Output => port.name.clone(),
        _ => format!("{}.{}", target.name, port.name),
    }
}

fn border(shown: &DiagramBox, rect: Rect) -> Markup {
    let is_input = shown.kind == BoxKind::Input;
    let class = if is_input { "border input" } else { "border output" };
    let Some(port) = shown.outputs.first().or(shown.inputs.first()) else { return html! {} };
    let middle = rect.y + rect.height / 2.0;
    html! {
        g class=(class) data-port=(shown.port_name(port)) data-side=(if is_input { "out" } else { "in" }) {
            title { (if is_input { "input " } else { "output " }) (hover(port)) }
            rect x=(px(rect.x)) y=(px(rect.y)) width=(px(rect.width)) height=(px(rect.height)) rx=(px(rect.height / 2.0)) {}
            text.port-name x=(px(rect.x + rect.width / 2.0)) y=(px(middle + 4.0)) {
                (cut(&shown.name, Face::Sans, PORT, MOST_PORT))
            }
        }
    }
}

fn node(shown: &DiagramBox, rect: Rect, inside: &[Inside], options: &FigureOptions<'_>) -> Markup {
    let selected = options.selected == Some(shown.path.as_str());
    let class =
        format!("node {}{}", kind_class(shown.kind), if selected { " selected" } else { "" });
    let name_room = rect.width - 2.0 * SIDE - if shown.opens { 28.0 } else { 0.0 };
    html! {
        g class=(class) data-node=(shown.path) transform=(format!("translate({} {})", px(rect.x), px(rect.y))) {
            a.node-link href=(address(options, &shown.path, options.opened)) aria-label=(spoken(shown))
                aria-current=[selected.then_some("true")] {
                rect.body width=(px(rect.width)) height=(px(rect.height)) rx="7" {}
                path.header d=(header_path(rect.width)) {}
                @if !shown.about.is_empty() { title { (about(&shown.about)) } }
                text.name x=(px(SIDE)) y="17.5" { (cut(&shown.name, Face::Sans, NAME * BOLD, name_room)) }
                circle.kind cx=(px(SIDE + 3.0)) cy="31" r="3" {}
                text.strategy x=(px(SIDE + 12.0)) y="34.5" { (cut(&shown.strategy, Face::Mono, TYPE, name_room - 12.0)) }
            }
            @for (position, port) in shown.inputs.iter().enumerate() {
                (port_group(shown, port, "in", (0.0, SIDE, port_height(shown, position))))
            }
            @for (position, port) in shown.outputs.iter().enumerate() {
                (port_group(shown, port, "out", (rect.width, rect.width - SIDE, port_height(shown, position))))
            }
            @if shown.opens { (toggle(shown, rect, !inside.is_empty(), options)) }
            @for part in inside { (inside_group(part, rect, options)) }
        }
    }
}

fn port_group(
    shown: &DiagramBox,
    port: &Port,
    side: &str,
    (x, text, y): (f64, f64, f64),
) -> Markup {
    let class = format!("port {side}");
    html! {
        g class=(class) data-port=(shown.port_name(port)) data-side=(side) {
            title { (hover(port)) }
            rect.reach x=(px(if side == "in" { -6.0 } else { x / 2.0 })) y=(px(y - 11.0)) width=(px((x.max(text * 2.0) / 2.0).max(40.0) + 6.0)) height="22" {}
            circle cx=(px(x)) cy=(px(y)) r="3.5" {}
            text.port-name x=(px(text)) y=(px(y + 4.0)) { (cut(&port.name, Face::Sans, PORT, MOST_PORT)) }
        }
    }
}

fn toggle(shown: &DiagramBox, rect: Rect, is_open: bool, options: &FigureOptions<'_>) -> Markup {
    let mut opened: Vec<String> =
        options.opened.iter().filter(|path| **path != shown.path).cloned().collect();
    let label = if is_open { "Close" } else { "Open" };
    if !is_open {
        opened.push(shown.path.clone());
    }
    let (x, y) = (rect.width - 30.0, 10.0);
    html! {
        a.toggle href=(address(options, options.selected.unwrap_or_default(), &opened)) aria-label={ (label) " " (shown.name) }
            data-toggle=(shown.path) {
            title { (label) " what is inside" }
            rect x=(px(x)) y=(px(y)) width="20" height="20" rx="4" {}
            path d=(format!("M{} {}h10{}", px(x + 5.0), px(y + 10.0), if is_open { "" } else { "m-5 -5v10" })) {}
        }
    }
}

fn inside_group(part: &Inside, rect: Rect, options: &FigureOptions<'_>) -> Markup {
    let layout = &part.picture.layout;
    let width = (rect.width - 2.0 * part.x).max(layout.width);
    html! {
        g.inside transform=(format!("translate({} {})", px(part.x), px(part.y))) {
            rect.ground width=(px(width)) height=(px(layout.height)) rx="6" {}
            text.label x="2" y="-6" { (cut(&part.label, Face::Sans, PORT, width)) }
            (content(&part.picture, options))
        }
    }
}

/// The address of the same view with another node selected.
fn address(options: &FigureOptions<'_>, node: &str, opened: &[String]) -> String {
    let mut address = String::from("?");
    for (name, value) in options.query {
        let _ = write!(address, "{}={}&", encoded(name), encoded(value));
    }
    for path in opened {
        let _ = write!(address, "open={}&", encoded(path));
    }
    if node.is_empty() {
        address.truncate(address.len() - usize::from(address.len() > 1));
    } else {
        let _ = write!(address, "node={}", encoded(node));
        if !options.target.is_empty() {
            let _ = write!(address, "#{}", options.target);
        }
    }
    address
}

const fn kind_class(kind: BoxKind) -> &'static str {
    match kind {
        BoxKind::Input => "input",
        BoxKind::Output => "output",
        BoxKind::Strategy => "strategy",
        BoxKind::Op => "op",
        BoxKind::Graph => "graph",
        BoxKind::Wait => "wait",
    }
}

/// A node as a screen reader says it.
fn spoken(shown: &DiagramBox) -> String {
    let fields = |ports: &[Port]| {
        let texts: Vec<String> =
            ports.iter().map(|port| format!("{} {}", port.name, port.ty)).collect();
        if texts.is_empty() { "nothing".to_owned() } else { texts.join(", ") }
    };
    format!(
        "{}, {}: {} → {}",
        shown.name,
        shown.strategy,
        fields(&shown.inputs),
        fields(&shown.outputs)
    )
}

fn about(text: &str) -> String {
    text.chars().take(300).collect()
}

/// A field with its type, its definitions and its description.
fn hover(port: &Port) -> String {
    let mut text = format!("{}: {}", port.name, port.ty);
    for more in [&*port.definitions, port.description.as_deref().unwrap_or_default()] {
        if !more.is_empty() {
            text.push('\n');
            text.push_str(more);
        }
    }
    text
}

/// The head of a box, round at its upper corners.
fn header_path(width: f64) -> String {
    let w = px(width - 1.0);
    format!("M1 {HEADER}V8a7 7 0 0 1 7 -7H{}A7 7 0 0 1 {w} 8V{HEADER}z", px(width - 8.0))
}

/// The data of a path, ending `short` before its end.
pub(super) fn path_data(route: &Route, short: f64) -> String {
    let (mut x, mut y) = route.start;
    let mut data = format!("M{} {}", px(x), px(y));
    for (index, step) in route.steps.iter().enumerate() {
        let end = if index + 1 == route.steps.len() { short } else { 0.0 };
        match *step {
            Step::Straight(to) => {
                x = to - end;
                let _ = write!(data, "H{}", px(x));
            }
            Step::Curve(to_x, to_y) => {
                let middle = px((x + to_x) / 2.0);
                let _ = write!(
                    data,
                    "C{middle} {} {middle} {} {} {}",
                    px(y),
                    px(to_y),
                    px(to_x),
                    px(to_y)
                );
                (x, y) = (to_x, to_y);
            }
        }
    }
    data
}

/// A length with at most one decimal.
pub(super) fn px(length: f64) -> String {
    let rounded = (length * 10.0).round() / 10.0;
    // No `-0`.
    format!("{}", if rounded == 0.0 { 0.0 } else { rounded })
}
