//! What is inside a node: a stored graph, or the strategies in its config. Knows diagrams, but no layout.

use dsrs::graph::{Node, Program};
use dsrs::signature::SignatureSchema;
use dsrs::strategy::{StoredGraphRef, stored_graphs};
use dsrs::value::Payload;

use super::type_texts::TypeTexts;
use super::{joined, within};
use crate::page::drawing::diagram::{BoxKind, Diagram, DiagramBox, DiagramEdge, Part};
use crate::page::drawing::opened::Opened;

/// The members of a config that are strategies.
const MEMBERS: [&str; 3] = ["module", "then", "else"];

/// Whether a node has strategies inside.
pub(super) fn opens(node: &Node) -> bool {
    MEMBERS.iter().any(|name| strategy_of(node.config(), name).is_some())
}

/// What is inside a node, in the order of its config.
pub(super) fn parts(
    program: &Program,
    name: &str,
    path: &str,
    opened: &Opened,
    depth: usize,
) -> Vec<Part> {
    let Some(node) = program.graph().node(name) else { return Vec::new() };
    let mut parts = Vec::new();
    let mut shown: Vec<StoredGraphRef> = Vec::new();
    for member in MEMBERS {
        let Some((strategy, config)) = strategy_of(node.config(), member) else { continue };
        let inside = stored_graphs(strategy, config);
        match (strategy, inside.first()) {
            ("graph", Some(reference)) => {
                parts.extend(graph_part(
                    Some(member),
                    reference,
                    &joined(path, member),
                    opened,
                    depth,
                ));
                shown.push(reference.clone());
            }
            _ => parts.push(strategy_part(program, name, path, member, strategy)),
        }
    }
    for reference in stored_graphs(node.strategy(), node.config()) {
        if !shown.contains(&reference) {
            let own = node.strategy() == "graph";
            let below = if own { path.to_owned() } else { joined(path, &reference.graph) };
            parts.extend(graph_part(None, &reference, &below, opened, depth));
            shown.push(reference);
        }
    }
    parts
}

fn graph_part(
    member: Option<&str>,
    reference: &StoredGraphRef,
    path: &str,
    opened: &Opened,
    depth: usize,
) -> Option<Part> {
    let program = opened.program(reference)?;
    let version = reference.version.map_or_else(String::new, |version| format!(" v{version}"));
    let member = member.map_or_else(String::new, |member| format!("{member}: "));
    let label = format!("{member}graph {}{version}", reference.graph);
    Some(Part { label, diagram: within(program, opened, path, depth) })
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
