//! `threshold_calibration`: the rules of decisions, by the scores of the examples. Each example's evidence is bought once;
//! rules are then compared by the recorded replies. After DSPy's `ReAnchor`, which this differs from in where it looks: at
//! every cut point, and at the valset before a result counts.

mod candidates;
mod fit;
mod runs;

use std::sync::Arc;

use facet::Facet;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use self::fit::Fit;
use crate::document::default_settings;
use crate::optimize::{
    Candidate, CandidateSearch, EarlyStop, OptimizerRegistration, StateOptimizer, TrialId,
    Workbench,
};
use crate::predict::Decision;

/// Sets the rules of `decide` nodes: the thresholds of bools, the weights of choices, the cuts of scores. Runs the program
/// once on each example of the trainset, and again only where another decision leads to other requests. For decisions
/// whose probabilities order the examples well and are too high or too low.
#[derive(Clone, Debug, Facet)]
pub struct ThresholdCalibration {
    /// How often all rules are set in turn. Later passes see what the earlier ones changed.
    #[facet(default = 2, dsrs::minimum(1), dsrs::maximum(10))]
    pub passes: usize,
}

inventory::submit!(OptimizerRegistration::of::<ThresholdCalibration>());

impl Default for ThresholdCalibration {
    fn default() -> Self {
        default_settings()
    }
}

impl StateOptimizer for ThresholdCalibration {
    const NAME: &'static str = "threshold_calibration";
}

impl CandidateSearch for ThresholdCalibration {
    fn run<'a>(&'a self, bench: &'a Workbench) -> BoxFuture<'a, Result<TrialId, EarlyStop>> {
        self.calibrate(bench).boxed()
    }
}

/// A decision, and the path of its predictor.
type PlacedDecision = (Arc<str>, Decision);

impl ThresholdCalibration {
    async fn calibrate(&self, bench: &Workbench) -> Result<TrialId, EarlyStop> {
        let start = bench.candidate(bench.start());
        let decisions = decisions(bench, &start).await?;
        let before = bench.full(bench.start()).await?;
        let mut calibrated = (*start).clone();
        for _ in 0..self.passes {
            let mut changed = false;
            for (path, decision) in &decisions {
                bench.phase(&format!("setting the rule of `{}` in `{path}`", decision.field.name));
                let fit = Fit::observe(bench, &calibrated, path, decision).await?;
                let Some(rule) = fit.rule().await? else { continue };
                let output = decision.field.name.clone();
                calibrated =
                    calibrated.with(path, |state| drop(state.decisions.insert(output, rule)));
                changed = true;
            }
            if !changed {
                break;
            }
        }
        if calibrated == *start {
            return Ok(bench.start());
        }
        let origin = origin(&calibrated, &decisions);
        let id = bench.enter(calibrated, &[bench.start()], origin);
        let after = bench.full(id).await?;
        Ok(if after.mean() < before.mean() { bench.start() } else { id })
    }
}

/// The decisions of a program, in the order of its predictors.
async fn decisions(
    bench: &Workbench,
    candidate: &Candidate,
) -> Result<Vec<PlacedDecision>, EarlyStop> {
    let program = bench.program(candidate).await?;
    let predictors = program.predictors().into_iter();
    let found: Vec<PlacedDecision> = predictors
        .flat_map(|(path, predictor)| {
            let path: Arc<str> = path.into();
            predictor.decisions().iter().map(move |decision| (path.clone(), decision.clone()))
        })
        .collect();
    if found.is_empty() {
        let why = "threshold_calibration: no predictor of the program decides anything; use the strategy `decide` for an \
                   output that is a bool, an enum or a score";
        return Err(EarlyStop::Failed(why.into()));
    }
    Ok(found)
}

/// What was set, for people.
fn origin(calibrated: &Candidate, decisions: &[PlacedDecision]) -> String {
    let set = decisions.iter().filter_map(|(path, decision)| {
        let output = &decision.field.name;
        let rule = calibrated.state.0.get(path)?.decisions.get(output)?;
        Some(format!("`{output}` of `{path}`: {}", rule.to_payload().to_json()))
    });
    set.collect::<Vec<_>>().join("; ")
}
