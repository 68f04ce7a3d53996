//! A picture in small for lists: boxes and lines, no texts. Knows positions only.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::figure::{path_data, px};
use super::picture::Picture;

/// The most edges that are drawn.
const MOST_EDGES: usize = 2_000;

/// The picture in small. All boxes are one path and all lines another, so that a list of many stays light.
pub(super) fn thumbnail(picture: &Picture) -> Markup {
    let layout = &picture.layout;
    let (mut nodes, mut borders, mut lines) = (String::new(), String::new(), String::new());
    for (shown, rect) in picture.diagram.boxes.iter().zip(&layout.rects) {
        let path = if shown.is_node() { &mut nodes } else { &mut borders };
        let (width, height) = (px(rect.width), px(rect.height));
        let _ = write!(path, "M{} {}h{width}v{height}h-{width}z", px(rect.x), px(rect.y));
    }
    for route in layout.routes.iter().take(MOST_EDGES) {
        lines.push_str(&path_data(route, 0.0));
    }
    let label =
        format!("Picture of {} with {} nodes", picture.diagram.name, picture.diagram.nodes());
    html! {
        svg.thumbnail viewBox=(format!("0 0 {} {}", px(layout.width), px(layout.height))) role="img" aria-label=(label) {
            path.lines d=(lines) {}
            path.borders d=(borders) {}
            path.nodes d=(nodes) {}
        }
    }
}
