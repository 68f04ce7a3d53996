//! The diagram of a graph that is being written: what of it can be read. Knows sketches; neither sizes nor SVG.

use std::collections::HashMap;
use std::sync::Arc;

use dsrs::strategy::registry;

use super::border;
use crate::drawing::diagram::{BoxKind, Diagram, DiagramBox, DiagramEdge, Port};

/// How many characters of a type are shown at most.
const LONGEST_TYPE: usize = 200;

/// The diagram of a sketch. Edges whose ends do not exist are left out.
pub(in crate::drawing) fn sketched(sketch: &dsrs_app::GraphSketch) -> Diagram {
    let inputs = sketch.inputs.iter().map(|input| border("", BoxKind::Input, port(input)));
    let outputs = sketch.outputs.iter().map(|found| border("", BoxKind::Output, port(&found.port)));
    let boxes: Vec<DiagramBox> =
        inputs.chain(sketch.nodes.iter().map(node)).chain(outputs).collect();
    let edges = edges(sketch, &boxes);
    Diagram { name: String::new(), boxes, edges }
}

fn node(sketch: &dsrs_app::NodeSketch) -> DiagramBox {
    let kind = match (sketch.strategy.as_ref(), registry::get(&sketch.strategy)) {
        ("graph", _) => BoxKind::Graph,
        ("await", _) => BoxKind::Wait,
        (_, Some(strategy)) if strategy.op().is_some() => BoxKind::Op,
        _ => BoxKind::Strategy,
    };
    DiagramBox {
        name: sketch.name.to_string(),
        path: sketch.name.to_string(),
        kind,
        strategy: sketch.strategy.to_string(),
        about: String::new(),
        inputs: sketch.inputs.iter().map(port).collect(),
        outputs: sketch.outputs.iter().map(port).collect(),
        opens: false,
        parts: Vec::new(),
    }
}

fn port(sketch: &dsrs_app::SketchPort) -> Port {
    let ty: String = sketch.ty.as_deref().unwrap_or("?").chars().take(LONGEST_TYPE).collect();
    Port { name: sketch.name.to_string(), ty, definitions: Arc::from(""), description: None }
}

/// The box and the position of each port, by `node.field`.
fn places(boxes: &[DiagramBox], is_source: bool) -> HashMap<String, (usize, usize)> {
    let mut places = HashMap::new();
    for (index, shown) in boxes.iter().enumerate() {
        let ports = if is_source { &shown.outputs } else { &shown.inputs };
        for (position, port) in ports.iter().enumerate() {
            places.insert(shown.port_name(port), (index, position));
        }
    }
    places
}

fn edges(sketch: &dsrs_app::GraphSketch, boxes: &[DiagramBox]) -> Vec<DiagramEdge> {
    let (sources, targets) = (places(boxes, true), places(boxes, false));
    let edge = |from: &str, to: &str, pointer: String| {
        let (source, selection) = split(from);
        let place = *sources.get(source)?;
        let ty = boxes[place.0].outputs[place.1].ty.clone();
        Some(DiagramEdge {
            from: place,
            to: *targets.get(to)?,
            pointer,
            source: from.to_owned(),
            selection: selection.to_owned(),
            ty: if selection.is_empty() { ty } else { String::new() },
        })
    };
    let inner = sketch.edges.iter().enumerate();
    let inner = inner.filter_map(|(index, (from, to))| edge(from, to, format!("/edges/{index}")));
    let outer = sketch.outputs.iter().filter_map(|found| {
        let name = &found.port.name;
        edge(&found.from, &format!("@output.{name}"), format!("/outputs/{name}"))
    });
    inner.chain(outer).collect()
}

/// A source as its field and the part of it that is selected.
fn split(from: &str) -> (&str, &str) {
    let field = from.find('.').map_or(from.len(), |dot| dot + 1);
    let end = from[field..].find(['.', '[']).map_or(from.len(), |at| field + at);
    (&from[..end], from[end..].trim_start_matches('.'))
}
