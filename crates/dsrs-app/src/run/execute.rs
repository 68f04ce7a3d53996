//! Runs that a client waits for: executed, streamed as events, recorded, listed. If the client
//! disconnects, its run is cancelled and recorded so, unless the settings say otherwise. Background
//! runs are `background` and `attempt`.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use dsrs::graph::{Outcome, Program};
use dsrs::predict::RunScope;
use dsrs::problem::{At, Problems};
use dsrs::value::{Fields, Payload};
use futures_util::FutureExt;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;
use uuid::Uuid;

use crate::capacity::{CapacityExceeded, CapacityShare};
use crate::clock::now;
use crate::error::merge_faults;
use crate::event::buffer::{EventBuffer, OpenEventBuffer};
use crate::event::log_reader::EventLogFollower;
use crate::event::{EventKind, EventStream};
use crate::job::active::{ActiveGuard, StopReason};
use crate::run::documents::fields_json;
use crate::run::driver::RunDriver;
use crate::run::ending::EndedRun;
use crate::run::event_json::{BufferListener, started_json};
use crate::run::pause::pause_row_without_trace;
use crate::run::record::{RunRecordBuilder, RunVersions};
use crate::run_spans::{RunTrace, TracedRun};
use crate::{App, AppError, Invalid, RequestId, RunFailure, RunPlace};
use dsrs_config::Record;
use dsrs_shutdown::WorkGuard;
use dsrs_store::graph::{GraphRef, ResolvedGraph, VersionSelection};
use dsrs_store::run::{self, RunFilter, RunRow, RunStatus, RunSummaryRow};
use dsrs_store::run_label::RunLabels;
use dsrs_store::run_progress::NodeRow;
use dsrs_store::{ListQuery, Page, Scope, run_event};

/// What to run, and how.
pub struct ExecuteRequest {
    /// The inputs of the graph, unchecked.
    pub inputs: Payload,
    pub pick: VersionSelection,
    /// Whether the answer includes the trace.
    pub trace: bool,
    /// The time limit, if it is below the server's.
    pub timeout: Option<Duration>,
    /// The caller's own names of the run.
    pub labels: RunLabels,
    pub request_id: RequestId,
    /// The problems found in the rest of the request.
    pub faults: Problems,
    /// The place of the run among those of its key.
    pub place: Option<Arc<RunPlace>>,
}

/// A run that has ended or waits for a signal, recorded as the settings say.
pub struct FinishedRun {
    /// The record, which the recorder shares.
    pub row: Arc<RunRow>,
    /// Why it failed, if it did.
    pub failure: Option<RunFailure>,
    /// Whether the answer includes the trace.
    pub with_trace: bool,
    /// Whether the server ended it for a reason of its own, such as its shutdown.
    pub is_interrupted: bool,
}

/// A run that has started, and its events.
pub struct StreamedRun {
    /// The events from the start. Dropping the stream cancels the run, unless it is to continue
    /// without a client.
    pub events: EventStream<RunRow>,
    /// The execution, to be driven to its end.
    pub execution: StreamedExecution,
}

pub struct StreamedExecution {
    run: RunDriver<Result<FinishedRun, AppError>>,
    events: OpenEventBuffer,
}

impl StreamedExecution {
    /// Runs to the end. The caller adds the last event to the buffer.
    pub async fn finish(self) -> (Result<FinishedRun, AppError>, OpenEventBuffer) {
        let finished = AssertUnwindSafe(self.run).catch_unwind().await;
        let panicked = || Err(AppError::Internal("the execution panicked".to_owned()));
        (finished.ok().flatten().unwrap_or_else(panicked), self.events)
    }
}

impl App {
    /// Runs a graph once. Returns when the run is recorded as the settings say.
    pub async fn run_execute(
        self: &Arc<Self>,
        scope: &Scope,
        graph: &GraphRef,
        request: ExecuteRequest,
    ) -> Result<FinishedRun, AppError> {
        let run = self.run_prepare(scope, graph, request).await?;
        let finished = run.start(None, self.cancel_on_disconnect).await;
        finished.unwrap_or_else(|| Err(AppError::Internal("the run panicked".to_owned())))
    }

