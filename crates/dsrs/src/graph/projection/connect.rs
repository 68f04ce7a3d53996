//! Edges and outputs from watched runs: a value that an input had in every run can only come from
//! one place. Whatever is not certain stays open, with the reason.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::observe::ObservedRun;
use super::sentinel::SentinelLm;
use super::{OpenConnection, Projection};
use crate::graph::edge::{INPUT, Source, Target};
use crate::graph::node::class_of;
use crate::problem::Problems;
use crate::signature::SignatureSchema;
use crate::types::{Type, TypeShape, resolve};
use crate::value::{Fields, Payload, Selection, SelectionStep};

const NOT_ONCE: &str = "its predictor was not called exactly once in every run";

impl Projection {
    /// Connects every input and output whose source the runs determine; the others stay open.
    pub(super) fn connect_observed(&mut self, boundary: &SignatureSchema, runs: &[ObservedRun]) {
        let search = SourceSearch::of(self, boundary, runs);
        let mut found = Vec::new();
        for (node, path) in &self.nodes {
            let fields = self.graph.node(node).map(|node| node.schema().inputs.clone());
            for field in fields.unwrap_or_default() {
                let place = Target { node: node.clone(), field: field.name.clone() };
                found.push((place, search.of_input(path, &field.name)));
            }
        }
        let names = boundary.outputs.iter().map(|field| &field.name);
        let outputs: Vec<_> = names.map(|name| (name, search.of_output(name))).collect();
        for (place, source) in found {
            let text = place.to_string();
            let connected = source
                .and_then(|from| self.graph.connect(from, place).map_err(|p| first_detail(&p)));
            self.note(text, connected);
        }
        for (name, source) in outputs {
            let set = source
                .and_then(|from| self.graph.set_output(name, from).map_err(|p| first_detail(&p)));
            self.note(format!("output.{name}"), set);
        }
    }

    /// Lists a place that could not be connected.
    fn note(&mut self, place: String, connected: Result<(), String>) {
        if let Err(reason) = connected {
            self.open.push(OpenConnection { place, reason });
        }
    }
}

fn first_detail(problems: &Problems) -> String {
    problems.iter().next().map_or_else(String::new, |problem| problem.detail.clone())
}

/// The search for the sources of values in watched runs.
struct SourceSearch<'r> {
    runs: &'r [ObservedRun],
    inputs: Type,
    /// The node and the outputs of each predictor, by its path.
    nodes: HashMap<String, (Arc<str>, Type)>,
}

impl<'r> SourceSearch<'r> {
    fn of(projection: &Projection, boundary: &SignatureSchema, runs: &'r [ObservedRun]) -> Self {
        let outputs = |name: &Arc<str>| Some(projection.graph.node(name)?.outputs().clone());
        let nodes = projection.nodes.iter();
        let nodes = nodes
            .filter_map(|(name, path)| Some((path.clone(), (name.clone(), outputs(name)?))))
            .collect();
        Self { runs, inputs: class_of(&boundary.inputs, &boundary.defs), nodes }
    }

    /// The source of an input of a predictor, or why it is not certain.
    fn of_input(&self, path: &str, field: &str) -> Result<Source, String> {
        let seen = self.runs.iter().map(|run| {
            let (index, call) = run.call(path).ok_or(NOT_ONCE)?;
            let value = call.inputs.get(field).ok_or("it had no value")?;
            Ok((value, self.sources(run, value, index)))
        });
        certain(seen)
    }

    /// The source of an output of the module, or why it is not certain.
    fn of_output(&self, field: &str) -> Result<Source, String> {
        let seen = self.runs.iter().map(|run| {
            let value = run.output.get(field).ok_or("it had no value")?;
            Ok((value, self.sources(run, value, run.calls.len())))
        });
        certain(seen)
    }

    /// Every place that had this value before the call at `before`.
    fn sources(&self, run: &ObservedRun, wanted: &Payload, before: usize) -> HashSet<Source> {
        let at = |node: &Arc<str>, values: &Fields, ty: &Type| {
            let mut found = Vec::new();
            let values = Payload::map(values.clone());
            find_parts(&values, ty, &Selection::default(), wanted, &mut found);
            let node = node.clone();
            found.into_iter().map(move |selection| Source { node: node.clone(), selection })
        };
        let mut found: HashSet<Source> = at(&INPUT.into(), &run.input, &self.inputs).collect();
        for call in run.calls.iter().take(before) {
            if let Some((node, ty)) = self.nodes.get(&*call.path) {
                found.extend(at(node, &call.outputs, ty));
            }
        }
        found
    }
}

/// Finds the parts of a value that equal another value: fields of classes and elements of tuples at
/// any depth. Elements of lists and dicts are left out, because their places may depend on the value.
fn find_parts(
    value: &Payload,
    ty: &Type,
    at: &Selection,
    wanted: &Payload,
    parts: &mut Vec<Selection>,
) {
    if !at.is_empty() && value == wanted {
        parts.push(at.clone());
        return;
    }
    let mut descend = |step: SelectionStep, part: &Payload| {
        let step = Selection::new(vec![step]);
        if let Ok(ty) = step.type_in(ty) {
            find_parts(part, &ty, &at.then(&step), wanted, parts);
        }
    };
    match (&resolve(&ty.ir, &ty.defs).shape, value) {
        (TypeShape::Class(_) | TypeShape::Union(_), Payload::Map(members)) => {
            for (name, member) in members.iter() {
                descend(SelectionStep::Field(name.clone()), member);
            }
        }
        (TypeShape::Tuple(_), Payload::List(elements)) => {
            for (index, element) in elements.iter().enumerate() {
                descend(SelectionStep::Index(index), element);
            }
        }
        _ => {}
    }
}

/// The one source that had the value in every run, unless a constant of the program would have
/// looked the same.
fn certain<'v>(
    seen: impl Iterator<Item = Result<(&'v Payload, HashSet<Source>), &'static str>>,
) -> Result<Source, String> {
    let (mut values, mut common) = (Vec::new(), None::<HashSet<Source>>);
    for run in seen {
        let (value, sources) = run?;
        values.push(value);
        common = Some(match common {
            None => sources,
            Some(known) => known.intersection(&sources).cloned().collect(),
        });
    }
    let mut candidates: Vec<Source> = common.ok_or("no run was watched")?.into_iter().collect();
    match candidates.len() {
        0 => Err("it is computed: no earlier output or input had its value".to_owned()),
        1 => not_constant(candidates.remove(0), &values),
        _ => {
            let mut names: Vec<String> =
                candidates.iter().map(|source| format!("`{source}`")).collect();
            names.sort_unstable();
            Err(format!("it may come from any of {}: they had the same value", names.join(", ")))
        }
    }
}

/// Inputs of the module are always certain, because the examples set them.
fn not_constant(source: Source, values: &[&Payload]) -> Result<Source, String> {
    let is_same = values.iter().all(|value| Some(value) == values.first());
    let is_certain = values.first().is_none_or(|first| has_room(first)) || !is_same;
    if is_certain || &*source.node == INPUT {
        return Ok(source);
    }
    Err(format!(
        "it may come from `{source}` or be a constant: it had one of few values, the same in every \
         run; give more examples"
    ))
}

/// Whether a value has a type with enough values for a unique one.
fn has_room(value: &Payload) -> bool {
    match value {
        Payload::Null | Payload::Bool(_) => false,
        Payload::Str(text) => SentinelLm::made(text),
        Payload::List(members) => members.iter().any(has_room),
        Payload::Map(members) => members.values().any(has_room),
        _ => true,
    }
}
