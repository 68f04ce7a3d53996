//! Attempts for their own sake, all at once: what strategies have in common that compare, count or
//! list what several runs of one thing give. Knows nothing of rewards.

use std::ops::ControlFlow;

use super::attempt::{Attempt, Tried, at_once};
use super::config::{described, schema};
use crate::predict::{Ctx, PredictError};
use crate::value::Payload;

/// How many attempts there are, and how they differ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampling {
    /// How many.
    pub(super) count: usize,
    /// The temperature of all; where it is not said, the first is as it would be alone.
    pub(super) temperature: Option<f64>,
}

/// Makes all attempts at once and hands over what each gives, until `take` breaks off.
pub(super) async fn sample<T: Tried, B>(
    sampling: Sampling,
    ctx: &Ctx,
    tried: &T,
    take: impl FnMut(usize, Result<T::Found, PredictError>) -> ControlFlow<B>,
) -> Option<B> {
    let start = |attempt: Attempt| async move {
        let ctx = attempt.varied(sampling.temperature);
        attempt.close(tried.attempt(&ctx).await)
    };
    at_once(ctx, sampling.count, start, take).await
}

/// What the attempts gave, in the order of their numbers; those that failed are left out, as long
/// as they are not too many and not all.
pub(super) async fn sample_all<T: Tried>(
    sampling: Sampling,
    fail_count: usize,
    ctx: &Ctx,
    tried: &T,
) -> Result<Vec<(usize, T::Found)>, PredictError> {
    let mut found = Vec::with_capacity(sampling.count);
    let mut failures = 0;
    let ended = sample(sampling, ctx, tried, |number, result| match result {
        Ok(one) => {
            found.push((number, one));
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
            found.sort_unstable_by_key(|(number, _)| *number);
            Ok(found)
        }
    }
}

/// The schema of the temperature of all attempts.
pub(super) fn temperature_schema(description: &str) -> Payload {
    let schema = schema(r#"{"type": "number", "minimum": 0, "maximum": 2}"#);
    described(schema, description)
}
