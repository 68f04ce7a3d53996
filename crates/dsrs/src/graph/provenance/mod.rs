//! Provenance: the nodes, parameters, inputs and LM calls that each output of a finished run derives
//! from, down to fields where that is known. Computed on demand from the program and the record, so
//! runs do not pay for it. Knows nothing of storage.

mod walk;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use self::walk::{Facts, ProvenanceWalk, ValuePlace, WalkLimitExceeded};
use crate::graph::program::Program;
use crate::lm::Usage;
use crate::predict::{Recording, SpanKind, SpanStatus};
use crate::strategy::{Flow, RecordedCall, Sources};
use crate::types::Type;
use crate::value::{
    Fields, Meta, Payload, Selection, SelectionStep, Value, ValueKind, ValueOrigin, ValueRef,
};

/// The maximum number of steps for one run.
const STEPS: usize = 300_000;
/// The maximum number of steps for one call of a nested graph.
const STEPS_WITHIN: usize = 20_000;
/// The maximum depth of nested fields.
const DEPTH: usize = 4;
/// The maximum number of fields of one value.
const FIELDS: usize = 1_000;

/// The record of a finished run.
#[derive(Clone, Debug, Default)]
pub struct RunRecord {
    /// The outputs of the run.
    pub outputs: Fields,
    /// The outputs of the nodes that ran.
    pub nodes: IndexMap<Arc<str>, Payload>,
    /// The recorded spans.
    pub recording: Recording,
}

/// The provenance of the outputs of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Provenance {
    /// Lineages by output, in the order of the graph.
    pub outputs: IndexMap<Arc<str>, Lineage>,
    /// Outputs whose lineage would take too long to compute.
    pub omitted: Vec<Arc<str>>,
}

/// The lineage of one value.
#[derive(Clone, Debug, PartialEq)]
pub struct Lineage {
    /// The value with its kind, reference and metadata.
    pub value: Value,
    /// Its direct sources.
    pub sources: Vec<ValueRef>,
    /// Every node that contributed, by its name in the trace; nested graphs included.
    pub nodes: Vec<Arc<str>>,
    /// Every part of the graph's inputs that it depends on.
    pub inputs: Vec<ValueRef>,
    /// The predictors whose calls contributed, by path.
    pub parameters: Vec<Arc<str>>,
    /// The answered LM calls that contributed, by span.
    pub lm_calls: Vec<u32>,
    /// The calls of tools that contributed, by span: the passages of a search are its result.
    pub tool_calls: Vec<u32>,
    /// Its fields, where their lineages differ.
    pub fields: IndexMap<Selection, Lineage>,
}

impl Program {
    /// The provenance of the outputs of a run of this program.
    #[must_use]
    pub fn provenance(&self, run: &RunRecord) -> Provenance {
        let outputs_of = |node: &str| run.nodes.get(node).map(walk::members);
        let mut walk = ProvenanceWalk::new(self, &run.recording, None, &outputs_of, STEPS);
        let mut found = Provenance::default();
        for (name, origin) in &self.plan.outputs {
            let Some(payload) = run.outputs.get(name) else { continue };
            let ty = self.graph().outputs.get(name).map(|output| &output.ty);
            match lineage(&mut walk, &ValuePlace::of(origin), payload, ty, DEPTH) {
                Ok(lineage) => drop(found.outputs.insert(name.clone(), lineage)),
                Err(WalkLimitExceeded) => found.omitted.push(name.clone()),
            }
        }
        found
    }

    /// The sources of a part of the outputs in a recorded call of this program as a node; `None` if the
    /// record does not contain them.
    pub(in crate::graph) fn sources_within(
        &self,
        call: &RecordedCall<'_>,
        part: &Selection,
    ) -> Option<Sources> {
        let span = call.recording.span(call.span?)?;
        let mut walk =
            ProvenanceWalk::new(self, call.recording, Some(span), &|_| None, STEPS_WITHIN);
        let (first, rest) = part.split_first()?;
        let SelectionStep::Field(output) = first else { return None };
        let (_, origin) = self.plan.outputs.iter().find(|(name, _)| name == output)?;
        let place = ValuePlace::of(origin).then(&rest);
        let whole = walk.facts(vec![place.clone()]).ok()?;
        let mut flows = Vec::new();
        match walk.copied_from(&place).ok()? {
            Some(input) => flows.push(Flow::copied(input)),
            None => {
                for into in walk.parts(&place).ok()? {
                    let inputs = walk.facts(vec![place.then(&into)]).ok()?.inputs;
                    flows.extend(
                        inputs
                            .into_iter()
                            .map(|from| Flow { into: into.clone(), ..Flow::of(from) }),
                    );
                }
                let covered: HashSet<&Selection> = flows.iter().map(|flow| &flow.from).collect();
                let others = whole.inputs.iter().filter(|from| !covered.contains(from));
                let others: Vec<Flow> = others.cloned().map(Flow::of).collect();
                flows.extend(others);
            }
        }
        Some(Sources { flows, spans: Some(whole.spans) })
    }
}

