//! The effort of a search: the counts of a config, adapted to a program and a valset. Knows counts
//! only.

use crate::optimize::optimizers::config::{count, member};
use crate::value::Payload;

/// Valsets up to this size are always used whole, unless the config requests minibatches.
const SMALL_VALSET: usize = 50;

/// How much there is of everything, by the name of a preset.
struct Preset {
    name: &'static str,
    candidates: usize,
    val: usize,
}

/// The first one is the default. Sizes as DSPy has them.
const PRESETS: [Preset; 3] = [
    Preset { name: "light", candidates: 6, val: 100 },
    Preset { name: "medium", candidates: 12, val: 300 },
    Preset { name: "heavy", candidates: 18, val: 1_000 },
];

/// The effort that a config requests.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    preset: Option<usize>,
    candidates: Option<usize>,
    trials: Option<usize>,
    minibatch: Option<bool>,
    minibatch_size: usize,
    full_eval_steps: usize,
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

impl Extent {
    /// Reads a config. A preset and explicit counts exclude each other.
    pub(super) fn read(config: &Payload) -> Result<Self, &'static str> {
        let given = |name: &str| member(config, name).map(|_| count(config, name, 0));
        let (candidates, trials) = (given("num_candidates"), given("num_trials"));
        let named = member(config, "auto").and_then(Payload::as_str);
        let own = candidates.or(trials).is_some();
        if named.is_some() && own {
            return Err(
                "`auto` sets `num_candidates` and `num_trials`; omit either `auto` or those",
            );
        }
        let named = named.and_then(|name| PRESETS.iter().position(|known| known.name == name));
        Ok(Self {
            preset: (!own).then_some(named.unwrap_or(0)),
            candidates,
            trials,
            minibatch: match member(config, "minibatch") {
                Some(Payload::Bool(on)) => Some(*on),
                _ => None,
            },
            minibatch_size: count(config, "minibatch_size", 35),
            full_eval_steps: count(config, "minibatch_full_eval_steps", 5),
        })
    }

    /// The counts for a number of predictors and a size of the valset; `zero_shot` if no demos are
    /// selected.
    pub(super) fn plan(&self, predictors: usize, zero_shot: bool, val: usize) -> MiproPlan {
        let preset = self.preset.and_then(|at| PRESETS.get(at));
        let wanted = preset.or(PRESETS.first()).map_or(1, |preset| preset.candidates);
        let candidates = self.candidates.unwrap_or(wanted);
        // Demos do more than instructions, and are cheaper found.
        let halved = preset.is_some() && !zero_shot;
        let instructions = if halved { candidates / 2 } else { candidates };
        let variables = if zero_shot { predictors } else { 2 * predictors };
        let trials = self.trials.unwrap_or_else(|| recommended(variables, candidates));
        let val = preset.map_or(val, |preset| val.min(preset.val));
        let wanted = self.minibatch.unwrap_or(val > SMALL_VALSET);
        let (size, full_eval_steps) = (self.minibatch_size, self.full_eval_steps);
        let minibatch = Minibatch { size, full_eval_steps };
        MiproPlan {
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

    fn plan(config: &str, predictors: usize, zero_shot: bool, val: usize) -> MiproPlan {
        let config = Payload::from_json(config).unwrap();
        Extent::read(&config).unwrap().plan(predictors, zero_shot, val)
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
        let config = Payload::from_json(r#"{"auto": "light", "num_trials": 5}"#).unwrap();
        assert!(Extent::read(&config).is_err());
    }
}
