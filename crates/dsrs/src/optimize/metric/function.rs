//! A metric that is Rust code: a function, or a judge of typed values. Knows nothing of types.

use futures_util::future::{BoxFuture, ready};

use super::{Case, Score};
use crate::predict::{Ctx, PredictError};

/// Its name in its document.
pub(super) const NAME: &str = "function";

/// Code that scores cases.
pub(in crate::optimize) trait CaseScorer: Send + Sync {
    /// The score of a case, which may be out of bounds.
    fn score<'a>(
        &'a self,
        ctx: &'a Ctx,
        case: Case<'a>,
    ) -> BoxFuture<'a, Result<Score, PredictError>>;
}

pub(super) struct FunctionMetric(Box<dyn CaseScorer>);

impl FunctionMetric {
    pub(super) fn of(scorer: impl CaseScorer + 'static) -> Self {
        Self(Box::new(scorer))
    }

    pub(super) async fn score(&self, ctx: &Ctx, case: Case<'_>) -> Result<Score, PredictError> {
        self.0.score(ctx, case).await.map(Score::within_bounds)
    }
}

/// A function of a case.
pub(super) struct CaseFn<F>(pub(super) F);

impl<F> CaseScorer for CaseFn<F>
where
    F: Fn(Case<'_>) -> Result<Score, PredictError> + Send + Sync,
{
    fn score<'a>(
        &'a self,
        _ctx: &'a Ctx,
        case: Case<'a>,
    ) -> BoxFuture<'a, Result<Score, PredictError>> {
        Box::pin(ready((self.0)(case)))
    }
}
