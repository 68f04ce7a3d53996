//! A metric that is a Rust function. Knows nothing of types.

use super::{Case, Score};
use crate::predict::PredictError;

/// Its name in its document.
pub(super) const NAME: &str = "function";

type ScoreFn = dyn Fn(Case<'_>) -> Result<Score, PredictError> + Send + Sync;

pub(super) struct FunctionMetric(Box<ScoreFn>);

impl FunctionMetric {
    pub(super) fn of(
        score: impl Fn(Case<'_>) -> Result<Score, PredictError> + Send + Sync + 'static,
    ) -> Self {
        Self(Box::new(score))
    }

    pub(super) fn score(&self, case: Case<'_>) -> Result<Score, PredictError> {
        (self.0)(case)
    }
}
