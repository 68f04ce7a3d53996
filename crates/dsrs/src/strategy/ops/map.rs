//! `map`: a strategy over each element of a list, or each value of a dict: several at once, results in
//! order. The predictors of the inner strategy are under `module`.

use std::collections::BTreeSet;
use std::sync::Arc;

use facet::Facet;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt};
use indexmap::IndexMap;
use tokio::time::Instant;

use super::inner_strategy::{InnerPlace, InnerStrategy, InnerStrategyConfig, inputs_of};
use super::provenance::{MAX_TRACKED_PARTS, input};
use super::{Container, container, failed, invalid, too_large};
use crate::document::{config_schema, read_config};
use crate::predict::{Ctx, DynPredictor, PredictError, PredictErrorKind, SpanKind, SpanStatus};
use crate::problem::{At, Code, Problems};
use crate::read::listed;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::strategy::inner_module::{InnerModule, MODULE};
use crate::strategy::op::{InputTypes, Op, OpFactory, OpInput, OpStrategy, OpTypes};
use crate::strategy::registry::StrategyRegistration;
use crate::strategy::{BuildEnv, ConfigRef, DynModule, Flow, RecordedCall, Sources};
use crate::types::{TypeIR, TypeScope};
use crate::value::{Failure, Fields, Payload, Selection, SizeBudget, Value, ValueBatch, unwrap};

const OVER: &str = "over";
/// After how many elements the task yields to others.
const TURN: usize = 32;

inventory::submit! { StrategyRegistration(&OpStrategy(&Factory)) }

#[derive(Facet)]
struct MapConfig {
    /// What runs over each element.
    module: InnerStrategyConfig,
    /// The input whose elements it runs over. Optional if the strategy has one input.
    over: Option<String>,
    /// How many run at once.
    #[facet(default = 8, dsrs::minimum(1), dsrs::maximum(100))]
    concurrency: usize,
    /// Whether a failed element fails the node, or is an error among the results.
    #[facet(default = ElementFailure::Fail)]
    on_error: ElementFailure,
}

/// What becomes of a failed element.
#[derive(Clone, Copy, PartialEq, Facet)]
#[facet(rename_all = "snake_case")]
#[repr(u8)]
enum ElementFailure {
    Fail,
    Keep,
}

struct Factory;

impl OpFactory for Factory {
    fn name(&self) -> &'static str {
        "map"
    }

    fn description(&self) -> &'static str {
        "Runs a strategy, or a stored graph, over each element of a list or each value of a dict: \
         several at once, results in order. Its outputs are lists, or dicts, of those of the strategy. \
         As many LM calls as the strategy makes, for each element."
    }

    fn config_schema(&self) -> Payload {
        config_schema::<MapConfig>()
    }

    fn calls_lm(&self) -> bool {
        true
    }

    fn predictors(&self) -> &[&'static str] {
        &[MODULE]
    }

    fn config_refs(&self) -> &'static [ConfigRef] {
        &[ConfigRef::SignedStrategy(MODULE)]
    }

    fn read(
        &self,
        env: &dyn BuildEnv,
        config: &Payload,
        scope: &mut TypeScope,
        at: &At<'_>,
    ) -> Result<Box<dyn Op>, Problems> {
        let config: MapConfig = read_config(config, &at.key("config"))?;
        let inner =
            InnerStrategy::build(env, config.module, InnerPlace::member(MODULE), scope, at)?;
        let inputs = inner.inputs();
        let named = config.over.as_deref();
        let names = || inputs.iter().map(|input| input.name.as_ref());
        let over = match (named, inputs.as_slice()) {
            (None, [only]) => only.name.clone(),
            (Some(named), _) if inner.accepts_others() || names().any(|name| name == named) => {
                named.into()
            }
            (named, _) => {
                let known = listed(names());
                let detail = match named {
                    Some(named) => {
                        format!("the strategy has no input `{named}`; its inputs: {known}")
                    }
                    None => {
                        format!("name the input to run over; the inputs of the strategy: {known}")
                    }
                };
                return Err(invalid(at, OVER, Code::InvalidConfig, detail));
            }
        };
        let keep = config.on_error == ElementFailure::Keep;
        Ok(Box::new(Map { inner, over, concurrency: config.concurrency, keep }))
    }
}

struct Map {
    inner: InnerStrategy,
    over: Arc<str>,
    concurrency: usize,
    keep: bool,
}

impl Op for Map {
    fn inputs(&self) -> Vec<OpInput> {
        let mut inputs = self.inner.inputs();
        for input in inputs.iter_mut().filter(|input| input.name == self.over) {
            *input =
                OpInput { ty: input.ty.take().map(TypeIR::list), required: true, ..input.clone() };
        }
        if inputs.iter().all(|input| input.name != self.over) {
            inputs.push(OpInput::open(self.over.clone()));
        }
        inputs
    }

    fn accepts_others(&self) -> bool {
        self.inner.accepts_others()
    }

