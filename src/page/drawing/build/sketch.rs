//! The diagram of a definition that is being written: every node as far as it can be read, valid or not.

use std::collections::HashMap;
use std::sync::Arc;

use dsrs::graph::INPUT;

use crate::app::{self, GraphSketch, NodeSketch};
use crate::page::drawing::diagram::{BoxKind, BoxPort, Diagram, DiagramBox, DiagramEdge};

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

fn port(found: &app::Port) -> BoxPort {
    let ty = found.ty.as_deref().unwrap_or("not known yet");
    BoxPort {
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
    inputs: Vec<BoxPort>,
    outputs: Vec<BoxPort>,
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
