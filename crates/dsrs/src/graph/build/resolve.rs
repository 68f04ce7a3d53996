//! From a draft to a checked graph: nodes are created, what the document left out is filled in
//! (inputs, wires, outputs), every connection is checked, and all problems come out together.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use super::document::{EdgeDraft, GraphDraft, NodeDraft};
use super::infer::{Inference, OpDraft};
use super::own_signature::own_signature;
use crate::graph::check::{cycles_among, duplicate_edge, same_type, too_costly};
use crate::graph::edge::{Edge, INPUT, Source, Target};
use crate::graph::node::Node;
use crate::graph::program_graph::{GraphOutput, ProgramGraph};
use crate::problem::{At, Code, Problem, Problems};
use crate::signature::FieldSchema;
use crate::strategy::BuildEnv;
use crate::types::{CompareBudget, Type, TypeDefs, brief};
use crate::value::Payload;

impl ProgramGraph {
    /// Reads, resolves and checks a graph document.
    ///
    /// # Errors
    /// Everything that is wrong with it, with pointers from the document's root.
    pub fn from_document(document: &Payload, env: &dyn BuildEnv) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        let at = At::Root;
        let Some(draft) = GraphDraft::read(document, &at, &mut problems) else {
            return Err(problems);
        };
        let Some(resolver) = Resolver::new(draft, env, &mut problems) else {
            return Err(problems);
        };
        let graph = resolver.resolve(&mut problems);
        problems.or(graph)
    }
}

struct Resolver {
    graph: ProgramGraph,
    declared_inputs: Option<HashSet<Arc<str>>>,
    edges: Vec<EdgeDraft>,
    outputs: Option<Vec<(Arc<str>, Option<Source>)>>,
    /// The nodes as they were written, without those that could not be made.
    order: IndexSet<Arc<str>>,
    /// Nodes whose types are still to be inferred.
    ops: IndexMap<Arc<str>, OpDraft>,
    /// Ops whose types could not be inferred: what touches them is not reported again.
    untyped: HashSet<Arc<str>>,
    /// Nodes and inputs that could not be made: what touches them is not reported again.
    broken: HashSet<Arc<str>>,
    /// Inputs that some edge names, good or not: they are not reported as unconnected.
    claimed: HashSet<Target>,
    /// What could not be made out: what follows from its absence is not reported.
    blind: Blind,
    budget: CompareBudget,
}

/// What edges and inputs that are wrong may have meant to feed, or to read.
#[derive(Default)]
struct Blind {
    /// Any input at all.
    inputs: bool,
    /// Some input of these nodes.
    nodes: HashSet<Arc<str>>,
    /// An input of such a name.
    fields: HashSet<Arc<str>>,
    /// The outputs of any node.
    outputs: bool,
}

impl Blind {
    fn may_feed(&self, target: &Target) -> bool {
        self.inputs || self.nodes.contains(&target.node) || self.fields.contains(&target.field)
    }
}