fn lineage(
    walk: &mut ProvenanceWalk<'_>,
    place: &ValuePlace,
    payload: &Payload,
    ty: Option<&Type>,
    depth: usize,
) -> Result<Lineage, WalkLimitExceeded> {
    let facts = walk.facts(vec![place.clone()])?;
    let mut fields = IndexMap::new();
    let parts = if depth > 0 { walk.parts(place)? } else { Vec::new() };
    for part in parts.into_iter().take(FIELDS) {
        let (payload, ty) = (part.get(payload), ty.and_then(|ty| part.type_in(ty).ok()));
        let found = lineage(walk, &place.then(&part), &payload, ty.as_ref(), depth - 1)?;
        fields.insert(part, found);
    }
    let parameters = walk.predictors(&facts.spans);
    let lm_calls = walk.succeeded(&facts.spans, SpanKind::Lm);
    let tool_calls = walk.succeeded(&facts.spans, SpanKind::Tool);
    let value = walk.value(place, payload, ty);
    let sources = walk.direct_sources(place);
    let Facts { inputs, nodes, .. } = facts;
    let inputs = inputs.into_iter().map(|selection| input_ref(&selection)).collect();
    Ok(Lineage {
        value,
        sources,
        nodes: walk.in_order(nodes),
        inputs,
        parameters,
        lm_calls,
        tool_calls,
        fields,
    })
}

impl ProvenanceWalk<'_> {
    /// The direct sources of a place.
    fn direct_sources(&self, place: &ValuePlace) -> Vec<ValueRef> {
        let Some(node) = place.node else { return Vec::new() };
        let Some(sources) = self.sources(node, &place.selection) else { return Vec::new() };
        let feeds = sources.flows.iter().flat_map(|flow| self.feeds(node, &flow.from));
        let refs: IndexSet<ValueRef> = feeds.map(|(_, place)| self.reference(&place)).collect();
        refs.into_iter().collect()
    }

    fn reference(&self, place: &ValuePlace) -> ValueRef {
        match place.node.and_then(|node| self.program.plan.nodes.get(node)) {
            None => input_ref(&place.selection),
            Some(planned) => ValueRef {
                origin: ValueOrigin::Node(planned.name.clone()),
                selection: place.selection.clone(),
            },
        }
    }

    /// The value at a place with its metadata.
    fn value(&self, place: &ValuePlace, payload: &Payload, ty: Option<&Type>) -> Value {
        let schema = ty.map(|ty| Payload::from(ty.ir.to_string()));
        let value = Value::plain(payload.clone()).with_ref(self.reference(place));
        let Some(node) = place.node else {
            return value.with_meta(Meta { schema, ..Meta::default() });
        };
        let below = self.spans_within(node, &place.selection);
        let calls = self.succeeded(&below, SpanKind::Lm);
        let mut usage = Usage::default();
        let spans = below.iter().filter_map(|id| self.recording.span(*id));
        for span in spans.filter(|span| span.kind.is_paid()) {
            usage += span.usage.unwrap_or_default();
        }
        let answering = calls.iter().filter_map(|id| self.recording.span(*id));
        let mut models: IndexSet<_> = answering.filter_map(|span| span.model.clone()).collect();
        let node_id = self.program.plan.nodes.get(node).map(|planned| planned.name.clone());
        let node = node_id.as_deref().and_then(|name| self.program.graph().node(name));
        let meta = Meta {
            model: models.pop().filter(|_| models.is_empty()),
            schema,
            source: node.map(|node| node.strategy().into()),
            node_id,
            ..usage.into_meta()
        };
        let kind = if calls.is_empty() { value.kind() } else { ValueKind::Response };
        value.of_kind(kind).with_meta(meta)
    }

    /// The spans within a node that contributed to a part of its outputs.
    fn spans_within(&self, node: usize, part: &Selection) -> BTreeSet<u32> {
        let known = self.sources(node, part).and_then(|sources| sources.spans.clone());
        let all = || self.span_of(node).map(|span| self.recording.below(span));
        known.unwrap_or_else(|| all().into_iter().flatten().collect())
    }

    /// The spans of a kind among these that succeeded: answered LM calls, calls of tools with a result.
    fn succeeded(&self, spans: &BTreeSet<u32>, kind: SpanKind) -> Vec<u32> {
        let found = spans.iter().filter_map(|id| self.recording.span(*id));
        let succeeded =
            found.filter(|span| span.kind == kind && span.status == SpanStatus::Succeeded);
        succeeded.map(|span| span.id).collect()
    }

    /// The predictors called among these spans.
    fn predictors(&self, spans: &BTreeSet<u32>) -> Vec<Arc<str>> {
        let found = spans.iter().filter_map(|id| self.recording.span(*id));
        let called = found.filter(|span| span.kind == SpanKind::Predictor);
        let paths: IndexSet<Arc<str>> = called.filter_map(|span| span.predictor.clone()).collect();
        paths.into_iter().collect()
    }

    /// Nodes in the order of the graph; nodes of a nested graph follow the node that runs it.
    fn in_order(&self, nodes: IndexSet<Arc<str>>) -> Vec<Arc<str>> {
        let nodes_of_graph = &self.program.graph().nodes;
        let mut nodes: Vec<Arc<str>> = nodes.into_iter().collect();
        nodes.sort_by_cached_key(|label| {
            let outer = label.split('.').next().unwrap_or(label);
            (nodes_of_graph.get_index_of(outer), label.contains('.'))
        });
        nodes
    }
}

/// A selection into the graph's inputs as a reference.
fn input_ref(selection: &Selection) -> ValueRef {
    match selection.split_first() {
        Some((SelectionStep::Field(name), rest)) => {
            ValueRef { origin: ValueOrigin::Input(name.clone()), selection: rest }
        }
        _ => ValueRef::input(""),
    }
}
