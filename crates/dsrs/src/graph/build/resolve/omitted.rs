//! What a graph document leaves out: inputs, edges by name, outputs. Knows no drafts of nodes.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexMap;

use super::{OpDraft, Resolver};
use crate::graph::check::{same_type, too_costly};
use crate::graph::edge::{Edge, INPUT, Source, Target};
use crate::graph::program_graph::GraphOutput;
use crate::problem::{At, Code, Problem, Problems};
use crate::signature::FieldSchema;
use crate::types::{Type, brief};

impl Resolver {
    /// Inputs that nothing feeds, and inputs that an edge names, become the graph's.
    pub(super) fn infer_inputs(&mut self, problems: &mut Problems) {
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
                        if !same_type(&ours, &theirs, &mut self.budget) && !self.unreadable.inputs {
                            self.unreadable.inputs |= self.budget.is_exhausted();
                            problems.push(match self.unreadable.inputs {
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

    /// A declared input that no edge names, and every inferred one, feeds the free inputs of its
    /// name and an accepting type.
    pub(super) fn wire_by_name(&mut self, problems: &mut Problems) {
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

    /// The outputs of the nodes that feed no other.
    pub(super) fn infer_outputs(&mut self, problems: &mut Problems) {
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
                    if !self.unreadable.outputs {
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
}

fn names_whole_input(source: &Source) -> bool {
    source.node.as_ref() == INPUT && source.selection.steps().len() == 1
}

/// The parts of a node's input that the graph's input of that name inherits: type, description and
/// default, but not its format in the prompt.
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
