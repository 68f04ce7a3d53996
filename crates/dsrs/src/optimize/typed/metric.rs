//! A closure over typed values as a metric of the engine.

use std::collections::HashMap;
use std::sync::Arc;

use super::TypedExample;
use crate::module::Module;
use crate::optimize::{Case, Metric, Score};
use crate::predict::{PredictError, PredictErrorKind};
use crate::reflect::from_payload;
use crate::signature::Data;
use crate::value::Payload;

/// Typed examples by the ids of their counterparts in the engine.
pub(super) type ExamplesById<M, E> = HashMap<Arc<str>, TypedExample<<M as Module>::Input, E>>;

/// The metric that calls `score` with the typed example and the typed output.
pub(super) fn engine_metric<M, E, R>(
    examples: ExamplesById<M, E>,
    score: impl Fn(&TypedExample<M::Input, E>, &M::Output) -> R + Send + Sync + 'static,
) -> Metric
where
    M: Module + 'static,
    E: Data,
    R: Into<Score>,
{
    Metric::function(move |case: Case<'_>| {
        let example = examples.get(&case.example.id);
        let example = example.ok_or_else(|| refused("the example is not of this optimization"))?;
        let output = from_payload::<M::Output>(&Payload::map(case.outputs.clone()));
        let output = output.map_err(|error| refused(&error.to_string()))?;
        Ok(score(example, &output).into().within_bounds())
    })
}

fn refused(message: &str) -> PredictError {
    PredictError::new(PredictErrorKind::Reward, message)
}
