//! Runs that someone waits for: executed, followed, recorded, listed. A run whose caller leaves is
//! cancelled, unless the settings say otherwise, and recorded so.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use chrono::{DateTime, Utc};
use dsrs::graph::Program;
use dsrs::predict::RunScope;
use dsrs::problem::{At, Problems};
use dsrs::value::{Fields, Payload};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

use crate::app::clock::now;
use crate::app::error::merge_faults;
use crate::app::job::active::ActiveGuard;
use crate::app::run::documents::fields_json;
use crate::app::run::event::{BufferListener, started_json};
use crate::app::run::event_buffer::{EventBuffer, EventKind, OpenEventBuffer};
use crate::app::run::record::{RunRecordBuilder, RunVersions};
use crate::app::{App, AppError, Invalid, RunFailure, spawn_named};
use crate::config::Record;
use crate::shutdown::WorkGuard;
use crate::store::graph::{GraphPin, GraphRef, Pick};
use crate::store::run::{self, RunFilter, RunItem, RunRow, RunStatus};
use crate::store::{Cursor, Page, Scope, run_event};

/// What is to be run, and how.
pub(crate) struct ExecuteRequest {
    /// The graph's inputs, unchecked.
    pub(crate) inputs: Payload,
    /// Which versions.
    pub(crate) pick: Pick,
    /// Whether the answer shows the trace.
    pub(crate) trace: bool,
    /// How long the run may take, if less than the server's limit.
    pub(crate) timeout: Option<Duration>,
    /// The request's id.
    pub(crate) request_id: Arc<str>,
    /// What is wrong with the rest of the request.
    pub(crate) faults: Problems,
    /// Who wants to follow the run.
    pub(crate) watch: Option<Watch>,
}

/// One who wants to follow a run from its start.
pub(crate) struct Watch {
    /// Where the run is handed over once it has begun.
    pub(crate) begun: oneshot::Sender<Watched>,
    /// Makes the last event, of the run or of why it could not be recorded.
    pub(crate) finale: Finale,
    /// Whether the run goes on when nobody follows it any more.
    pub(crate) stays: bool,
    /// Where its end is handed over, to be told when all that follows from it is done.
    pub(crate) ended: oneshot::Sender<Ending>,
}

/// The last event of a run, still to be told.
pub(crate) struct Ending {
    open: OpenEventBuffer,
    kind: EventKind,
    data: String,
}

impl Ending {
    /// Tells it.
    pub(crate) fn tell(self) {
        self.open.end(self.kind, self.data);
    }
}

/// Where a run is told that somebody follows, and how its end is.
struct Told {
    open: OpenEventBuffer,
    finale: Finale,
    ended: oneshot::Sender<Ending>,
}

/// A run that has begun. Whoever lets go of it leaves it, which may cancel it.
pub(crate) struct Watched {
    /// All that is told of it.
    pub(crate) buffer: Arc<EventBuffer>,
    _cancel: Option<DropGuard>,
}

/// What a run came to: its row and its failure, if any; or why it could not be recorded.
pub(crate) type Ended<'e> = Result<(&'e RunRow, Option<&'e RunFailure>), &'e AppError>;

