//! The types of ops: they are inferred from the connections, so ops are made in topological order,
//! independent of the order of nodes and edges in the document. Knows ops by trait.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexMap;

use super::document::{EdgeDraft, NodeDraft};
use super::type_size::TypeSizes;
use crate::graph::edge::{INPUT, Source, Target};
use crate::graph::node::{Node, NodeSettings};
use crate::graph::order::Precedence;
use crate::graph::program_graph::ProgramGraph;
use crate::problem::{At, Code, Problems};
use crate::read::listed;
use crate::signature::FieldSchema;
use crate::strategy::{InputTypes, Op, OpInput};
use crate::types::{CompareBudget, TypeIR};
use crate::value::Payload;

const TOO_LARGE: &str = "the types of this op, or of all ops before it, are too large; name \
                         them under `types`, or use fewer parts";

/// An op that is to be made.
pub(super) struct OpDraft {
    op: Box<dyn Op>,
    inputs: Vec<OpInput>,
    strategy: Arc<str>,
    config: Payload,
    settings: NodeSettings,
}

impl OpDraft {
    /// The op of a draft that is one and could be read.
    pub(super) fn of(draft: NodeDraft) -> Option<Self> {
        let NodeDraft { strategy, config, settings, op, .. } = draft;
        let op = op?;
        let inputs = op.inputs();
        Some(Self { op, inputs, strategy: strategy?, config: config?, settings })
    }

    /// The inputs whose types are known, as fields.
    pub(super) fn known_inputs(&self) -> impl Iterator<Item = FieldSchema> {
        let known = self.inputs.iter().filter(|input| input.required);
        known.filter_map(|input| Some(FieldSchema::of(input.name.clone(), input.ty.clone()?)))
    }
}

/// What ops are made from.
pub(super) struct Inference<'g> {
    /// Nodes that have types, and ops as soon as they have; inputs, edges none yet.
    pub(super) graph: &'g mut ProgramGraph,
    pub(super) budget: &'g mut CompareBudget,
    /// Nodes and inputs that could not be made, and later ops without types.
    pub(super) broken: &'g HashSet<Arc<str>>,
    /// Whether the graph's inputs were declared, and the ones that edges name.
    pub(super) named_inputs: Option<HashSet<Arc<str>>>,
    /// Whether some edge or input that is wrong may have meant to feed an input.
    pub(super) may_feed: &'g dyn Fn(&Target) -> bool,
    pub(super) edges: &'g [EdgeDraft],
}

