//! Receives the progress of an optimization: writes events for followers, and notes which candidates the
//! writer has to store. May not know HTTP or the database.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dsrs::lm::BudgetedReplies;
use dsrs::optimize::{ProgressEvent, ProgressListener, Trial, TrialId, TrialScore};
use dsrs::value::Payload;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::event::EventKind;
use crate::event::log_writer::EventLog;
use crate::json::JsonObject;
use crate::run::documents::usage_json;

/// The shortest time between two events about the progress of an evaluation.
const SELDOM: Duration = Duration::from_millis(500);

/// Listens to one attempt.
pub(crate) struct OptimizationListener {
    /// The log of events; `None` if events are not stored.
    log: Option<Arc<EventLog>>,
    budgeted: Arc<BudgetedReplies>,
    changed: Mutex<BTreeSet<usize>>,
    added: Notify,
    /// When the last event about the progress of an evaluation was written.
    reported: Mutex<Option<Instant>>,
}

impl OptimizationListener {
    /// A listener at the start. No event reports the first candidate, the unchanged program.
    pub(crate) fn new(log: Option<Arc<EventLog>>, budgeted: Arc<BudgetedReplies>) -> Self {
        let changed = Mutex::new(BTreeSet::from([0]));
        Self { log, budgeted, changed, added: Notify::new(), reported: Mutex::default() }
    }

    /// Waits until a candidate is new or has changed.
    pub(crate) async fn candidates_changed(&self) {
        self.added.notified().await;
    }

    /// The candidates that are new or have changed since the last call.
    pub(crate) fn take_changed(&self) -> BTreeSet<usize> {
        std::mem::take(&mut lock(&self.changed))
    }

    fn note(&self, id: TrialId) {
        lock(&self.changed).insert(id.0);
        self.added.notify_one();
    }

    fn write(&self, kind: EventKind, data: impl FnOnce() -> String) {
        if let Some(log) = &self.log {
            log.push(kind, &data());
        }
    }

    /// Whether to write an event about the progress of an evaluation: not often, but always at its end.
    fn is_time(&self, done: usize, of: usize) -> bool {
        let mut reported = lock(&self.reported);
        let is_time = done == of || reported.is_none_or(|reported| reported.elapsed() >= SELDOM);
        if is_time {
            *reported = Some(Instant::now());
        }
        is_time
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ProgressListener for OptimizationListener {
    fn receive(&self, progress: ProgressEvent<'_>) {
        match progress {
            ProgressEvent::Phase(what) => self.write(EventKind::OptimizationPhase, || {
                let mut object = JsonObject::new();
                object.text("phase", what);
                object.finish()
            }),
            ProgressEvent::Candidate(trial) => {
                self.note(trial.id);
                self.write(EventKind::OptimizationCandidate, || candidate_json(trial));
            }
            ProgressEvent::Scored { trial, scored, full, best } => {
                self.note(trial);
                self.write(EventKind::OptimizationScored, || {
                    let mut object = JsonObject::new();
                    object.shown("number", trial.0).shown("full", full).shown("best", best);
                    object.raw("scored", &scored_json(scored));
                    object.finish()
                });
            }
            ProgressEvent::Rollouts { done, of } => {
                if self.log.is_some() && self.is_time(done, of) {
                    self.write(EventKind::OptimizationProgress, || {
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

/// The scores of a candidate on some examples.
pub(crate) fn scored_json(scored: &TrialScore) -> String {
    let float = |number: f64| Payload::Float(number).to_json();
    let mut object = JsonObject::new();
    object.shown("n", scored.examples).raw("score", &float(scored.mean));
    object.raw("objective", &float(scored.objective)).shown("failures", scored.failures);
    object.shown("unmeasured", scored.unmeasured);
    object.raw("usage", &usage_json(&scored.usage));
    object.finish()
}