/// Makes the last event of a run: what an execution would have been answered.
pub(crate) type Finale = fn(ended: Ended<'_>, trace: bool, request_id: &str) -> (EventKind, String);

/// Makes an answer of a run that ended; the failure, if any, as it will be recorded.
pub(crate) type MakeAnswer<T> = fn(run: &RunRow, failure: Option<&RunFailure>, trace: bool) -> T;

impl App {
    /// Runs a graph once. The answer is made before the run is handed to the recorder, and given
    /// once the recorder has it as safely as the settings say.
    pub(crate) async fn run_execute<T: Send + 'static>(
        self: &Arc<Self>,
        scope: &Scope,
        graph: &GraphRef,
        request: ExecuteRequest,
        answer: MakeAnswer<T>,
    ) -> Result<T, AppError> {
        let stopping = || AppError::Unavailable("the server is stopping".to_owned());
        let work = self.shutdown.begin_work().ok_or_else(stopping)?;
        let slot = self.run_slot()?;
        let (pin, program) = self.ready(scope, graph, request.pick).await?;
        let inputs = merge_faults(request.faults, admit(&program, &request.inputs))?;
        let limit = self.limits.run_timeout;
        let timeout = request.timeout.map_or(limit, |wanted| wanted.min(limit));
        let mut run_scope = RunScope::new(self.models.clone(), Instant::now() + timeout);
        run_scope.cancelled = work.cancellation().clone();
        let (id, start) = (Uuid::now_v7(), now());
        let telling = request.watch.map(|watch| {
            let (finale, request_id) = (watch.finale, request.request_id.clone());
            let broken = move || {
                let error = AppError::Internal("the run broke off".to_owned());
                finale(Err(&error), false, &request_id)
            };
            let open = self.event_buffers.open(scope.workspace, id, Box::new(broken));
            let buffer = open.buffer().clone();
            let versions = (pin.version, pin.state_version);
            buffer.tell(EventKind::RunStarted, started_json(id, &pin.name, versions, start));
            run_scope.listener = Some(Arc::new(BufferListener(buffer.clone())));
            let leaves = self.cancel_on_disconnect && !watch.stays;
            let cancel = leaves.then(|| run_scope.cancelled.clone().drop_guard());
            // Whoever asked may have left already; then the guard cancels here.
            let _ = watch.begun.send(Watched { buffer, _cancel: cancel });
            Told { open, finale, ended: watch.ended }
        });
        let cancelled = run_scope.cancelled.clone();
        let guard = self.active_work.register(scope.workspace, id, None, cancelled);
        let run = Run {
            app: self.clone(),
            scope: scope.clone(),
            id,
            start,
            run_scope: Arc::new(run_scope),
            inputs,
            pin,
            program,
            shows_trace: request.trace,
            request_id: request.request_id,
            telling,
            _work: work,
            _slot: slot,
            _guard: guard,
        };
        let cancel = self.cancel_on_disconnect.then(|| run.run_scope.cancelled.clone());
        FinishOnDrop { cancel, run: Some(Box::pin(run.finish(answer))) }.await
    }

    /// All that is told of a run that is followed here, under way or ended a short while ago.
    pub(crate) fn run_event_buffer(&self, scope: &Scope, id: Uuid) -> Option<Arc<EventBuffer>> {
        self.event_buffers.get(scope.workspace, id)
    }

    /// One page of runs, newest first.
    pub(crate) async fn run_list(
        &self,
        scope: &Scope,
        filter: &RunFilter,
        after: Option<Cursor>,
        limit: u32,
    ) -> Result<Page<RunItem>, AppError> {
        Ok(run::list(scope, &self.db, filter, after, limit).await?)
    }

    fn run_slot(&self) -> Result<OwnedSemaphorePermit, AppError> {
        self.run_slots.clone().try_acquire_owned().map_err(|_| {
            let limit = self.limits.max_concurrent_runs;
            AppError::TooBusy(format!("{limit} runs are under way, which is the limit"))
        })
    }
}

/// The inputs of a run, checked and completed.
pub(crate) fn admit(program: &Program, inputs: &Payload) -> Result<Fields, AppError> {
    let mut problems = Problems::new();
    let admitted = program.admit_inputs(inputs, &At::Root.key("inputs"), &mut problems);
    admitted
        .filter(|_| problems.is_empty())
        .ok_or_else(|| AppError::invalid(Invalid::Input, problems))
}

/// A run under way.
struct Run {
    app: Arc<App>,
    scope: Scope,
    id: Uuid,
    start: DateTime<Utc>,
    run_scope: Arc<RunScope>,
    inputs: Fields,
    pin: Arc<GraphPin>,
    program: Arc<Program>,
    shows_trace: bool,
    request_id: Arc<str>,
    /// Who follows it, if anyone.
    telling: Option<Told>,
    _work: WorkGuard,
    _slot: OwnedSemaphorePermit,
    _guard: ActiveGuard,
}

