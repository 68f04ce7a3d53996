//! The diagram of a checked graph. Knows graphs and what is open; neither sizes nor SVG.

mod part;
mod sketch;
mod type_texts;

use std::collections::HashMap;

use dsrs::graph::{INPUT, Node, Program, ProgramGraph, Source};
use dsrs::signature::FieldSchema;
use dsrs::strategy::stored_graphs;

pub(crate) use self::part::graphs_inside;
use self::part::parts;
pub(super) use self::sketch::sketched;
use self::type_texts::{TypeTexts, type_text};
use super::diagram::{BoxKind, Diagram, DiagramBox, DiagramEdge, Port};
use super::opened::Opened;

/// How many levels of nested graphs are drawn.
const MAX_DEPTH: usize = 6;

/// The diagram of a program. `opened` has the nodes that show what is inside.
pub(super) fn diagram(program: &Program, opened: &Opened) -> Diagram {
    within(program, opened, "", 0)
}

/// The same for the graph inside the node of a path.
fn within(program: &Program, opened: &Opened, path: &str, depth: usize) -> Diagram {
    let (graph, mut types) = (program.graph(), TypeTexts::default());
    let mut boxes: Vec<DiagramBox> = Vec::new();
    boxes.extend(
        graph.inputs().map(|field| border(path, BoxKind::Input, types.port(graph.defs(), field))),
    );
    for (name, node) in graph.nodes() {
        let mut shown = node_box(path, name, node, &mut types);
        if shown.opens && depth < MAX_DEPTH && opened.has(&shown.path) {
            shown.parts = parts(program, name, &shown.path, opened, depth + 1);
        }
        boxes.push(shown);
    }
    for (name, output) in graph.outputs() {
        let port =
            types.port(&output.ty.defs, &FieldSchema::of(name.clone(), output.ty.ir.clone()));
        boxes.push(border(path, BoxKind::Output, port));
    }
    let edges = edges(graph, &boxes);
    Diagram { name: graph.name().to_owned(), boxes, edges }
}

/// The path of something inside the node of a path.
fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}

fn border(path: &str, kind: BoxKind, port: Port) -> DiagramBox {
    let (inputs, outputs) = match kind {
        BoxKind::Output => (vec![port.clone()], Vec::new()),
        _ => (Vec::new(), vec![port.clone()]),
    };
    DiagramBox {
        path: joined(path, &port.name),
        name: port.name,
        kind,
        strategy: String::new(),
        about: port.description.unwrap_or_default(),
        inputs,
        outputs,
        opens: false,
        parts: Vec::new(),
    }
}

fn node_box(path: &str, name: &str, node: &Node, types: &mut TypeTexts) -> DiagramBox {
    let schema = node.schema();
    let kind = BoxKind::named(node.strategy());
    let about = if node.is_op() { String::new() } else { node.base().instructions.to_string() };
    DiagramBox {
        name: name.to_owned(),
        path: joined(path, name),
        kind,
        strategy: node.strategy().to_owned(),
        about,
        inputs: types.ports(&schema.defs, &schema.inputs),
        outputs: types.ports(&schema.defs, &schema.outputs),
        opens: part::opens(node) || !stored_graphs(node.strategy(), node.config()).is_empty(),
        parts: Vec::new(),
    }
}

/// The ports of the boxes by their names.
struct Places<'b>(HashMap<(&'b str, &'b str), (usize, usize)>);

impl<'b> Places<'b> {
    fn of(boxes: &'b [DiagramBox], is_source: bool) -> Self {
        let mut places = HashMap::new();
        for (index, shown) in boxes.iter().enumerate() {
            let ports = if is_source { &shown.outputs } else { &shown.inputs };
            let owner = match shown.kind {
                BoxKind::Input => INPUT,
                BoxKind::Output => "",
                _ => shown.name.as_str(),
            };
            for (position, port) in ports.iter().enumerate() {
                places.insert((owner, port.name.as_str()), (index, position));
            }
        }
        Self(places)
    }

    fn find(&self, owner: &str, field: &str) -> Option<(usize, usize)> {
        self.0.get(&(owner, field)).copied()
    }
}

/// The edges of the definition, and one to each output of the graph.
fn edges(graph: &ProgramGraph, boxes: &[DiagramBox]) -> Vec<DiagramEdge> {
    let (sources, targets) = (Places::of(boxes, true), Places::of(boxes, false));
    let edge = |source: &Source, to: Option<(usize, usize)>, pointer: String| {
        let ty = graph.source_type(source).map_or_else(String::new, |ty| type_text(&ty.ir));
        let selection = source.selection.split_first().map(|(_, rest)| rest.to_string());
        Some(DiagramEdge {
            from: sources.find(&source.node, source.field())?,
            to: to?,
            pointer,
            source: source.to_string(),
            selection: selection.unwrap_or_default(),
            ty,
        })
    };
    let inner = graph.edges().iter().enumerate().filter_map(|(index, found)| {
        let to = targets.find(&found.to.node, &found.to.field);
        edge(&found.from, to, format!("/edges/{index}"))
    });
    let outer = graph.outputs().filter_map(|(name, output)| {
        edge(&output.source, targets.find("", name), format!("/outputs/{name}"))
    });
    inner.chain(outer).collect()
}
