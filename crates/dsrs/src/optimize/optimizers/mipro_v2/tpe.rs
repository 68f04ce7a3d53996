//! Which combination of choices to try next: the tree-structured Parzen estimator for choices that
//! have no order. Knows numbers, and nothing of what is chosen or of how it is tried.
//!
//! Of what was tried, a few count as good. Two densities are made, of the good and of the others; from
//! that of the good, combinations are drawn, and the one is taken that is likeliest to be good rather
//! than not (J. Bergstra et al., *Algorithms for Hyper-Parameter Optimization*, NIPS 2011). All choices
//! are drawn together, so that what is good only together is found together, as S. Falkner et al. have
//! it (BOHB, ICML 2018) and Optuna's multivariate sampler.

use fastrand::Rng;

/// A choice for each variable, by number.
pub(super) type Combo = Vec<usize>;

/// A combination that was tried, and how good it was: more is better.
pub(super) type ScoredCombo = (Combo, f64);

/// The part of what was tried that counts as good.
const GOOD: f64 = 0.15;

/// How many count as good, at most.
const MOST_GOOD: usize = 25;

/// What a density knows beforehand, that all choices are alike, weighs as much as so many that were
/// tried.
const PRIOR: f64 = 1.0;

/// How many combinations are drawn, of which the one that promises most is taken.
const DRAWN: usize = 24;

/// The space of combinations, and how it is searched.
pub(super) struct Tpe {
    /// How many choices each variable has; one at least.
    pub(super) choices: Vec<usize>,
    /// Until so many were tried, chance alone decides.
    pub(super) startup: usize,
}

/// A density over combinations: one kernel for each that was tried, and a flat one.
struct Density<'t> {
    choices: &'t [usize],
    kernels: Vec<&'t Combo>,
}

impl Tpe {
    /// The combination to try next; none of those that are closed, and `None` when all are.
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
        // Stable: of equals, what was tried first counts as better.
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

    /// The combination after this one; after the last comes the first.
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
    /// What every choice of a kernel weighs beside the one that was tried.
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
