//! The workbench: what an optimizer works with. Candidates are tried on examples here, all under one
//! limit of rollouts at a time and from one budget, none twice; and LMs are asked for proposals.
//! Everything that an optimizer learns comes through here, so that one that is started again with
//! the same seed comes to the same point without paying twice. Knows no optimizer.

mod proposer;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use futures_util::stream::{FuturesUnordered, StreamExt};
use moka::sync::Cache;
use tokio::sync::Semaphore;

use super::board::Board;
use super::candidate::CandidateHash;
use super::reserve::LastMeasurement;
use super::rollout_store::{RolloutKey, RolloutStore};
use super::{
    Candidate, CostWeight, EarlyStop, Evaluation, Evaluator, Example, ProgramBuilder,
    ProgressEvent, ProgressListener, Rollout, RolloutFailure, Trial, TrialId,
};
use crate::graph::Program;
use crate::lm::{BudgetAccount, RecordingError};
use crate::predict::{LmOverrides, Variation};
use crate::problem::Problems;

pub use proposer::AskError;

/// Built programs that are kept.
const PROGRAMS: u64 = 256;

/// Bytes of rollouts that are kept at hand.
const ROLLOUTS: u64 = 256 << 20;

/// The code of rollouts of candidates that are no programs.
const UNFIT: &str = "unfit";

/// What an optimization is given.
pub struct Task {
    /// The program as it is.
    pub base: Candidate,
    /// The examples that demos and reflections are taken from.
    pub train: Vec<Example>,
    /// The examples that candidates are chosen by.
    pub val: Vec<Example>,
    /// Runs and judges.
    pub evaluator: Evaluator,
    /// Builds programs.
    pub builder: Arc<dyn ProgramBuilder>,
    /// Keeps rollouts.
    pub store: Arc<dyn RolloutStore>,
    /// Who is told.
    pub listener: Arc<dyn ProgressListener>,
    /// How many rollouts at a time.
    pub concurrency: usize,
    /// What all chance comes from.
    pub seed: u64,
    /// The model that is asked for proposals, and how.
    pub proposer: LmOverrides,
}

/// What an optimizer works with.
pub struct Workbench {
    shared: Arc<WorkbenchState>,
    start: TrialId,
    seed: u64,
    /// Where candidates are chosen by fewer examples than there are.
    val: Option<Arc<[Example]>>,
}

/// What a workbench shares with those that were made of it.
struct WorkbenchState {
    task: Task,
    metric: Arc<str>,
    limit: Semaphore,
    board: Mutex<Board>,
    programs: Cache<CandidateHash, Arc<Program>>,
    rollouts: Cache<RolloutKey, Arc<Rollout>>,
    last: OnceLock<LastMeasurement>,
}

impl Workbench {
    /// A workbench for a task. The program as it is, is the first on its board.
    #[must_use]
    pub fn new(task: Task) -> Self {
        let mut board = Board::default();
        board.enter(task.base.clone(), &[], "as it was".into());
        let seed = task.seed;
        let shared = WorkbenchState {
            metric: task.evaluator.metric.to_payload().to_json().into(),
            limit: Semaphore::new(task.concurrency.max(1)),
            board: Mutex::new(board),
            programs: Cache::new(PROGRAMS),
            rollouts: Cache::builder().max_capacity(ROLLOUTS).weigher(weight).build(),
            last: OnceLock::new(),
            task,
        };
        Self { shared: Arc::new(shared), start: Self::BASE, seed, val: None }
    }

    /// The program as it is, the first on the board. An optimizer begins at [`Self::start`], which
    /// may be another.
    pub const BASE: TrialId = TrialId(0);

    /// The candidate that an optimizer begins with: the program as it is, or what another optimizer
    /// has made of it.
    #[must_use]
    pub const fn start(&self) -> TrialId {
        self.start
    }

    /// A workbench on which another optimizer goes on from a candidate. Board, limits, budget and
    /// rollouts are the same; chance is its own, and the same for the same candidate.
    ///
    /// For one at a time: the order in which candidates come must not depend on which optimizer is
    /// faster.
    #[must_use]
    pub fn starting_from(&self, id: TrialId) -> Self {
        let seed = self.rng(&format!("starting from {}", id.0)).u64(..);
        Self { shared: self.shared.clone(), start: id, seed, val: self.val.clone() }
    }

