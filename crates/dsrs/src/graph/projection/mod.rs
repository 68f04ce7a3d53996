//! A typed module as a graph: its predictors become nodes, and edges are inferred from runs on an LM
//! that answers unique values. Ambiguous connections are reported and left open, never guessed.

mod load_state;
mod sentinel;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use facet::Facet;

use self::sentinel::SentinelLm;
use crate::graph::edge::{Edge, INPUT, Source, Target};
use crate::graph::node::{Node, NodeSettings};
use crate::graph::program_graph::ProgramGraph;
use crate::lm::Models;
use crate::module::{Module, named_predictors_mut};
use crate::predict::{Ctx, SpanKind};
use crate::problem::{At, Problems};
use crate::reflect::{ReflectError, to_payload};
use crate::signature::{Data, FieldSchema, SignatureSchema, from_types};
use crate::strategy::StoredEnv;
use crate::types::TypeDefs;
use crate::value::{Fields, Map, Payload};

pub use load_state::load_module_state;

/// How long one traced run may take; the LM in it answers at once.
const RUN_LIMIT: Duration = Duration::from_secs(60);

/// A graph derived from a module.
pub struct Projection {
    /// The graph. Inputs that are open are fed by nothing, and it does not compile before they are.
    pub graph: ProgramGraph,
    /// The nodes with the paths of their predictors.
    pub nodes: Vec<(Arc<str>, String)>,
    /// What could not be seen.
    pub open: Vec<OpenConnection>,
}

/// An input of a node, or an output of the graph, whose source was not seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenConnection {
    /// `node.field`, or `output.field`.
    pub place: String,
    /// Why.
    pub reason: String,
}

/// A module that has no graph.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// It cannot be searched for predictors, or its types cannot be determined.
    #[error(transparent)]
    Reflect(#[from] ReflectError),
    /// A traced run failed.
    #[error("the traced run on example {example} failed: {reason}")]
    Run {
        /// The number of the example, from 0.
        example: usize,
        /// Why.
        reason: String,
    },
    /// The graph is invalid.
    #[error("{0}")]
    Graph(Problems),
}

impl From<Problems> for ProjectError {
    fn from(problems: Problems) -> Self {
        Self::Graph(problems)
    }
}

impl ProgramGraph {
    /// Derives a graph from a module: runs it once on every example with an LM that answers unique
    /// values. An edge is inferred if, in every run, an input field of a predictor equals exactly
    /// one output field of an earlier predictor or one input of the module. More examples, and more
    /// varied ones, leave less open.
    ///
    /// Every node uses the strategy `predict` on the predictor's own schema, so fields that a typed
    /// strategy adds, such as `reasoning`, are among its outputs. Instructions and demos stay in
    /// the module; [`load_module_state`](super::load_module_state) loads a tuned state back.
    ///
    /// # Errors
    /// When the module cannot be searched, a run fails, or two parts of it do not fit together.
    pub async fn from_module<M>(
        name: &str,
        module: &mut M,
        examples: &[M::Input],
    ) -> Result<Projection, ProjectError>
    where
        M: Module + Facet<'static>,
    {
        let mut projection = Self::nodes_of(name, module)?;
        let boundary = from_types::<M::Input, M::Output>("", Vec::new())?;
        let lm = Arc::new(SentinelLm::new(schemas(module)?));
        let mut runs = Vec::with_capacity(examples.len());
        for (number, example) in examples.iter().enumerate() {
            let run = watch(module, example, lm.clone()).await;
            runs.push(run.map_err(|reason| ProjectError::Run { example: number, reason })?);
        }
        projection.connect_observed(&boundary, &runs)?;
        Ok(projection)
    }

    /// Derives a graph from a module with the given edges, for modules whose edges cannot be
    /// observed in runs. `outputs` names the graph's outputs; its inputs are those of the module.
    ///
    /// # Errors
    /// When the module cannot be searched, or an edge or output does not fit.
    pub fn from_module_with<M>(
        name: &str,
        module: &mut M,
        edges: impl IntoIterator<Item = Edge>,
        outputs: impl IntoIterator<Item = (Arc<str>, Source)>,
    ) -> Result<Projection, ProjectError>
    where
        M: Module + Facet<'static>,
    {
        let mut projection = Self::nodes_of(name, module)?;
        let boundary = from_types::<M::Input, M::Output>("", Vec::new())?;
        projection.declare_inputs(&boundary)?;
        for edge in edges {
            projection.graph.connect(edge.from, edge.to)?;
        }
        for (name, source) in outputs {
            projection.graph.set_output(&name, source)?;
        }
        Ok(projection)
    }

