//! The effort of a search: the counts of a config, adapted to a program and a valset. Knows counts
//! only.

use facet::Facet;

use super::MiproV2;

/// Valsets up to this size are always used whole, unless the config requests minibatches.
const SMALL_VALSET: usize = 50;

/// The effort of [`MiproV2`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Facet)]
#[facet(rename_all = "snake_case")]
#[repr(u8)]
pub enum MiproEffort {
    /// 6 sets of demos of each predictor, 100 examples of the valset.
    Light,
    /// 12 sets of demos of each predictor, 300 examples of the valset.
    Medium,
    /// 18 sets of demos of each predictor, 1000 examples of the valset.
    Heavy,
}

impl MiproEffort {
    /// Candidates of each predictor and examples of the valset, as DSPy has them.
    const fn extent(self) -> (usize, usize) {
        match self {
            Self::Light => (6, 100),
            Self::Medium => (12, 300),
            Self::Heavy => (18, 1_000),
        }
    }
}

/// The counts of one search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MiproPlan {
    /// DemoSets of demos of each predictor, at most.
    pub(super) demo_sets: usize,
    /// Maximum instructions of each predictor, including its current one.
    pub(super) instructions: usize,
    /// Combinations that are tried.
    pub(super) trials: usize,
    /// The number of random ones among these.
    pub(super) startup: usize,
    /// Examples of the valset that candidates are chosen by, at most.
    pub(super) val: usize,
    /// The minibatches; without them every trial uses the whole valset.
    pub(super) minibatch: Option<Minibatch>,
}

/// How combinations are tried on some examples first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Minibatch {
    /// The number of examples.
    pub(super) size: usize,
    /// Trials between full evaluations of the most promising combination.
    pub(super) full_eval_steps: usize,
}

impl MiproPlan {
    /// The counts for a number of predictors and a size of the valset.
    pub(super) fn of(settings: &MiproV2, predictors: usize, val: usize) -> Self {
        let zero_shot = settings.zero_shot();
        let (preset_candidates, preset_val) = settings.auto.unwrap_or(MiproEffort::Light).extent();
        let is_preset = settings.num_candidates.or(settings.num_trials).is_none();
        let candidates = settings.num_candidates.unwrap_or(preset_candidates);
        // Demos do more than instructions, and are cheaper found.
        let halved = is_preset && !zero_shot;
        let instructions = if halved { candidates / 2 } else { candidates };
        let variables = if zero_shot { predictors } else { 2 * predictors };
        let trials = settings.num_trials.unwrap_or_else(|| recommended(variables, candidates));
        let val = if is_preset { val.min(preset_val) } else { val };
        let wanted = settings.minibatch.unwrap_or(val > SMALL_VALSET);
        let (size, full_eval_steps) = (settings.minibatch_size, settings.minibatch_full_eval_steps);
        let minibatch = Minibatch { size, full_eval_steps };
        Self {
            demo_sets: candidates,
            instructions: instructions.max(1),
            trials,
            startup: (trials / 3).clamp(3, 10),
            val,
            minibatch: (wanted && size < val).then_some(minibatch),
        }
    }
}

/// The number of trials in DSPy: more variables need more trials, and every candidate must occur.
fn recommended(variables: usize, candidates: usize) -> usize {
    let bits = (candidates.max(1) as f64).log2();
    let searched = 2.0 * variables as f64 * bits;
    searched.max(1.5 * candidates as f64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::document::read_config;
    use crate::optimize::StateOptimizer;
    use crate::problem::At;
    use crate::value::Payload;

    fn settings(config: &str) -> MiproV2 {
        read_config(&Payload::from_json(config).unwrap(), &At::Root).unwrap()
    }

    fn plan(config: &str, predictors: usize, zero_shot: bool, val: usize) -> MiproPlan {
        let mut settings = settings(config);
        if zero_shot {
            (settings.max_bootstrapped_demos, settings.max_labeled_demos) = (0, 0);
        }
        MiproPlan::of(&settings, predictors, val)
    }

    #[test]
    fn presets_set_the_effort() {
        let light = plan("{}", 1, false, 2_000);
        assert_eq!((light.demo_sets, light.instructions, light.trials), (6, 3, 10));
        assert_eq!((light.val, light.startup), (100, 3));
        assert_eq!(light.minibatch, Some(Minibatch { size: 35, full_eval_steps: 5 }));
        let medium = plan(r#"{"auto": "medium"}"#, 2, false, 2_000);
        assert_eq!((medium.instructions, medium.trials, medium.val), (6, 28, 300));
        let heavy = plan(r#"{"auto": "heavy"}"#, 1, true, 50);
        assert_eq!((heavy.instructions, heavy.trials, heavy.val), (18, 27, 50));
        assert_eq!(heavy.minibatch, None);
    }

    #[test]
    fn explicit_counts_use_the_whole_valset() {
        let own = plan(r#"{"num_candidates": 4, "num_trials": 30}"#, 1, false, 2_000);
        assert_eq!((own.demo_sets, own.instructions, own.trials, own.val), (4, 4, 30, 2_000));
        assert_eq!(own.startup, 10);
        let trials = plan(r#"{"num_trials": 7}"#, 1, false, 60);
        assert_eq!((trials.demo_sets, trials.trials, trials.startup), (6, 7, 3));
    }

    #[test]
    fn a_minibatch_is_less_than_the_valset() {
        let asked = r#"{"minibatch": true, "minibatch_size": 10}"#;
        assert_eq!(plan(asked, 1, false, 20).minibatch.map(|batch| batch.size), Some(10));
        assert_eq!(plan(asked, 1, false, 10).minibatch, None);
        assert_eq!(plan(r#"{"minibatch": false}"#, 1, false, 90).minibatch, None);
    }

    #[test]
    fn a_preset_and_counts_exclude_each_other() {
        let both = settings(r#"{"auto": "light", "num_trials": 5}"#);
        assert!(both.check(&At::Root).is_err());
    }
}