    /// The same workbench, on which candidates are chosen by no more than so many examples, drawn by
    /// chance. Where one was tried already on all by which they are chosen here, it stays with those:
    /// how candidates did could not be compared otherwise.
    #[must_use]
    pub fn choosing_by(&self, most: usize) -> Self {
        let narrower = self.val().len() > most && self.best().is_none();
        let val = narrower.then(|| {
            let mut places: Vec<usize> = (0..self.val().len()).collect();
            self.rng("chosen by").shuffle(&mut places);
            places.truncate(most);
            places.sort_unstable();
            places.into_iter().filter_map(|place| self.val().get(place).cloned()).collect()
        });
        let val = val.or_else(|| self.val.clone());
        Self { shared: self.shared.clone(), start: self.start, seed: self.seed, val }
    }

    /// What it was given.
    #[must_use]
    pub fn task(&self) -> &Task {
        &self.shared.task
    }

    /// The examples that demos and reflections are taken from.
    #[must_use]
    pub fn train(&self) -> &[Example] {
        &self.task().train
    }

    /// The examples that candidates are chosen by.
    #[must_use]
    pub fn val(&self) -> &[Example] {
        self.val.as_deref().unwrap_or(&self.task().val)
    }

    /// The budget, if there is one.
    #[must_use]
    pub fn account(&self) -> Option<&BudgetAccount> {
        self.task().evaluator.budgeted.as_ref().map(|budgeted| budgeted.account())
    }

    /// Chance for one purpose: the same for the same seed and purpose, whatever else happened.
    #[must_use]
    pub fn rng(&self, purpose: &str) -> fastrand::Rng {
        // FNV-1a: what it gives must never change between releases.
        let hash = purpose.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        fastrand::Rng::with_seed(self.seed ^ hash)
    }

    /// Puts a candidate on the board, with what it was made from and how. One that is there already
    /// keeps its place.
    pub fn enter(
        &self,
        candidate: Candidate,
        parents: &[TrialId],
        origin: impl Into<Arc<str>>,
    ) -> TrialId {
        let entered = {
            let mut board = self.board();
            let (id, new) = board.enter(candidate, parents, origin.into());
            new.then(|| board.get(id).cloned()).flatten().ok_or(id)
        };
        match entered {
            Ok(trial) => {
                self.tell(ProgressEvent::Candidate(&trial));
                trial.id
            }
            Err(id) => id,
        }
    }

    /// A candidate on the board.
    #[must_use]
    pub fn candidate(&self, id: TrialId) -> Arc<Candidate> {
        let found = self.board().get(id).map(|trial| trial.candidate.clone());
        found.unwrap_or_else(|| Arc::new(self.task().base.clone()))
    }

    /// What is on the board of a candidate.
    #[must_use]
    pub fn trial(&self, id: TrialId) -> Option<Trial> {
        self.board().get(id).cloned()
    }

    /// All candidates so far, in the order in which they came.
    #[must_use]
    pub fn trials(&self) -> Vec<Trial> {
        self.board().trials().to_vec()
    }

    /// The candidate that has done best on all examples that candidates are chosen by.
    #[must_use]
    pub fn best(&self) -> Option<Trial> {
        self.board().best().cloned()
    }

    /// From here on, the cost of candidates counts too when they are chosen.
    pub fn weigh_cost(&self, weight: CostWeight) {
        self.board().weigh(weight);
    }

    /// The program of a candidate.
    ///
    /// # Errors
    /// [`EarlyStop::Failed`] with all that is wrong with it.
    pub async fn program(&self, candidate: &Candidate) -> Result<Arc<Program>, EarlyStop> {
        self.check(candidate).await.map_err(|problems| {
            let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
            EarlyStop::Failed(format!("a candidate does not fit: {}", problems.join("; ")).into())
        })
    }

