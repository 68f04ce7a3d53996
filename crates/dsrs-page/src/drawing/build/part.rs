//! What is inside a node: a stored graph, the strategies in its config, or a graph in it. Knows diagrams, but no layout.

use dsrs::graph::{Node, Program};
use dsrs::signature::SignatureSchema;
use dsrs::strategy::{StoredEnv, StoredGraphRef, case_path, stored_graphs};
use dsrs::value::Payload;

use super::type_texts::TypeTexts;
use super::{joined, within};
use crate::drawing::diagram::{BoxKind, Diagram, DiagramBox, DiagramEdge, Part};
use crate::drawing::opened::Opened;

/// The members of a config that are strategies.
const MEMBERS: [&str; 3] = ["module", "then", "else"];

/// The member of a config that has a strategy for each of several values.
const CASES: &str = "cases";

/// A graph within a definition.
const SUBGRAPH: &str = "subgraph";

/// Whether a node has strategies inside.
pub(super) fn opens(node: &Node) -> bool {
    node.strategy() == SUBGRAPH || !strategies(node.config()).is_empty()
}

/// A strategy in a config.
struct StrategyInside<'c> {
    /// Its name there.
    name: String,
    /// What stands before the paths of its predictors in the node.
    predictors: String,
    strategy: &'c str,
    config: &'c Payload,
}

/// The strategies in a config, in their order.
fn strategies(config: &Payload) -> Vec<StrategyInside<'_>> {
    let member = |name: &'static str| {
        let (strategy, config) = strategy_of(config.as_map()?.get(name)?)?;
        Some(StrategyInside {
            name: name.to_owned(),
            predictors: name.to_owned(),
            strategy,
            config,
        })
    };
    let cases = config.as_map().and_then(|members| members.get(CASES)?.as_map());
    let cases = cases.into_iter().flatten().filter_map(|(name, case)| {
        let (strategy, config) = strategy_of(case)?;
        let predictors = case_path(name).to_string();
        Some(StrategyInside { name: name.to_string(), predictors, strategy, config })
    });
    let mut found: Vec<_> = cases.collect();
    found.extend(MEMBERS.into_iter().filter_map(member));
    found
}

/// The graph in a config of `subgraph`.
fn graph_of(config: &Payload) -> Option<Program> {
    let mut document = config.as_map()?.clone();
    document.insert("name".into(), SUBGRAPH.into());
    Program::from_document(&document.into(), &StoredEnv).ok()
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
        let written = node.config().as_map().and_then(|members| members.get(member));
        let named = written.and_then(strategy_of).filter(|(strategy, _)| *strategy == "graph");
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
    if let (SUBGRAPH, Some(inner)) = (node.strategy(), graph_of(node.config())) {
        parts.push(Part { label: String::new(), diagram: within(&inner, opened, path, depth) });
    }
    for inside in strategies(node.config()).iter().filter(|inside| inside.strategy != "graph") {
        parts.push(match (inside.strategy, graph_of(inside.config)) {
            (SUBGRAPH, Some(inner)) => {
                let path = joined(path, &inside.name);
                let diagram = within(&inner, opened, &path, depth);
                Part { label: inside.name.clone(), diagram }
            }
            _ => strategy_part(program, name, path, inside),
        });
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
fn strategy_part(
    program: &Program,
    node: &str,
    path: &str,
    StrategyInside { name, predictors: below, strategy, .. }: &StrategyInside<'_>,
) -> Part {
    let below = format!("{node}.{below}");
    let is_inside = |found: &str| {
        found.strip_prefix(&below).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let predictors = program.predictors();
    let found =
        predictors.iter().find(|(found, _)| is_inside(found)).map(|(_, found)| found.schema());
    let diagram = Diagram {
        name: (*strategy).to_owned(),
        ..alone(name, path, strategy, found.map(AsRef::as_ref))
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

/// The name and the config of a strategy that is written as `{strategy, config?}`.
fn strategy_of(written: &Payload) -> Option<(&str, &Payload)> {
    static NO_CONFIG: Payload = Payload::Null;
    let member = written.as_map()?;
    let strategy = member.get("strategy")?.as_str()?;
    Some((strategy, member.get("config").unwrap_or(&NO_CONFIG)))
}
