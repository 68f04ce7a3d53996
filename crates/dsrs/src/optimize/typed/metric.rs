//! Functions and judges of typed values as metrics of the engine.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::TypedExample;
use crate::module::{Module, ScoreFn};
use crate::optimize::{Case, CaseScorer, Metric, Score};
use crate::predict::{Ctx, PredictError, PredictErrorKind};
use crate::reflect::from_payload;
use crate::signature::Data;
use crate::value::Payload;

/// Typed examples by the ids of their counterparts in the engine.
pub(super) type ExamplesById<M, E> = HashMap<Arc<str>, TypedExample<<M as Module>::Input, E>>;

/// What scores the outputs of a module on typed examples.
pub(super) type ModuleScoreFn<'s, M, E> =
    ScoreFn<'s, TypedExample<<M as Module>::Input, E>, <M as Module>::Output>;

/// The metric that scores the typed example and the typed output.
pub(super) fn engine_metric<M: Module + 'static, E: Data>(
    examples: ExamplesById<M, E>,
    scoring: ModuleScoreFn<'static, M, E>,
) -> Metric {
    Metric::of_scorer(TypedScorer::<M, E> { examples, scoring })
}

struct TypedScorer<M: Module, E> {
    examples: ExamplesById<M, E>,
    scoring: ModuleScoreFn<'static, M, E>,
}

impl<M: Module, E: Data> CaseScorer for TypedScorer<M, E> {
    fn score<'a>(
        &'a self,
        ctx: &'a Ctx,
        case: Case<'a>,
    ) -> BoxFuture<'a, Result<Score, PredictError>> {
        Box::pin(async move {
            let example = self.examples.get(&case.example.id);
            let example =
                example.ok_or_else(|| refused("the example is not of this optimization"))?;
            let output = from_payload::<M::Output>(&Payload::map(case.outputs.clone()));
            let output = output.map_err(|error| refused(&error.to_string()))?;
            self.scoring.score(ctx, example, &output).await
        })
    }
}

fn refused(message: &str) -> PredictError {
    PredictError::new(PredictErrorKind::Reward, message)
}
