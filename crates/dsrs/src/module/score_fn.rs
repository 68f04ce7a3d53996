//! What scores outputs, under one type: a judge, or a function of values alone. Knows neither metrics nor
//! searches.

use std::fmt;
use std::future::ready;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::Judge;
use crate::predict::{Ctx, PredictError};
use crate::score::Score;

/// A judge, or a function of values alone. Clones share it.
pub struct ScoreFn<'s, G, O>(Arc<dyn ScoreOutput<G, O> + 's>);

impl<'s, G: Sync + 's, O: Sync + 's> ScoreFn<'s, G, O> {
    /// A function that needs no model.
    pub fn of<S: Into<Score>>(score: impl Fn(&G, &O) -> S + Send + Sync + 's) -> Self {
        Self(Arc::new(ByFunction(score)))
    }

    /// A judge.
    pub fn judged(judge: impl Judge<G, O> + 's) -> Self {
        Self(Arc::new(ByJudge(judge)))
    }

    /// Scores an output.
    ///
    /// # Errors
    /// That of the judge.
    pub async fn score(&self, ctx: &Ctx, given: &G, output: &O) -> Result<Score, PredictError> {
        self.0.score(ctx, given, output).await
    }
}

impl<G, O> Clone for ScoreFn<'_, G, O> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<G, O> fmt::Debug for ScoreFn<'_, G, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScoreFn").finish_non_exhaustive()
    }
}

/// What a [`ScoreFn`] shares.
trait ScoreOutput<G, O>: Send + Sync {
    fn score<'a>(
        &'a self,
        ctx: &'a Ctx,
        given: &'a G,
        output: &'a O,
    ) -> BoxFuture<'a, Result<Score, PredictError>>;
}

struct ByFunction<F>(F);

impl<G, O, S, F> ScoreOutput<G, O> for ByFunction<F>
where
    F: Fn(&G, &O) -> S + Send + Sync,
    S: Into<Score>,
{
    fn score<'a>(
        &'a self,
        _ctx: &'a Ctx,
        given: &'a G,
        output: &'a O,
    ) -> BoxFuture<'a, Result<Score, PredictError>> {
        Box::pin(ready(Ok((self.0)(given, output).into())))
    }
}

struct ByJudge<J>(J);

impl<G, O, J: Judge<G, O>> ScoreOutput<G, O> for ByJudge<J> {
    fn score<'a>(
        &'a self,
        ctx: &'a Ctx,
        given: &'a G,
        output: &'a O,
    ) -> BoxFuture<'a, Result<Score, PredictError>> {
        Box::pin(self.0.judge(ctx, given, output))
    }
}