    fn infer(&self, given: &mut InputTypes<'_>, at: &At<'_>) -> Result<OpTypes, Problems> {
        let defs = given.defs();
        let whole = given.get(&self.over).cloned();
        let parts = whole.as_ref().and_then(|whole| container(whole, defs));
        let by_key = matches!(parts, Some(Container::Dict(_)));
        let element = match parts {
            Some(Container::List(element) | Container::Dict(element)) => element.clone(),
            None => TypeIR::Any,
        };
        let of_element = |name: &Arc<str>, ir: &TypeIR| match *name == self.over {
            true => element.clone(),
            false => ir.clone(),
        };
        let types: IndexMap<_, _> =
            given.types().iter().map(|(name, ir)| (name.clone(), of_element(name, ir))).collect();
        let is_given: Vec<Arc<str>> = types.keys().cloned().collect();
        let inner = self.inner.infer(&mut given.within(types), at)?;
        let all = |ir: TypeIR| if by_key { TypeIR::dict(ir) } else { TypeIR::list(ir) };
        let input = |field: FieldSchema| match field.name == self.over {
            true => FieldSchema::of(field.name, all(field.ty)),
            false => field,
        };
        let output = |field: FieldSchema| {
            let ty = if self.keep { TypeIR::union([field.ty, TypeIR::Error]) } else { field.ty };
            FieldSchema { ty: all(ty), default: None, constraints: Vec::new(), ..field }
        };
        let taken = |field: &FieldSchema| field.name == self.over || is_given.contains(&field.name);
        Ok(OpTypes {
            inputs: inner.inputs.into_iter().filter(taken).map(input).collect(),
            outputs: inner.outputs.into_iter().map(output).collect(),
        })
    }

    fn module(self: Box<Self>, schema: Arc<SignatureSchema>) -> Box<dyn DynModule> {
        let Self { inner, over, concurrency, keep } = *self;
        let module = inner.module(&schema.defs);
        Box::new(MapModule { schema, module, over, concurrency, keep })
    }
}

struct MapModule {
    schema: Arc<SignatureSchema>,
    module: InnerModule,
    over: Arc<str>,
    concurrency: usize,
    keep: bool,
}

impl MapModule {
    async fn run(&self, ctx: &Ctx, input: &Fields) -> Result<Fields, PredictError> {
        let whole = Value::plain(input.get(&self.over).cloned().unwrap_or_default());
        let batch =
            ValueBatch::of(&whole).ok_or_else(|| failed("there is no list or dict to run over"))?;
        let calls = batch.payloads().enumerate().map(|(position, element)| {
            let mut given = inputs_of(&self.module, input);
            given.insert(self.over.clone(), element);
            async move { (position, self.element(ctx, position, given).await) }
        });
        let mut running = stream::iter(calls).buffer_unordered(self.concurrency.max(1));
        let mut results = Vec::with_capacity(batch.items().len());
        let mut room = SizeBudget::default();
        while let Some((position, result)) = running.next().await {
            if position % TURN == TURN - 1 {
                // A computing element never waits; the run may have ended meanwhile.
                tokio::task::yield_now().await;
            }
            let outputs = result.or_else(|error| self.as_error(ctx, error));
            let outputs = outputs.map_err(|error| at_element(error, &batch, position))?;
            outputs.values().try_for_each(|value| room.take(value)).map_err(too_large)?;
            results.push((position, outputs));
            check_time(ctx, results.len())?;
        }
        self.gather(&batch, &results)
    }

    /// Runs one element, under a span of its own unless it only computes.
    async fn element(
        &self,
        ctx: &Ctx,
        position: usize,
        given: Fields,
    ) -> Result<Fields, PredictError> {
        if self.module.computes() {
            return self.module.forward(ctx, given).await;
        }
        ctx.check_room()?;
        let ctx = &ctx.at(MODULE, position);
        let trace = ctx.trace();
        let span = trace.open(SpanKind::Element, &ctx.node.node, ctx.parent, |span| {
            span.attempt = Some(number(position));
        });
        let result = self.module.forward(&ctx.under(span), given).await;
        match &result {
            Ok(_) => trace.close(span, SpanStatus::Succeeded, |_| {}),
            Err(error) => trace.close(span, SpanStatus::Failed, |span| span.fail(error)),
        }
        result
    }

