//! One optimization from its beginning to its report: the program as it is is measured on examples
//! that nobody chooses by, an optimizer looks for a better one, and what it found is measured on the
//! same. Knows the optimizer by trait.

use std::sync::Arc;

use super::{EarlyStop, Evaluation, Example, Optimizer, Rollout, Trial, TrialId, Workbench};
use crate::lm::{BudgetAccount, BudgetReserve, Usage};

/// What came of an optimization.
#[derive(Clone, Debug)]
pub struct OptimizationReport {
    /// The candidate that was chosen; the program as it was, when nothing better was found.
    pub best: TrialId,
    /// Why it stopped before its end, if it did.
    pub stopped: Option<EarlyStop>,
    /// How the program as it was and the best did on each held-out example, as far as they were
    /// tried on it.
    pub held_out: Vec<HeldOutPair>,
    /// Every candidate that was tried.
    pub trials: Vec<Trial>,
    /// What was paid for, over all attempts.
    pub spent: Usage,
}

/// Two rollouts on one example.
#[derive(Clone, Debug, Default)]
pub struct HeldOutPair {
    /// Of the program as it was.
    pub before: Option<Arc<Rollout>>,
    /// Of the best that was found.
    pub after: Option<Arc<Rollout>>,
}

impl OptimizationReport {
    /// The scores of both, on the held-out examples that both were tried on.
    #[must_use]
    pub fn held_out_scores(&self) -> (Vec<f64>, Vec<f64>) {
        let scores = |pair: &HeldOutPair| {
            Some((pair.before.as_ref()?.value(), pair.after.as_ref()?.value()))
        };
        self.held_out.iter().filter_map(scores).unzip()
    }
}

/// Runs an optimizer, and measures what it found on examples that it never sees.
///
/// # Errors
/// Only when what is done can no longer be kept, or cannot be done at all: a budget that is spent
/// and a cancellation end in a report of what was found.
pub async fn optimize(
    bench: &Workbench,
    optimizer: &dyn Optimizer,
    held_out: &[Example],
) -> Result<OptimizationReport, EarlyStop> {
    let examples: Vec<&Example> = held_out.iter().collect();
    bench.phase("measuring the program as it is");
    let base = bench.candidate(Workbench::BASE);
    // A candidate that does not fit fails; the program as it is has to.
    bench.program(&base).await?;
    let (before, mut stopped) = counted(bench.roll_out(&base, &examples, None).await?)?;
    let mut best = Workbench::BASE;
    if stopped.is_none() {
        let rollouts = before.iter().flatten().cloned().collect();
        bench.measured_first(&Evaluation { rollouts });
        bench.phase("looking for a better one");
        (best, stopped) = found(bench, optimizer).await?;
        bench.account().inspect(|account| account.set_reserve(BudgetReserve::default()));
    }
    let after = match (best, &stopped) {
        (Workbench::BASE, _) => before.clone(),
        (_, Some(EarlyStop::Cancelled)) => vec![None; before.len()],
        _ => {
            bench.phase("measuring the best that was found");
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

/// A stop that leaves a report to be made.
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
        Ok(best) => Ok((best, None)),
        Err(stop @ (EarlyStop::NotRecorded(_) | EarlyStop::Failed(_))) => Err(stop),
        Err(stop) => Ok((bench.best().map_or(Workbench::BASE, |trial| trial.id), Some(stop))),
    }
}
