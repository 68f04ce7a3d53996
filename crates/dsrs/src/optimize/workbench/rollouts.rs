//! Evaluations on a workbench: rollouts are cached, stored, limited in number and scored on the board.
//! Knows no optimizer.

use std::sync::{Arc, OnceLock};

use futures_util::stream::{FuturesUnordered, StreamExt};

use super::Workbench;
use super::turn::{Turn, not_recorded};
use crate::graph::Program;
use crate::optimize::CandidateHash;
use crate::optimize::board::TrialId;
use crate::optimize::reserve::LastMeasurement;
use crate::optimize::rollout_offers::OfferedRollout;
use crate::optimize::rollout_store::RolloutKey;
use crate::optimize::{Candidate, EarlyStop, Evaluation, Example, ProgressEvent, Rollout};
use crate::predict::Variation;

/// A candidate as it is rolled out.
struct CandidateRun<'c> {
    candidate: &'c Candidate,
    hash: CandidateHash,
    program: Arc<Program>,
    variation: Option<Variation>,
}

/// The places of rollouts without a score.
fn unmeasured(rollouts: &[Option<Arc<Rollout>>]) -> impl Iterator<Item = usize> {
    let open = |found: &Option<Arc<Rollout>>| found.as_ref().is_some_and(|it| !it.is_measured());
    rollouts.iter().enumerate().filter(move |(_, found)| open(found)).map(|(at, _)| at)
}

impl Workbench {
    /// Evaluates a candidate on the whole valset.
    ///
    /// # Errors
    /// If the work stops before all rollouts are done, of which none counts then; or if too many have no score.
    pub async fn full(&self, id: TrialId) -> Result<Evaluation, EarlyStop> {
        let examples: Vec<&Example> = self.val().iter().collect();
        let evaluation = self.complete(&self.candidate(id), &examples, None).await?;
        // The candidate also shows why the work fails.
        self.score(id, &evaluation, true);
        let rollouts: Vec<_> = evaluation.rollouts.iter().cloned().map(Some).collect();
        self.check_measured(&rollouts)?;
        Ok(evaluation)
    }

    /// Evaluates a candidate on a part of the valset.
    ///
    /// # Errors
    /// As [`Self::evaluate`].
    pub async fn partial(&self, id: TrialId, of_val: &[usize]) -> Result<Evaluation, EarlyStop> {
        let examples: Vec<&Example> = of_val.iter().filter_map(|at| self.val().get(*at)).collect();
        let evaluation = self.evaluate(&self.candidate(id), &examples, None).await?;
        self.score(id, &evaluation, false);
        Ok(evaluation)
    }

    /// Evaluates a candidate on any examples, without an entry on the board.
    ///
    /// # Errors
    /// If the work stops before all rollouts are done, of which none counts then; or if too many rollouts of the
    /// work so far have no score.
    pub async fn evaluate(
        &self,
        candidate: &Candidate,
        examples: &[&Example],
        variation: Option<Variation>,
    ) -> Result<Evaluation, EarlyStop> {
        let evaluation = self.complete(candidate, examples, variation).await?;
        self.check_so_far()?;
        Ok(evaluation)
    }

    async fn complete(
        &self,
        candidate: &Candidate,
        examples: &[&Example],
        variation: Option<Variation>,
    ) -> Result<Evaluation, EarlyStop> {
        let (rollouts, stop) = self.roll_out(candidate, examples, variation).await?;
        let all: Option<Vec<_>> = rollouts.into_iter().collect();
        match (all, stop) {
            (Some(rollouts), None) => Ok(Evaluation { rollouts }),
            (_, stop) => Err(stop.unwrap_or(EarlyStop::Cancelled)),
        }
    }

    /// Like [`Self::evaluate`], but returns completed rollouts if the work stops. A candidate that does
    /// not build fails on every example, because proposals of optimizers and LMs may not fit. What has no score is
    /// tried once more at the end.
    ///
    /// # Errors
    /// None at present.
    pub async fn roll_out(
        &self,
        candidate: &Candidate,
        examples: &[&Example],
        variation: Option<Variation>,
    ) -> Result<(Vec<Option<Arc<Rollout>>>, Option<EarlyStop>), EarlyStop> {
        let of = examples.len();
        let program = match self.check(candidate).await {
            Ok(program) => program,
            Err(problems) => {
                return Ok((vec![Some(Arc::new(Rollout::unfit(&problems))); of], None));
            }
        };
        let run = CandidateRun { candidate, hash: candidate.hash(), program, variation };
        let mut rollouts = vec![None; of];
        let mut stop = self.roll_out_at(&run, examples, 0..of, &mut rollouts).await;
        let open: Vec<usize> = unmeasured(&rollouts).collect();
        if stop.is_none() && !open.is_empty() {
            let again = self.roll_out_at(&run, examples, open, &mut rollouts).await;
            // What is measured counts without the second try, for which the budget may be too small.
            stop = again.filter(|why| !matches!(why, EarlyStop::BudgetSpent(_)));
        }
        self.count(&rollouts);
        Ok((rollouts, stop))
    }

