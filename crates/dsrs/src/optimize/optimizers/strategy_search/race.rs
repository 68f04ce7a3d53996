//! The race of a round: all candidates on a few examples, the better half on twice as many, and so on;
//! the finalists on all. After successive halving (Jamieson & Talwalkar 2016); as in Hoeffding races
//! (Maron & Moore 1994), candidates that are certainly worse than the rival leave at once. All
//! candidates see the same examples, and each heat includes those of the one before, so nothing is
//! rolled out twice. Knows candidates by number.

use futures_util::future::join_all;

use crate::optimize::{EarlyStop, Evaluation, TrialId, TrialScore, Workbench, paired_bootstrap};

/// The settings of races.
#[derive(Clone, Copy, Debug)]
pub(super) struct Race {
    pub(super) minibatch: usize,
    pub(super) finalists: usize,
}

/// A candidate after a heat.
struct HeatResult {
    id: TrialId,
    evaluation: Evaluation,
    scored: Option<TrialScore>,
}

impl Race {
    /// Runs a race against a candidate with a full evaluation; returns the finalists, which then have
    /// one, too.
    pub(super) async fn run(
        &self,
        bench: &Workbench,
        rival: TrialId,
        mut running: Vec<TrialId>,
        round: usize,
    ) -> Result<Vec<TrialId>, EarlyStop> {
        let mut order: Vec<usize> = (0..bench.val().len()).collect();
        bench.rng(&format!("examples of round {round}")).shuffle(&mut order);
        let mut batch = self.minibatch;
        while !running.is_empty() && batch < order.len() {
            let heat = order.get(..batch).unwrap_or_default();
            let ran = run_heat(bench, &running, heat).await?;
            let against = against(bench, rival, heat).await?;
            let hopeful = ran.iter().filter(|one| against.leaves_hope(one));
            running = hopeful.map(|one| one.id).collect();
            sort(&mut running, |id| ran.iter().find(|one| one.id == id)?.scored);
            running.truncate(self.finalists.max(running.len().div_ceil(2)));
            if running.len() <= self.finalists {
                break;
            }
            batch = batch.saturating_mul(2);
        }
        // One after the other, so that a spent budget leaves complete evaluations.
        for id in &running {
            bench.full(*id).await?;
        }
        Ok(running)
    }
}

/// Evaluates all candidates on the same examples. If one stops, the others complete, because they are
/// already paid for.
async fn run_heat(
    bench: &Workbench,
    running: &[TrialId],
    examples: &[usize],
) -> Result<Vec<HeatResult>, EarlyStop> {
    let each = running.iter().map(|id| async {
        let evaluation = bench.partial(*id, examples).await?;
        let scored = bench.trial(*id).and_then(|trial| trial.partial.last().copied());
        Ok(HeatResult { id: *id, evaluation, scored })
    });
    join_all(each).await.into_iter().collect()
}

/// The result of the rival on the examples of a heat.
struct RivalResult {
    evaluation: Evaluation,
    /// The cost part of its objective.
    costs: f64,
    seed: u64,
}

async fn against(
    bench: &Workbench,
    rival: TrialId,
    heat: &[usize],
) -> Result<RivalResult, EarlyStop> {
    let examples: Vec<_> = heat.iter().filter_map(|at| bench.val().get(*at)).collect();
    let evaluation = bench.evaluate(&bench.candidate(rival), &examples, None).await?;
    let full = bench.trial(rival).and_then(|trial| trial.full);
    let costs = full.map_or(0.0, |scored| scored.mean - scored.objective);
    let seed = bench.rng("races").u64(..);
    Ok(RivalResult { evaluation, costs, seed })
}

impl RivalResult {
    /// Whether a candidate may still be better than the rival.
    fn leaves_hope(&self, ran: &HeatResult) -> bool {
        let (rival, own) = self.evaluation.paired_with(&ran.evaluation);
        let gain = paired_bootstrap(&rival, &own, self.seed);
        let costs = ran.scored.map_or(0.0, |scored| scored.mean - scored.objective);
        gain.high - (costs - self.costs) >= 0.0
    }
}

/// Sorts by objective, best first; of equals, the cheaper one first. Candidates without a score
/// come last.
pub(super) fn sort(ids: &mut [TrialId], scored: impl Fn(TrialId) -> Option<TrialScore>) {
    let rank = |id: TrialId| {
        let scored = scored(id);
        let objective = scored.map_or(f64::NEG_INFINITY, |scored| scored.objective);
        let used = scored.map(|scored| scored.usage).unwrap_or_default();
        (objective, used.input_tokens + used.output_tokens)
    };
    ids.sort_by(|one, other| {
        let (one, other) = (rank(*one), rank(*other));
        other.0.total_cmp(&one.0).then(one.1.cmp(&other.1))
    });
}
