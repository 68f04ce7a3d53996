//! The search for the best of several attempts by a reward, written once over anything that can be
//! tried and judge_attempt.

use std::ops::ControlFlow;

use futures_util::future::BoxFuture;

use super::attempt::{AttemptSpan, AttemptTarget, run_concurrently};
use crate::predict::{Ctx, PredictError, PredictErrorKind};
use crate::score::Score;

/// The limits of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct RewardSearch {
    /// The most attempts.
    pub(super) n: usize,
    /// The reward at which the search stops.
    pub(super) threshold: f64,
    /// How many attempts may fail before the search does.
    pub(super) fail_count: usize,
    /// Whether all attempts run at once.
    pub(super) parallel: bool,
}

/// Scores the result of an attempt: higher is better.
pub(super) trait RewardModel<F>: Sync {
    /// The reward of one attempt.
    fn reward<'a>(
        &'a self,
        ctx: &'a Ctx,
        found: &'a F,
    ) -> BoxFuture<'a, Result<Score, PredictError>>;
}

/// The best attempt so far, and the failures.
pub(super) struct BestAttempt<F> {
    search: RewardSearch,
    best: Option<(f64, usize, F)>,
    failures: usize,
    failure: Option<PredictError>,
}

impl<F> BestAttempt<F> {
    pub(super) const fn new(search: RewardSearch) -> Self {
        Self { search, best: None, failures: 0, failure: None }
    }

    /// Adds the result of an attempt; breaks with the answer once it is known.
    pub(super) fn take(
        &mut self,
        ctx: &Ctx,
        number: usize,
        result: Result<(Score, F), PredictError>,
    ) -> ControlFlow<Result<F, PredictError>> {
        match result {
            Ok((reward, found)) if reward.value >= self.search.threshold => {
                return ControlFlow::Break(Ok(found));
            }
            // Of two equal attempts, the earlier one.
            Ok((reward, found)) => {
                let reward = reward.value;
                let behind = self.best.as_ref().is_some_and(|(best, earlier, _)| {
                    reward < *best || (reward == *best && number > *earlier)
                });
                if !behind {
                    self.best = Some((reward, number, found));
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

    /// The best of all attempts, or the last failure if all failed.
    pub(super) fn finish(self) -> Result<F, PredictError> {
        self.best.map(|(_, _, found)| found).ok_or_else(|| {
            self.failure.unwrap_or_else(|| {
                PredictError::new(PredictErrorKind::Reward, "it has no attempts")
            })
        })
    }
}

/// The best attempt: the first that reaches the threshold, else the one with the highest reward.
pub(super) async fn best<T: AttemptTarget>(
    search: RewardSearch,
    ctx: &Ctx,
    tried: &T,
    rewards: &impl RewardModel<T::Found>,
) -> Result<T::Found, PredictError> {
    let mut best = BestAttempt::new(search);
    if search.parallel {
        let start = |attempt: AttemptSpan| async move {
            let ctx = attempt.varied(None);
            judge_attempt(&attempt, &ctx, tried, rewards).await
        };
        let end =
            run_concurrently(ctx, search.n, start, |number, result| best.take(ctx, number, result))
                .await;
        return end.unwrap_or_else(|| best.finish());
    }
    for number in 0..search.n {
        let attempt = AttemptSpan::open(ctx, number);
        let varied = attempt.varied(None);
        let result = judge_attempt(&attempt, &varied, tried, rewards).await;
        if let ControlFlow::Break(end) = best.take(ctx, number, result) {
            return end;
        }
    }
    best.finish()
}

/// One attempt, and how good it is. One that cannot be judge_attempt has failed.
pub(super) async fn judge_attempt<T: AttemptTarget>(
    attempt: &AttemptSpan,
    ctx: &Ctx,
    tried: &T,
    rewards: &impl RewardModel<T::Found>,
) -> Result<(Score, T::Found), PredictError> {
    let result = async {
        let found = tried.attempt(ctx).await?;
        let reward = rewards.reward(&attempt.around, &found).await?;
        if reward.value.is_nan() {
            let message = "the reward of an attempt is not a number";
            return Err(PredictError::new(PredictErrorKind::Reward, message));
        }
        attempt.rewarded(reward.value);
        Ok((reward, found))
    };
    attempt.close(result.await)
}