    /// Rolls out the examples at some places. A place keeps what it has if the work stops.
    async fn roll_out_at(
        &self,
        run: &CandidateRun<'_>,
        examples: &[&Example],
        places: impl IntoIterator<Item = usize>,
        rollouts: &mut [Option<Arc<Rollout>>],
    ) -> Option<EarlyStop> {
        let shared = OnceLock::new();
        let shared = || shared.get_or_init(|| Arc::new(run.candidate.clone())).clone();
        let mut running: FuturesUnordered<_> = places
            .into_iter()
            .filter_map(|at| Some((at, *examples.get(at)?)))
            .map(|(at, example)| {
                let (hash, variation) = (run.hash, run.variation);
                let key = RolloutKey::of(&hash, example, &self.shared.metric, variation);
                let (id, shared) = (example.id.clone(), &shared);
                let offered = move || {
                    let candidate = shared();
                    OfferedRollout { key, candidate, hash, example: id, variation }
                };
                let one = self.one(&run.program, example, key, variation, offered);
                async move { (at, one.await) }
            })
            .collect();
        let (mut stop, of) = (None, rollouts.len());
        // Active rollouts complete even if the work stops, because their calls are already paid for.
        while let Some((at, rolled_out)) = running.next().await {
            match rolled_out {
                Ok(rollout) => {
                    rollouts[at] = Some(rollout);
                    let done = of - rollouts.iter().filter(|found| found.is_none()).count();
                    self.emit(ProgressEvent::Rollouts { done, of });
                }
                Err(why) => stop = stop.or(Some(why)),
            }
        }
        stop
    }

    async fn one(
        &self,
        program: &Program,
        example: &Example,
        key: RolloutKey,
        variation: Option<Variation>,
        offered: impl FnOnce() -> OfferedRollout,
    ) -> Result<Arc<Rollout>, EarlyStop> {
        if let Some(rollout) = self.shared.rollouts.get(&key) {
            return Ok(rollout);
        }
        let _permit = match self.turn(offered).await? {
            Turn::Own(permit) => permit,
            Turn::Made(rollout) => {
                if rollout.is_measured() {
                    self.shared.rollouts.insert(key, rollout.clone());
                }
                return Ok(rollout);
            }
        };
        // Another task may have completed the same rollout meanwhile.
        if let Some(rollout) = self.shared.rollouts.get(&key) {
            return Ok(rollout);
        }
        let stored = self.task().store.find(key).await.map_err(not_recorded)?;
        let rollout = match stored {
            Some(rollout) => Arc::new(rollout),
            None => {
                let rolled_out =
                    self.task().evaluator.roll_out(program, example, variation).await?;
                let rollout = Arc::new(rolled_out);
                // Another try may have a score.
                if !rollout.is_measured() {
                    return Ok(rollout);
                }
                self.task().store.keep(key, &rollout).await.map_err(not_recorded)?;
                rollout
            }
        };
        self.shared.rollouts.insert(key, rollout.clone());
        Ok(rollout)
    }

    fn score(&self, id: TrialId, evaluation: &Evaluation, full: bool) {
        let (scored, best) = {
            let mut board = self.board();
            let scored = board.score(id, evaluation, full);
            (scored, full && board.best().is_some_and(|best| best.id == id))
        };
        if best {
            self.set_aside(evaluation);
        }
        self.emit(ProgressEvent::Scored { trial: id, scored: &scored, full, best });
    }

    /// Reserves a part of the budget for the last measurement, estimated from the first one.
    pub(in crate::optimize) fn measured_first(&self, first: &Evaluation) {
        let Some(account) = self.account() else { return };
        let last = LastMeasurement::like(first, account.budget());
        let last = self.shared.last.get_or_init(|| last);
        account.set_reserve(last.at_first(first, self.task().concurrency));
    }

    /// Increases the reserve if the best candidate uses more than the original program.
    fn set_aside(&self, best: &Evaluation) {
        if let (Some(account), Some(last)) = (self.account(), self.shared.last.get()) {
            account.raise_reserve(last.of(best, self.task().concurrency));
        }
    }
}
