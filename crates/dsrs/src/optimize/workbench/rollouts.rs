//! Evaluations on a workbench: rollouts are cached, stored, limited in number and scored on the board.
//! Knows no optimizer.

use std::sync::{Arc, OnceLock};

use futures_util::stream::{FuturesUnordered, StreamExt};

use super::Workbench;
use super::turn::{Turn, not_recorded};
use crate::graph::Program;
use crate::optimize::board::TrialId;
use crate::optimize::reserve::LastMeasurement;
use crate::optimize::rollout_offers::OfferedRollout;
use crate::optimize::rollout_store::RolloutKey;
use crate::optimize::{Candidate, EarlyStop, Evaluation, Example, ProgressEvent, Rollout};
use crate::predict::Variation;

impl Workbench {
    /// Evaluates a candidate on the whole valset.
    ///
    /// # Errors
    /// If the work stops before all rollouts are done. None of them counts then.
    pub async fn full(&self, id: TrialId) -> Result<Evaluation, EarlyStop> {
        let examples: Vec<&Example> = self.val().iter().collect();
        let evaluation = self.evaluate(&self.candidate(id), &examples, None).await?;
        self.score(id, &evaluation, true);
        Ok(evaluation)
    }

    /// Evaluates a candidate on a part of the valset.
    ///
    /// # Errors
    /// As [`Self::full`].
    pub async fn partial(&self, id: TrialId, of_val: &[usize]) -> Result<Evaluation, EarlyStop> {
        let examples: Vec<&Example> = of_val.iter().filter_map(|at| self.val().get(*at)).collect();
        let evaluation = self.evaluate(&self.candidate(id), &examples, None).await?;
        self.score(id, &evaluation, false);
        Ok(evaluation)
    }

    /// Evaluates a candidate on any examples, without an entry on the board.
    ///
    /// # Errors
    /// As [`Self::full`].
    pub async fn evaluate(
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
    /// not build fails on every example, because proposals of optimizers and LMs may not fit.
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
        let (hash, shared) = (candidate.hash(), OnceLock::new());
        let shared = || shared.get_or_init(|| Arc::new(candidate.clone())).clone();
        let mut running: FuturesUnordered<_> = examples
            .iter()
            .enumerate()
            .map(|(at, example)| {
                let key = RolloutKey::of(&hash, example, &self.shared.metric, variation);
                let (id, shared) = (example.id.clone(), &shared);
                let offered = move || {
                    let candidate = shared();
                    OfferedRollout { key, candidate, hash, example: id, variation }
                };
                let one = self.one(&program, example, key, variation, offered);
                async move { (at, one.await) }
            })
            .collect();
        let mut rollouts = vec![None; of];
        let (mut stop, mut done) = (None, 0);
        // Active rollouts complete even if the work stops, because their calls are already paid for.
        while let Some((at, rolled_out)) = running.next().await {
            match rolled_out {
                Ok(rollout) => {
                    rollouts[at] = Some(rollout);
                    done += 1;
                    self.emit(ProgressEvent::Rollouts { done, of });
                }
                Err(why) => stop = stop.or(Some(why)),
            }
        }
        Ok((rollouts, stop))
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
                self.shared.rollouts.insert(key, rollout.clone());
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