    /// The program of what may be none: a document that was made up, and a state for it. The
    /// document need not be resolved; that of the program is.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub async fn check(&self, candidate: &Candidate) -> Result<Arc<Program>, Problems> {
        let hash = candidate.hash();
        if let Some(program) = self.shared.programs.get(&hash) {
            return Ok(program);
        }
        let program = self.task().builder.build(candidate).await?;
        self.shared.programs.insert(hash, program.clone());
        Ok(program)
    }

    /// Tries a candidate on all examples that candidates are chosen by.
    ///
    /// # Errors
    /// When the work stops before all of them are done. None of it counts then.
    pub async fn full(&self, id: TrialId) -> Result<Evaluation, EarlyStop> {
        let examples: Vec<&Example> = self.val().iter().collect();
        let evaluation = self.evaluate(&self.candidate(id), &examples, None).await?;
        self.score(id, &evaluation, true);
        Ok(evaluation)
    }

    /// Tries a candidate on some of the examples that candidates are chosen by.
    ///
    /// # Errors
    /// As [`Self::full`].
    pub async fn partial(&self, id: TrialId, of_val: &[usize]) -> Result<Evaluation, EarlyStop> {
        let examples: Vec<&Example> = of_val.iter().filter_map(|at| self.val().get(*at)).collect();
        let evaluation = self.evaluate(&self.candidate(id), &examples, None).await?;
        self.score(id, &evaluation, false);
        Ok(evaluation)
    }

    /// Rolls a candidate out on any examples. Nothing of it is noted on the board.
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

    /// As [`Self::evaluate`], and gives what there is when the work stops. A candidate that is no
    /// program fails on every example, as one that fails in execution does: what optimizers and LMs
    /// make up may not fit, and nobody is stopped by that.
    ///
    /// # Errors
    /// None as yet.
    pub async fn roll_out(
        &self,
        candidate: &Candidate,
        examples: &[&Example],
        variation: Option<Variation>,
    ) -> Result<(Vec<Option<Arc<Rollout>>>, Option<EarlyStop>), EarlyStop> {
        let of = examples.len();
        let program = match self.check(candidate).await {
            Ok(program) => program,
            Err(problems) => return Ok((vec![Some(Arc::new(unfit(&problems))); of], None)),
        };
        let hash = candidate.hash();
        let mut running: FuturesUnordered<_> = examples
            .iter()
            .enumerate()
            .map(|(at, example)| {
                let key = RolloutKey::of(&hash, example, &self.shared.metric, variation);
                let one = self.one(&program, example, key, variation);
                async move { (at, one.await) }
            })
            .collect();
        let mut rollouts = vec![None; of];
        let (mut stop, mut done) = (None, 0);
        // Those under way come to their end when the work stops: what they ask for is paid already.
        while let Some((at, rolled_out)) = running.next().await {
            match rolled_out {
                Ok(rollout) => {
                    rollouts[at] = Some(rollout);
                    done += 1;
                    self.tell(ProgressEvent::Rollouts { done, of });
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
    ) -> Result<Arc<Rollout>, EarlyStop> {
        if let Some(rollout) = self.shared.rollouts.get(&key) {
            return Ok(rollout);
        }
        let _turn = self.shared.limit.acquire().await.map_err(|_| EarlyStop::Cancelled)?;
        // The same may have been rolled out while this one waited.
        if let Some(rollout) = self.shared.rollouts.get(&key) {
            return Ok(rollout);
        }
        let kept = self.task().store.find(key).await.map_err(unkept)?;
        let rollout = match kept {
            Some(rollout) => Arc::new(rollout),
            None => {
                let rolled_out =
                    self.task().evaluator.roll_out(program, example, variation).await?;
                let rollout = Arc::new(rolled_out);
                self.task().store.keep(key, &rollout).await.map_err(unkept)?;
                rollout
            }
        };
        self.shared.rollouts.insert(key, rollout.clone());
        Ok(rollout)
    }

    /// Tells those who listen that another stretch of the work begins.
    pub fn phase(&self, what: &str) {
        self.tell(ProgressEvent::Phase(what));
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
        self.tell(ProgressEvent::Scored { trial: id, scored: &scored, full, best });
    }

    /// Sets a part of the budget aside for the last measurement, which is like this first one.
    pub(super) fn measured_first(&self, first: &Evaluation) {
        let Some(account) = self.account() else { return };
        let last = LastMeasurement::like(first, account.budget());
        let last = self.shared.last.get_or_init(|| last);
        account.set_reserve(last.at_first(first, self.task().concurrency));
    }

    /// Sets more aside where the best so far takes more than the program as it was.
    fn set_aside(&self, best: &Evaluation) {
        if let (Some(account), Some(last)) = (self.account(), self.shared.last.get()) {
            account.raise_reserve(last.of(best, self.task().concurrency));
        }
    }

    fn tell(&self, progress: ProgressEvent<'_>) {
        self.task().listener.hear(progress);
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.shared.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The rollout of what is no program.
fn unfit(problems: &Problems) -> Rollout {
    let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
    let message = format!("the candidate does not fit: {}", problems.join("; "));
    Rollout::failed(RolloutFailure { code: UNFIT.into(), message: message.into(), node: None })
}

fn weight(_: &RolloutKey, rollout: &Arc<Rollout>) -> u32 {
    u32::try_from(rollout.size()).unwrap_or(u32::MAX)
}

fn unkept(error: RecordingError) -> EarlyStop {
    EarlyStop::NotRecorded(error.0.into())
}
