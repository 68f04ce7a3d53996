//! The pool: programs with their scores on minibatches; better programs are drawn more often. Knows
//! nothing of the origin of programs.

use crate::optimize::TrialId;

/// The programs to go on from; the first is that which the search began with.
#[derive(Debug, Default)]
pub(super) struct ProgramPool(Vec<Member>);

#[derive(Debug)]
struct Member {
    id: TrialId,
    mean: f64,
}

impl ProgramPool {
    /// Adds a program, once.
    pub(super) fn take(&mut self, id: TrialId, mean: f64) {
        if !self.holds(id) {
            self.0.push(Member { id, mean });
        }
    }

    pub(super) fn holds(&self, id: TrialId) -> bool {
        self.0.iter().any(|member| member.id == id)
    }

    /// What the first one scores, once that is known.
    pub(super) fn rate_first(&mut self, mean: f64) {
        if let Some(first) = self.0.first_mut() {
            first.mean = mean;
        }
    }

    /// The best `count` programs, older ones first if equal; the first program is always among
    /// them.
    pub(super) fn top(&self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        order.sort_by(|one, other| self.0[*other].mean.total_cmp(&self.0[*one].mean));
        order.truncate(count.max(1));
        if !order.contains(&0) {
            order.pop();
            order.push(0);
        }
        order
    }

    /// One of these by chance, by the softmax of their means: the lower the temperature, the more
    /// surely the best.
    pub(super) fn draw(&self, of: &[usize], temperature: f64, rng: &mut fastrand::Rng) -> TrialId {
        let means = of.iter().map(|at| self.0[*at].mean);
        let most = means.clone().fold(f64::NEG_INFINITY, f64::max);
        // Less the greatest, no power is too large.
        let weights = means.map(|mean| ((mean - most) / temperature.max(1e-6)).exp());
        let all: f64 = weights.clone().sum();
        let mut drawn = rng.f64() * all;
        for (at, weight) in of.iter().zip(weights) {
            if drawn < weight {
                return self.0[*at].id;
            }
            drawn -= weight;
        }
        self.0[of.last().copied().unwrap_or_default()].id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(means: &[f64]) -> ProgramPool {
        let mut pool = ProgramPool::default();
        means.iter().enumerate().for_each(|(id, mean)| pool.take(TrialId(id), *mean));
        pool
    }

    #[test]
    fn the_top_candidates_always_include_the_first() {
        let pool = pool(&[0.1, 0.5, 0.9, 0.5]);
        assert_eq!(pool.top(1), [0]);
        assert_eq!(pool.top(3), [2, 1, 0]);
        assert_eq!(pool.top(9), [2, 1, 3, 0]);
    }

    #[test]
    fn the_better_are_drawn_more_often_and_at_low_temperatures_almost_always() {
        let pool = pool(&[0.2, 0.6]);
        let best = |temperature| {
            let mut rng = fastrand::Rng::with_seed(1);
            (0..1000).filter(|_| pool.draw(&[0, 1], temperature, &mut rng).0 == 1).count()
        };
        // The odds are e^(0.4 / 0.2) to 1.
        assert!((850..910).contains(&best(0.2)), "{}", best(0.2));
        assert!((450..600).contains(&best(10.0)), "{}", best(10.0));
        assert_eq!(best(0.01), 1000);
    }
}
