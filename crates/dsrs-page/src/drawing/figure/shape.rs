//! One box of a picture: a node with its ports and what is inside, or an input or output of the graph.

use maud::{Markup, html};

use super::path::px;
use super::{FigureOptions, address, content};
use crate::drawing::diagram::{BoxKind, DiagramBox, Port};
use crate::drawing::layout::Rect;
use crate::drawing::picture::{
    BOLD, HEADER, Inside, MOST_PORT, NAME, PORT, SIDE, TYPE, port_height,
};
use crate::drawing::text::{Face, cut};

pub(super) fn node(
    shown: &DiagramBox,
    rect: Rect,
    inside: &[Inside],
    options: &FigureOptions<'_>,
) -> Markup {
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

pub(super) fn border(shown: &DiagramBox, rect: Rect) -> Markup {
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
