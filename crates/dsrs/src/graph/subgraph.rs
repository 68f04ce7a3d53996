//! `subgraph`: a graph within a definition, as one strategy: what an arm of `branch`, a case of `switch` or a round of
//! `loop` may be. Its nodes run only if the strategy around it runs it. Does not know what that is.

use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};

use super::{GraphModule, GraphState};
use crate::predict::{Ctx, DynPredictor, PredictError, SignatureChecks};
use crate::problem::{At, Code, Problems};
use crate::signature::{FieldSchema, SignatureSchema, read_signature, signature_to_schemas};
use crate::strategy::{
    BuildEnv, ConfigRef, DynModule, InnerAsserts, InputTypes, Op, OpFactory, OpInput, OpStrategy,
    OpTypes, RecordedCall, Reference, Sources, StrategyRegistration, registry,
};
use crate::types::{TypeScope, absent_value};
use crate::value::{Fields, Map, Payload, Selection};

const SUBGRAPH: &str = "subgraph";
const NODES: &str = "nodes";

/// The most subgraphs of a definition, and how deep they may be nested: each is read and checked as a graph.
const MOST: usize = 100;
const DEPTH: usize = 8;

inventory::submit! { StrategyRegistration(&OpStrategy(&Factory)) }

struct Factory;

/// A graph without a name.
const SCHEMA: &str = r#"{"type": "object", "additionalProperties": false, "required": ["nodes"], "properties": {
    "types": {"type": "object", "description": "The types that its fields name. Those of the graph around it are not known here."},
    "inputs": {"type": "object", "description": "Its inputs by name. Default: those of its nodes to which nothing is connected."},
    "nodes": {"type": "object", "description": "Its nodes by name, as in a graph."},
    "edges": {"type": "array", "items": {"type": "object"}, "description": "Its connections, as in a graph."},
    "outputs": {"type": "object", "description": "Its outputs by name. Default: those of the nodes that feed no other."}}}"#;

impl OpFactory for Factory {
    fn name(&self) -> &'static str {
        SUBGRAPH
    }

    fn description(&self) -> &'static str {
        "A graph within the definition: nodes and edges that run as one strategy, such as an arm of `branch`, a case of \
         `switch` or a round of `loop`. Costs what its nodes cost."
    }

    fn config_schema(&self) -> Payload {
        Payload::from_json(SCHEMA).unwrap_or_default()
    }

    fn calls_lm(&self) -> bool {
        true
    }

    fn config_refs(&self) -> &'static [ConfigRef] {
        &[ConfigRef::SignedStrategies(NODES)]
    }

    fn read(
        &self,
        env: &dyn BuildEnv,
        config: &Payload,
        scope: &mut TypeScope,
        at: &At<'_>,
    ) -> Result<Box<dyn Op>, Problems> {
        let mut document = config.as_map().cloned().unwrap_or_default();
        document.insert("name".into(), self.name().into());
        let config_at = at.key("config").pointer();
        let module = GraphModule::new(&document.into(), &GraphState::default(), env)
            .map_err(|problems| below(&config_at, problems))?;
        let written = signature_to_schemas(module.schema());
        let mut side = |name| read_side(&written, name, scope, &at.key("config"));
        let (inputs, outputs) = (side("input_schema")?, side("output_schema")?);
        Ok(Box::new(Subgraph { module, inputs, outputs }))
    }
}

/// The fields of one side of a signature, over the definitions of a scope. An op may have an input and an output of the same
/// name, as no signature does: each side is read alone.
fn read_side(
    signature: &Payload,
    name: &str,
    scope: &mut TypeScope,
    at: &At<'_>,
) -> Result<Vec<FieldSchema>, Problems> {
    let schema = signature.as_map().and_then(|members| members.get(name)).cloned();
    let fields = schema.as_ref().and_then(|schema| schema.as_map()?.get("properties")?.as_map());
    let Some(schema) = schema.as_ref().filter(|_| fields.is_some_and(|fields| !fields.is_empty()))
    else {
        return Ok(Vec::new());
    };
    let alone = Map::from_iter([("output_schema".into(), schema.clone())]);
    let mut problems = Problems::new();
    let draft = read_signature(&alone.into(), scope, at, &mut problems);
    problems.or(draft.map(|draft| draft.outputs).unwrap_or_default())
}

/// The number of subgraphs in a part of a definition, and their depth.
#[derive(Clone, Copy, Default)]
struct Nesting {
    count: usize,
    depth: usize,
}

