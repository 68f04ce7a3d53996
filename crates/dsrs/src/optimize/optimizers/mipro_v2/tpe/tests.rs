//! The laws of the estimator: how much sooner than chance it finds the best combination.

use fastrand::Rng;
use proptest::prelude::*;

use super::*;

/// Four variables of six choices each, as two predictors have.
const SPACE: [usize; 4] = [6, 6, 6, 6];

/// Searches that each law is held to, by seed.
const SEARCHES: u64 = 100;

/// How often, of [`SEARCHES`], the best of all is found in so many tries: by estimation, and by
/// chance. None is tried twice, and what was seen best counts as found.
fn finds(
    tries: usize,
    value: impl Fn(&Combo) -> f64,
    noise: impl Fn(&mut Rng) -> f64,
) -> (usize, usize) {
    let found = |seed: u64, startup: usize| {
        let mut rng = Rng::with_seed(seed);
        let tpe = Tpe { choices: SPACE.to_vec(), startup };
        let (mut tried, mut closed): (Vec<ScoredCombo>, Vec<Combo>) = (Vec::new(), Vec::new());
        for _ in 0..tries {
            let combo = tpe.next(&mut rng, &tried, &closed).unwrap();
            tried.push((combo.clone(), value(&combo) + noise(&mut rng)));
            closed.push(combo);
        }
        let best = tried.iter().max_by(|one, other| one.1.total_cmp(&other.1));
        value(&best.unwrap().0) > 0.999
    };
    let count = |startup: usize| (0..SEARCHES).filter(|seed| found(*seed, startup)).count();
    (count(8), count(usize::MAX))
}

/// Each variable has choices from bad to good; what they are worth adds up, to 1 at best.
fn separable(combo: &Combo) -> f64 {
    let off = combo.iter().zip([3, 0, 5, 2]).map(|(choice, best)| (choice + 6 - best) % 6);
    1.0 - off.sum::<usize>() as f64 / 20.0
}

/// Two pairs of which each is worth something only where both choices fit; 1 at best.
fn inseparable(combo: &Combo) -> f64 {
    let pair = |one: usize, other: usize| match (one + other) % 6 {
        3 => 0.3 + one as f64 / 25.0,
        _ => 0.0,
    };
    pair(combo[0], combo[1]) + pair(combo[2], combo[3])
}

#[test]
fn independent_choices_are_found_more_often_than_at_random() {
    let (estimated, by_chance) = finds(40, separable, |_| 0.0);
    assert!(estimated > 40 && by_chance < 8, "{estimated}, {by_chance}");
}

#[test]
fn dependent_choices_are_found_more_often_than_at_random() {
    let (estimated, by_chance) = finds(60, inseparable, |_| 0.0);
    assert!(estimated > 3 * by_chance && by_chance < 15, "{estimated}, {by_chance}");
}

#[test]
fn the_estimator_tolerates_the_noise_of_minibatches() {
    // A standard deviation of 0.08, as the mean of 35 answers has it that are right or wrong.
    let noise = |rng: &mut Rng| (0..12).map(|_| rng.f64()).sum::<f64>() / 12.0 - 0.5;
    let (estimated, by_chance) = finds(60, separable, noise);
    assert!(estimated > 3 * by_chance && by_chance < 8, "{estimated}, {by_chance}");
}

#[test]
fn few_trials_are_better_than_random_ones() {
    let (estimated, by_chance) = finds(16, separable, |_| 0.0);
    assert!(estimated > by_chance, "{estimated}, {by_chance}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_combination_is_proposed_once_if_tried_ones_are_excluded(
        choices in prop::collection::vec(1_usize..4, 0..5),
        startup in 0_usize..6,
        seed: u64,
    ) {
        let mut rng = Rng::with_seed(seed);
        let all: usize = choices.iter().product();
        let tpe = Tpe { choices: choices.clone(), startup };
        let (mut tried, mut closed): (Vec<ScoredCombo>, Vec<Combo>) = (Vec::new(), Vec::new());
        while let Some(combo) = tpe.next(&mut rng, &tried, &closed) {
            prop_assert!(!closed.contains(&combo));
            prop_assert!(combo.iter().zip(&choices).all(|(choice, count)| choice < count));
            tried.push((combo.clone(), rng.f64()));
            closed.push(combo);
            prop_assert!(closed.len() <= all);
        }
        prop_assert_eq!(closed.len(), all);
    }

    #[test]
    fn a_density_sums_to_one(
        choices in prop::collection::vec(1_usize..4, 1..4),
        kernels in 0_usize..5,
        seed: u64,
    ) {
        let mut rng = Rng::with_seed(seed);
        let tpe = Tpe { choices, startup: 0 };
        let kernels: Vec<Combo> =
            (0..kernels).filter_map(|_| tpe.first_free(&mut rng, |_| true)).collect();
        let density = tpe.density(kernels.iter());
        let mut combo: Combo = tpe.choices.iter().map(|_| 0).collect();
        let mut sum = 0.0;
        loop {
            sum += density.of(&combo);
            tpe.count_up(&mut combo);
            if combo.iter().all(|digit| *digit == 0) {
                break;
            }
        }
        prop_assert!((sum - 1.0).abs() < 1e-9, "{}", sum);
    }
}
