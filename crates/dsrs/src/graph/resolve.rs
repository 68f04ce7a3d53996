//! From a draft to a checked graph: nodes are created, what the document left out is filled in
//! (inputs, wires, outputs), every connection is checked, and all problems come out together.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexMap;

use super::document::Draft;
use super::edge::{Edge, INPUT, Source, Target};
use super::node::Node;
use super::program_graph::{GraphOutput, ProgramGraph};
use crate::problem::{At, Code, Problem, Problems};
use crate::signature::FieldSchema;
use crate::strategy::BuildEnv;
use crate::types::Type;
use crate::value::Payload;

impl ProgramGraph {
    /// Reads, resolves and checks a graph document.
    ///
    /// # Errors
    /// Everything that is wrong with it, with pointers from the document's root.
    pub fn from_document(document: &Payload, env: &dyn BuildEnv) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let at = At::Root;
        let Some(draft) = Draft::read(document, &at, &mut problems) else {
            return Err(problems);
        };
        let graph = Resolver::new(draft, env, &mut problems).resolve(&mut problems);
        problems.or(graph)
    }
}

struct Resolver {
    graph: ProgramGraph,
    declared_inputs: Option<HashSet<Arc<str>>>,
    edges: Vec<Option<Edge>>,
    outputs: Option<Vec<(Arc<str>, Option<Source>)>>,
    /// Nodes and inputs that could not be made: what touches them is not reported again.
    broken: HashSet<Arc<str>>,
    /// Inputs that some edge names, good or not: they are not reported as unconnected.
    claimed: HashSet<Target>,
}

impl Resolver {
    fn new(draft: Draft, env: &dyn BuildEnv, problems: &mut Problems) -> Self {
        let defs = draft.scope.finish();
        let mut broken = HashSet::new();
        let mut nodes = IndexMap::with_capacity(draft.nodes.len());
        let root = At::Root;
        let place = root.key("nodes");
        for (name, node) in draft.nodes {
            let made = node.map(|node| {
                let base = Arc::new(node.signature.finish(defs.clone()));
                let at = place.key(&name);
                Node::create(env, &node.strategy, base, node.config, node.settings, &at)
            });
            match made {
                Some(Ok(node)) => {
                    nodes.insert(name, Arc::new(node));
                }
                Some(Err(found)) => {
                    problems.extend(found);
                    broken.insert(name);
                }
                None => {
                    broken.insert(name);
                }
            }
        }
        let declared = draft.inputs.as_ref();
        let declared_inputs =
            declared.map(|inputs| inputs.iter().map(|(name, _)| name.clone()).collect());
        if declared.is_some_and(|inputs| inputs.iter().any(|(_, field)| field.is_none())) {
            broken.insert(Arc::from(INPUT));
        }
        let inputs = draft.inputs.into_iter().flatten();
        let inputs = inputs.filter_map(|(name, field)| Some((name, field?))).collect();
        let graph = ProgramGraph {
            name: draft.name,
            description: draft.description,
            defs,
            inputs,
            nodes,
            edges: Vec::new(),
            outputs: IndexMap::new(),
        };
        Self {
            graph,
            declared_inputs,
            edges: draft.edges,
            outputs: draft.outputs,
            broken,
            claimed: HashSet::new(),
        }
    }

    fn resolve(mut self, problems: &mut Problems) -> ProgramGraph {
        if self.declared_inputs.is_none() {
            self.infer_inputs(problems);
        }
        self.connect_all(problems);
        self.wire_by_name();
        problems.extend(self.graph.unconnected(&self.claimed));
        match self.outputs.take() {
            Some(outputs) => self.read_outputs(outputs, problems),
            None => self.infer_outputs(problems),
        }
        self.graph
    }

    /// Inputs that nothing feeds, and inputs that an edge names, become the graph's.
    fn infer_inputs(&mut self, problems: &mut Problems) {
        let edges = self.edges.iter().flatten();
        let fed: HashMap<&Target, &Source> = edges.map(|edge| (&edge.to, &edge.from)).collect();
        let mut inputs: IndexMap<Arc<str>, FieldSchema> = IndexMap::new();
        for (node_name, node) in &self.graph.nodes {
            for field in &node.schema().inputs {
                let target = Target { node: node_name.clone(), field: field.name.clone() };
                let name: Arc<str> = match fed.get(&target) {
                    None => field.name.clone(),
                    Some(source) if names_whole_input(source) => Arc::from(source.field()),
                    Some(_) => continue,
                };
                match inputs.get_mut(&name) {
                    None => {
                        inputs.insert(name.clone(), FieldSchema { name, ..as_input(field) });
                    }
                    Some(first) => {
                        let defs = &self.graph.defs;
                        let ours = Type::new(field.ty.clone(), defs.clone());
                        let theirs = Type::new(first.ty.clone(), defs.clone());
                        if first.default != field.default {
                            first.default = None;
                        }
                        if !same(&ours, &theirs) {
                            conflict(&name, first, &target, field, problems);
                            self.claimed.insert(target);
                            self.broken.insert(Arc::from(INPUT));
                        }
                    }
                }
            }
        }
        self.graph.inputs = inputs;
    }