impl Run {
    /// Runs to the end, whatever that is; makes the answer; records.
    async fn finish<T>(mut self, answer: MakeAnswer<T>) -> Result<T, AppError> {
        let running = self.app.metrics.run_started();
        let inputs = fields_json(&self.inputs);
        let outcome = self.program.execute(&self.run_scope, self.inputs.clone()).await;
        let took = self.run_scope.trace.elapsed();
        let failed = outcome.outputs.as_ref().err().filter(|_| !outcome.waits());
        let failure = failed.map(|error| RunFailure::of(self.id, &self.request_id, error));
        let recorded = outcome.waits() || self.app.recorder.mode() != Record::Off;
        let ended = RunRecordBuilder {
            id: self.id,
            of: RunVersions::pinned(&self.pin),
            actor: &self.scope.actor,
            start: self.start,
            took,
            inputs,
            // Nobody sees the trace of a run that is neither recorded nor answered with it.
            traced: self.shows_trace || recorded,
        };
        let row = ended.row(&outcome, failure.as_ref());
        drop(running);
        self.app.metrics.run_finished(row.status.as_str(), took, &outcome.usage);
        let answer = answer(&row, failure.as_ref(), self.shows_trace);
        let (trace, request_id) = (self.shows_trace, self.request_id.clone());
        let told = self.telling.take().map(|told| {
            let fine = (told.finale)(Ok((&row, failure.as_ref())), trace, &request_id);
            (told, fine)
        });
        let recorded = self.record(row).await;
        if let Some((Told { open, finale, ended }, fine)) = told {
            let unrecorded = recorded.as_ref().err().map(|e| finale(Err(e), trace, &request_id));
            let (kind, data) = unrecorded.unwrap_or(fine);
            self.count_events(&open, kind).await;
            if let Err(ending) = ended.send(Ending { open, kind, data }) {
                ending.tell();
            }
        }
        recorded.map(|()| answer)
    }

    /// Keeps how many events were told before the end, for those who come back later. The event of
    /// a run that parks is not its last.
    async fn count_events(&self, open: &OpenEventBuffer, kind: EventKind) {
        if self.app.recorder.mode() == Record::Off && kind != EventKind::RunWaiting {
            return;
        }
        let told = open.buffer().newest() + u64::from(kind == EventKind::RunWaiting);
        let count = i64::try_from(told).unwrap_or(i64::MAX);
        let counted = run_event::count(&self.scope, &self.app.db, self.id, count, now()).await;
        if let Err(error) = counted {
            tracing::debug!(run = %self.id, cause = error.cause(), "events are not counted");
        }
    }

    /// Hands the run to the recorder; one that is parked goes where runs that last are kept.
    async fn record(&self, row: RunRow) -> Result<(), AppError> {
        if row.status == RunStatus::Waiting {
            return self.app.run_park(&self.scope, &row, &self.request_id).await;
        }
        Ok(self.app.recorder.record(&self.scope, row).await?)
    }
}

type RunFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Drives a run for a caller. When the caller leaves, the run is cancelled, unless the settings say
/// otherwise, and still brought to its end, so that it is recorded as what it was.
struct FinishOnDrop<T: Send + 'static> {
    cancel: Option<CancellationToken>,
    run: Option<RunFuture<T>>,
}

impl<T: Send + 'static> Future for FinishOnDrop<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // A run that panics is not polled again: it is not here any more.
        let Some(mut run) = self.run.take() else { return Poll::Pending };
        let polled = run.as_mut().poll(context);
        if polled.is_pending() {
            self.run = Some(run);
        }
        polled
    }
}

impl<T: Send + 'static> Drop for FinishOnDrop<T> {
    fn drop(&mut self) {
        // Without a runtime the process is ending, and nobody could write the record.
        if let (Some(run), Ok(_)) = (self.run.take(), Handle::try_current()) {
            if let Some(cancel) = &self.cancel {
                cancel.cancel();
            }
            spawn_named("the run of a caller who left", run);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::panic::AssertUnwindSafe;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_run_that_panicked_is_not_gone_on_with() {
        let polls = Arc::new(AtomicUsize::new(0));
        let counted = polls.clone();
        let run = Box::pin(poll_fn(move |_| -> Poll<()> {
            counted.fetch_add(1, Ordering::SeqCst);
            panic!("a fault of ours")
        }));
        let driven = FinishOnDrop { cancel: None, run: Some(run) };
        assert!(AssertUnwindSafe(driven).catch_unwind().await.is_err());
        tokio::task::yield_now().await;
        assert_eq!(polls.load(Ordering::SeqCst), 1);
    }
}
