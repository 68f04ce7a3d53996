//! One optimization from start to report: measure the original program on held-out examples, run the
//! optimizer, and measure the best candidate on the same examples. Knows the optimizer by trait.

use std::sync::Arc;

use super::{
    Candidate, CandidateSearch, EarlyStop, Evaluation, Example, Rollout, Trial, TrialId, Workbench,
};
use crate::lm::{BudgetAccount, BudgetReserve, Usage};

/// The result of an optimization.
#[derive(Clone, Debug)]
pub struct OptimizationReport {
    /// The best candidate; the original program if nothing better was found.
    pub best: TrialId,
    /// Why it stopped early, if it did.
    pub stopped: Option<EarlyStop>,
    /// The rollouts of the original program and of the best candidate on each held-out example.
    pub held_out: Vec<HeldOutPair>,
    /// Every candidate that was tried.
    pub trials: Vec<Trial>,
    /// The usage that was paid for, over all attempts.
    pub spent: Usage,
}

/// Two rollouts on one example.
#[derive(Clone, Debug, Default)]
pub struct HeldOutPair {
    /// Of the original program.
    pub before: Option<Arc<Rollout>>,
    /// Of the best candidate.
    pub after: Option<Arc<Rollout>>,
}

impl HeldOutPair {
    const fn is_complete(&self) -> bool {
        self.before.is_some() && self.after.is_some()
    }

    /// Both scores, if both are measured.
    fn scores(&self) -> Option<(f64, f64)> {
        let measured = |side: &Option<Arc<Rollout>>| {
            side.as_ref().filter(|rollout| rollout.is_measured()).map(|rollout| rollout.value())
        };
        Some((measured(&self.before)?, measured(&self.after)?))
    }
}

impl OptimizationReport {
    /// The scores of both on the held-out examples that both have measured.
    #[must_use]
    pub fn held_out_scores(&self) -> (Vec<f64>, Vec<f64>) {
        self.held_out.iter().filter_map(HeldOutPair::scores).unzip()
    }

    /// Whether both have completed all held-out examples, measured or not.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.held_out.iter().all(HeldOutPair::is_complete)
    }

    /// The number of completed pairs of which a side has no score, for reasons that are not the program's.
    #[must_use]
    pub fn unmeasured(&self) -> usize {
        let complete = self.held_out.iter().filter(|pair| pair.is_complete());
        complete.filter(|pair| pair.scores().is_none()).count()
    }
}

/// Runs an optimizer and measures its result on examples that it never sees.
///
/// # Errors
/// If results can no longer be recorded; if the work is impossible; if too many examples have no score, or not one
/// proposal was made, for reasons that are not the program's. A spent budget and a cancellation
/// return a report of what was found.
pub async fn optimize(
    bench: &Workbench,
    optimizer: &dyn CandidateSearch,
    held_out: &[Example],
) -> Result<OptimizationReport, EarlyStop> {
    let examples: Vec<&Example> = held_out.iter().collect();
    bench.phase("measuring the original program");
    let base = bench.candidate(Workbench::BASE);
    // A broken candidate is a failed trial, but the original program has to build.
    bench.program(&base).await?;
    let (before, mut stopped) = measured(bench, &base, &examples).await?;
    let mut best = Workbench::BASE;
    if stopped.is_none() {
        let rollouts = before.iter().flatten().cloned().collect();
        bench.measured_first(&Evaluation { rollouts });
        bench.phase("searching for a better program");
        (best, stopped) = search(bench, optimizer).await?;
        bench.account().inspect(|account| account.set_reserve(BudgetReserve::default()));
    }
    if best == Workbench::BASE
        && stopped != Some(EarlyStop::Cancelled)
        && let Some(why) = bench.without_proposals()
    {
        return Err(EarlyStop::Failed(why.into()));
    }
    let after = match (best, &stopped) {
        (Workbench::BASE, _) => before.clone(),
        (_, Some(EarlyStop::Cancelled)) => vec![None; before.len()],
        _ => {
            bench.phase("measuring the best candidate");
            let candidate = bench.candidate(best);
            let (after, late) = measured(bench, &candidate, &examples).await?;
            stopped = stopped.or(late);
            after
        }
    };
    let pairs = before.into_iter().zip(after).map(|(before, after)| HeldOutPair { before, after });
    Ok(OptimizationReport {
        best,
        stopped,
        held_out: pairs.collect(),
        trials: bench.trials(),
        spent: bench.account().map(BudgetAccount::spent).unwrap_or_default(),
    })
}

type Rollouts = Vec<Option<Arc<Rollout>>>;

/// Measures a candidate on the held-out examples.
///
/// # Errors
/// If the work ends without a report, or too many examples have no score.
async fn measured(
    bench: &Workbench,
    candidate: &Candidate,
    examples: &[&Example],
) -> Result<(Rollouts, Option<EarlyStop>), EarlyStop> {
    let (rollouts, stop) = counted(bench.roll_out(candidate, examples, None).await?)?;
    if stop.is_none() {
        bench.check_measured(&rollouts)?;
    }
    Ok((rollouts, stop))
}

/// Returns stops that end in a report, and fails on the others.
fn counted(
    (rollouts, stop): (Rollouts, Option<EarlyStop>),
) -> Result<(Rollouts, Option<EarlyStop>), EarlyStop> {
    match stop {
        Some(stop @ (EarlyStop::NotRecorded(_) | EarlyStop::Failed(_))) => Err(stop),
        stop => Ok((rollouts, stop)),
    }
}

async fn search(
    bench: &Workbench,
    optimizer: &dyn CandidateSearch,
) -> Result<(TrialId, Option<EarlyStop>), EarlyStop> {
    match optimizer.run(bench).await {
        // Some optimizers return the one candidate that they made. What does not build is no result.
        Ok(found) if bench.check(&bench.candidate(found)).await.is_err() => {
            Ok((bench.best().map_or(Workbench::BASE, |trial| trial.id), None))
        }
        Ok(best) => Ok((best, None)),
        Err(stop @ (EarlyStop::NotRecorded(_) | EarlyStop::Failed(_))) => Err(stop),
        Err(stop) => Ok((bench.best().map_or(Workbench::BASE, |trial| trial.id), Some(stop))),
    }
}