    /// Checks every edge of the document. Those between known nodes are taken even when something
    /// is wrong with them: the graph is given up then anyway, and cycles are still found.
    fn connect_all(&mut self, problems: &mut Problems) {
        let root = At::Root;
        let place = root.key("edges");
        let posted = std::mem::take(&mut self.edges);
        let mut fed: HashMap<Target, &Edge> = HashMap::with_capacity(posted.len());
        let mut taken: Vec<(usize, Edge)> = Vec::with_capacity(posted.len());
        for (position, edge) in posted.iter().enumerate() {
            let Some(edge) = edge else { continue };
            if !self.touches_broken(edge) {
                let at = place.index(position);
                problems.extend(self.graph.check_edge(edge, &at).err().unwrap_or_default());
                problems.extend(ProgramGraph::check_free(edge, &fed, &at).err());
                taken.push((position, edge.clone()));
            }
            fed.entry(edge.to.clone()).or_insert(edge);
        }
        self.claimed.extend(fed.into_keys());
        let (positions, edges): (Vec<usize>, Vec<Edge>) = taken.into_iter().unzip();
        for (closing, detail) in self.graph.find_cycles(&edges) {
            problems.add(&place.index(positions[closing]), Code::Cycle, detail);
        }
        self.graph.edges = edges;
    }

    /// A declared input that no edge names, and every inferred one, feeds the free inputs of its
    /// name and an accepting type.
    fn wire_by_name(&mut self) {
        let inferred = self.declared_inputs.is_none();
        let edges = self.graph.edges.iter();
        let named: HashSet<Arc<str>> = edges
            .filter(|edge| edge.from.node.as_ref() == INPUT)
            .map(|edge| Arc::from(edge.from.field()))
            .collect();
        let mut wires = Vec::new();
        for (node_name, node) in &self.graph.nodes {
            for field in &node.schema().inputs {
                let target = Target { node: node_name.clone(), field: field.name.clone() };
                let Some(input) = self.graph.inputs.get(&field.name) else { continue };
                if self.claimed.contains(&target) || (!inferred && named.contains(&field.name)) {
                    continue;
                }
                let from = Type::new(input.ty.clone(), self.graph.defs.clone());
                if from.assignable_to(&node.schema().type_of(field)).is_ok() {
                    let from = Source::field_of(INPUT, field.name.clone());
                    wires.push(Edge { from, to: target });
                }
            }
        }
        self.claimed.extend(wires.iter().map(|edge| edge.to.clone()));
        self.graph.edges.extend(wires);
    }

    fn read_outputs(&mut self, outputs: Vec<(Arc<str>, Option<Source>)>, problems: &mut Problems) {
        let root = At::Root;
        let place = root.key("outputs");
        for (name, source) in outputs {
            let Some(source) = source else { continue };
            if self.broken.contains(&source.node) {
                continue;
            }
            match self.graph.type_of(&source, &place.key(&name)) {
                Ok(ty) => {
                    self.graph.outputs.insert(name, GraphOutput { source, ty });
                }
                Err(problem) => problems.push(problem),
            }
        }
    }

    /// The outputs of the nodes that feed no other.
    fn infer_outputs(&mut self, problems: &mut Problems) {
        let feeding: HashSet<&Arc<str>> = self.graph.edges.iter().map(|e| &e.from.node).collect();
        let mut outputs: IndexMap<Arc<str>, GraphOutput> = IndexMap::new();
        for (node_name, node) in &self.graph.nodes {
            if feeding.contains(node_name) {
                continue;
            }
            for field in &node.schema().outputs {
                let source = Source::field_of(node_name.clone(), field.name.clone());
                if let Some(other) = outputs.get(&field.name) {
                    duplicate_output(&field.name, node_name, &other.source.node, problems);
                    continue;
                }
                let ty = node.schema().type_of(field);
                outputs.insert(field.name.clone(), GraphOutput { source, ty });
            }
        }
        self.graph.outputs = outputs;
    }

    fn touches_broken(&self, edge: &Edge) -> bool {
        self.broken.contains(&edge.from.node) || self.broken.contains(&edge.to.node)
    }
}

fn names_whole_input(source: &Source) -> bool {
    source.node.as_ref() == INPUT && source.selection.steps().len() == 1
}

/// What of a node's input holds for the graph's input of that name: its type, description and
/// default; not how the node's prompt shows it.
fn as_input(field: &FieldSchema) -> FieldSchema {
    FieldSchema {
        description: field.description.clone(),
        default: field.default.clone(),
        ..FieldSchema::of(field.name.clone(), field.ty.clone())
    }
}

fn same(one: &Type, two: &Type) -> bool {
    one.ir == two.ir || (one.assignable_to(two).is_ok() && two.assignable_to(one).is_ok())
}

fn conflict(
    name: &str,
    first: &FieldSchema,
    target: &Target,
    field: &FieldSchema,
    problems: &mut Problems,
) {
    let detail = format!(
        "the graph input `{name}` would be both `{}` and, for `{target}`, `{}`; declare it under \
         `inputs`, or connect one of them",
        first.ty, field.ty
    );
    let root = At::Root;
    problems.add(&root.key("nodes").key(&target.node), Code::TypeMismatch, detail);
}

fn duplicate_output(name: &str, node: &str, other: &str, problems: &mut Problems) {
    let detail = format!(
        "both `{other}.{name}` and `{node}.{name}` would be the graph output `{name}`; declare \
         `outputs` to name them apart"
    );
    let root = At::Root;
    problems.push(Problem {
        pointer: root.key("nodes").key(node).pointer(),
        code: Code::DuplicateName,
        detail,
    });
}
