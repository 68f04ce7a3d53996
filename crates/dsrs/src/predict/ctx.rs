//! `Ctx`: everything a call needs that is not its input: models, deadline, cancellation, trace,
//! and where in the program it stands. Explicit and first, instead of globals.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::error::{PredictError, PredictErrorKind};
use super::event::{RunEvent, RunListener};
use super::hints::Hints;
use super::tally::Tally;
use super::trace::{SpanId, Trace};
use crate::lm::{BudgetedReplies, Lane, Models};
use crate::predict::LmOverrides;

/// What all calls of one run share.
pub struct RunScope {
    /// The models that the run may use.
    pub models: Arc<Models>,
    /// When the whole run must be done.
    pub deadline: Instant,
    /// Cancelled when the run is no longer wanted.
    pub cancelled: CancellationToken,
    /// What happened.
    pub trace: Trace,
    /// What its requests to LMs stand in line as.
    pub lane: Lane,
    /// Who is told of the run while it goes on.
    pub listener: Option<Arc<dyn RunListener>>,
    /// What its requests to LMs are paid from, and which keeps what it bought; without one, nobody
    /// counts.
    pub budgeted: Option<Arc<BudgetedReplies>>,
    /// Whether a request was not sent because nobody pays for it: what came of the run instead, says
    /// nothing of the program.
    pub unpaid: AtomicBool,
    /// Whether the time of a request that is paid for went by mostly while it waited for its turn, or
    /// until enough of the budget was left: another run may do better.
    pub starved: AtomicBool,
    /// How the run differs from others over the same inputs, if it is to.
    pub variation: Option<Variation>,
}

/// One of several tries of a whole program at the same inputs: with seeds and a temperature of its
/// own, where its predictors set none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variation {
    /// Which try it is, counted from 1.
    pub number: usize,
    /// The temperature.
    pub temperature: f64,
}

impl RunScope {
    /// A run over models that must be done by `deadline`.
    #[must_use]
    pub fn new(models: Arc<Models>, deadline: Instant) -> Self {
        let (cancelled, trace, lane) = (CancellationToken::new(), Trace::new(), models.lane());
        let (listener, budgeted, variation) = (None, None, None);
        let [unpaid, starved] = [false; 2].map(AtomicBool::new);
        Self {
            models,
            deadline,
            cancelled,
            trace,
            lane,
            listener,
            budgeted,
            unpaid,
            starved,
            variation,
        }
    }
}

/// What all calls of one node share.
#[derive(Clone, Debug)]
pub struct NodeScope {
    /// The node's name.
    pub node: Arc<str>,
    /// The node's LM settings, behind the state's.
    pub lm: LmOverrides,
    /// Repeats of one LM request that failed in passing.
    pub retries: u32,
    /// Times the LM is asked again after an answer that does not fit.
    pub parse_retries: u32,
    /// When the node must be done; never later than the run's deadline.
    pub deadline: Instant,
}

/// The context of a call. Cheap to clone and to narrow.
#[derive(Clone)]
pub struct Ctx {
    /// The run.
    pub run: Arc<RunScope>,
    /// The node.
    pub node: Arc<NodeScope>,
    /// The span under which new spans go.
    pub parent: Option<SpanId>,
    /// Where LM calls are counted for whoever waits for them.
    pub tally: Option<Arc<Tally>>,
    /// Advice for the predictors of the attempt that this is part of.
    pub hints: Option<Arc<Hints>>,
    /// How many attempts this is inside of: attempts may make attempts.
    pub within: u32,
    /// What the attempt that this is part of adds to every seed, one that a state sets included:
    /// requests that are the same would be answered the same.
    pub seed_added: i64,
}

impl Ctx {
    /// A context for calls outside a graph: one run, one nameless node, both bounded by `deadline`.
    #[must_use]
    pub fn new(models: Arc<Models>, deadline: Instant) -> Self {
        let node = NodeScope {
            node: Arc::from(""),
            lm: LmOverrides::default(),
            retries: 2,
            parse_retries: 1,
            deadline,
        };
        Self::of(Arc::new(RunScope::new(models, deadline)), Arc::new(node), None)
    }

