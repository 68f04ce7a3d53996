//! From a draft to a checked graph: nodes are created, omitted inputs, edges and outputs are filled
//! in, every connection is checked, and all problems are reported together.

mod omitted;
mod unreadable;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use self::unreadable::Unreadable;
use super::document::{EdgeDraft, GraphDraft, NodeDraft};
use super::infer::{Inference, OpDraft};
use super::own_signature::own_signature;
use crate::graph::check::{cycles_among, duplicate_edge};
use crate::graph::edge::{Edge, INPUT, Source, Target};
use crate::graph::node::Node;
use crate::graph::program_graph::{GraphOutput, ProgramGraph};
use crate::graph::subgraph::check_nesting;
use crate::problem::{At, Code, Problem, Problems};
use crate::signature::FieldSchema;
use crate::strategy::BuildEnv;
use crate::types::{CompareBudget, TypeDefs};
use crate::value::Payload;

impl ProgramGraph {
    /// Reads, resolves and checks a graph document.
    ///
    /// # Errors
    /// Everything that is wrong with it, with pointers from the document's root.
    pub fn from_document(document: &Payload, env: &dyn BuildEnv) -> Result<Self, Problems> {
        let mut problems = Problems::new();
        check_nesting(document, &mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        let at = At::Root;
        let Some(draft) = GraphDraft::read(document, &at, &mut problems) else {
            return Err(problems);
        };
        let Some(resolver) = Resolver::new(draft, env, &mut problems) else {
            return Err(problems);
        };
        let graph = resolver.resolve(&mut problems);
        for (name, node) in graph.nodes() {
            node.check_dspy_paths(&at.key("nodes").key(name), &mut problems);
        }
        problems.or(graph)
    }
}

struct Resolver {
    graph: ProgramGraph,
    declared_inputs: Option<HashSet<Arc<str>>>,
    edges: Vec<EdgeDraft>,
    outputs: Option<Vec<(Arc<str>, Option<Source>)>>,
    /// The nodes in document order, without those that could not be created.
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
    unreadable: Unreadable,
    budget: CompareBudget,
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
        problems.append(Node::check_parts(env, strategy, config.as_ref(), &settings, at));
        return None;
    };
    let base = Arc::new(signature.clone().finish(defs.clone()));
    match Node::create(env, strategy, base, config.clone(), settings, at) {
        Ok(node) => named.then_some(node),
        Err(found) => {
            problems.append(found);
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
        let graph = ProgramGraph {
            name: draft.name,
            description: draft.description,
            exposure: draft.exposure,
            defs: scope.finish(),
            inputs: IndexMap::new(),
            nodes: IndexMap::with_capacity(drafts.len()),
            edges: Vec::new(),
            outputs: IndexMap::new(),
        };
        let mut resolver = Self {
            graph,
            declared_inputs: None,
            edges: draft.edges,
            outputs: draft.outputs,
            order: IndexSet::with_capacity(drafts.len()),
            ops: IndexMap::new(),
            untyped: HashSet::new(),
            broken: HashSet::new(),
            claimed: HashSet::new(),
            unreadable: Unreadable::default(),
            budget: CompareBudget::for_document(),
        };
        for (name, node) in drafts {
            resolver.add_node(name, node, env, problems);
        }
        if let Some(inputs) = draft.inputs {
            resolver.declare_inputs(inputs);
        }
        resolver.unreadable.inputs |= resolver.edges.iter().any(|edge| edge.to.is_none());
        resolver.unreadable.outputs |= resolver.edges.iter().any(|edge| edge.from.is_none());
        Some(resolver)
    }

    /// Makes a node, or notes that it could not be made. An op waits until its types are inferred.
    fn add_node(
        &mut self,
        name: Arc<str>,
        draft: Option<NodeDraft>,
        env: &dyn BuildEnv,
        problems: &mut Problems,
    ) {
        let made = if draft.as_ref().is_some_and(NodeDraft::is_op) {
            let op = draft.and_then(OpDraft::of);
            op.map(|op| drop(self.ops.insert(name.clone(), op)))
        } else {
            let root = At::Root;
            let nodes = root.key("nodes");
            let node = make(draft, env, &self.graph.defs, &nodes.key(&name), problems);
            node.map(|node| drop(self.graph.nodes.insert(name.clone(), Arc::new(node))))
        };
        match made {
            Some(()) => drop(self.order.insert(name)),
            None => drop(self.broken.insert(name)),
        }
    }

    fn declare_inputs(&mut self, inputs: Vec<(Arc<str>, Option<FieldSchema>)>) {
        self.declared_inputs = Some(inputs.iter().map(|(name, _)| name.clone()).collect());
        for (name, field) in inputs {
            match field {
                Some(field) => drop(self.graph.inputs.insert(name, field)),
                None => {
                    self.broken.insert(Arc::from(INPUT));
                    self.unreadable.inputs |= name.is_empty();
                    self.unreadable.fields.insert(name);
                }
            }
        }
    }

    fn resolve(mut self, problems: &mut Problems) -> ProgramGraph {
        if self.declared_inputs.is_none() {
            self.infer_inputs(problems);
        }
        self.infer_ops(problems);
        self.connect_all(problems);
        self.wire_by_name(problems);
        self.unreadable.inputs |= self.budget.is_exhausted();
        let is_claimed =
            |target: &Target| self.claimed.contains(target) || self.unreadable.may_feed(target);
        problems.append(self.graph.unconnected(is_claimed));
        match self.outputs.take() {
            Some(outputs) => self.read_outputs(outputs, problems),
            None => self.infer_outputs(problems),
        }
        // What is missing may be a consequence of another problem.
        if problems.is_empty() {
            self.graph.check_exposure(problems);
        }
        self.graph
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
        self.note_misnamed_edges();
        let unreadable = &self.unreadable;
        let inference = Inference {
            graph: &mut self.graph,
            budget: &mut self.budget,
            broken: &self.broken,
            named_inputs,
            may_feed: &|target| unreadable.may_feed(target),
            edges: &self.edges,
        };
        self.untyped = inference.run(std::mem::take(&mut self.ops), problems);
        let mut nodes = std::mem::take(&mut self.graph.nodes);
        self.graph.nodes.reserve(nodes.len());
        for name in &self.order {
            self.graph.nodes.extend(nodes.swap_remove_entry(name));
        }
    }

    /// Checks every edge of the document. Edges between known nodes are added even if they are
    /// invalid: the graph is refused then anyway, and cycles are still found.
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
                    problems.append(checked.err().unwrap_or_default());
                }
                problems.extend(ProgramGraph::check_free(edge, &fed, &at).err());
                taken.push((position, edge.clone()));
            }
            fed.entry(edge.to.clone()).or_insert(edge);
        }
        self.claimed.extend(self.edges.iter().filter_map(|edge| edge.to.clone()));
        self.note_misnamed_edges();
        let (positions, edges): (Vec<usize>, Vec<Edge>) = taken.into_iter().unzip();
        let names = self.order.iter().collect();
        for (closing, detail) in cycles_among(&names, edges.iter()) {
            problems.add(&place.index(positions[closing]), Code::Cycle, detail);
        }
        self.graph.edges = edges;
    }

    /// The problems of the source of an edge whose target has no types.
    fn wrong_source(&self, edge: &Edge, at: &At<'_>) -> Option<Problem> {
        let inferred = self.declared_inputs.is_none() && edge.from.node.as_ref() == INPUT;
        let known = !inferred && !self.untyped.contains(&edge.from.node);
        let found = known.then(|| self.graph.type_of(&edge.from, &at.key("from")));
        found.and_then(Result::err)
    }

    /// Notes what edges with a wrong name may have meant.
    fn note_misnamed_edges(&mut self) {
        let is_known = |name: &Arc<str>| {
            name.as_ref() == INPUT || self.order.contains(name) || self.broken.contains(name)
        };
        for EdgeDraft { from, to } in &self.edges {
            if let Some(to) = to {
                match self.graph.nodes.get(&to.node) {
                    None if is_known(&to.node) => {}
                    None => drop(self.unreadable.fields.insert(to.field.clone())),
                    Some(node) if node.schema().input(&to.field).is_some() => {}
                    Some(_) => drop(self.unreadable.nodes.insert(to.node.clone())),
                }
            }
            self.unreadable.outputs |= from.as_ref().is_some_and(|from| !is_known(&from.node));
        }
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

    fn touches_broken(&self, edge: &Edge) -> bool {
        self.broken.contains(&edge.from.node) || self.broken.contains(&edge.to.node)
    }
}