    /// Where a part of one element's result came from.
    fn sources_of(
        &self,
        call: &RecordedCall<'_>,
        batch: &ValueBatch,
        position: usize,
        part: &Selection,
    ) -> Sources {
        let step: Selection = batch.step(position).into_iter().collect();
        let element = batch.items().get(position).and_then(|item| unwrap(item).ok());
        let mut inputs = inputs_of(&self.module, call.inputs);
        inputs.insert(self.over.clone(), element.unwrap_or_default());
        let result = |(name, all): (&Arc<str>, &Payload)| (name.clone(), step.get(all));
        let outputs: Fields = call.outputs.iter().map(result).collect();
        let mut spans = call.recording.children(call.span);
        let span = spans
            .find(|span| span.kind == SpanKind::Element && span.number == Some(number(position)));
        let span = span.map(|span| span.id).filter(|_| call.span.is_some());
        let inner = RecordedCall { inputs: &inputs, outputs: &outputs, span, ..*call };
        let Sources { mut flows, spans } = self.module.sources(&inner, part);
        let over = input(&self.over);
        for flow in &mut flows {
            if let Some(rest) = flow.from.after(&over) {
                flow.from = over.then(&step).then(&rest);
            }
        }
        let below = || span.map(|span| call.recording.below(span)).into_iter().flatten().collect();
        let mut spans: BTreeSet<u32> = spans.unwrap_or_else(below);
        spans.extend(span);
        Sources { flows, spans: Some(spans) }
    }

    /// Where the results of all elements came from.
    fn sources_of_all(
        &self,
        call: &RecordedCall<'_>,
        batch: &ValueBatch,
        output: &Selection,
    ) -> Sources {
        let mut all = Sources { flows: Vec::new(), spans: Some(BTreeSet::new()) };
        for position in 0..batch.items().len() {
            let step: Selection = batch.step(position).into_iter().collect();
            let Sources { flows, spans } = self.sources_of(call, batch, position, output);
            let placed = |flow: Flow| Flow { into: step.then(&flow.into), ..flow };
            all.flows.extend(flows.into_iter().map(placed));
            all.spans.get_or_insert_default().extend(spans.into_iter().flatten());
        }
        all
    }

    /// An error in place of every output, if `on_error` is `keep` and the run has not ended.
    fn as_error(&self, ctx: &Ctx, error: PredictError) -> Result<Fields, PredictError> {
        let late = Instant::now() >= ctx.node.deadline;
        let is_over = match error.kind {
            PredictErrorKind::Cancelled | PredictErrorKind::Waiting { .. } => true,
            PredictErrorKind::Timeout => late,
            _ => false,
        };
        if !self.keep || is_over {
            return Err(error);
        }
        let failure = Failure::new(error.kind.code(), error.message).at(ctx.node.node.clone());
        let value = Payload::Error(Arc::new(failure));
        let outputs = self.schema.outputs.iter();
        Ok(outputs.map(|field| (field.name.clone(), value.clone())).collect())
    }

    /// The results of all elements, output by output, in the shape of the input.
    fn gather(&self, batch: &ValueBatch, all: &[(usize, Fields)]) -> Result<Fields, PredictError> {
        let output = |field: &FieldSchema| {
            let part = |(position, found): &(usize, Fields)| {
                let value = found.get(&field.name).cloned().unwrap_or_default();
                (*position, Value::plain(value))
            };
            let whole = batch.gather(all.iter().map(part)).ok()?;
            Some((field.name.clone(), unwrap(&whole).ok()?))
        };
        let outputs: Option<Fields> = self.schema.outputs.iter().map(output).collect();
        outputs.ok_or_else(|| failed("an element has no result"))
    }
}

/// Nothing else stops a computing element.
fn check_time(ctx: &Ctx, done: usize) -> Result<(), PredictError> {
    if ctx.run.cancelled.is_cancelled() {
        return Err(PredictError::new(PredictErrorKind::Cancelled, "the run was cancelled"));
    }
    if Instant::now() < ctx.node.deadline {
        return Ok(());
    }
    let message = format!("the node ran out of time after {done} of its elements");
    Err(PredictError::new(PredictErrorKind::Timeout, message))
}

/// The number of an element, from 1.
fn number(position: usize) -> u32 {
    u32::try_from(position + 1).unwrap_or(u32::MAX)
}

/// A failure with the position of its element.
fn at_element(error: PredictError, batch: &ValueBatch, position: usize) -> PredictError {
    let step: Selection = batch.step(position).into_iter().collect();
    PredictError { message: format!("element {step}: {}", error.message), ..error }
}

impl DynModule for MapModule {
    fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        self.module.predictors()
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        self.module.predictors_mut()
    }

    fn attempts(&self) -> usize {
        self.module.attempts().saturating_mul(self.concurrency)
    }

    fn sources(&self, call: &RecordedCall<'_>, part: &Selection) -> Sources {
        let over = call.inputs.get(&self.over).cloned().map(Value::plain);
        let batch = over.and_then(|over| ValueBatch::of(&over));
        let (Some(batch), Some((output, within))) = (batch, part.split_first()) else {
            return Sources::all(&self.schema);
        };
        let output = Selection::new(vec![output.clone()]);
        match within.split_first() {
            None if batch.items().len() > MAX_TRACKED_PARTS => Sources::all(&self.schema),
            None => self.sources_of_all(call, &batch, &output),
            Some((step, rest)) => match batch.position(step) {
                Some(position) => self.sources_of(call, &batch, position, &output.then(&rest)),
                None => Sources { flows: Vec::new(), spans: Some(BTreeSet::new()) },
            },
        }
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(async move { self.run(ctx, &input).await })
    }
}
