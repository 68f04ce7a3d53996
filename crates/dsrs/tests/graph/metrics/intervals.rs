//! Intervals of means and of gains: their laws, and how often they contain the true value.

use dsrs::optimize::{Comparison, Interval, mean_interval, paired_bootstrap};
use proptest::prelude::*;

/// Scores as metrics give them: mostly 0 and 1.
fn score() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0_f64]
}

fn pairs() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    prop::collection::vec((score(), score()), 0..40).prop_map(|pairs| pairs.into_iter().unzip())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn a_swapped_comparison_is_negated((before, after) in pairs(), seed: u64) {
        let there = paired_bootstrap(&before, &after, seed);
        let back = paired_bootstrap(&after, &before, seed);
        prop_assert_eq!(back.gain, -there.gain);
        prop_assert_eq!((back.low, back.high), (-there.high, -there.low));
        prop_assert_eq!((back.wins, back.ties, back.losses), (there.losses, there.ties, there.wins));
        prop_assert_eq!((back.mean_before, back.mean_after), (there.mean_after, there.mean_before));
    }

    #[test]
    fn the_interval_contains_the_mean_and_depends_on_the_seed(
        (before, after) in pairs(),
        seed: u64,
    ) {
        let found = paired_bootstrap(&before, &after, seed);
        prop_assert!(-1.0 <= found.low && found.low <= found.gain);
        prop_assert!(found.gain <= found.high && found.high <= 1.0);
        prop_assert!((found.mean_after - found.mean_before - found.gain).abs() < 1e-12);
        prop_assert_eq!(found.wins + found.ties + found.losses, found.n);
        prop_assert_eq!(paired_bootstrap(&before, &after, seed), found);
        let alone = mean_interval(&after, seed);
        prop_assert!(0.0 <= alone.low && alone.low <= alone.mean);
        prop_assert!(alone.mean <= alone.high && alone.high <= 1.0 + 1e-12);
        prop_assert_eq!(alone.mean, found.mean_after);
    }

    #[test]
    fn a_constant_gain_has_a_tight_interval(
        before in prop::collection::vec(0.0..0.5_f64, 2..40),
        shift in 0.0..0.5_f64,
        seed: u64,
    ) {
        let same = paired_bootstrap(&before, &before, seed);
        prop_assert_eq!((same.gain, same.low, same.high), (0.0, 0.0, 0.0));
        prop_assert_eq!((same.wins, same.ties, same.losses), (0, before.len(), 0));
        let after: Vec<f64> = before.iter().map(|score| score + shift).collect();
        let found = paired_bootstrap(&before, &after, seed);
        for end in [found.gain, found.low, found.high] {
            prop_assert!((end - shift).abs() < 1e-12, "{found:?}");
        }
    }
}

#[test]
fn fewer_than_two_examples_leave_everything_open() {
    let none = Comparison {
        n: 0,
        mean_before: 0.0,
        mean_after: 0.0,
        gain: 0.0,
        low: -1.0,
        high: 1.0,
        wins: 0,
        ties: 0,
        losses: 0,
    };
    assert_eq!(paired_bootstrap(&[], &[], 1), none);
    assert_eq!(paired_bootstrap(&[], &[0.5], 1), none, "what has no pair is left out");
    let one = Comparison { n: 1, mean_before: 0.25, mean_after: 1.0, gain: 0.75, wins: 1, ..none };
    assert_eq!(paired_bootstrap(&[0.25], &[1.0], 1), one);
    assert_eq!(mean_interval(&[], 1), Interval { n: 0, mean: 0.0, low: 0.0, high: 1.0 });
    assert_eq!(mean_interval(&[0.5], 1), Interval { n: 1, mean: 0.5, low: 0.0, high: 1.0 });
}

#[test]
fn more_examples_make_surer() {
    let width = |times: usize| {
        let before = [0.0, 1.0, 0.0, 1.0, 0.0].repeat(times);
        let after = [1.0, 1.0, 0.0, 0.0, 1.0].repeat(times);
        let found = paired_bootstrap(&before, &after, 3);
        assert!((found.gain - 0.2).abs() < 1e-12);
        found.high - found.low
    };
    let (few, many) = (width(4), width(64));
    // Sixteen times the examples, a quarter of the width.
    assert!((3.5..4.5).contains(&(few / many)), "{few} {many}");
}

/// The number of sets of examples whose interval contains the known true gain. Scores of one
/// example correlate: what is easy before is easy after.
#[test]
fn ninety_five_percent_of_intervals_contain_the_true_gain() {
    const SETS: u64 = 300;
    const EXAMPLES: usize = 30;
    const CHANCE: f64 = 0.5;
    const GAIN: f64 = 0.15;
    let mut draw = fastrand::Rng::with_seed(20_261_121);
    let mut pair = || {
        let easy = if draw.f64() < 0.5 { 0.2 } else { -0.2 };
        let mut score = |chance: f64| f64::from(u8::from(draw.f64() < chance + easy));
        (score(CHANCE), score(CHANCE + GAIN))
    };
    let mut holds = |seed: &u64| {
        let (before, after): (Vec<f64>, Vec<f64>) = (0..EXAMPLES).map(|_| pair()).unzip();
        let found = paired_bootstrap(&before, &after, *seed);
        found.low <= GAIN && GAIN <= found.high
    };
    let held = (0..SETS).filter(|seed| holds(seed)).count() as f64 / SETS as f64;
    assert!((0.90..=0.99).contains(&held), "{held}");
}