    /// The predictors as nodes that nothing connects yet.
    fn nodes_of<M: Module + Facet<'static>>(
        name: &str,
        module: &mut M,
    ) -> Result<Projection, ProjectError> {
        let mut graph = Self::new(name, Arc::new(TypeDefs::default()))?;
        let mut nodes = Vec::new();
        let found = named_predictors_mut(module).map_err(|e| ReflectError::new(e.to_string()))?;
        for (path, predictor) in found {
            let node_name = free_name(&path, &nodes);
            predictor.set_path(path.as_str().into());
            let config = Payload::map(Map::new());
            let base = predictor.schema().clone();
            let settings = NodeSettings::default();
            let node = Node::create(&StoredEnv, "predict", base, config, settings, &At::Root)?;
            graph.add_node(&node_name, node)?;
            nodes.push((node_name, path));
        }
        Ok(Projection { graph, nodes, open: Vec::new() })
    }
}

/// A path as a node's name.
fn free_name(path: &str, taken: &[(Arc<str>, String)]) -> Arc<str> {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let joined = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
    let safe = match joined.as_str() {
        "" => "predictor".to_owned(),
        INPUT => format!("{INPUT}_1"),
        name if name.starts_with(|c: char| c.is_ascii_digit()) => format!("_{name}"),
        name => name.chars().take(58).collect(),
    };
    let numbered = (2..).map(|number| format!("{safe}_{number}"));
    let is_free = |name: &String| !taken.iter().any(|(known, _)| **known == **name);
    std::iter::once(safe.clone()).chain(numbered).find(is_free).unwrap_or(safe).into()
}

fn schemas<M: Facet<'static>>(
    module: &mut M,
) -> Result<Vec<(String, Arc<SignatureSchema>)>, ReflectError> {
    let found = named_predictors_mut(module).map_err(|e| ReflectError::new(e.to_string()))?;
    let each = found.into_iter().map(|(_, predictor)| {
        let system =
            predictor.render(&Fields::new()).first().map(|first| first.content.to_string());
        (system.unwrap_or_default(), predictor.schema().clone())
    });
    Ok(each.collect())
}

/// One observed run.
struct ObservedRun {
    input: Fields,
    output: Fields,
    /// The calls in the order in which they began: path, inputs, outputs.
    calls: Vec<(Arc<str>, Fields, Fields)>,
}

async fn watch<M: Module>(
    module: &M,
    example: &M::Input,
    lm: Arc<SentinelLm>,
) -> Result<ObservedRun, String> {
    let input = as_fields(example)?;
    // The example is converted to data and back, like the inputs of a graph.
    let again = crate::reflect::from_payload::<M::Input>(&Payload::map(input.clone()));
    let again = again.map_err(|error| error.to_string())?;
    lm.begin_run();
    let ctx = Ctx::within(Models::only(lm).into(), RUN_LIMIT);
    let output = module.call(&ctx, again).await.map_err(|error| error.to_string())?;
    let output = as_fields(&*output)?;
    let mut calls = Vec::new();
    for span in ctx.trace().take().into_iter().filter(|span| span.kind == SpanKind::Predictor) {
        let path = span.predictor.unwrap_or_default();
        calls.push((path, span.inputs.unwrap_or_default(), span.outputs.unwrap_or_default()));
    }
    Ok(ObservedRun { input, output, calls })
}