    /// Starts a run whose events the client receives. `outlives_client`: the run continues if the
    /// client disconnects, whatever the settings say.
    pub async fn run_stream(
        self: &Arc<Self>,
        scope: &Scope,
        graph: &GraphRef,
        request: ExecuteRequest,
        outlives_client: bool,
    ) -> Result<StreamedRun, AppError> {
        let mut prepared = self.run_prepare(scope, graph, request).await?;
        let run = &prepared.run;
        let events = self.event_buffers.open(scope.workspace, run.id);
        let buffer = events.buffer().clone();
        let versions = (run.pin.version, run.pin.state_version);
        let started = started_json(run.id, &run.pin.name, versions, run.start);
        buffer.push(EventKind::RunStarted, started);
        prepared.context.listener = Some(Arc::new(BufferListener(buffer.clone())));
        let cancels = self.cancel_on_disconnect && !outlives_client;
        let cancel = cancels.then(|| prepared.context.cancelled.clone().drop_guard());
        let follower = buffer.follow(0);
        let execution = StreamedExecution { run: prepared.start(Some(buffer), false), events };
        Ok(StreamedRun { events: EventStream::Buffer { follower, _cancel: cancel }, execution })
    }

    /// Follows a run from the event after `seen`; `None` if it has ended and `seen` was the last
    /// event. A run streamed by this process is followed in memory, any other in the database.
    pub async fn run_follow(
        &self,
        scope: &Scope,
        id: Uuid,
        seen: u64,
    ) -> Result<Option<EventStream<RunRow>>, AppError> {
        if let Some(buffer) = self.event_buffers.get(scope.workspace, id) {
            let follower = (!buffer.is_complete_at(seen)).then(|| buffer.follow(seen));
            return Ok(follower.map(|follower| EventStream::Buffer { follower, _cancel: None }));
        }
        let follower = EventLogFollower::open(&self.db, scope, id, seen).await?;
        Ok(follower.map(|follower| EventStream::Log(Box::new(follower))))
    }

    /// One page of runs, newest first.
    pub async fn run_list(
        &self,
        scope: &Scope,
        filter: &RunFilter,
        list: ListQuery,
    ) -> Result<Page<RunSummaryRow>, AppError> {
        Ok(run::list(scope, &self.db, filter, list).await?)
    }

    /// Checks a request and reserves what its run needs.
    async fn run_prepare(
        self: &Arc<Self>,
        scope: &Scope,
        graph: &GraphRef,
        request: ExecuteRequest,
    ) -> Result<PreparedRun, AppError> {
        let stopping = || AppError::Unavailable("the server is stopping".to_owned());
        let work = self.shutdown.begin_work().ok_or_else(stopping)?;
        // Places before queries: a request that is refused costs the database nothing.
        let slot = self.run_slot()?;
        let workspace_slot = self.workspace_runs.place(scope.workspace);
        let workspace_slot = workspace_slot.map_err(CapacityExceeded::of_runs)?;
        let (pin, program) = self.ready(scope, graph, request.pick).await?;
        self.check_waiting(scope, &program).await?;
        let limit = self.limits.run_timeout;
        let timeout = request.timeout.map_or(limit, |requested| requested.min(limit));
        let inputs = match program.computes_little() {
            true => admit(&program, &request.inputs),
            false => Box::pin(self.admit_elsewhere(&program, request.inputs, timeout)).await,
        };
        let inputs = merge_faults(request.faults, inputs)?;
        let mut context = RunScope::new(self.models.clone(), Instant::now() + timeout);
        context.indexes = Some(self.indexes.of_workspace(scope));
        context.observer = Some(self.metrics.graph(&pin.name));
        context.cancelled = work.cancellation().clone();
        let (id, start) = (Uuid::now_v7(), now());
        context.id = Some(id.into_bytes());
        request.request_id.note_run(id);
        let trace = self.trace_of_execution(&request.request_id, id);
        context.trace_context = trace.as_ref().map(|trace| trace.context.clone());
        let cancelled = context.cancelled.clone();
        let guard = self.active_work.register(scope.workspace, id, None, cancelled);
        let run = Run {
            app: self.clone(),
            scope: scope.clone(),
            id,
            start,
            inputs,
            pin,
            program,
            trace,
            with_trace: request.trace,
            labels: request.labels,
            request_id: request.request_id,
            work,
            _slots: (slot, workspace_slot),
            _place: request.place,
            guard,
        };
        Ok(PreparedRun { context, run })
    }