impl Nesting {
    /// Those of a strategy with its config, its own one included.
    fn of(strategy: &str, config: &Payload) -> Self {
        let references = registry::get(strategy).map(|factory| factory.references(config));
        let within = references.into_iter().flatten().filter_map(|reference| match reference {
            Reference::Strategy { name, config } => Some(Self::of(name, config)),
            Reference::Graph(_) => None,
        });
        let within = within.fold(Self::default(), Self::and);
        match strategy == SUBGRAPH {
            true => Self { count: within.count.saturating_add(1), depth: within.depth + 1 },
            false => within,
        }
    }

    fn and(self, other: Self) -> Self {
        let count = self.count.saturating_add(other.count);
        Self { count, depth: self.depth.max(other.depth) }
    }
}

/// Refuses a definition with too many subgraphs, before any of them is read.
pub(super) fn check_nesting(document: &Payload, problems: &mut Problems) {
    let nodes = document.as_map().and_then(|members| members.get(NODES)?.as_map());
    let each = nodes.into_iter().flat_map(Map::values).filter_map(|node| {
        let members = node.as_map()?;
        Some(Nesting::of(members.get("strategy")?.as_str()?, members.get("config")?))
    });
    let Nesting { count, depth } = each.fold(Nesting::default(), Nesting::and);
    let place = At::Root;
    let place = place.key(NODES);
    if count > MOST {
        let detail = format!("{count} subgraphs; at most {MOST} fit in one graph");
        problems.add(&place, Code::TooLarge, detail);
    }
    if depth > DEPTH {
        let detail = format!("subgraphs are nested {depth} deep; at most {DEPTH} are");
        problems.add(&place, Code::TooLarge, detail);
    }
}

/// Problems of the graph within, at their places in the definition.
fn below(place: &str, problems: Problems) -> Problems {
    problems.map(|mut problem| {
        problem.pointer = format!("{place}{}", problem.pointer);
        problem
    })
}

struct Subgraph {
    module: GraphModule,
    /// Its fields, over the definitions of the graph around it.
    inputs: Vec<FieldSchema>,
    outputs: Vec<FieldSchema>,
}

impl Op for Subgraph {
    fn inputs(&self) -> Vec<OpInput> {
        let schema = self.module.schema();
        let is_required = |field: &FieldSchema| {
            let own = schema.input(&field.name);
            own.is_some_and(|own| {
                absent_value(&own.ty, &schema.defs, own.default.as_ref()).is_none()
            })
        };
        let input = |field: &FieldSchema| OpInput {
            name: field.name.clone(),
            ty: Some(field.ty.clone()),
            required: is_required(field),
        };
        self.inputs.iter().map(input).collect()
    }

    fn infer(&self, given: &mut InputTypes<'_>, _: &At<'_>) -> Result<OpTypes, Problems> {
        let is_given = |field: &&FieldSchema| given.get(&field.name).is_some();
        let field = |field: &FieldSchema| FieldSchema::of(field.name.clone(), field.ty.clone());
        let input =
            |given: &FieldSchema| FieldSchema { default: given.default.clone(), ..field(given) };
        Ok(OpTypes {
            inputs: self.inputs.iter().filter(is_given).map(input).collect(),
            outputs: self.outputs.iter().map(field).collect(),
        })
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        let checks = SignatureChecks::of(self.module.schema());
        Box::new(SubgraphModule { schema, checks, graph: self.module })
    }
}

struct SubgraphModule {
    schema: Arc<SignatureSchema>,
    /// The asserts of the inputs of the graph.
    checks: SignatureChecks,
    graph: GraphModule,
}

impl SubgraphModule {
    /// The inputs of the graph; those that are not connected have their defaults.
    fn inputs(&self, mut given: Fields) -> Fields {
        let schema = self.graph.schema();
        let value = |field: &FieldSchema| {
            let absent = || absent_value(&field.ty, &schema.defs, field.default.as_ref());
            let value = given.swap_remove(&field.name).or_else(absent).unwrap_or_default();
            (field.name.clone(), value)
        };
        schema.inputs.iter().map(value).collect()
    }
}

impl DynModule for SubgraphModule {
    fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        self.graph.predictors()
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        self.graph.predictors_mut()
    }

    fn attempts(&self) -> usize {
        self.graph.attempts()
    }

    fn sources(&self, call: &RecordedCall<'_>, part: &Selection) -> Sources {
        self.graph.sources(call, part)
    }

    fn inner_asserts(&self) -> Option<&dyn InnerAsserts> {
        self.graph.inner_asserts()
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        let input = self.inputs(input);
        match self.checks.admit_inputs(&input) {
            Ok(()) => self.graph.forward(ctx, input),
            Err(error) => Box::pin(ready(Err(error))),
        }
    }
}
