//! One optimization from start to report: measure the original program on held-out examples, run the
//! optimizer, and measure the best candidate on the same examples. Knows the optimizer by trait.

use std::sync::Arc;

use super::{EarlyStop, Evaluation, Example, Optimizer, Rollout, Trial, TrialId, Workbench};
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

impl OptimizationReport {
    /// The scores of both on the held-out examples that both completed.
    #[must_use]
    pub fn held_out_scores(&self) -> (Vec<f64>, Vec<f64>) {
        let scores = |pair: &HeldOutPair| {
            Some((pair.before.as_ref()?.value(), pair.after.as_ref()?.value()))
        };
        self.held_out.iter().filter_map(scores).unzip()
    }
}

/// Runs an optimizer and measures its result on examples that it never sees.
///
/// # Errors
/// If results can no longer be recorded, or the work is impossible. A spent budget and a cancellation
/// return a report of what was found.
pub async fn optimize(
    bench: &Workbench,
    optimizer: &dyn Optimizer,
    held_out: &[Example],
) -> Result<OptimizationReport, EarlyStop> {
    let examples: Vec<&Example> = held_out.iter().collect();
    bench.phase("measuring the original program");
    let base = bench.candidate(Workbench::BASE);
    // A broken candidate is a failed trial, but the original program has to build.
    bench.program(&base).await?;
    let (before, mut stopped) = counted(bench.roll_out(&base, &examples, None).await?)?;
    let mut best = Workbench::BASE;
    if stopped.is_none() {
        let rollouts = before.iter().flatten().cloned().collect();
        bench.measured_first(&Evaluation { rollouts });
        bench.phase("searching for a better program");
        (best, stopped) = found(bench, optimizer).await?;
        bench.account().inspect(|account| account.set_reserve(BudgetReserve::default()));
    }
    let after = match (best, &stopped) {
        (Workbench::BASE, _) => before.clone(),
        (_, Some(EarlyStop::Cancelled)) => vec![None; before.len()],
        _ => {
            bench.phase("measuring the best candidate");
            let candidate = bench.candidate(best);
            let (after, late) = counted(bench.roll_out(&candidate, &examples, None).await?)?;
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

/// Returns stops that end in a report, and fails on the others.
fn counted(
    (rollouts, stop): (Rollouts, Option<EarlyStop>),
) -> Result<(Rollouts, Option<EarlyStop>), EarlyStop> {
    match stop {
        Some(stop @ (EarlyStop::NotRecorded(_) | EarlyStop::Failed(_))) => Err(stop),
        stop => Ok((rollouts, stop)),
    }
}

async fn found(
    bench: &Workbench,
    optimizer: &dyn Optimizer,
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
