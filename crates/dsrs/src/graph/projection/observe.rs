//! Watches a module while it runs on an LM that answers unique values: the inputs and outputs of all
//! its predictors. Its own state is set aside meanwhile, because it may name models and demos that
//! the LM does not have. Does not know what is derived from the runs.

use std::sync::Arc;
use std::time::Duration;

use facet::Facet;

use super::ProjectError;
use super::sentinel::SentinelLm;
use crate::lm::Models;
use crate::module::{Module, named_predictors_mut};
use crate::predict::{Ctx, PredictState, SpanKind};
use crate::problem::At;
use crate::reflect::{ReflectError, from_payload, to_payload};
use crate::signature::{Data, SignatureSchema};
use crate::value::{Fields, Payload};

/// How long one watched run may take; the LM in it answers at once.
const RUN_LIMIT: Duration = Duration::from_secs(60);

/// One watched run.
pub(super) struct ObservedRun {
    pub(super) input: Fields,
    pub(super) output: Fields,
    /// The calls in the order in which they began.
    pub(super) calls: Vec<ObservedCall>,
}

/// One call of a predictor.
pub(super) struct ObservedCall {
    pub(super) path: Arc<str>,
    pub(super) inputs: Fields,
    pub(super) outputs: Fields,
}

impl ObservedRun {
    /// A predictor's call and its place among the calls; `None` unless it was called exactly once.
    pub(super) fn call(&self, path: &str) -> Option<(usize, &ObservedCall)> {
        let mut calls = self.calls.iter().enumerate().filter(|(_, call)| *call.path == *path);
        let found = calls.next()?;
        calls.next().is_none().then_some(found)
    }
}

/// Runs a module once on each example.
pub(super) async fn observe<M>(
    module: &mut M,
    examples: &[M::Input],
) -> Result<Vec<ObservedRun>, ProjectError>
where
    M: Module + Facet<'static>,
{
    let untuned = Untuned::of(module)?;
    let lm = Arc::new(SentinelLm::new(untuned.prompts.clone()));
    let mut runs = Vec::with_capacity(examples.len());
    for (number, example) in examples.iter().enumerate() {
        let run = watch(&*untuned.module, example, lm.clone()).await;
        runs.push(run.map_err(|reason| ProjectError::Run { example: number, reason })?);
    }
    Ok(runs)
}

/// A module without its state, which it gets back at the end, also of a run that is given up.
struct Untuned<'m, M: Facet<'static>> {
    module: &'m mut M,
    states: Vec<PredictState>,
    /// The system message and the schema of each predictor.
    prompts: Vec<(String, Arc<SignatureSchema>)>,
}

impl<'m, M: Facet<'static>> Untuned<'m, M> {
    fn of(module: &'m mut M) -> Result<Self, ProjectError> {
        let found = named_predictors_mut(module).map_err(|e| ReflectError::new(e.to_string()))?;
        let (mut states, mut prompts) = (Vec::new(), Vec::new());
        for (_, predictor) in found {
            states.push(predictor.state().clone());
            predictor.load_state(PredictState::default(), &At::Root)?;
            let messages = predictor.render(&Fields::new());
            let system = messages.first().map(|first| first.content.to_string());
            prompts.push((system.unwrap_or_default(), predictor.schema().clone()));
        }
        Ok(Self { module, states, prompts })
    }
}

impl<M: Facet<'static>> Drop for Untuned<'_, M> {
    fn drop(&mut self) {
        let found = named_predictors_mut(self.module).unwrap_or_default();
        for ((_, predictor), state) in found.into_iter().zip(self.states.drain(..)) {
            // It is the predictor's own state, which still fits.
            drop(predictor.load_state(state, &At::Root));
        }
    }
}

async fn watch<M: Module>(
    module: &M,
    example: &M::Input,
    lm: Arc<SentinelLm>,
) -> Result<ObservedRun, String> {
    let input = as_fields(example)?;
    // The example is converted to data and back, like the inputs of a graph.
    let again = from_payload::<M::Input>(&Payload::map(input.clone()));
    let again = again.map_err(|error| error.to_string())?;
    lm.begin_run();
    let ctx = Ctx::within(Models::only(lm).into(), RUN_LIMIT);
    let output = module.call(&ctx, again).await.map_err(|error| error.to_string())?;
    let output = as_fields(&*output)?;
    let spans = ctx.trace().take().into_iter().filter(|span| span.kind == SpanKind::Predictor);
    let calls = spans.map(|span| ObservedCall {
        path: span.predictor.unwrap_or_default(),
        inputs: span.inputs.unwrap_or_default(),
        outputs: span.outputs.unwrap_or_default(),
    });
    Ok(ObservedRun { input, output, calls: calls.collect() })
}

fn as_fields<T: Data>(value: &T) -> Result<Fields, String> {
    match to_payload(value) {
        Ok(Payload::Map(fields)) => Ok(Arc::unwrap_or_clone(fields)),
        Ok(_) => Err("no struct with named fields".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
