//! What is inside a node: a stored graph, or the strategies in its config. Knows diagrams, but no layout.

use dsrs::graph::{Node, Program};
use dsrs::signature::SignatureSchema;
use dsrs::strategy::{StoredGraphRef, stored_graphs};
use dsrs::value::Payload;

use super::type_texts::TypeTexts;
use super::{joined, within};
use crate::drawing::diagram::{BoxKind, Diagram, DiagramBox, DiagramEdge, Part};
use crate::drawing::opened::Opened;

/// The members of a config that are strategies.
const MEMBERS: [&str; 3] = ["module", "then", "else"];

/// Whether a node has strategies inside.
pub(super) fn opens(node: &Node) -> bool {
    MEMBERS.iter().any(|name| strategy_of(node.config(), name).is_some())
}

/// A stored graph inside a node: where it is in the config, and the path of what is in it.
pub(crate) struct GraphInside {
    member: Option<&'static str>,
    pub(crate) reference: StoredGraphRef,
    pub(crate) path: String,
}

/// The stored graphs inside the node of a path, each once.
pub(crate) fn graphs_inside(node: &Node, path: &str) -> Vec<GraphInside> {
    let mut found: Vec<GraphInside> = Vec::new();
    for member in MEMBERS {
        let named = strategy_of(node.config(), member).filter(|(strategy, _)| *strategy == "graph");
        let Some((strategy, config)) = named else { continue };
        let references = stored_graphs(strategy, config).into_iter();
        found.extend(references.map(|reference| GraphInside {
            member: Some(member),
            reference,
            path: joined(path, member),
        }));
    }
    for reference in stored_graphs(node.strategy(), node.config()) {
        if found.iter().all(|known| known.reference != reference) {
            let own = node.strategy() == "graph";
            let path = if own { path.to_owned() } else { joined(path, &reference.graph) };
            found.push(GraphInside { member: None, reference, path });
        }
    }
    found
}

/// What is inside a node: strategies, then stored graphs.
pub(super) fn parts(
    program: &Program,
    name: &str,
    path: &str,
    opened: &Opened,
    depth: usize,
) -> Vec<Part> {
    let Some(node) = program.graph().node(name) else { return Vec::new() };
    let mut parts = Vec::new();
    for member in MEMBERS {
        let strategy = strategy_of(node.config(), member).map(|(strategy, _)| strategy);
        if let Some(strategy) = strategy.filter(|strategy| *strategy != "graph") {
            parts.push(strategy_part(program, name, path, member, strategy));
        }
    }
    let graphs = graphs_inside(node, path);
    parts.extend(graphs.iter().filter_map(|inside| graph_part(inside, opened, depth)));
    parts
}

fn graph_part(inside: &GraphInside, opened: &Opened, depth: usize) -> Option<Part> {
    let program = opened.program(&inside.reference)?;
    let version =
        inside.reference.version.map_or_else(String::new, |version| format!(" v{version}"));
    let member = inside.member.map_or_else(String::new, |member| format!("{member}: "));
    let label = format!("{member}graph {}{version}", inside.reference.graph);
    Some(Part { label, diagram: within(program, opened, &inside.path, depth) })
}

/// A strategy in a config, as a diagram of one box.
fn strategy_part(program: &Program, node: &str, path: &str, member: &str, strategy: &str) -> Part {
    let below = format!("{node}.{member}");
    let is_inside = |found: &str| {
        found.strip_prefix(&below).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let predictors = program.predictors();
    let found =
        predictors.iter().find(|(found, _)| is_inside(found)).map(|(_, found)| found.schema());
    let diagram = Diagram {
        name: strategy.to_owned(),
        ..alone(member, path, strategy, found.map(AsRef::as_ref))
    };
    Part { label: String::new(), diagram }
}

fn alone(member: &str, path: &str, strategy: &str, schema: Option<&SignatureSchema>) -> Diagram {
    let (calls, mut types) = (schema.is_some(), TypeTexts::default());
    let shown = DiagramBox {
        name: member.to_owned(),
        path: joined(path, member),
        kind: if calls { BoxKind::Strategy } else { BoxKind::Op },
        strategy: strategy.to_owned(),
        about: schema.map_or_else(String::new, |schema| schema.instructions.to_string()),
        inputs: schema.map_or_else(Vec::new, |schema| types.ports(&schema.defs, &schema.inputs)),
        outputs: schema.map_or_else(Vec::new, |schema| types.ports(&schema.defs, &schema.outputs)),
        opens: false,
        parts: Vec::new(),
    };
    let edges: Vec<DiagramEdge> = Vec::new();
    Diagram { name: String::new(), boxes: vec![shown], edges }
}

fn strategy_of<'c>(config: &'c Payload, name: &str) -> Option<(&'c str, &'c Payload)> {
    static NO_CONFIG: Payload = Payload::Null;
    let member = config.as_map()?.get(name)?.as_map()?;
    let strategy = member.get("strategy")?.as_str()?;
    Some((strategy, member.get("config").unwrap_or(&NO_CONFIG)))
}
