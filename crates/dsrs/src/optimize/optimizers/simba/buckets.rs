//! Buckets: the rollouts of several tries of one example, ordered by how much the tries differ, because
//! that is where there is something to learn. Knows scores only.

use std::sync::Arc;

use crate::optimize::Rollout;

/// The tries of one example, best first.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    /// The example's place in the minibatch.
    pub(super) example: usize,
    pub(super) tries: Vec<Arc<Rollout>>,
}

impl Bucket {
    /// The best try and the worst.
    pub(super) fn ends(&self) -> Option<(&Arc<Rollout>, &Arc<Rollout>)> {
        self.tries.first().zip(self.tries.last())
    }

    /// The sort key of buckets: the range of scores, the best score, and its distance from the mean.
    fn promise(&self) -> [f64; 3] {
        let Some((best, worst)) = self.ends() else { return [0.0; 3] };
        let sum: f64 = self.tries.iter().map(|rollout| rollout.value()).sum();
        let mean = sum / self.tries.len() as f64;
        [best.value() - worst.value(), best.value(), best.value() - mean]
    }
}

/// The buckets of a minibatch, the most promising first.
pub(super) fn buckets(tries: Vec<Vec<Arc<Rollout>>>) -> Vec<Bucket> {
    let sorted = |(example, mut tries): (usize, Vec<Arc<Rollout>>)| {
        tries.sort_by(|one, other| other.value().total_cmp(&one.value()));
        Bucket { example, tries }
    };
    let mut buckets: Vec<Bucket> = tries.into_iter().enumerate().map(sorted).collect();
    buckets.sort_by(|one, other| {
        let pairs = other.promise().into_iter().zip(one.promise());
        let orders = pairs.map(|(other, one)| other.total_cmp(&one));
        orders.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
    });
    buckets
}

/// The percentile of the scores of all tries, linearly interpolated.
pub(super) fn percentile(buckets: &[Bucket], share: f64) -> f64 {
    let mut scores: Vec<f64> =
        buckets.iter().flat_map(|bucket| &bucket.tries).map(|rollout| rollout.value()).collect();
    scores.sort_by(f64::total_cmp);
    let Some(last) = scores.len().checked_sub(1) else { return 0.0 };
    let place = share * last as f64;
    let below = place.floor();
    let (low, high) = (scores[below as usize], scores[(below as usize + 1).min(last)]);
    low + (high - low) * (place - below)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lm::Usage;
    use crate::optimize::Score;

    fn tries(scores: &[f64]) -> Vec<Arc<Rollout>> {
        let rollout = |score: &f64| Rollout {
            outputs: None,
            score: Score::of(*score),
            error: None,
            usage: Usage::default(),
            judging: Usage::default(),
            calls: Vec::new(),
            reports: Vec::new(),
            took: std::time::Duration::ZERO,
        };
        scores.iter().map(|score| Arc::new(rollout(score))).collect()
    }

    #[test]
    fn buckets_are_ordered_by_gap_then_best_then_rarity() {
        let found = buckets(
            [[1.0, 1.0, 1.0], [0.0, 1.0, 1.0], [0.2, 0.6, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
                .iter()
                .map(|scores| tries(scores))
                .collect(),
        );
        let order: Vec<usize> = found.iter().map(|bucket| bucket.example).collect();
        assert_eq!(order, [3, 1, 2, 0, 4]);
        assert_eq!(found[2].tries.iter().map(|t| t.value()).collect::<Vec<_>>(), [0.6, 0.2, 0.0]);
    }

    #[test]
    fn percentiles_lie_between_scores_in_proportion() {
        let buckets = buckets(vec![tries(&[0.0, 1.0]), tries(&[0.5, 0.25])]);
        assert_eq!(percentile(&buckets, 0.0), 0.0);
        assert_eq!(percentile(&buckets, 0.5), 0.375);
        assert!((percentile(&buckets, 0.9) - 0.85).abs() < 1e-9);
        assert_eq!(percentile(&buckets, 1.0), 1.0);
        assert_eq!(percentile(&[], 0.5), 0.0);
    }
}
