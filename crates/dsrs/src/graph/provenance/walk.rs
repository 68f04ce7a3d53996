//! The walk from a value back to everything that it derives from: along edges, through nodes by the
//! sources that their modules report, to inputs and spans. Knows recorded calls; knows nothing of
//! how provenance is presented.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexSet;

use crate::graph::execution::restore::restore;
use crate::graph::plan::{InputSource, PlannedNode, ValueSource};
use crate::graph::program::Program;
use crate::predict::{RecordedSpan, Recording, SpanKind, SpanStatus};
use crate::strategy::{Flow, RecordedCall, Sources};
use crate::types::{Type, TypeIR, TypeShape, resolve};
use crate::value::{Failure, Fields, Payload, Selection, SelectionStep};

/// The depth to which a class is split into fields where an edge drops some of them.
const OPENED: usize = 2;
/// Classes with more fields are not split.
const FIELDS: usize = 200;

/// A place of values in a graph: a selection into the outputs of a node, or into the inputs if `node`
/// is `None`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ValuePlace {
    pub(super) node: Option<usize>,
    pub(super) selection: Selection,
}

impl ValuePlace {
    pub(super) fn of(origin: &ValueSource) -> Self {
        Self { node: origin.node, selection: origin.selection.clone() }
    }

    pub(super) fn then(&self, further: &Selection) -> Self {
        Self { node: self.node, selection: self.selection.then(further) }
    }
}

/// Everything that a value derives from.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// Parts of the graph's inputs.
    pub(super) inputs: IndexSet<Selection>,
    /// Nodes by their names in the trace.
    pub(super) nodes: IndexSet<Arc<str>>,
    /// Spans.
    pub(super) spans: BTreeSet<u32>,
}

/// A walk through one finished call of a program: a whole run, or a nested graph.
pub(super) struct ProvenanceWalk<'w> {
    pub(super) program: &'w Program,
    pub(super) recording: &'w Recording,
    calls: Vec<Option<RecordedNode<'w>>>,
    /// Cached sources: for these, a nested graph walks back through its own nodes.
    known: RefCell<HashMap<ValuePlace, Rc<Sources>>>,
    /// The remaining steps.
    left: usize,
}

struct RecordedNode<'w> {
    span: Option<&'w RecordedSpan>,
    label: Arc<str>,
    inputs: Cow<'w, Fields>,
    outputs: Cow<'w, Fields>,
}

/// The walk exceeded its limit of steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct WalkLimitExceeded;

impl<'w> ProvenanceWalk<'w> {
    /// A walk through the nodes whose spans are below `parent`. For nodes without a span, `ran` returns
    /// the outputs if they ran.
    pub(super) fn new(
        program: &'w Program,
        recording: &'w Recording,
        parent: Option<&'w RecordedSpan>,
        ran: &dyn Fn(&str) -> Option<Fields>,
        left: usize,
    ) -> Self {
        let children = recording.children(parent.map(|span| span.id));
        let spans: HashMap<&str, &RecordedSpan> = children
            .filter(|span| span.kind == SpanKind::Node)
            .map(|span| (span.node.as_ref(), span))
            .collect();
        let call = |planned: &PlannedNode| {
            let label = match parent {
                None => planned.name.clone(),
                Some(outer) => format!("{}.{}", outer.node, planned.name).into(),
            };
            let span = spans.get(label.as_ref()).copied();
            let gave = span.and_then(|span| span.outputs.as_ref()).map(Cow::Borrowed);
            let outputs = match (span, gave.or_else(|| ran(&planned.name).map(Cow::Owned))) {
                (None, None) => return None,
                (_, gave) => gave.unwrap_or_default(),
            };
            let inputs = span.and_then(|span| span.inputs.as_ref()).map(Cow::Borrowed);
            Some(RecordedNode { span, label, inputs: inputs.unwrap_or_default(), outputs })
        };
        let mut calls: Vec<Option<RecordedNode<'_>>> =
            program.plan.nodes.iter().map(call).collect();
        mark_errors(program, &mut calls);
        Self { program, recording, calls, known: RefCell::default(), left }
    }

    /// Everything that the values at these places derive from.
    pub(super) fn facts(&mut self, from: Vec<ValuePlace>) -> Result<Facts, WalkLimitExceeded> {
        let mut facts = Facts::default();
        let mut seen = HashSet::new();
        let mut open = from;
        while let Some(place) = open.pop() {
            if seen.contains(&place) {
                continue;
            }
            self.spend(1)?;
            match place.node {
                None => drop(facts.inputs.insert(place.selection.clone())),
                Some(node) => {
                    let (sources, spans) = self.note(node, &place.selection, &mut facts)?;
                    facts.spans.extend(spans);
                    let ways = sources.flows.iter().flat_map(|flow| self.feeds(node, &flow.from));
                    let places: Vec<ValuePlace> = ways.map(|(_, place)| place).collect();
                    // A stack: the first place is visited next.
                    open.extend(places.into_iter().rev());
                }
            }
            seen.insert(place);
        }
        facts.inputs = without_parts(&facts.inputs);
        Ok(facts)
    }

