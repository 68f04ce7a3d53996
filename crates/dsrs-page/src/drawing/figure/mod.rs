//! A picture as SVG in its frame: links and ports that work without script and are read by screen readers. Knows
//! positions, but no views: a view says where links lead.

mod path;
mod shape;

use std::fmt::Write as _;

use maud::{Markup, html};

pub(super) use self::path::{path_data, px};
use self::shape::{border, node};
use super::diagram::{BoxKind, DiagramBox, DiagramEdge, Port};
use super::layout::EdgeRoute;
use super::picture::{MOST_TYPE, Picture, TYPE, port_height, selection_text};
use super::text::{Face, cut};
use crate::form::encoded;

/// What a view chooses about a picture.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FigureOptions<'o> {
    /// The path of the node that is selected.
    pub(crate) selected: Option<&'o str>,
    /// The nodes that are open.
    pub(crate) opened: &'o [String],
    /// The other parameters of the view's address, which links retain: names and values.
    pub(crate) query: &'o [(&'o str, &'o str)],
    /// The part of the page that a selected node is described in, without `#`.
    pub(crate) target: &'o str,
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
    html! {
        figure.drawing data-graph=(picture.diagram.name) {
            div.drawing-frame tabindex="0" role="region" aria-label=(label) {
                (svg(picture, options, &label))
            }
            figcaption.drawing-tools hidden {
                span.hint { "Hover a field or an edge to follow its value." }
                button type="button" data-zoom="out" aria-label="Zoom out" title="Zoom out (−)" { "−" }
                button type="button" data-zoom="fit" title="Fit to the frame (0)" { "Fit" }
                button type="button" data-zoom="in" aria-label="Zoom in" title="Zoom in (+)" { "+" }
            }
        }
    }
}

/// The picture alone.
pub(super) fn svg(picture: &Picture, options: &FigureOptions<'_>, label: &str) -> Markup {
    let (width, height) = (picture.layout.width.ceil(), picture.layout.height.ceil());
    html! {
        svg.drawing-picture viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height)
            role="graphics-document" aria-roledescription="graph" aria-label=(label) {
            (content(picture, options))
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

fn edge_group(picture: &Picture, edge: &DiagramEdge, route: &EdgeRoute) -> Markup {
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

/// The address of the same view with another node selected.
fn address(options: &FigureOptions<'_>, node: &str, opened: &[String]) -> String {
    let mut address = String::from("?");
    for (name, value) in options.query {
        let _ = write!(address, "{}={}&", encoded(name), encoded(value));
    }
    if !opened.is_empty() {
        // Names have no commas.
        let paths: Vec<String> = opened.iter().map(|path| encoded(path)).collect();
        let _ = write!(address, "open={}&", paths.join(","));
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
