//! The workbench of an optimizer: it evaluates candidates on examples with one concurrency limit and
//! one budget, never twice, and asks LMs for proposals. All results pass through it, so an optimizer
//! that restarts with the same seed reaches the same point without paying twice. Knows no optimizer.

mod measured;
mod proposer;
mod rollouts;
mod turn;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use moka::sync::Cache;
use tokio::sync::Semaphore;

use super::board::Board;
use super::candidate::CandidateHash;
use super::reserve::LastMeasurement;
use super::rollout_store::{RolloutKey, RolloutStore};
use super::{
    Candidate, CostWeight, EarlyStop, Evaluator, Example, ProgramBuilder, ProgressEvent,
    ProgressListener, Rollout, RolloutOffers, Trial, TrialId,
};
use crate::graph::Program;
use crate::lm::BudgetAccount;
use crate::predict::LmOverrides;
use crate::problem::Problems;

use self::measured::RolloutCounts;
use self::proposer::ProposalCounts;

pub use proposer::AskError;

/// The number of cached programs.
const PROGRAMS: u64 = 256;

/// The size of the rollout cache in bytes.
const ROLLOUTS: u64 = 256 << 20;

/// The usual share of examples that may stay without a score.
pub const MAX_UNMEASURED: f64 = 0.05;

/// The task of an optimization.
pub struct Task {
    /// The original program.
    pub base: Candidate,
    /// The trainset, for demos and reflections.
    pub train: Vec<Example>,
    /// The valset, which candidates are selected by.
    pub val: Vec<Example>,
    /// Runs and scores programs.
    pub evaluator: Evaluator,
    /// Builds programs.
    pub builder: Arc<dyn ProgramBuilder>,
    /// Stores rollouts.
    pub store: Arc<dyn RolloutStore>,
    /// Offers rollouts that wait for their turn to other processes; `None` if there are none.
    pub offers: Option<Arc<dyn RolloutOffers>>,
    /// Receives progress events.
    pub listener: Arc<dyn ProgressListener>,
    /// The maximum number of concurrent rollouts.
    pub concurrency: usize,
    /// The share of the examples of an evaluation that may stay without a score for reasons that are not the
    /// program's, from 0 to 1. If more do, the work fails: see [`MAX_UNMEASURED`].
    pub max_unmeasured: f64,
    /// The seed of all random decisions.
    pub seed: u64,
    /// Model and settings of the proposer.
    pub proposer: LmOverrides,
}

/// Evaluates candidates and asks for proposals.
pub struct Workbench {
    shared: Arc<WorkbenchState>,
    start: TrialId,
    seed: u64,
    /// A smaller valset, if one was drawn.
    val: Option<Arc<[Example]>>,
}

/// The state that derived workbenches share.
struct WorkbenchState {
    task: Task,
    metric: Arc<str>,
    limit: Semaphore,
    board: Mutex<Board>,
    programs: Cache<CandidateHash, Arc<Program>>,
    rollouts: Cache<RolloutKey, Arc<Rollout>>,
    last: OnceLock<LastMeasurement>,
    counts: Mutex<RolloutCounts>,
    proposals: Mutex<ProposalCounts>,
}

impl Workbench {
    /// A workbench for a task. The original program is the first entry of its board.
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
            counts: Mutex::default(),
            proposals: Mutex::default(),
            task,
        };
        Self { shared: Arc::new(shared), start: Self::BASE, seed, val: None }
    }

    /// The original program, the first entry of the board. An optimizer begins at [`Self::start`],
    /// which may differ.
    pub const BASE: TrialId = TrialId(0);

    /// The candidate that an optimizer begins with: the original program, or the result of another
    /// optimizer.
    #[must_use]
    pub const fn start(&self) -> TrialId {
        self.start
    }

    /// A workbench on which another optimizer continues from a candidate. It shares board, limits,
    /// budget and rollouts; its seed depends on the candidate.
    ///
    /// Use one at a time, because the order of candidates must not depend on timing.
    #[must_use]
    pub fn starting_from(&self, id: TrialId) -> Self {
        let seed = self.rng(&format!("starting from {}", id.0)).u64(..);
        Self { shared: self.shared.clone(), start: id, seed, val: self.val.clone() }
    }

    /// The same workbench with a valset of at most `most` random examples. If a candidate was already
    /// evaluated on the current valset, that one stays, so that scores remain comparable.
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

    /// The task.
    #[must_use]
    pub fn task(&self) -> &Task {
        &self.shared.task
    }

    /// The trainset, for demos and reflections.
    #[must_use]
    pub fn train(&self) -> &[Example] {
        &self.task().train
    }

    /// The valset, which candidates are selected by.
    #[must_use]
    pub fn val(&self) -> &[Example] {
        self.val.as_deref().unwrap_or(&self.task().val)
    }

    /// The budget, if there is one.
    #[must_use]
    pub fn account(&self) -> Option<&BudgetAccount> {
        self.task().evaluator.budgeted.as_ref().map(|budgeted| budgeted.account())
    }

    /// A random generator for one purpose; depends on the seed and the purpose only.
    #[must_use]
    pub fn rng(&self, purpose: &str) -> fastrand::Rng {
        // FNV-1a: its output must not change between releases.
        let hash = purpose.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        fastrand::Rng::with_seed(self.seed ^ hash)
    }

    /// Enters a candidate on the board with its parents and origin. A known candidate retains its entry.
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
                self.emit(ProgressEvent::Candidate(&trial));
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

    /// The entry of a candidate.
    #[must_use]
    pub fn trial(&self, id: TrialId) -> Option<Trial> {
        self.board().get(id).cloned()
    }

    /// All entries, in order.
    #[must_use]
    pub fn trials(&self) -> Vec<Trial> {
        self.board().trials().to_vec()
    }

    /// Whether a candidate builds, as far as its evaluations show.
    #[must_use]
    pub fn fits(&self, id: TrialId) -> bool {
        self.board().get(id).is_some_and(|trial| !trial.unfit)
    }

    /// The best candidate on the whole valset, of those that build.
    #[must_use]
    pub fn best(&self) -> Option<Trial> {
        self.board().best().cloned()
    }

    /// Includes cost in the objective from now on.
    pub fn weigh_cost(&self, weight: CostWeight) {
        self.board().weigh(weight);
    }

    /// The program of a candidate.
    ///
    /// # Errors
    /// [`EarlyStop::Failed`] with all problems of the candidate.
    pub async fn program(&self, candidate: &Candidate) -> Result<Arc<Program>, EarlyStop> {
        self.check(candidate).await.map_err(|problems| {
            let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
            EarlyStop::Failed(format!("a candidate does not build: {}", problems.join("; ")).into())
        })
    }

    /// Builds a candidate that may be broken. Its document need not be resolved.
    ///
    /// # Errors
    /// All problems of the candidate.
    pub async fn check(&self, candidate: &Candidate) -> Result<Arc<Program>, Problems> {
        let hash = candidate.hash();
        if let Some(program) = self.shared.programs.get(&hash) {
            return Ok(program);
        }
        let program = self.task().builder.build(candidate).await?;
        self.shared.programs.insert(hash, program.clone());
        Ok(program)
    }

    /// Emits the start of a phase.
    pub fn phase(&self, what: &str) {
        self.emit(ProgressEvent::Phase(what));
    }

    fn emit(&self, progress: ProgressEvent<'_>) {
        self.task().listener.receive(progress);
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.shared.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn weight(_: &RolloutKey, rollout: &Arc<Rollout>) -> u32 {
    u32::try_from(rollout.size()).unwrap_or(u32::MAX)
}
