//! Demos from successful runs: add one per predictor and drop others to make room. Knows states and
//! calls; calls no LM.

use std::sync::Arc;

use crate::optimize::{Candidate, Rollout, demo_of_call};
use crate::value::{Fields, Payload};

/// The assumed capacity if no demos are added.
const USUAL: usize = 3;

/// A candidate with some of its demos taken away, at the same places of every predictor: as many as
/// chance has it, more the more there are, and one at least where `most` are there.
pub(super) fn thinned(candidate: &Candidate, most: usize, rng: &mut fastrand::Rng) -> Candidate {
    let most = if most == 0 { USUAL } else { most };
    let held = candidate.state.0.values().map(|state| state.demos.len()).max().unwrap_or_default();
    let drops = poisson(held as f64 / most as f64, rng).max(usize::from(held >= most)).min(held);
    let dropped: Vec<usize> = (0..drops).map(|_| rng.usize(0..held)).collect();
    let mut thinned = candidate.clone();
    for state in thinned.state.0.values_mut() {
        let mut at = 0..;
        state.demos.retain(|_| at.next().is_none_or(|at| !dropped.contains(&at)));
    }
    thinned
}

/// The candidate with the last call of each predictor in a run as an additional demo. Input texts are
/// truncated to `longest` characters.
pub(super) fn shown(candidate: &Candidate, rollout: &Rollout, longest: usize) -> Candidate {
    let mut shown = candidate.clone();
    for (at, step) in rollout.calls.iter().enumerate() {
        let later = rollout.calls.iter().skip(at + 1);
        if later.clone().any(|later| later.predictor == step.predictor) {
            continue;
        }
        let mut demo = demo_of_call(step);
        cut(&mut demo.input, longest);
        shown = shown.with(&step.predictor, |state| {
            if !state.demos.contains(&demo) {
                state.demos.push(demo);
            }
        });
    }
    shown
}

fn cut(inputs: &mut Fields, longest: usize) {
    for value in inputs.values_mut() {
        let end = value.as_str().and_then(|text| text.char_indices().nth(longest));
        if let (Some((end, _)), Payload::Str(text)) = (end, &*value) {
            *value = Payload::Str(Arc::from(&text[..end]));
        }
    }
}

/// A number with the Poisson distribution of a mean (Knuth's way, for small means).
fn poisson(mean: f64, rng: &mut fastrand::Rng) -> usize {
    let least = (-mean).exp();
    let (mut count, mut product) = (0, rng.f64());
    while product > least {
        count += 1;
        product *= rng.f64();
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::Demo;

    fn demo(text: &str) -> Demo {
        let fields = |name: &str| [(Arc::from(name), Payload::from(text))].into_iter().collect();
        Demo { input: fields("question"), output: fields("answer") }
    }

    fn candidate(demos: usize) -> Candidate {
        let base = Candidate { document: Arc::new(Payload::Null), state: Default::default() };
        let demos: Vec<Demo> = (0..demos).map(|at| demo(&at.to_string())).collect();
        ["one", "other"].into_iter().fold(base, |candidate, path| {
            candidate.with(path, |state| state.demos.clone_from(&demos))
        })
    }

    #[test]
    fn numbers_have_the_mean_and_the_variance_of_a_poisson_distribution() {
        let mut rng = fastrand::Rng::with_seed(1);
        let drawn: Vec<f64> = (0..20_000).map(|_| poisson(1.5, &mut rng) as f64).collect();
        let mean = drawn.iter().sum::<f64>() / 20_000.0;
        let variance = drawn.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / 20_000.0;
        assert!((mean - 1.5).abs() < 0.05 && (variance - 1.5).abs() < 0.1, "{mean} {variance}");
        assert_eq!(poisson(0.0, &mut rng), 0);
    }

    #[test]
    fn full_predictors_drop_at_least_one_demo_at_the_same_positions() {
        for seed in 0..50 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let thinned = thinned(&candidate(4), 4, &mut rng);
            let [one, other] = ["one", "other"].map(|path| thinned.state.0[path].demos.clone());
            assert!(one.len() < 4 && one == other);
        }
        assert_eq!(thinned(&candidate(0), 4, &mut fastrand::Rng::with_seed(1)), candidate(0));
    }

    #[test]
    fn inputs_of_demos_are_truncated_between_characters() {
        let mut inputs = demo("äöü").input;
        cut(&mut inputs, 2);
        assert_eq!(inputs["question"], Payload::from("äö"));
        cut(&mut inputs, 2);
        assert_eq!(inputs["question"], Payload::from("äö"));
    }
}
