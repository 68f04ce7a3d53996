//! The diagram of a graph that is being written: what of it can be read. Knows sketches; neither sizes nor SVG.
//! The diagram of a definition that is being written: every node as far as it can be read, valid or not.

use std::collections::HashMap;
use std::sync::Arc;

use dsrs::strategy::registry;

use super::border;
use crate::app;
use crate::page::drawing::diagram::{BoxKind, Diagram, DiagramBox, DiagramEdge, Port};

/// How many characters of a type are shown at most.
const LONGEST_TYPE: usize = 200;

/// The diagram of a sketch. Edges whose ends do not exist are left out.
pub(in crate::page::drawing) fn sketched(sketch: &app::GraphSketch) -> Diagram {
    let inputs = sketch.inputs.iter().map(|input| border("", BoxKind::Input, port(input)));
    let outputs = sketch.outputs.iter().map(|found| border("", BoxKind::Output, port(&found.port)));
    let boxes: Vec<DiagramBox> =
        inputs.chain(sketch.nodes.iter().map(node)).chain(outputs).collect();
use dsrs::graph::INPUT;

use crate::app::{self, GraphSketch, NodeSketch};
use crate::page::drawing::diagram::{BoxKind, Diagram, DiagramBox, DiagramEdge, Port};

/// A port by its owner and its name, as edges name it.
type Places<'s> = HashMap<(&'s str, &'s str), (usize, usize)>;

/// The owner of the graph's outputs.
const OUTPUT: &str = "@output";

/// The diagram of a sketch. Edges whose ends do not exist are left out.
pub(in crate::page::drawing) fn sketch_diagram(sketch: &GraphSketch) -> Diagram {
    let mut boxes: Vec<DiagramBox> =
        sketch.inputs.iter().map(|found| border(BoxKind::Input, found)).collect();
    boxes.extend(sketch.nodes.iter().map(node));
    boxes.extend(sketch.outputs.iter().map(|output| border(BoxKind::Output, &output.port)));
    let edges = edges(sketch, &boxes);
    Diagram { name: String::new(), boxes, edges }
}

fn node(sketch: &app::NodeSketch) -> DiagramBox {
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
fn port(found: &app::Port) -> Port {
    let ty = found.ty.as_deref().unwrap_or("not known yet");
    Port {
        name: found.name.to_string(),
        ty: ty.to_owned(),
        definitions: Arc::from(""),
        description: None,
    }
}

fn border(kind: BoxKind, found: &app::Port) -> DiagramBox {
    let ports = vec![port(found)];
    let (inputs, outputs) =
        if kind == BoxKind::Output { (ports, Vec::new()) } else { (Vec::new(), ports) };
    shape(&found.name, kind, "", inputs, outputs)
}

fn node(found: &NodeSketch) -> DiagramBox {
    let ports = |found: &[app::Port]| found.iter().map(port).collect();
    let kind = BoxKind::named(&found.strategy);
    shape(&found.name, kind, &found.strategy, ports(&found.inputs), ports(&found.outputs))
}

fn shape(
    name: &str,
    kind: BoxKind,
    strategy: &str,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
) -> DiagramBox {
    DiagramBox {
        name: name.to_owned(),
        path: name.to_owned(),
        kind,
        strategy: strategy.to_owned(),
        about: String::new(),
        inputs,
        outputs,
        opens: false,
        parts: Vec::new(),
    }
}

fn port(sketch: &app::SketchPort) -> Port {
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

fn edges(sketch: &app::GraphSketch, boxes: &[DiagramBox]) -> Vec<DiagramEdge> {
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
fn edges(sketch: &GraphSketch, boxes: &[DiagramBox]) -> Vec<DiagramEdge> {
    let (sources, targets) = (places(boxes, true), places(boxes, false));
    let edge = |from: &str, to: Option<(usize, usize)>, pointer: String| {
        let (owner, rest) = from.split_once('.')?;
        let field = rest.split(['.', '[']).next()?;
        let start = *sources.get(&(owner, field))?;
        let selection = rest.get(field.len()..).unwrap_or_default();
        Some(DiagramEdge {
            from: start,
            to: to?,
            pointer,
            source: from.to_owned(),
            selection: selection.trim_start_matches('.').to_owned(),
            ty: if selection.is_empty() {
                boxes[start.0].outputs[start.1].ty.clone()
            } else {
                String::new()
            },
        })
    };
    let inner = sketch.edges.iter().enumerate().filter_map(|(index, (from, to))| {
        let end = to.split_once('.').and_then(|end| targets.get(&end)).copied();
        edge(from, end, format!("/edges/{index}"))
    });
    let outer = sketch.outputs.iter().filter_map(|output| {
        let name = output.port.name.as_ref();
        edge(&output.from, targets.get(&(OUTPUT, name)).copied(), format!("/outputs/{name}"))
    });
    inner.chain(outer).collect()
}

/// A source as its field and the part of it that is selected.
fn split(from: &str) -> (&str, &str) {
    let field = from.find('.').map_or(from.len(), |dot| dot + 1);
    let end = from[field..].find(['.', '[']).map_or(from.len(), |at| field + at);
    (&from[..end], from[end..].trim_start_matches('.'))
fn places(boxes: &[DiagramBox], is_source: bool) -> Places<'_> {
    let mut places = Places::new();
    for (index, shown) in boxes.iter().enumerate() {
        let ports = if is_source { &shown.outputs } else { &shown.inputs };
        let owner = match shown.kind {
            BoxKind::Input => INPUT,
            BoxKind::Output => OUTPUT,
            _ => shown.name.as_str(),
        };
        for (position, port) in ports.iter().enumerate() {
            places.insert((owner, port.name.as_str()), (index, position));
        }
    }
    places
}