    /// Notes a node that contributed to a value; returns its sources and spans.
    fn note(
        &mut self,
        node: usize,
        part: &Selection,
        facts: &mut Facts,
    ) -> Result<(Rc<Sources>, Vec<u32>), WalkLimitExceeded> {
        let (Some(sources), Some(call)) = (self.sources(node, part), &self.calls[node]) else {
            return Ok((Rc::new(Sources::of([])), Vec::new()));
        };
        let below = match (&sources.spans, call.span) {
            (Some(spans), _) => spans.iter().copied().collect(),
            (None, Some(span)) => self.recording.below(span.id),
            (None, None) => Vec::new(),
        };
        facts.nodes.insert(call.label.clone());
        let inner = below.iter().filter_map(|id| self.recording.span(*id));
        let inner = inner.filter(|span| span.kind == SpanKind::Node);
        facts.nodes.extend(inner.map(|span| span.node.clone()));
        let spans: Vec<u32> = below.into_iter().chain(call.span.map(|span| span.id)).collect();
        self.spend(spans.len())?;
        Ok((sources, spans))
    }

    /// The sources of a part of a node's outputs, by its module; `None` if the node never ran.
    pub(super) fn sources(&self, node: usize, part: &Selection) -> Option<Rc<Sources>> {
        let place = ValuePlace { node: Some(node), selection: part.clone() };
        if let Some(known) = self.known.borrow().get(&place) {
            return Some(known.clone());
        }
        let call = self.calls.get(node)?.as_ref()?;
        let module = &self.program.graph().nodes[node].module;
        let recorded = RecordedCall {
            inputs: &call.inputs,
            outputs: &call.outputs,
            recording: self.recording,
            span: call.span.map(|span| span.id),
        };
        let sources = Rc::new(module.sources(&recorded, part));
        self.known.borrow_mut().insert(place, sources.clone());
        Some(sources)
    }

    /// The places that feed a part of a node's input, each with the sub-part that it fills. There are
    /// several if an edge carries only some fields.
    pub(super) fn feeds(&self, node: usize, part: &Selection) -> Vec<(Selection, ValuePlace)> {
        let planned = &self.program.plan.nodes[node];
        let Some((SelectionStep::Field(field), rest)) = part.split_first() else {
            return Vec::new();
        };
        let feed = planned.feeds.iter().find(|feed| feed.field == *field);
        let Some(InputSource::Edge(origin, conversion)) = feed.map(|feed| &feed.from) else {
            return Vec::new();
        };
        let place = ValuePlace::of(origin).then(&rest);
        let schema = self.program.graph().nodes[node].schema();
        let wanted = schema.input(field).map(|field| schema.type_of(field));
        match wanted.and_then(|ty| rest.type_in(&ty).ok()).filter(|_| !conversion.is_identity()) {
            None => vec![(Selection::default(), place)],
            Some(ty) => opened(&ty, OPENED)
                .into_iter()
                .map(|part| (part.clone(), place.then(&part)))
                .collect(),
        }
    }

    fn spend(&mut self, steps: usize) -> Result<(), WalkLimitExceeded> {
        self.left = self.left.checked_sub(steps).ok_or(WalkLimitExceeded)?;
        Ok(())
    }

    /// The parts of a value with different origins, where modules distinguish them.
    pub(super) fn parts(
        &mut self,
        place: &ValuePlace,
    ) -> Result<Vec<Selection>, WalkLimitExceeded> {
        let mut place = place.clone();
        loop {
            self.spend(1)?;
            let Some(node) = place.node else { return Ok(Vec::new()) };
            let Some(sources) = self.sources(node, &place.selection) else {
                return Ok(Vec::new());
            };
            // A source of the whole value, such as the condition of a branch, distinguishes no parts.
            let distinguishes = |flow: &&Flow| flow.is_copy || !flow.into.is_empty();
            let flows = sources.flows.iter().filter(distinguishes);
            let mut ways = flows.flat_map(|flow| self.ways(node, flow));
            match (ways.next(), ways.next()) {
                (Some((into, Some(next))), None) if into.is_empty() => place = next,
                (first, second) => {
                    let all = first.into_iter().chain(second).chain(ways);
                    let parts: IndexSet<Selection> =
                        all.map(|(into, _)| into).filter(|into| !into.is_empty()).collect();
                    return Ok(parts.into_iter().collect());
                }
            }
        }
    }

