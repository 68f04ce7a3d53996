//! The Pareto frontier over examples: the candidates that do best on some example, but for those
//! that another one makes needless. Knows scores only.

/// A candidate on the frontier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leader {
    /// Its place among the candidates.
    pub(super) at: usize,
    /// On how many examples no candidate does better.
    pub(super) leads: usize,
}

/// The frontier of candidates, each with its score on every example. It contains the candidates
/// that are best on some example and that no other dominates; of equal candidates, only the first.
pub(super) fn frontier(scores: &[&[f64]]) -> Vec<Leader> {
    let best = best(scores);
    let leader = |(at, scores): (usize, &&[f64])| {
        let leads = scores.iter().zip(&best).filter(|(score, best)| score >= best).count();
        Leader { at, leads }
    };
    let leaders = scores.iter().enumerate().map(leader).filter(|leader| leader.leads > 0);
    leaders.filter(|leader| !is_needless(leader.at, scores)).collect()
}

/// A random candidate of the frontier, weighted by the number of examples that it leads on; the first
/// candidate if there are no examples.
pub(super) fn sample(frontier: &[Leader], rng: &mut fastrand::Rng) -> usize {
    let all: usize = frontier.iter().map(|leader| leader.leads).sum();
    let mut drawn = if all == 0 { 0 } else { rng.usize(0..all) };
    for leader in frontier {
        if drawn < leader.leads {
            return leader.at;
        }
        drawn -= leader.leads;
    }
    0
}

/// The best score on each example.
fn best(scores: &[&[f64]]) -> Vec<f64> {
    let examples = scores.iter().map(|scores| scores.len()).max().unwrap_or_default();
    let of = |example: usize| {
        let scores = scores.iter().filter_map(|scores| scores.get(example).copied());
        scores.fold(f64::NEG_INFINITY, f64::max)
    };
    (0..examples).map(of).collect()
}

/// Whether another candidate dominates this one, or is equal and earlier.
fn is_needless(at: usize, all: &[&[f64]]) -> bool {
    let Some(own) = all.get(at) else { return true };
    all.iter()
        .enumerate()
        .any(|(other, scores)| dominates(scores, own) || (other < at && scores == own))
}

fn dominates(one: &[f64], other: &[f64]) -> bool {
    let mut pairs = one.iter().zip(other);
    pairs.clone().all(|(one, other)| one >= other) && pairs.any(|(one, other)| one > other)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Up to eight candidates on up to six examples; few different scores, so that many are equal.
    fn scores() -> impl Strategy<Value = Vec<Vec<f64>>> {
        (1..7_usize).prop_flat_map(|examples| {
            let score = (0..4_u8).prop_map(|quarters| f64::from(quarters) / 4.0);
            prop::collection::vec(prop::collection::vec(score, examples), 1..9)
        })
    }

    fn rows(scores: &[Vec<f64>]) -> Vec<&[f64]> {
        scores.iter().map(Vec::as_slice).collect()
    }

    proptest! {
        #[test]
        fn the_frontier_has_no_dominated_or_duplicate_candidates(scores in scores()) {
            let scores = rows(&scores);
            let leaders = frontier(&scores);
            for leader in &leaders {
                for (other, row) in scores.iter().enumerate() {
                    prop_assert!(!dominates(row, scores[leader.at]));
                    let twice = other != leader.at && leaders.iter().any(|leader| leader.at == other);
                    prop_assert!(!(twice && *row == scores[leader.at]));
                }
            }
        }

        #[test]
        fn the_frontier_contains_the_best_of_every_example(scores in scores()) {
            let scores = rows(&scores);
            let leaders = frontier(&scores);
            for (example, best) in best(&scores).into_iter().enumerate() {
                prop_assert!(leaders.iter().any(|leader| scores[leader.at][example] >= best));
            }
            prop_assert!(leaders.iter().map(|leader| leader.leads).sum::<usize>() >= scores[0].len());
        }

        #[test]
        fn samples_are_on_the_frontier(scores in scores(), seed in any::<u64>()) {
            let leaders = frontier(&rows(&scores));
            let drawn = sample(&leaders, &mut fastrand::Rng::with_seed(seed));
            prop_assert!(leaders.iter().any(|leader| leader.at == drawn));
        }
    }

    #[test]
    fn leaders_of_more_examples_are_drawn_more_often() {
        let scores: [&[f64]; 3] =
            [&[1.0, 0.0, 0.0, 0.0], &[0.0, 1.0, 1.0, 1.0], &[0.0, 0.0, 0.0, 0.5]];
        let leaders = frontier(&scores);
        assert_eq!(leaders, [Leader { at: 0, leads: 1 }, Leader { at: 1, leads: 3 }]);
        let mut rng = fastrand::Rng::with_seed(1);
        let firsts = (0..1000).filter(|_| sample(&leaders, &mut rng) == 0).count();
        assert!((200..300).contains(&firsts), "{firsts}");
    }
}
