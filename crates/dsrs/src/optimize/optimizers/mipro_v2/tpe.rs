//! Proposes the next combination of choices: the tree-structured Parzen estimator for unordered
//! choices. Knows numbers only.
//!
//! A fraction of the trials counts as good. The estimator builds two densities, of the good trials
//! and of the others. It draws combinations from the first and selects the one with the best ratio
//! of both (J. Bergstra et al., *Algorithms for Hyper-Parameter Optimization*, NIPS 2011). All
//! choices are drawn together, as in BOHB (S. Falkner et al., ICML 2018) and Optuna's multivariate
//! sampler, so that dependent choices are found.

use fastrand::Rng;

/// A choice for each variable, by number.
pub(super) type Combo = Vec<usize>;

/// A combination that was tried, and how good it was: more is better.
pub(super) type ScoredCombo = (Combo, f64);

/// The fraction of trials that counts as good.
const GOOD: f64 = 0.15;

/// How many count as good, at most.
const MOST_GOOD: usize = 25;

/// The weight of the uniform prior of a density, in trials.
const PRIOR: f64 = 1.0;

/// The number of combinations drawn for one proposal.
const DRAWN: usize = 24;

/// The space of combinations, and how it is searched.
pub(super) struct Tpe {
    /// How many choices each variable has; one at least.
    pub(super) choices: Vec<usize>,
    /// The number of random trials at the start.
    pub(super) startup: usize,
}

/// A density over combinations: one kernel for each that was tried, and a flat one.
struct Density<'t> {
    choices: &'t [usize],
    kernels: Vec<&'t Combo>,
}

impl Tpe {
    /// The next combination, except excluded ones; `None` if all are excluded.
    pub(super) fn next(
        &self,
        rng: &mut Rng,
        tried: &[ScoredCombo],
        closed: &[Combo],
    ) -> Option<Combo> {
        let free = |combo: &Combo| !closed.contains(combo);
        if tried.len() < self.startup.max(1) {
            return self.first_free(rng, free);
        }
        let mut ranked: Vec<&ScoredCombo> = tried.iter().collect();
        // Stable: of equal trials, the earlier one counts as better.
        ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
        let good = ((GOOD * ranked.len() as f64).ceil() as usize).clamp(1, MOST_GOOD);
        let (above, below) = ranked.split_at(good.min(ranked.len()));
        let above = self.density(above.iter().map(|(combo, _)| combo));
        let below = self.density(below.iter().map(|(combo, _)| combo));
        let drawn = (0..DRAWN).map(|_| above.draw(rng)).filter(free);
        let promise = drawn.map(|combo| (above.of(&combo) / below.of(&combo), combo));
        let better = |best: Option<(f64, Combo)>, next: (f64, Combo)| match best {
            Some(best) if best.0 >= next.0 => Some(best),
            _ => Some(next),
        };
        let best = promise.fold(None, better);
        best.map_or_else(|| self.first_free(rng, free), |(_, combo)| Some(combo))
    }

    fn density<'t>(&'t self, tried: impl Iterator<Item = &'t Combo>) -> Density<'t> {
        Density { choices: &self.choices, kernels: tried.collect() }
    }

    /// A combination by chance, or the first one after it that is free.
    fn first_free(&self, rng: &mut Rng, free: impl Fn(&Combo) -> bool) -> Option<Combo> {
        let start: Combo = self.choices.iter().map(|count| rng.usize(..*count)).collect();
        let mut combo = start.clone();
        loop {
            if free(&combo) {
                return Some(combo);
            }
            self.count_up(&mut combo);
            if combo == start {
                return None;
            }
        }
    }

    /// The following combination; the first follows the last.
    fn count_up(&self, combo: &mut Combo) {
        for (digit, count) in combo.iter_mut().zip(&self.choices) {
            *digit = (*digit + 1) % count;
            if *digit != 0 {
                break;
            }
        }
    }
}

impl Density<'_> {
    /// The weight of every choice in a kernel except the tried one.
    fn floor(&self) -> f64 {
        PRIOR / (self.kernels.len() + 1) as f64
    }

    fn draw(&self, rng: &mut Rng) -> Combo {
        let at = rng.f64() * (self.kernels.len() as f64 + PRIOR);
        let kernel = self.kernels.get(at as usize);
        let floor = self.floor();
        let draw = |(variable, count): (usize, &usize)| {
            let own = kernel.and_then(|kernel| kernel.get(variable));
            let flat = floor * *count as f64;
            match own {
                Some(own) if rng.f64() * (1.0 + flat) < 1.0 => *own,
                _ => rng.usize(..*count),
            }
        };
        self.choices.iter().enumerate().map(draw).collect()
    }

    /// How dense it is at a combination.
    fn of(&self, combo: &Combo) -> f64 {
        let floor = self.floor();
        let of = |kernel: &&Combo| -> f64 {
            let choices = combo.iter().zip(kernel.iter()).zip(self.choices);
            choices
                .map(|((choice, own), count)| {
                    (floor + f64::from(u8::from(choice == own))) / (1.0 + floor * *count as f64)
                })
                .product()
        };
        let flat: f64 = self.choices.iter().map(|count| 1.0 / *count as f64).product();
        let sum = self.kernels.iter().map(of).sum::<f64>() + PRIOR * flat;
        sum / (self.kernels.len() as f64 + PRIOR)
    }
}

#[cfg(test)]
mod tests;
