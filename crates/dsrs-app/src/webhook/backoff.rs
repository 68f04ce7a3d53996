//! When a message is sent again after a failed attempt. Knows no messages.

use std::time::Duration;

/// Each wait is longer than the one before by this factor.
const FACTOR: u32 = 4;

/// The longest wait, also if the receiver asks for a longer one.
const LONGEST: Duration = Duration::from_secs(8 * 3600);

/// The share of a wait by which it is shorter or longer by chance, so that messages that failed together do not
/// return together.
const JITTER: f64 = 0.2;

/// The wait after the failed attempt of a number, counted from 1. `chance` is from 0 to 1.
pub(super) fn wait(
    first: Duration,
    attempt: u32,
    retry_after: Option<u64>,
    chance: f64,
) -> Duration {
    let factor = FACTOR.saturating_pow(attempt.saturating_sub(1));
    let own = first.saturating_mul(factor).min(LONGEST);
    let own = own.mul_f64(1.0 + JITTER * (2.0 * chance - 1.0));
    let asked = retry_after.map_or(Duration::ZERO, Duration::from_secs).min(LONGEST);
    own.max(asked)
}

/// A number from 0 to 1.
pub(super) fn chance() -> f64 {
    let mut bytes = [0; 4];
    // Without random bytes, the middle.
    match getrandom::fill(&mut bytes) {
        Ok(()) => f64::from(u32::from_le_bytes(bytes)) / f64::from(u32::MAX),
        Err(_) => 0.5,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_attempts_of_the_defaults_take_about_a_day() {
        let waits = (1..10).map(|attempt| wait(Duration::from_secs(5), attempt, None, 0.5));
        let hours = waits.sum::<Duration>().as_secs_f64() / 3600.0;
        assert!((20.0..28.0).contains(&hours), "{hours}");
    }

    proptest! {
        #[test]
        fn a_wait_is_bounded_and_at_least_what_the_receiver_asks_for(
            attempt in 1_u32..100, asked in 0_u64..30_000, chance in 0.0..=1.0_f64,
        ) {
            let found = wait(Duration::from_secs(5), attempt, Some(asked), chance);
            prop_assert!(found >= Duration::from_secs(asked).min(LONGEST));
            prop_assert!(found <= LONGEST.mul_f64(1.0 + JITTER));
            prop_assert!(found >= Duration::from_secs(4));
        }
    }
}