/// A node from its draft, or everything that is wrong with it.
fn make(
    draft: Option<NodeDraft>,
    env: &dyn BuildEnv,
    defs: &Arc<TypeDefs>,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Node> {
    let NodeDraft { named, strategy, signature, config, settings, .. } = draft?;
    let (Some(strategy), Some(signature), Some(config)) = (&strategy, &signature, &config) else {
        let strategy = strategy.as_deref();
        problems.extend(Node::check_parts(env, strategy, config.as_ref(), &settings, at));
        return None;
    };
    let base = Arc::new(signature.clone().finish(defs.clone()));
    match Node::create(env, strategy, base, config.clone(), settings, at) {
        Ok(node) => named.then_some(node),
        Err(found) => {
            problems.extend(found);
            None
        }
    }
}

impl Resolver {
    /// Makes the nodes; `None` when the document has none.
    fn new(draft: GraphDraft, env: &dyn BuildEnv, problems: &mut Problems) -> Option<Self> {
        let mut drafts = draft.nodes?;
        let mut scope = draft.scope;
        let root = At::Root;
        let place = root.key("nodes");
        for (name, node) in &mut drafts {
            if let Some(node) = node {
                own_signature(node, env, &mut scope, &place.key(name), problems);
            }
        }
        let defs = scope.finish();
        let mut broken = HashSet::new();
        let mut nodes = IndexMap::with_capacity(drafts.len());
        let (mut ops, mut order) = (IndexMap::new(), IndexSet::with_capacity(drafts.len()));
        for (name, node) in drafts {
            let made = if node.as_ref().is_some_and(NodeDraft::is_op) {
                let op = node.and_then(OpDraft::of);
                op.map(|op| drop(ops.insert(name.clone(), op)))
            } else {
                let node = make(node, env, &defs, &place.key(&name), problems);
                node.map(|node| drop(nodes.insert(name.clone(), Arc::new(node))))
            };
            match made {
                Some(()) => drop(order.insert(name)),
                None => drop(broken.insert(name)),
            }
        }
        let mut blind = Blind::default();
        let mut inputs = IndexMap::new();
        let declared_inputs = draft.inputs.as_ref();
        let declared_inputs =
            declared_inputs.map(|inputs| inputs.iter().map(|(name, _)| name.clone()).collect());
        for (name, field) in draft.inputs.into_iter().flatten() {
            match field {
                Some(field) => drop(inputs.insert(name, field)),
                None => {
                    broken.insert(Arc::from(INPUT));
                    blind.inputs |= name.is_empty();
                    blind.fields.insert(name);
                }
            }
        }
        blind.inputs |= draft.edges.iter().any(|edge| edge.to.is_none());
        blind.outputs |= draft.edges.iter().any(|edge| edge.from.is_none());
        let graph = ProgramGraph {
            name: draft.name,
            description: draft.description,
            defs,
            inputs,
            nodes,
            edges: Vec::new(),
            outputs: IndexMap::new(),
        };
        let (edges, outputs) = (draft.edges, draft.outputs);
        let claimed = HashSet::new();
        let budget = CompareBudget::for_document();
        let untyped = HashSet::new();
        Some(Self {
            graph,
            declared_inputs,
            edges,
            outputs,
            order,
            ops,
            untyped,
            broken,
            claimed,
            blind,
            budget,
        })
    }

    fn resolve(mut self, problems: &mut Problems) -> ProgramGraph {
        if self.declared_inputs.is_none() {
            self.infer_inputs(problems);
        }
        self.infer_ops(problems);
        self.connect_all(problems);
        self.wire_by_name(problems);
        self.blind.inputs |= self.budget.is_exhausted();
        let is_claimed =
            |target: &Target| self.claimed.contains(target) || self.blind.may_feed(target);
        problems.extend(self.graph.unconnected(is_claimed));
        match self.outputs.take() {
            Some(outputs) => self.read_outputs(outputs, problems),
            None => self.infer_outputs(problems),
        }
        self.graph
    }

    /// Inputs that nothing feeds, and inputs that an edge names, become the graph's.
    fn infer_inputs(&mut self, problems: &mut Problems) {
        let edges = self.edges.iter();
        let fed: HashMap<&Target, Option<&Source>> =
            edges.filter_map(|edge| Some((edge.to.as_ref()?, edge.from.as_ref()))).collect();
        let mut inputs: IndexMap<Arc<str>, FieldSchema> = IndexMap::new();
        for node_name in &self.order {
            let node = self.graph.nodes.get(node_name).map(|node| node.schema().inputs.iter());
            let op = self.ops.get(node_name).map(OpDraft::known_inputs);
            let fields = node.into_iter().flatten().map(Cow::Borrowed);
            for field in fields.chain(op.into_iter().flatten().map(Cow::Owned)) {
                let field = field.as_ref();
                let target = Target { node: node_name.clone(), field: field.name.clone() };
                let name: Arc<str> = match fed.get(&target) {
                    None => field.name.clone(),
                    Some(Some(source)) if names_whole_input(source) => Arc::from(source.field()),
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
                        if !same_type(&ours, &theirs, &mut self.budget) && !self.blind.inputs {
                            self.blind.inputs |= self.budget.is_exhausted();
                            problems.push(match self.blind.inputs {
                                true => too_costly(&At::Root.key("nodes").key(node_name)),
                                false => conflict(&name, first, &target, field),
                            });
                            self.claimed.insert(target);
                            self.broken.insert(Arc::from(INPUT));
                        }
                    }
                }
            }
        }
        self.graph.inputs = inputs;
    }

    /// Makes the ops, now that all other nodes and the graph's inputs have types.
    fn infer_ops(&mut self, problems: &mut Problems) {
        if self.ops.is_empty() {
            return;
        }
        let whole = |from: &Source| from.node.as_ref() == INPUT;
        let sources = self.edges.iter().filter_map(|edge| edge.from.as_ref());
        let named = sources.filter(|from| whole(from)).map(|from| Arc::from(from.field()));
        let named_inputs = self.declared_inputs.as_ref().map(|_| named.collect());
        self.look_for_slips();
        let blind = &self.blind;
        let inference = Inference {
            graph: &mut self.graph,
            budget: &mut self.budget,
            broken: &self.broken,
            named_inputs,
            may_feed: &|target| blind.may_feed(target),
            edges: &self.edges,
        };
        self.untyped = inference.run(std::mem::take(&mut self.ops), problems);
        let mut nodes = std::mem::take(&mut self.graph.nodes);
        self.graph.nodes.reserve(nodes.len());
        for name in &self.order {
            self.graph.nodes.extend(nodes.swap_remove_entry(name));
        }
    }

    /// Checks every edge of the document. Those between known nodes are taken even when something
    /// is wrong with them: the graph is given up then anyway, and cycles are still found.
    fn connect_all(&mut self, problems: &mut Problems) {
        let root = At::Root;
        let place = root.key("edges");
        let posted: Vec<Option<Edge>> = self.edges.iter().map(EdgeDraft::edge).collect();
        let mut fed: HashMap<Target, &Edge> = HashMap::with_capacity(posted.len());
        let mut seen: HashSet<&Edge> = HashSet::with_capacity(posted.len());
        let mut taken: Vec<(usize, Edge)> = Vec::with_capacity(posted.len());
        for (position, edge) in posted.iter().enumerate() {
            let Some(edge) = edge else { continue };
            let at = place.index(position);
            if !seen.insert(edge) {
                problems.push(duplicate_edge(edge, &at));
                continue;
            }
            if !self.touches_broken(edge) {
                if self.untyped.contains(&edge.to.node) {
                    problems.extend(self.wrong_source(edge, &at));
                } else if !self.budget.is_exhausted() && !self.untyped.contains(&edge.from.node) {
                    let checked = self.graph.check_edge(edge, &mut self.budget, &at);
                    problems.extend(checked.err().unwrap_or_default());
                }
                problems.extend(ProgramGraph::check_free(edge, &fed, &at).err());
                taken.push((position, edge.clone()));
            }
            fed.entry(edge.to.clone()).or_insert(edge);
        }
        self.claimed.extend(self.edges.iter().filter_map(|edge| edge.to.clone()));
        self.look_for_slips();
        let (positions, edges): (Vec<usize>, Vec<Edge>) = taken.into_iter().unzip();
        let names = self.order.iter().collect();
        for (closing, detail) in cycles_among(&names, edges.iter()) {
            problems.add(&place.index(positions[closing]), Code::Cycle, detail);
        }
        self.graph.edges = edges;
    }

    /// What is wrong with the source of an edge whose target has no types.
    fn wrong_source(&self, edge: &Edge, at: &At<'_>) -> Option<Problem> {
        let inferred = self.declared_inputs.is_none() && edge.from.node.as_ref() == INPUT;
        let known = !inferred && !self.untyped.contains(&edge.from.node);
        let found = known.then(|| self.graph.type_of(&edge.from, &at.key("from")));
        found.and_then(Result::err)
    }

    /// Notes what edges with a wrong name may have meant.
    fn look_for_slips(&mut self) {
        let is_known = |name: &Arc<str>| {
            name.as_ref() == INPUT || self.order.contains(name) || self.broken.contains(name)
        };
        for EdgeDraft { from, to } in &self.edges {
            if let Some(to) = to {
                match self.graph.nodes.get(&to.node) {
                    None if is_known(&to.node) => {}
                    None => drop(self.blind.fields.insert(to.field.clone())),
                    Some(node) if node.schema().input(&to.field).is_some() => {}
                    Some(_) => drop(self.blind.nodes.insert(to.node.clone())),
                }
            }
            self.blind.outputs |= from.as_ref().is_some_and(|from| !is_known(&from.node));
        }
    }

    /// A declared input that no edge names, and every inferred one, feeds the free inputs of its
    /// name and an accepting type.
    fn wire_by_name(&mut self, problems: &mut Problems) {
        let inferred = self.declared_inputs.is_none();
        let edges = self.graph.edges.iter();
        let named: HashSet<Arc<str>> = edges
            .filter(|edge| edge.from.node.as_ref() == INPUT)
            .map(|edge| Arc::from(edge.from.field()))
            .collect();
        let mut wires = Vec::new();
        let root = At::Root;
        let place = root.key("nodes");
        'nodes: for (node_name, node) in &self.graph.nodes {
            for field in &node.schema().inputs {
                if self.budget.is_exhausted() {
                    break 'nodes;
                }
                let target = Target { node: node_name.clone(), field: field.name.clone() };
                let Some(input) = self.graph.inputs.get(&field.name) else { continue };
                if self.claimed.contains(&target) || (!inferred && named.contains(&field.name)) {
                    continue;
                }
                let from = Type::new(input.ty.clone(), self.graph.defs.clone());
                let to = node.schema().type_of(field);
                if from.assignable_within(&mut self.budget, &to).is_ok() {
                    let from = Source::field_of(INPUT, field.name.clone());
                    wires.push(Edge { from, to: target });
                } else if self.budget.is_exhausted() {
                    problems.push(too_costly(&place.key(node_name)));
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
            if self.broken.contains(&source.node) || self.untyped.contains(&source.node) {
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
        let posted = self.edges.iter().filter_map(|edge| edge.from.as_ref());
        let feeding: HashSet<&Arc<str>> = posted.map(|from| &from.node).collect();
        let mut outputs: IndexMap<Arc<str>, GraphOutput> = IndexMap::new();
        for (node_name, node) in &self.graph.nodes {
            if feeding.contains(node_name) {
                continue;
            }
            for field in &node.schema().outputs {
                let source = Source::field_of(node_name.clone(), field.name.clone());
                if let Some(other) = outputs.get(&field.name) {
                    if !self.blind.outputs {
                        duplicate_output(&field.name, node_name, &other.source.node, problems);
                    }
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

fn conflict(name: &str, first: &FieldSchema, target: &Target, field: &FieldSchema) -> Problem {
    let detail = format!(
        "the graph input `{name}` would be both `{}` and, for `{target}`, `{}`; declare it under \
         `inputs`, or connect one of them",
        brief(&first.ty),
        brief(&field.ty)
    );
    let pointer = At::Root.key("nodes").key(&target.node).pointer();
    Problem { pointer, code: Code::TypeMismatch, detail }
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