/// What feeds the inputs of an op, in the order of the edges, with the position of each.
type OpSources<'e> = IndexMap<&'e Arc<str>, (usize, Option<&'e Source>)>;

/// What feeds each op, by its name.
type SourcesByOp<'e> = HashMap<&'e str, OpSources<'e>>;

/// The known type of an input.
enum InputType {
    Type(TypeIR),
    /// It would be known, were it not for something that is reported elsewhere.
    Lost,
    Nothing,
}

impl Inference<'_> {
    /// Creates every op that can be created; returns the names of the others, whose problems are
    /// reported here or elsewhere.
    pub(super) fn run(
        mut self,
        ops: IndexMap<Arc<str>, OpDraft>,
        problems: &mut Problems,
    ) -> HashSet<Arc<str>> {
        let edges = self.edges;
        let mut feeds: SourcesByOp<'_> = HashMap::with_capacity(ops.len());
        for (position, EdgeDraft { from, to }) in edges.iter().enumerate() {
            if let Some(to) = to.as_ref().filter(|to| ops.contains_key(&to.node)) {
                let fed = feeds.entry(&to.node).or_default();
                fed.entry(&to.field).or_insert((position, from.as_ref()));
            }
        }
        let order = order(&ops, &feeds);
        let mut waiting: Vec<Option<(Arc<str>, OpDraft)>> = ops.into_iter().map(Some).collect();
        let mut untyped = HashSet::new();
        let mut weights = TypeSizes::default();
        let nothing = IndexMap::new();
        for index in order {
            let Some((name, draft)) = waiting.get_mut(index).and_then(Option::take) else {
                continue;
            };
            let fed = feeds.get(name.as_ref()).unwrap_or(&nothing);
            match self.make(&name, draft, fed, &untyped, &mut weights, problems) {
                Some(node) => drop(self.graph.nodes.insert(name, Arc::new(node))),
                None => drop(untyped.insert(name)),
            }
        }
        // The remaining ones are on a cycle or after one.
        untyped.extend(waiting.into_iter().flatten().map(|(name, _)| name));
        untyped
    }

    fn make(
        &mut self,
        name: &Arc<str>,
        draft: OpDraft,
        fed: &OpSources<'_>,
        untyped: &HashSet<Arc<str>>,
        weights: &mut TypeSizes,
        problems: &mut Problems,
    ) -> Option<Node> {
        let root = At::Root;
        let place = root.key("nodes");
        let at = place.key(name);
        if weights.is_used_up() {
            return None;
        }
        let given = self.given(name, &draft, fed, untyped, problems)?;
        let defs = self.graph.defs.clone();
        if !weights.take(given.values()) {
            problems.add(&at, Code::TooLarge, TOO_LARGE);
            return None;
        }
        let types = draft.op.infer(&mut InputTypes::new(given, &defs, self.budget), &at);
        let types = types.map_err(|found| problems.append(found)).ok()?;
        if !weights.take(types.outputs.iter().map(|field| &field.ty)) {
            problems.add(&at, Code::TooLarge, TOO_LARGE);
            return None;
        }
        let schema = types.signature(&draft.strategy, defs);
        let OpDraft { op, strategy, config, settings, .. } = draft;
        Some(Node::of_op(strategy, op, schema, config, settings))
    }

    /// The types of what feeds an op; `None` when some of them are not known.
    fn given(
        &self,
        name: &Arc<str>,
        draft: &OpDraft,
        fed: &OpSources<'_>,
        untyped: &HashSet<Arc<str>>,
        problems: &mut Problems,
    ) -> Option<IndexMap<Arc<str>, TypeIR>> {
        let is_known = |field: &Arc<str>| draft.inputs.iter().any(|input| input.name == *field);
        let others: Vec<&Arc<str>> = fed.keys().copied().filter(|field| !is_known(field)).collect();
        let unknown_fields: &[&Arc<str>] = if draft.op.accepts_others() { &[] } else { &others };
        let mut given = IndexMap::with_capacity(fed.len());
        let mut missing = Vec::new();
        let mut lost = false;
        for input in &draft.inputs {
            match self.input(name, input, fed, untyped) {
                InputType::Type(ir) => drop(given.insert(input.name.clone(), ir)),
                InputType::Lost => lost = true,
                // A misspelled name of another input may refer to this one.
                InputType::Nothing if !unknown_fields.is_empty() => lost |= input.ty.is_none(),
                InputType::Nothing if !input.required => {}
                // Its source is found later by name, or it has none.
                InputType::Nothing => match &input.ty {
                    Some(ty) => drop(given.insert(input.name.clone(), ty.clone())),
                    None => missing.push(&input.name),
                },
            }
        }
        for field in others.iter().filter(|_| draft.op.accepts_others()) {
            match self.fed_by(fed.get(*field).and_then(|(_, from)| *from), untyped) {
                InputType::Type(ir) => drop(given.insert(Arc::clone(field), ir)),
                InputType::Lost => lost = true,
                InputType::Nothing => missing.push(field),
            }
        }
        if missing.is_empty() && !lost {
            return Some(given);
        }
        for field in missing {
            self.undetermined(name, field, fed, problems);
        }
        self.report_unknown_fields(name, draft, unknown_fields, fed, problems);
        None
    }

    /// Edges into inputs that the op does not have: of an op with types they are found later.
    fn report_unknown_fields(
        &self,
        name: &str,
        draft: &OpDraft,
        unknown_fields: &[&Arc<str>],
        fed: &OpSources<'_>,
        problems: &mut Problems,
    ) {
        let root = At::Root;
        let place = root.key("edges");
        for field in unknown_fields {
            let Some((position, _)) = fed.get(*field) else { continue };
            let known = listed(draft.inputs.iter().map(|input| input.name.as_ref()));
            let detail = format!("node `{name}` has no input `{field}`; its inputs: {known}");
            problems.add(&place.index(*position).key("to"), Code::UnknownField, detail);
        }
    }

    /// The type of what feeds an input that the op knows: an edge, or the graph's input of its name.
    fn input(
        &self,
        node: &Arc<str>,
        input: &OpInput,
        fed: &OpSources<'_>,
        untyped: &HashSet<Arc<str>>,
    ) -> InputType {
        if let Some((_, from)) = fed.get(&input.name) {
            return self.fed_by(*from, untyped);
        }
        let named = self.named_inputs.as_ref().is_some_and(|named| named.contains(&input.name));
        match self.graph.inputs.get(&input.name).filter(|_| !named && input.ty.is_none()) {
            Some(field) => InputType::Type(field.ty.clone()),
            None => {
                let target = Target { node: node.clone(), field: input.name.clone() };
                if (self.may_feed)(&target) { InputType::Lost } else { InputType::Nothing }
            }
        }
    }

    fn fed_by(&self, from: Option<&Source>, untyped: &HashSet<Arc<str>>) -> InputType {
        let Some(from) = from else { return InputType::Lost };
        if self.broken.contains(&from.node) || untyped.contains(&from.node) {
            return InputType::Lost;
        }
        let inferred = self.named_inputs.is_none() && from.node.as_ref() == INPUT;
        if inferred && !self.graph.inputs.contains_key(from.field()) {
            return InputType::Nothing;
        }
        match self.graph.type_of(from, &At::Root) {
            Ok(ty) => InputType::Type(ty.ir),
            // Reported when the edge is checked.
            Err(_) => InputType::Lost,
        }
    }

    /// Reports an input whose type cannot be known.
    fn undetermined(&self, node: &str, field: &str, fed: &OpSources<'_>, problems: &mut Problems) {
        let source = fed.iter().find(|(name, _)| name.as_ref() == field);
        let (code, detail) = match source.and_then(|(_, (_, from))| *from) {
            Some(from) => (
                Code::UndeterminedType,
                format!(
                    "the type of `{from}`, which feeds `{node}.{field}`, is unknown; declare it \
                     under `inputs`"
                ),
            ),
            None if self.named_inputs.is_some() => (
                Code::UnconnectedInput,
                format!(
                    "nothing feeds `{node}.{field}`; connect it, or declare a graph input `{field}`"
                ),
            ),
            None => (
                Code::UndeterminedType,
                format!(
                    "nothing feeds `{node}.{field}`, so its type is not known; connect it, or \
                     declare a graph input `{field}`"
                ),
            ),
        };
        problems.add(&At::Root.key("nodes").key(node), code, detail);
    }
}

/// The ops that are neither on a cycle of ops nor after one; sources come first.
fn order(ops: &IndexMap<Arc<str>, OpDraft>, feeds: &SourcesByOp<'_>) -> Vec<usize> {
    let mut edges = Vec::new();
    for (to, fed) in feeds {
        let Some(to) = ops.get_index_of(*to) else { continue };
        let sources = fed.values().filter_map(|(_, from)| *from);
        edges.extend(sources.filter_map(|from| Some((ops.get_index_of(&from.node)?, to))));
    }
    Precedence { nodes: ops.len(), edges: &edges }.sound_order()
}
