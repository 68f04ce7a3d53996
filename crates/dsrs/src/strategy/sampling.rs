//! Several attempts at once, for strategies that compare, count or list their results. Knows nothing
//! of rewards.

use std::ops::ControlFlow;

use super::attempt::{AttemptSpan, AttemptTarget, run_concurrently};
use crate::predict::{Ctx, PredictError};

/// How many attempts there are, and how they differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampling {
    /// How many.
    pub(super) count: usize,
    /// The temperature of all attempts; by default the first attempt runs unchanged.
    pub(super) temperature: Option<f64>,
}

/// Makes all attempts at once and passes each result to `take` until it breaks.
pub(super) async fn sample<T: AttemptTarget, B>(
    sampling: Sampling,
    ctx: &Ctx,
    tried: &T,
    take: impl FnMut(usize, Result<T::Found, PredictError>) -> ControlFlow<B>,
) -> Option<B> {
    let start = |attempt: AttemptSpan| async move {
        let ctx = attempt.varied(sampling.temperature);
        attempt.close(tried.attempt(&ctx).await)
    };
    run_concurrently(ctx, sampling.count, start, take).await
}

/// The results of the attempts in order of their numbers. Failed attempts are left out, unless more
/// than `fail_count` or all of them failed.
pub(super) async fn sample_all<T: AttemptTarget>(
    sampling: Sampling,
    fail_count: usize,
    ctx: &Ctx,
    tried: &T,
) -> Result<Vec<(usize, T::Found)>, PredictError> {
    let mut samples = Vec::with_capacity(sampling.count);
    let mut failures = 0;
    let ended = sample(sampling, ctx, tried, |number, result| match result {
        Ok(one) => {
            samples.push((number, one));
            ControlFlow::Continue(())
        }
        Err(error) => {
            failures += 1;
            let too_many = failures > fail_count || failures == sampling.count;
            match ctx.is_fatal(&error) || too_many {
                true => ControlFlow::Break(error),
                false => ControlFlow::Continue(()),
            }
        }
    });
    match ended.await {
        Some(error) => Err(error),
        None => {
            samples.sort_unstable_by_key(|(number, _)| *number);
            Ok(samples)
        }
    }
}