    /// Checks inputs on the threads for computations.
    async fn admit_elsewhere(
        &self,
        program: &Arc<Program>,
        inputs: Payload,
        timeout: Duration,
    ) -> Result<Fields, AppError> {
        let (program, cancelled) = (program.clone(), CancellationToken::new());
        let checking = async move { admit(&program, &inputs) };
        let checking = self.compute.spawn_within("inputs", timeout, &cancelled, checking);
        let _cancelled = cancelled.drop_guard();
        let broken = || Err(AppError::Internal("the check of inputs panicked".to_owned()));
        checking.await.ok().flatten().unwrap_or_else(broken)
    }

    fn run_slot(&self) -> Result<OwnedSemaphorePermit, AppError> {
        self.run_slots.clone().try_acquire_owned().map_err(|_| {
            let limit = self.limits.max_concurrent_runs;
            AppError::TooBusy(format!(
                "{limit} runs are in progress, which is the limit (`limits.max_concurrent_runs`)"
            ))
        })
    }
}

/// Checks the inputs of a run and completes them with their defaults.
pub(crate) fn admit(program: &Program, inputs: &Payload) -> Result<Fields, AppError> {
    let mut problems = Problems::new();
    let admitted = program.admit_inputs(inputs, &At::Root.key("inputs"), &mut problems);
    admitted
        .filter(|_| problems.is_empty())
        .ok_or_else(|| AppError::invalid(Invalid::Input, problems))
}

/// A run that has not started. Its context may still change.
struct PreparedRun {
    context: RunScope,
    run: Run,
}

impl PreparedRun {
    /// `cancels`: the run is cancelled if the driver is dropped.
    fn start(
        self,
        events: Option<Arc<EventBuffer>>,
        cancels: bool,
    ) -> RunDriver<Result<FinishedRun, AppError>> {
        let (context, pool) = (Arc::new(self.context), self.run.app.compute.clone());
        let computes_little = self.run.program.computes_little();
        let run = Box::pin(self.run.finish(context.clone(), events));
        RunDriver::new(&pool, context, cancels, computes_little, run)
    }
}

/// A run, with everything that it reserves until it is recorded.
struct Run {
    app: Arc<App>,
    scope: Scope,
    id: Uuid,
    start: DateTime<Utc>,
    inputs: Fields,
    pin: Arc<ResolvedGraph>,
    program: Arc<Program>,
    /// Its place in a distributed trace.
    trace: Option<RunTrace>,
    with_trace: bool,
    labels: RunLabels,
    request_id: RequestId,
    work: WorkGuard,
    _slots: (OwnedSemaphorePermit, CapacityShare),
    _place: Option<Arc<RunPlace>>,
    guard: ActiveGuard,
}

impl Run {
    /// Runs to the end and records.
    async fn finish(
        mut self,
        context: Arc<RunScope>,
        events: Option<Arc<EventBuffer>>,
    ) -> Result<FinishedRun, AppError> {
        let running = self.app.metrics.run_started();
        let inputs_json = fields_json(&self.inputs);
        let inputs = std::mem::take(&mut self.inputs);
        let traced_inputs = self.app.traces_contents().then(|| inputs.clone());
        let span = tracing::debug_span!("run", id = %self.id, graph = %self.pin.name);
        let outcome = self.program.execute(&context, inputs).instrument(span).await;
        let took = context.trace.elapsed();
        let failed = outcome.outputs.as_ref().err().filter(|_| !outcome.waits());
        let failure = failed.map(|error| RunFailure::of(self.id, &self.request_id, error));
        let row = Arc::new(self.row(&outcome, failure.as_ref(), inputs_json, took));
        drop(running);
        self.report(&outcome, took);
        self.send_spans(&outcome, traced_inputs.as_ref(), took);
        // The row has all of it: it need not stay in memory until the commit.
        let pauses = pauses(&outcome);
        drop(outcome);
        let recorded = self.record(&row, &pauses).await;
        if let Some(events) = events {
            let waits = recorded.is_ok() && row.status == RunStatus::Waiting;
            self.count_events(&events, waits).await;
        }
        recorded?;
        let is_interrupted = self.is_interrupted(row.status);
        Ok(FinishedRun { row, failure, with_trace: self.with_trace, is_interrupted })
    }