fn as_fields<T: Data>(value: &T) -> Result<Fields, String> {
    match to_payload(value) {
        Ok(Payload::Map(fields)) => Ok(Arc::unwrap_or_clone(fields)),
        Ok(_) => Err("no struct with named fields".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

impl ObservedRun {
    /// The inputs and outputs of a predictor; `None` unless it was called exactly once.
    fn call(&self, path: &str) -> Option<(usize, &Fields, &Fields)> {
        let mut calls = self.calls.iter().enumerate().filter(|(_, call)| *call.0 == *path);
        let (index, (_, inputs, outputs)) = calls.next()?;
        calls.next().is_none().then_some((index, inputs, outputs))
    }

    /// Every source that had this value before the call at `before`.
    fn sources(
        &self,
        value: &Payload,
        before: usize,
        names: &HashMap<&str, &Arc<str>>,
    ) -> HashSet<Source> {
        let of = |node: &Arc<str>, fields: &Fields| -> Vec<Source> {
            let equal = fields.iter().filter(|(_, found)| *found == value);
            equal.map(|(name, _)| Source::field_of(node.clone(), name.clone())).collect()
        };
        let earlier = self.calls.iter().take(before);
        let from_nodes = earlier.filter_map(|(path, _, outputs)| {
            names.get(path.as_ref()).map(|node| of(node, outputs))
        });
        from_nodes.flatten().chain(of(&Arc::from(INPUT), &self.input)).collect()
    }
}

impl Projection {
    fn declare_inputs(&mut self, boundary: &SignatureSchema) -> Result<(), Problems> {
        for field in &boundary.inputs {
            let input = FieldSchema {
                description: field.description.clone(),
                default: field.default.clone(),
                ..FieldSchema::of(field.name.clone(), field.ty.clone())
            };
            self.graph.set_input(input)?;
        }
        Ok(())
    }

    /// Connects every input and output whose source the runs determine; the others stay open.
    fn connect_observed(
        &mut self,
        boundary: &SignatureSchema,
        runs: &[ObservedRun],
    ) -> Result<(), Problems> {
        self.graph.adopt(&boundary.defs);
        self.declare_inputs(boundary)?;
        let nodes = self.nodes.clone();
        let names: HashMap<&str, &Arc<str>> =
            nodes.iter().map(|(name, path)| (path.as_str(), name)).collect();
        for (name, path) in &nodes {
            let fields = self.graph.node(name).map(|node| node.schema().inputs.clone());
            for field in fields.unwrap_or_default() {
                let seen = runs.iter().map(|run| {
                    let (index, inputs, _) = run.call(path).ok_or(NOT_ONCE)?;
                    let value = inputs.get(&field.name).ok_or("it had no value")?;
                    Ok(run.sources(value, index, &names))
                });
                let place = Target { node: name.clone(), field: field.name.clone() };
                let given = runs.iter().filter_map(|run| run.call(path)?.1.get(&field.name));
                match one_source(seen).and_then(|source| not_constant(source, given)) {
                    Ok(from) => self.graph.connect(from, place)?,
                    Err(reason) => {
                        self.open.push(OpenConnection { place: place.to_string(), reason })
                    }
                }
            }
        }
        for field in &boundary.outputs {
            let seen = runs.iter().map(|run| {
                let value = run.output.get(&field.name).ok_or("it had no value")?;
                Ok(run.sources(value, run.calls.len(), &names))
            });
            let given = runs.iter().filter_map(|run| run.output.get(&field.name));
            match one_source(seen).and_then(|source| not_constant(source, given)) {
                Ok(source) => self.graph.set_output(&field.name, source)?,
                Err(reason) => {
                    let place = format!("output.{}", field.name);
                    self.open.push(OpenConnection { place, reason });
                }
            }
        }
        Ok(())
    }
}

const NOT_ONCE: &str = "its predictor was not called exactly once in every run";

/// The source, unless a constant of the program would have looked the same. Inputs of the module are
/// always certain, because the examples set them.
fn not_constant<'v>(
    source: Source,
    mut given: impl Iterator<Item = &'v Payload>,
) -> Result<Source, String> {
    let first = given.next();
    let is_certain = first.is_none_or(has_room) || given.any(|other| Some(other) != first);
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

/// The one source that had the value in every run.
fn one_source(
    seen: impl Iterator<Item = Result<HashSet<Source>, &'static str>>,
) -> Result<Source, String> {
    let mut common: Option<HashSet<Source>> = None;
    for sources in seen {
        let sources = sources?;
        common = Some(match common {
            None => sources,
            Some(known) => known.intersection(&sources).cloned().collect(),
        });
    }
    let mut found: Vec<Source> = common.ok_or("no run was watched")?.into_iter().collect();
    match found.len() {
        0 => Err("it is computed: no earlier output or input had its value".to_owned()),
        1 => Ok(found.remove(0)),
        _ => {
            let mut names: Vec<String> = found.iter().map(|source| format!("`{source}`")).collect();
            names.sort_unstable();
            Err(format!("it may come from any of {}: they had the same value", names.join(", ")))
        }
    }
}