    /// A context for the calls of a node in a run.
    #[must_use]
    pub const fn of(run: Arc<RunScope>, node: Arc<NodeScope>, parent: Option<SpanId>) -> Self {
        Self { run, node, parent, tally: None, hints: None, within: 0, seed_added: 0 }
    }

    /// As [`Self::new`], for as long as `limit` from now.
    #[must_use]
    pub fn within(models: Arc<Models>, limit: Duration) -> Self {
        Self::new(models, Instant::now() + limit)
    }

    /// The same context with a tally of its own, which counts for the ones above too.
    #[must_use]
    pub fn tallied(&self) -> (Self, Arc<Tally>) {
        let tally = Tally::below(self.tally.clone());
        (Self { tally: Some(tally.clone()), ..self.clone() }, tally)
    }

    /// The same context under another span.
    #[must_use]
    pub fn under(&self, parent: SpanId) -> Self {
        Self { parent: Some(parent), ..self.clone() }
    }

    /// The same context with advice for predictors, by their paths within the node. What was
    /// advised before stays.
    #[must_use]
    pub fn hinted(&self, hints: impl IntoIterator<Item = (Arc<str>, Arc<str>)>) -> Self {
        Self { hints: Some(Hints::over(self.hints.clone(), hints)), ..self.clone() }
    }

    /// The same context for a program of its own, such as a graph that is a tool: the paths of its
    /// predictors are not those that the advice here is for.
    #[must_use]
    pub fn unhinted(&self) -> Self {
        Self { hints: None, ..self.clone() }
    }

    /// The same context for one of several tries at the same thing: with a temperature and a seed
    /// of its own, so that neither the LM nor a cache gives the same answer again. The first try is
    /// as it would be alone.
    #[must_use]
    pub fn varied(&self, number: usize) -> Self {
        match number {
            0 => Self { within: self.within + 1, ..self.clone() },
            _ => self.varied_at(number, 1.0),
        }
    }

    /// As [`Self::varied`], with a temperature for every try. The first keeps its seed.
    #[must_use]
    pub fn varied_at(&self, number: usize, temperature: f64) -> Self {
        let mut node = (*self.node).clone();
        node.lm.params.temperature = Some(temperature);
        let seed_added = self.seed_added.wrapping_add(added_to_seed(number, self.within));
        Self { node: Arc::new(node), within: self.within + 1, seed_added, ..self.clone() }
    }

    /// The seed of a request in this attempt, where one would have `seed` alone.
    pub(super) fn varied_seed(&self, seed: Option<i64>) -> Option<i64> {
        if self.seed_added == 0 {
            return seed;
        }
        let seed = seed.unwrap_or(0).wrapping_add(self.seed_added);
        // Every server takes what fits 31 bits.
        Some(seed.rem_euclid(i64::from(i32::MAX)))
    }

    /// Whether trying again is of no use after this error. A part that had less time than there is
    /// may have it again.
    #[must_use]
    pub fn is_over(&self, error: &PredictError) -> bool {
        match &error.kind {
            PredictErrorKind::Timeout => Instant::now() >= self.node.deadline,
            kind => kind.ends_the_run(),
        }
    }

    /// Tells whoever listens to the run.
    pub fn tell(&self, event: RunEvent<'_>) {
        if let Some(listener) = &self.run.listener {
            listener.hear(event);
        }
    }

    /// The trace of the run.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.run.trace
    }
}

/// What a try adds to a seed: one digit for each attempt that it is inside of, so that no two tries
/// of one run have the same.
fn added_to_seed(number: usize, within: u32) -> i64 {
    const DIGIT: i64 = 1_009;
    let number = i64::try_from(number).unwrap_or(i64::MAX);
    number.wrapping_mul(DIGIT.wrapping_pow(within))
}
