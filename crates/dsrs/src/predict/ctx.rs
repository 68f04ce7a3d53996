//! `Ctx`: everything that a call needs besides its input: models, deadline, cancellation, trace and
//! position in the program. An explicit first argument instead of globals.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::call_place::CallPlace;
use super::call_record::CallRecord;
use super::error::{PredictError, PredictErrorKind};
use super::event::{ListenerPair, RunEvent, RunListener};
use super::hints::Hints;
use super::passage::PassageIndexes;
use super::pause::NodeContinuation;
use super::tally::CallTally;
use super::trace::{MOST_SPANS, SpanId, Trace};
use crate::lm::{
    BudgetedReplies, Lane, LmError, LmErrorKind, LmObserver, Models, RunAccount, TraceContext,
    Usage,
};
use crate::predict::LmOverrides;

/// State shared by all calls of one run.
pub struct RunScope {
    /// The models that the run may use.
    pub models: Arc<Models>,
    /// The indexes that the run may search.
    pub indexes: Option<Arc<dyn PassageIndexes>>,
    /// The results of calls that the run reuses, and to which it adds its own.
    pub call_record: Option<Arc<dyn CallRecord>>,
    /// The deadline of the whole run.
    pub deadline: Instant,
    /// Cancelled when the run is no longer needed.
    pub cancelled: CancellationToken,
    /// The trace of the run.
    pub trace: Trace,
    /// The lane in which its LM requests queue.
    pub lane: Lane,
    /// The listener that receives the events of the run.
    pub listener: Option<Arc<dyn RunListener>>,
    /// Observes its LM requests.
    pub observer: Option<Arc<dyn LmObserver>>,
    /// Its place in a distributed trace, which requests to models and tools name.
    pub trace_context: Option<Arc<TraceContext>>,
    /// The budget that pays for its LM requests, with the replies recorded so far. Without one,
    /// requests are not counted.
    pub budgeted: Option<Arc<BudgetedReplies>>,
    /// The budget of the run itself, which pays if there is no other.
    pub budget: Option<RunAccount>,
    /// Whether a request was not sent because the budget does not cover it. The result of the run
    /// then says nothing about the program.
    pub out_of_budget: AtomicBool,
    /// Whether a request spent most of its time in the queue or waiting for budget. Another run may
    /// succeed.
    pub starved: AtomicBool,
    /// Whether the run is about to compute for long.
    pub long_work: AtomicBool,
    /// How the run differs from others with the same inputs.
    pub variation: Option<Variation>,
    /// The id of the run, which it has again when it continues elsewhere.
    pub id: Option<[u8; 16]>,
    /// What nodes that paused continue from, by name.
    pub paused: HashMap<Arc<str>, Arc<NodeContinuation>>,
}

/// One of several attempts of a whole program at the same inputs. It has its own seeds and
/// temperature where its predictors set none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variation {
    /// The number of the attempt, from 1.
    pub number: usize,
    /// The temperature.
    pub temperature: f64,
}

impl RunScope {
    /// A run over models with a deadline.
    #[must_use]
    pub fn new(models: Arc<Models>, deadline: Instant) -> Self {
        let (cancelled, trace, lane) = (CancellationToken::new(), Trace::new(), models.lane());
        let (listener, budgeted, variation) = (None, None, None);
        let observer = models.observer().cloned();
        let budget = models.run_budget().map(|budget| budget.open(Usage::default()));
        let [out_of_budget, starved, long_work] = [false; 3].map(AtomicBool::new);
        Self {
            models,
            indexes: None,
            call_record: None,
            deadline,
            cancelled,
            trace,
            lane,
            listener,
            observer,
            trace_context: None,
            budgeted,
            budget,
            out_of_budget,
            starved,
            long_work,
            variation,
            id: None,
            paused: HashMap::new(),
        }
    }

    /// Announces a computation that may take long, and waits once, so that who drives the run can
    /// continue it on another thread.
    pub(crate) async fn begin_long_work(&self) {
        self.long_work.store(true, Ordering::Relaxed);
        tokio::task::yield_now().await;
    }

    /// Counts what earlier attempts of the run spent. Before the run starts.
    pub fn count_spent(&mut self, spent: Usage) {
        self.budget = self.models.run_budget().map(|budget| budget.open(spent));
    }
}

/// State shared by all calls of one node.
#[derive(Clone, Debug)]
pub struct NodeScope {
    /// The node's name.
    pub node: Arc<str>,
    /// The LM settings of the node; those of the state take precedence.
    pub lm: LmOverrides,
    /// How often an LM request with a transient failure is repeated.
    pub retries: u32,
    /// How often the LM is asked again after an answer that does not fit.
    pub parse_retries: u32,
    /// The deadline of the node; never after that of the run.
    pub deadline: Instant,
}

