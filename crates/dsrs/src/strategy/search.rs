//! The search for the best of several attempts by a reward, written once over anything that can be
//! tried and judged.

use std::ops::ControlFlow;

use futures_util::future::BoxFuture;

use super::attempt::{Attempt, Tried, at_once};
use crate::predict::{Ctx, PredictError, PredictErrorKind};

/// When a search may stop, and how many attempts it has.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    /// The most attempts.
    pub(super) n: usize,
    /// A reward that is good enough.
    pub(super) threshold: f64,
    /// How many attempts may fail before the search does.
    pub(super) fail_count: usize,
    /// Whether all attempts are made at once.
    pub(super) parallel: bool,
}

/// Says how good what an attempt gave is: higher is better.
pub(super) trait Rewards<F>: Sync {
    /// The reward of one attempt.
    fn reward<'a>(&'a self, ctx: &'a Ctx, found: &'a F)
    -> BoxFuture<'a, Result<f64, PredictError>>;
}

/// The best attempt so far, and what failed.
pub(super) struct Best<F> {
    search: Search,
    found: Option<(f64, usize, F)>,
    failures: usize,
    failure: Option<PredictError>,
}

impl<F> Best<F> {
    pub(super) const fn new(search: Search) -> Self {
        Self { search, found: None, failures: 0, failure: None }
    }

    /// Takes an attempt's result; breaks off with the answer when there is one.
    pub(super) fn take(
        &mut self,
        ctx: &Ctx,
        number: usize,
        result: Result<(f64, F), PredictError>,
    ) -> ControlFlow<Result<F, PredictError>> {
        match result {
            Ok((reward, found)) if reward >= self.search.threshold => {
                return ControlFlow::Break(Ok(found));
            }
            // The better one, and the earlier of two that are equal.
            Ok((reward, found)) => {
                let behind = self.found.as_ref().is_some_and(|(best, earlier, _)| {
                    reward < *best || (reward == *best && number > *earlier)
                });
                if !behind {
                    self.found = Some((reward, number, found));
                }
            }
            Err(error) => {
                self.failures += 1;
                if ctx.is_fatal(&error) || self.failures > self.search.fail_count {
                    return ControlFlow::Break(Err(error));
                }
                self.failure = Some(error);
            }
        }
        ControlFlow::Continue(())
    }

    /// The best of all attempts; when all failed, the last failure.
    pub(super) fn finish(self) -> Result<F, PredictError> {
        self.found.map(|(_, _, found)| found).ok_or_else(|| {
            self.failure.unwrap_or_else(|| {
                PredictError::new(PredictErrorKind::Reward, "it has no attempts")
            })
        })
    }
}

/// The best attempt: the first that is good enough, else the one with the highest reward.
pub(super) async fn best<T: Tried>(
    search: Search,
    ctx: &Ctx,
    tried: &T,
    rewards: &impl Rewards<T::Found>,
) -> Result<T::Found, PredictError> {
    let mut best = Best::new(search);
    if search.parallel {
        let start = |attempt: Attempt| async move {
            let ctx = attempt.varied(None);
            judged(&attempt, &ctx, tried, rewards).await
        };
        let end =
            at_once(ctx, search.n, start, |number, result| best.take(ctx, number, result)).await;
        return end.unwrap_or_else(|| best.finish());
    }
    for number in 0..search.n {
        let attempt = Attempt::open(ctx, number);
        let varied = attempt.varied(None);
        let result = judged(&attempt, &varied, tried, rewards).await;
        if let ControlFlow::Break(end) = best.take(ctx, number, result) {
            return end;
        }
    }
    best.finish()
}

/// One attempt, and how good it is. One that cannot be judged has failed.
pub(super) async fn judged<T: Tried>(
    attempt: &Attempt,
    ctx: &Ctx,
    tried: &T,
    rewards: &impl Rewards<T::Found>,
) -> Result<(f64, T::Found), PredictError> {
    let result = async {
        let found = tried.attempt(ctx).await?;
        let reward = rewards.reward(&attempt.around, &found).await?;
        if reward.is_nan() {
            let message = "the reward of an attempt is no number";
            return Err(PredictError::new(PredictErrorKind::Reward, message));
        }
        attempt.rewarded(reward);
        Ok((reward, found))
    };
    attempt.close(result.await)
}
