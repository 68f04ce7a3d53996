//! `best_of_n`: several tries, the best by a reward (DSPy's module of the same name). The search
//! is written once, over anything that can be tried; the typed module is a skin around it.

use std::future::Future;

use facet::Facet;

use crate::module::{Module, Predicted};
use crate::predict::{Ctx, PredictError, PredictErrorKind};

/// When the search may stop, and how many tries it has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    /// The most tries.
    pub(crate) n: usize,
    /// A reward that is good enough.
    pub(crate) threshold: f64,
}

/// The try with the highest reward: the first that is good enough, else the best of all. A try
/// that fails counts as one; when all fail, the last failure is the answer.
pub(crate) async fn best<T, Trial: Future<Output = Result<T, PredictError>>>(
    search: Search,
    ctx: &Ctx,
    trial: impl Fn(Ctx) -> Trial,
    reward: impl Fn(&T) -> f64,
) -> Result<T, PredictError> {
    let mut found: Option<(f64, T)> = None;
    let mut failure = None;
    for number in 0..search.n {
        let result = match trial(ctx.varied(number)).await {
            Ok(result) => result,
            Err(error) if error.kind.ends_the_run() => return Err(error),
            Err(error) => {
                failure = Some(error);
                continue;
            }
        };
        let score = reward(&result);
        if score >= search.threshold {
            return Ok(result);
        }
        // A reward that is no number is never better than one that is.
        if found.as_ref().is_none_or(|(best, _)| score > *best || best.is_nan()) {
            found = Some((score, result));
        }
    }
    found.map(|(_, result)| result).ok_or_else(|| {
        failure.unwrap_or_else(|| PredictError::new(PredictErrorKind::Lm, "best_of_n has no tries"))
    })
}

/// Judges an output: higher is better.
pub type Reward<M> =
    Box<dyn Fn(&<M as Module>::Input, &<M as Module>::Output) -> f64 + Send + Sync>;

/// A module that is tried several times.
#[derive(Facet)]
pub struct BestOfN<M: Module> {
    /// What is tried.
    pub module: M,
    /// The most tries.
    pub n: usize,
    /// A reward that is good enough.
    pub threshold: f64,
    /// Judges an output.
    #[facet(opaque, dsrs::skip)]
    pub reward: Reward<M>,
}

impl<M: Module> BestOfN<M> {
    /// Up to `n` tries, until `reward` gives at least `threshold`.
    pub fn new(
        module: M,
        n: usize,
        threshold: f64,
        reward: impl Fn(&M::Input, &M::Output) -> f64 + Send + Sync + 'static,
    ) -> Self {
        Self { module, n, threshold, reward: Box::new(reward) }
    }
}

impl<M: Module> Module for BestOfN<M>
where
    M::Input: Clone,
{
    type Input = M::Input;
    type Output = M::Output;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: M::Input,
    ) -> Result<Predicted<M::Output>, PredictError> {
        let search = Search { n: self.n, threshold: self.threshold };
        let trial = |ctx: Ctx| {
            let input = input.clone();
            async move { self.module.call(&ctx, input).await }
        };
        best(search, ctx, trial, |result| (self.reward)(&input, result)).await
    }
}