/// The context of a call. Cheap to clone and to narrow.
#[derive(Clone)]
pub struct Ctx {
    /// The run.
    pub run: Arc<RunScope>,
    /// The node.
    pub node: Arc<NodeScope>,
    /// The parent of new spans.
    pub parent: Option<SpanId>,
    /// Counts LM calls for a caller that waits for them.
    pub tally: Option<Arc<CallTally>>,
    /// Hints for the predictors of the current attempt.
    pub hints: Option<Arc<Hints>>,
    /// The nesting depth of attempts: attempts may contain attempts.
    pub attempt_depth: u32,
    /// The offset that the current attempt adds to every seed, one set by a state included:
    /// identical requests would get identical replies.
    pub seed_offset: i64,
    /// Receives the events of the calls in this context, besides the listener of the run.
    pub listener: Option<Arc<dyn RunListener>>,
    /// In the call of a tool: the same text for each repeat of the call, by which the tool may recognize it.
    pub call_key: Option<Arc<str>>,
    /// Whether a program in a sandbox waits for this call.
    pub in_program: bool,
    /// What the node of the run continues from; never that of a node within it.
    pub continuation: Option<Arc<NodeContinuation>>,
    /// Where in its node a call is made: the parts that lead there, each round and each element. The same in another run.
    pub place: CallPlace,
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
        let (tally, hints, listener, call_key) = (None, None, None, None);
        let (attempt_depth, seed_offset, place) = (0, 0, CallPlace::NODE);
        Self {
            run,
            node,
            parent,
            tally,
            hints,
            attempt_depth,
            seed_offset,
            listener,
            call_key,
            in_program: false,
            continuation: None,
            place,
        }
    }

    /// Like [`Self::new`], with a deadline `limit` from now.
    #[must_use]
    pub fn within(models: Arc<Models>, limit: Duration) -> Self {
        Self::new(models, Instant::now() + limit)
    }

    /// The same context with its own tally, which also adds to the tallies above.
    #[must_use]
    pub fn with_tally(&self) -> (Self, Arc<CallTally>) {
        let tally = CallTally::below(self.tally.clone());
        (Self { tally: Some(tally.clone()), ..self.clone() }, tally)
    }

    /// The same context for one of several attempts, whose checks are not those of the call.
    pub(crate) fn with_attempt_tally(&self) -> Self {
        let tally = self.tally.clone().map(|above| CallTally::of_attempt(Some(above)));
        Self { tally, ..self.clone() }
    }

    /// The same context with a listener, which receives the texts of the answers while the model
    /// writes them, and why a text is void. It must be quick and must never block.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use dsrs::lm::{Models, ScriptedLm};
    /// use dsrs::predict::RunEvent;
    /// use dsrs::{Ctx, Module, Predict, Signature};
    ///
    /// #[derive(Signature)]
    /// struct QA {
    ///     #[input]
    ///     question: String,
    ///     #[output]
    ///     answer: String,
    /// }
    ///
    /// # dsrs::block_on(async {
    /// let lm = Arc::new(ScriptedLm::answering(["[[ ## answer ## ]]\nfour"]));
    /// let ctx = Ctx::within(Models::only(lm).into(), std::time::Duration::from_secs(60));
    /// let ctx = ctx.listen(|event| {
    ///     if let RunEvent::NodeDelta { field, text, .. } = event {
    ///         println!("{field}: {text}");
    ///     }
    /// });
    /// Predict::<QA>::new().call(&ctx, QAInput { question: "2 + 2?".into() }).await.unwrap();
    /// # });
    /// ```
    #[must_use]
    pub fn listen(&self, listener: impl Fn(RunEvent<'_>) + Send + Sync + 'static) -> Self {
        let listener: Arc<dyn RunListener> = match self.listener.clone() {
            Some(earlier) => Arc::new(ListenerPair { listener, earlier }),
            None => Arc::new(listener),
        };
        Self { listener: Some(listener), ..self.clone() }
    }

    /// The same context for a part of what it is for: an inner node, an arm, a round, an element.
    #[must_use]
    pub(crate) fn at(&self, part: &str, number: usize) -> Self {
        Self { place: self.place.then(part, number), ..self.clone() }
    }

    /// The same context with another parent span.
    #[must_use]
    pub fn under(&self, parent: SpanId) -> Self {
        Self { parent: Some(parent), ..self.clone() }
    }

    /// The same context with more hints, by path of the predictor within the node.
    #[must_use]
    pub fn with_hints(&self, hints: impl IntoIterator<Item = (Arc<str>, Arc<str>)>) -> Self {
        Self { hints: Some(Hints::over(self.hints.clone(), hints)), ..self.clone() }
    }

    /// The same context without hints, for a separate program such as a graph used as a tool: its
    /// predictors have other paths.
    #[must_use]
    pub fn without_hints(&self) -> Self {
        Self { hints: None, ..self.clone() }
    }

    /// The same context for one of several attempts at the same task, with its own temperature and
    /// seed, so that neither the LM nor a cache repeats an answer. Attempt 0 changes nothing.
    #[must_use]
    pub fn for_attempt(&self, number: usize) -> Self {
        match number {
            0 => Self { attempt_depth: self.attempt_depth + 1, ..self.clone() },
            _ => self.for_attempt_at(number, 1.0),
        }
    }

    /// Like [`Self::for_attempt`], with a temperature for every attempt. Attempt 0 does not change
    /// the seed.
    #[must_use]
    pub fn for_attempt_at(&self, number: usize, temperature: f64) -> Self {
        let mut node = (*self.node).clone();
        node.lm.params.temperature = Some(temperature);
        let seed_offset = self.seed_offset.wrapping_add(added_to_seed(number, self.attempt_depth));
        Self {
            node: Arc::new(node),
            attempt_depth: self.attempt_depth + 1,
            seed_offset,
            ..self.clone()
        }
    }

    /// The seed of a request in this attempt.
    pub(super) fn attempt_seed(&self, seed: Option<i64>) -> Option<i64> {
        if self.seed_offset == 0 {
            return seed;
        }
        let seed = seed.unwrap_or(0).wrapping_add(self.seed_offset);
        // Every server accepts a seed of 31 bits.
        Some(seed.rem_euclid(i64::from(i32::MAX)))
    }

    /// Whether a retry after this error is useless. A part that ran out of its own, shorter time
    /// may be tried again.
    #[must_use]
    pub fn is_fatal(&self, error: &PredictError) -> bool {
        match &error.kind {
            PredictErrorKind::Timeout => Instant::now() >= self.node.deadline,
            kind => kind.is_fatal(),
        }
    }

    /// The error of a prediction whose request failed after its retries.
    pub(super) fn request_error(&self, error: LmError) -> PredictError {
        let (kind, message) = match error.kind {
            LmErrorKind::Cancelled => {
                (PredictErrorKind::Cancelled, "the run was cancelled".to_owned())
            }
            LmErrorKind::Budget => (PredictErrorKind::Budget, error.message.clone()),
            LmErrorKind::Timeout if Instant::now() >= self.node.deadline => {
                (PredictErrorKind::Timeout, error.message.clone())
            }
            LmErrorKind::RateLimited => {
                let retry_after = error.retry_after;
                (PredictErrorKind::RateLimited { retry_after }, error.message.clone())
            }
            LmErrorKind::QuotaExhausted => {
                (PredictErrorKind::QuotaExhausted, error.message.clone())
            }
            LmErrorKind::Filtered => (PredictErrorKind::Filtered, error.message.clone()),
            _ => (PredictErrorKind::Lm, error.message.clone()),
        };
        PredictError { source: Some(Arc::new(error)), ..PredictError::new(kind, message) }
    }

    /// Waits, unless the run is cancelled meanwhile.
    ///
    /// # Errors
    /// The run was cancelled.
    pub(crate) async fn pause(&self, wait: Duration) -> Result<(), PredictError> {
        tokio::select! {
            biased;
            () = self.run.cancelled.cancelled() => {
                Err(PredictError::new(PredictErrorKind::Cancelled, "the run was cancelled"))
            }
            () = tokio::time::sleep(wait) => Ok(()),
        }
    }

    /// Sends an event to the listeners of the run and of this context.
    pub fn emit(&self, event: RunEvent<'_>) {
        for listener in self.run.listener.iter().chain(&self.listener) {
            listener.receive(event);
        }
    }

    /// Whether anything listens.
    pub(super) fn has_listener(&self) -> bool {
        self.run.listener.is_some() || self.listener.is_some()
    }

    /// The headers that name the span of this context, for a run in a distributed trace.
    #[must_use]
    pub fn trace_headers(&self) -> Vec<(&'static str, String)> {
        let number = self.parent.map_or(0, |parent| parent.0);
        self.run.trace_context.as_ref().map_or_else(Vec::new, |context| context.headers(number))
    }

    /// Whether the record of the run has room for one more round or element.
    ///
    /// # Errors
    /// The run ends: no `try` catches this.
    pub(crate) fn check_room(&self) -> Result<(), PredictError> {
        if !self.run.trace.is_full() {
            return Ok(());
        }
        let message = format!(
            "the run has {MOST_SPANS} spans, the most of a run: repeat less, or divide the work among runs of a batch"
        );
        Err(PredictError::new(PredictErrorKind::Budget, message))
    }

    /// The trace of the run.
    #[must_use]
    pub fn trace(&self) -> &Trace {
        &self.run.trace
    }
}

/// The seed offset of an attempt: one digit for each nesting level, so that no two attempts of a
/// run share a seed.
fn added_to_seed(number: usize, attempt_depth: u32) -> i64 {
    const DIGIT: i64 = 1_009;
    let number = i64::try_from(number).unwrap_or(i64::MAX);
    number.wrapping_mul(DIGIT.wrapping_pow(attempt_depth))
}