    /// Where a flow arrives, and the places that it copies from, if any.
    fn ways(&self, node: usize, flow: &Flow) -> Vec<(Selection, Option<ValuePlace>)> {
        let feeds = if flow.is_copy { self.feeds(node, &flow.from) } else { Vec::new() };
        match feeds.is_empty() {
            true => vec![(flow.into.clone(), None)],
            false => {
                let way = |(part, place)| (flow.into.then(&part), Some(place));
                feeds.into_iter().map(way).collect()
            }
        }
    }

    /// The part of the inputs that a value copies, if it is a copy.
    pub(super) fn copied_from(
        &mut self,
        place: &ValuePlace,
    ) -> Result<Option<Selection>, WalkLimitExceeded> {
        let mut place = place.clone();
        while let Some(node) = place.node {
            self.spend(1)?;
            let sources = self.sources(node, &place.selection);
            let ways = sources.iter().flat_map(|sources| &sources.flows);
            let mut ways = ways.flat_map(|flow| self.ways(node, flow));
            match (ways.next(), ways.next()) {
                (Some((into, Some(next))), None) if into.is_empty() => place = next,
                _ => return Ok(None),
            }
        }
        Ok(Some(place.selection))
    }

    /// The span of a node's call.
    pub(super) fn span_of(&self, node: usize) -> Option<u32> {
        self.calls.get(node)?.as_ref()?.span.map(|span| span.id)
    }
}

/// Restores errors in the inputs of calls: a record shows an error as plain data, and a failed or
/// skipped node passes one on.
fn mark_errors(program: &Program, calls: &mut [Option<RecordedNode<'_>>]) {
    let has_failed = |call: &Option<RecordedNode<'_>>| match call {
        None => true,
        Some(call) => call.span.is_some_and(|span| span.status == SpanStatus::Failed),
    };
    let failed: Vec<bool> = calls.iter().map(has_failed).collect();
    let nodes = program.plan.nodes.iter().zip(program.graph().nodes.values());
    for ((planned, node), call) in nodes.zip(calls) {
        let Some(call) = call else { continue };
        let schema = node.schema();
        for field in &schema.inputs {
            let ty = schema.type_of(field);
            let value = call.inputs.get(&field.name);
            // Such as the errors in the results of a `map`.
            if let Some(found) = value.and_then(|value| restore(value, &ty.ir, &ty))
                && value != Some(&found)
            {
                call.inputs.to_mut().insert(field.name.clone(), found);
            }
        }
        for feed in &planned.feeds {
            let InputSource::Edge(ValueSource { node: Some(node), .. }, _) = &feed.from else {
                continue;
            };
            if failed.get(*node).copied().unwrap_or(false) {
                let failure = Failure::new("failed", "the node that should produce it failed");
                call.inputs.to_mut().insert(feed.field.clone(), Payload::Error(Arc::new(failure)));
            }
        }
    }
}

/// The fields of a class, recursively; the whole value of any other type.
fn opened(ty: &Type, depth: usize) -> Vec<Selection> {
    let node = resolve(&ty.ir, &ty.defs);
    let class = match &node.shape {
        TypeShape::Class(class) => Some(class),
        TypeShape::Union(members) => {
            let mut others =
                members.iter().filter(|member| !matches!(member.shape, TypeShape::Null));
            match (others.next().map(|member| &member.shape), others.next()) {
                (Some(TypeShape::Class(class)), None) => Some(class),
                _ => None,
            }
        }
        _ => None,
    };
    let Some(class) = class.filter(|class| depth > 0 && class.fields.len() <= FIELDS) else {
        return vec![Selection::default()];
    };
    let below = |ir: &TypeIR| opened(&Type::new(ir.clone(), ty.defs.clone()), depth - 1);
    let fields = class.fields.iter().flat_map(|(name, field)| {
        let field_step = Selection::new(vec![SelectionStep::Field(name.clone())]);
        below(&field.ty).into_iter().map(move |rest| field_step.then(&rest))
    });
    fields.collect()
}

/// Selections without those that are parts of others.
fn without_parts(selections: &IndexSet<Selection>) -> IndexSet<Selection> {
    let is_part = |selection: &Selection| {
        let steps = selection.steps();
        (0..steps.len()).any(|end| selections.contains(&Selection::new(steps[..end].to_vec())))
    };
    selections.iter().filter(|selection| !is_part(selection)).cloned().collect()
}

/// A payload's members, or nothing.
pub(super) fn members(payload: &Payload) -> Fields {
    payload.as_map().cloned().unwrap_or_default()
}
