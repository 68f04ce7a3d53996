//! Hears of an optimization while it goes on: tells those who follow it, and remembers which
//! candidates are to be written. Knows no transport and no database.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dsrs::lm::BudgetedReplies;
use dsrs::optimize::{ProgressEvent, ProgressListener, Trial, TrialId, TrialScore};
use dsrs::value::Payload;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::app::event::EventKind;
use crate::app::event::log_writer::EventLog;
use crate::app::json::JsonObject;
use crate::app::run::documents::usage_json;

/// The shortest time between two events that tell how far an evaluation is.
const SELDOM: Duration = Duration::from_millis(500);

/// Hears one attempt.
pub(crate) struct Hearing {
    /// Where it is told; nowhere, where events are switched off.
    log: Option<Arc<EventLog>>,
    budgeted: Arc<BudgetedReplies>,
    news: Mutex<BTreeSet<usize>>,
    added: Notify,
    /// When it was last told how far an evaluation is.
    told: Mutex<Option<Instant>>,
}

impl Hearing {
    /// Nothing was heard yet; the program as it was is a candidate that nobody tells of.
    pub(crate) fn new(log: Option<Arc<EventLog>>, budgeted: Arc<BudgetedReplies>) -> Self {
        let news = Mutex::new(BTreeSet::from([0]));
        Self { log, budgeted, news, added: Notify::new(), told: Mutex::default() }
    }

    /// Waits until something is new of candidates.
    pub(crate) async fn news(&self) {
        self.added.notified().await;
    }

    /// The candidates of which something is new.
    pub(crate) fn take_news(&self) -> BTreeSet<usize> {
        std::mem::take(&mut lock(&self.news))
    }

    fn note(&self, id: TrialId) {
        lock(&self.news).insert(id.0);
        self.added.notify_one();
    }

    fn tell(&self, kind: EventKind, data: impl FnOnce() -> String) {
        if let Some(log) = &self.log {
            log.push(kind, &data());
        }
    }

    /// Whether it is time to tell how far an evaluation is: not often, but at its end.
    fn is_time(&self, done: usize, of: usize) -> bool {
        let mut told = lock(&self.told);
        let is_time = done == of || told.is_none_or(|told| told.elapsed() >= SELDOM);
        if is_time {
            *told = Some(Instant::now());
        }
        is_time
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ProgressListener for Hearing {
    fn hear(&self, progress: ProgressEvent<'_>) {
        match progress {
            ProgressEvent::Phase(what) => self.tell(EventKind::OptimizationPhase, || {
                let mut object = JsonObject::new();
                object.text("phase", what);
                object.finish()
            }),
            ProgressEvent::Candidate(trial) => {
                self.note(trial.id);
                self.tell(EventKind::OptimizationCandidate, || candidate_json(trial));
            }
            ProgressEvent::Scored { trial, scored, full, best } => {
                self.note(trial);
                self.tell(EventKind::OptimizationScored, || {
                    let mut object = JsonObject::new();
                    object.shown("number", trial.0).shown("full", full).shown("best", best);
                    object.raw("scored", &scored_json(scored));
                    object.finish()
                });
            }
            ProgressEvent::Rollouts { done, of } => {
                if self.log.is_some() && self.is_time(done, of) {
                    self.tell(EventKind::OptimizationProgress, || {
                        let mut object = JsonObject::new();
                        object.shown("done", done).shown("of", of);
                        object.raw("usage", &usage_json(&self.budgeted.account().spent()));
                        object.finish()
                    });
                }
            }
        }
    }
}

fn candidate_json(trial: &Trial) -> String {
    let mut object = JsonObject::new();
    object.shown("number", trial.id.0);
    object.list("parents", trial.parents.iter().map(|parent| parent.0.to_string()));
    object.raw("origin", &Payload::Str(trial.origin.clone()).to_json());
    object.finish()
}

/// How a candidate did on some examples.
pub(crate) fn scored_json(scored: &TrialScore) -> String {
    let float = |number: f64| Payload::Float(number).to_json();
    let mut object = JsonObject::new();
    object.shown("n", scored.examples).raw("score", &float(scored.mean));
    object.raw("objective", &float(scored.objective)).shown("failures", scored.failures);
    object.raw("usage", &usage_json(&scored.usage));
    object.finish()
}