    fn report(&self, outcome: &Outcome, took: Duration) {
        let graph = &self.pin.name;
        let ended = EndedRun { id: self.id, graph, request: &self.request_id, took };
        self.request_id.note_times(self.app.report_run(&ended, outcome));
    }

    fn send_spans(&self, outcome: &Outcome, inputs: Option<&Fields>, took: Duration) {
        let Some(trace) = &self.trace else { return };
        let run = TracedRun {
            trace,
            id: self.id,
            kind: "execution",
            graph: &self.pin.name,
            version: self.pin.version,
            state_version: self.pin.state_version,
            request: &self.request_id,
            start: self.start,
            took,
            queued: None,
            inputs,
            labels: &self.labels,
            score: None,
        };
        self.app.send_spans(&run, outcome);
    }

    /// Whether the run has no result because it was cancelled, though not by a client.
    fn is_interrupted(&self, status: RunStatus) -> bool {
        let by_client = self.guard.stopped() == Some(StopReason::Cancelled);
        let without_result = matches!(status, RunStatus::Cancelled | RunStatus::Failed);
        without_result && !by_client && self.work.cancellation().is_cancelled()
    }

    fn row(
        &self,
        outcome: &Outcome,
        failure: Option<&RunFailure>,
        inputs: String,
        took: Duration,
    ) -> RunRow {
        let recorded = outcome.waits() || self.app.recorder.mode() != Record::Off;
        let record = RunRecordBuilder {
            id: self.id,
            versions: RunVersions::pinned(&self.pin),
            actor: &self.scope.actor,
            start: self.start,
            took,
            inputs,
            // A trace that is neither recorded nor in the answer is not rendered.
            with_trace: self.with_trace || recorded,
            is_stored: recorded,
            labels: self.labels.clone(),
        };
        record.build(outcome, failure)
    }

    /// Stores how many events precede the last one, for clients that follow the run later. The event
    /// of a run that waits is not its last.
    async fn count_events(&self, events: &EventBuffer, waits: bool) {
        if self.app.recorder.mode() == Record::Off && !waits {
            return;
        }
        let count = i64::try_from(events.newest() + u64::from(waits)).unwrap_or(i64::MAX);
        let counted = run_event::count(&self.scope, &self.app.db, self.id, count, now());
        let counted = Box::pin(counted).await;
        if let Err(error) = counted {
            tracing::debug!(run = %self.id, cause = error.cause(), "cannot store the event count");
        }
    }

    /// Hands the run to the recorder. One that waits is stored as a background run instead.
    async fn record(&self, row: &Arc<RunRow>, pauses: &[NodeRow]) -> Result<(), AppError> {
        if row.status == RunStatus::Waiting {
            // Boxed, as what few runs do: every run would reserve space for it.
            return Box::pin(self.app.run_park(&self.scope, row, pauses, &self.request_id)).await;
        }
        Ok(self.app.recorder.record(&self.scope, row).await?)
    }
}

/// The checkpoints of nodes that wait in the middle of their work, whose trace is in the record.
fn pauses(outcome: &Outcome) -> Vec<NodeRow> {
    let nodes = outcome.nodes.iter();
    let paused = nodes.filter_map(|(name, node)| Some((name, node.pause.as_ref()?)));
    paused.map(|(name, pause)| pause_row_without_trace(name, pause)).collect()
}

#[cfg(test)]
mod tests {
    use dsrs::lm::Models;

    use super::*;
    use crate::compute::ComputePool;
    use crate::event::buffer::EventBuffers;

    #[tokio::test]
    async fn followers_of_a_streamed_run_that_panicked_receive_a_last_event() {
        let events = EventBuffers::default().open(Uuid::nil(), Uuid::now_v7());
        let mut follower = events.buffer().follow(0);
        let context = RunScope::new(Arc::new(Models::new(None, None)), Instant::now());
        let run = Box::pin(async { panic!("a bug") });
        let pool = ComputePool::start().unwrap();
        let run = RunDriver::new(&pool, Arc::new(context), false, true, run);
        let (finished, events) = StreamedExecution { run, events }.finish().await;
        assert!(matches!(finished, Err(AppError::Internal(_))));
        events.end(EventKind::RunFailed, "the problem".to_owned());
        assert!(follower.next::<RunRow>().await.is_some());
        assert!(follower.next::<RunRow>().await.is_none());
    }
}
