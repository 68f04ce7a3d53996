//! Background runs as a kind of job: an attempt executes the nodes that have no checkpoint, stores new
//! checkpoints, and ends with the record or a parked run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dsrs::graph::{CompletedNode, Journal, JournalError, Outcome, Program};
use dsrs::predict::{PredictErrorKind, RunScope};
use dsrs::value::Fields;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::Instant;
use uuid::Uuid;

use crate::clock::now;
use crate::event::EventKind;
use crate::event::log_writer::EventLog;
use crate::job::active::{ActiveGuard, StopReason};
use crate::job::attempt::JobAttempt;
use crate::job::conclusion::{AttemptEnd, Conclusion};
use crate::job::kind::JobKind;
use crate::run::documents::{NO_TRACE, fields_json, prefixes_of, trace_json};
use crate::run::ending::EndedRun;
use crate::run::event_json::{LogListener, attempt_json, waiting_json};
use crate::run::execute::admit;
use crate::run::merged_record::{
    AttemptOutput, UnfinishedRun, node_row, own_nodes, value_row_name, waiting_nodes, with_waiting,
};
use crate::run::pause::{is_pause_row, pause_row};
use crate::run::record::{recorded_inputs, status};
use crate::run_spans::{RunTrace, TracedRun};
use crate::{App, AppError, RunFailure, RunTimes};
use dsrs_store::Scope;
use dsrs_store::group_writer::CommitOutcome;
use dsrs_store::persist;
use dsrs_store::run::{RunRow, RunStatus};
use dsrs_store::run_progress::NodeRow;
use dsrs_store::waiting_run::ParkOutcome;

/// The kind of job that runs a program in the background.
pub struct BackgroundRuns;

pub struct LoadedRun {
    /// The record so far, with the checkpoints of earlier attempts.
    earlier: UnfinishedRun,
    program: Arc<Program>,
    inputs: Fields,
    deadline: Instant,
}

/// The result of the attempt that ended a run.
pub struct RunResult {
    /// The record before this attempt, with all checkpoints that this server knows of.
    known: Option<UnfinishedRun>,
    added: AttemptOutput,
    /// The outputs as JSON text, or the failure.
    ended: Result<String, (RunStatus, RunFailure)>,
}

impl JobKind for BackgroundRuns {
    type Row = RunRow;
    type Work = LoadedRun;
    type Output = RunResult;

    // An execution that a client waits for is recorded when it has ended.
    const RUNS_WITHOUT_JOB: bool = true;

    async fn row(app: &Arc<App>, scope: &Scope, id: Uuid) -> Result<RunRow, AppError> {
        app.run_get(scope, id).await
    }

    async fn cancel_in_engine(
        app: &Arc<App>,
        scope: &Scope,
        id: Uuid,
        force: bool,
    ) -> Result<(), AppError> {
        app.cancel_engine_run(scope, id, force).await
    }

    async fn load(attempt: &JobAttempt, _: &ActiveGuard) -> Result<LoadedRun, AppError> {
        // Before the queries: the time limit of an attempt includes them.
        let deadline = Instant::now() + attempt.timeout();
        let earlier = attempt.unfinished_run().await?;
        let program = attempt.app.recorded_program(&attempt.job.scope, &earlier.run).await?;
        let inputs = admit(&program, &recorded_inputs(&earlier.run)?)?;
        Ok(LoadedRun { earlier, program, inputs, deadline })
    }

    async fn run(
        attempt: &JobAttempt,
        work: LoadedRun,
        guard: &Arc<ActiveGuard>,
    ) -> Result<AttemptEnd<RunResult>, AppError> {
        attempt.execute_run(work, guard).await
    }

    async fn conclude(
        attempt: &JobAttempt,
        conclusion: Conclusion<RunResult>,
    ) -> Result<bool, AppError> {
        let failed = |status, code, detail: &str| {
            let (run, request) = (attempt.job.lease.job, &attempt.request.request_id);
            let failure = RunFailure::of_run(run, request, code, detail);
            let (known, added) = (None, AttemptOutput::none());
            RunResult { known, added, ended: Err((status, failure)) }
        };
        let took = (now() - attempt.start).to_std().unwrap_or_default();
        let (result, took) = match conclusion {
            Conclusion::Finished(result) => (result, Some(took)),
            Conclusion::Failed { code, detail } => (failed(RunStatus::Failed, code, &detail), None),
            Conclusion::Cancelled => {
                (failed(RunStatus::Cancelled, "run_cancelled", CANCELLED), None)
            }
        };
        let ended = attempt.record_run(result).await?;
        if let Some(run) = &ended {
            attempt.app.metrics.graph(&run.graph_name).run_ended(run.status.as_str(), took);
        }
        Ok(ended.is_some())
    }

    fn abandoned(limit: u32) -> String {
        format!(
            "{limit} attempts in a row ended while they worked on the run, which is the limit \
             (`worker.attempts`); the outputs of completed nodes are stored: resume the run once the \
             cause is found"
        )
    }
}

impl JobAttempt {
    /// Executes the nodes that have no checkpoint.
    async fn execute_run(
        &self,
        work: LoadedRun,
        guard: &ActiveGuard,
    ) -> Result<AttemptEnd<RunResult>, AppError> {
        let LoadedRun { earlier, program, inputs, deadline } = work;
        let mut scope = RunScope::new(self.app.models.clone(), deadline);
        scope.indexes = Some(self.app.indexes.of_workspace(&self.job.scope));
        scope.id = Some(earlier.run.id.into_bytes());
        scope.paused = earlier.continuations();
        scope.observer = Some(self.app.metrics.graph(&earlier.run.graph_name));
        let trace = self.app.trace_of_job(&self.request.request_id, earlier.run.id);
        scope.trace_context = trace.as_ref().map(|trace| trace.context.clone());
        let is_sampled = trace.as_ref().is_some_and(|trace| trace.context.is_sampled());
        let traced_inputs = (is_sampled && self.app.traces_contents()).then(|| inputs.clone());
        // The budget is that of the run, not of each attempt at it.
        scope.count_spent(earlier.spent());
        scope.cancelled = guard.cancellation();
        let _running = self.app.metrics.run_started();
        let ended = earlier.ended_nodes(&program);
        let nodes = program.graph().nodes();
        let completed =
            nodes.filter(|(name, _)| ended.contains_key(&**name)).map(|(name, _)| &**name);
        let log = self.run_log(&mut scope, &earlier, completed);
        let scope = Arc::new(scope);
        let journal = CheckpointJournal { attempt: self, guard, stored: Mutex::default() };
        let executed = program.execute_from(&scope, inputs, ended, &journal);
        let outcome = match &log {
            Some(log) => self.log_during(log, executed).await,
            None => executed.await,
        };
        if let Some(trace) = &trace {
            self.send_spans(trace, &earlier, traced_inputs.as_ref(), &outcome);
        }
        self.end_of_run(earlier, &journal, &outcome).await
    }

    fn send_spans(
        &self,
        trace: &RunTrace,
        UnfinishedRun { run, .. }: &UnfinishedRun,
        inputs: Option<&Fields>,
        outcome: &Outcome,
    ) {
        let queued = run.started_at.unwrap_or(self.start) - run.created_at;
        let run = TracedRun {
            trace,
            id: run.id,
            kind: "background",
            graph: &run.graph_name,
            version: run.graph_version,
            state_version: run.state_version,
            request: &self.request.request_id,
            start: self.start,
            took: (now() - self.start).to_std().unwrap_or_default(),
            queued: queued.to_std().ok(),
            inputs,
            labels: &run.labels,
            score: None,
        };
        self.app.send_spans(&run, outcome);
    }

    /// Opens the log of events that followers read.
    fn run_log<'n>(
        &self,
        scope: &mut RunScope,
        UnfinishedRun { run, newest_event, .. }: &UnfinishedRun,
        completed: impl Iterator<Item = &'n str>,
    ) -> Option<Arc<EventLog>> {
        if !self.app.worker.events {
            return None;
        }
        let log = Arc::new(EventLog::after(*newest_event));
        let versions = (run.graph_version, run.state_version);
        let started = attempt_json(run.id, &run.graph_name, versions, self.start, completed);
        log.push(EventKind::RunStarted, &started);
        scope.listener = Some(Arc::new(LogListener(log.clone())));
        Some(log)
    }

    /// Executes the run. All its events are stored when this returns.
    async fn log_during(&self, log: &EventLog, work: impl Future<Output = Outcome>) -> Outcome {
        let lease = self.job.lease;
        let work = async {
            let outcome = work.await;
            if outcome.waits() {
                log.push(EventKind::RunWaiting, &waiting_json(lease.job, &names(&outcome)));
            }
            outcome
        };
        log.write_during(&self.app.db, lease, work).await
    }

    /// How the attempt ended: with a result, parked, or for another attempt to continue.
    async fn end_of_run(
        &self,
        mut earlier: UnfinishedRun,
        journal: &CheckpointJournal<'_>,
        outcome: &Outcome,
    ) -> Result<AttemptEnd<RunResult>, AppError> {
        let stopped = journal.guard.stopped();
        let cancelled = outcome
            .outputs
            .as_ref()
            .is_err_and(|failure| failure.error.kind == PredictErrorKind::Cancelled);
        let waits = outcome.waits();
        let unreadable = value_rows(outcome).into_iter().find(|node| earlier.has(node));
        let parks = waits && unreadable.is_none();
        match stopped {
            Some(StopReason::Lost) => return Ok(AttemptEnd::Released),
            None if parks && self.park_run(&earlier.run, outcome).await? => {
                return Ok(AttemptEnd::Released);
            }
            // The server stops: what is completed is stored, and another attempt continues from there.
            None if cancelled && self.shutdown.is_cancelled() => return Ok(AttemptEnd::Requeue),
            _ => {}
        }
        let (run, request) = (self.job.lease.job, &self.request.request_id);
        let internal = |detail: &str| {
            (RunStatus::Failed, RunFailure::of_run(run, request, "internal", detail))
        };
        let ended = match &outcome.outputs {
            Err(_) if let Some(node) = &unreadable => {
                Err(internal(&format!("the stored value for `{node}` cannot be read")))
            }
            Ok(outputs) => Ok(fields_json(outputs)),
            Err(_) if waits => {
                let failure = RunFailure::of_run(run, request, "run_cancelled", CANCELLED);
                Err((RunStatus::Cancelled, failure))
            }
            // No client cancelled the run: a checkpoint could not be stored.
            Err(failure) if cancelled && stopped.is_none() => Err(internal(&failure.to_string())),
            Err(failure) => Err((status(outcome), RunFailure::of(run, request, failure))),
        };
        self.report_attempt(&earlier.run, outcome);
        let stored: Vec<NodeRow> = journal.stored().collect();
        let added = AttemptOutput {
            pauses: stored
                .iter()
                .filter(|row| is_pause_row(row))
                .map(|row| row.node.clone())
                .collect(),
            nodes: own_nodes(&outcome.nodes, self.start),
            usage: outcome.usage,
            trace: trace_json(&outcome.spans, self.start),
            prefixes: prefixes_of(&outcome.spans),
        };
        earlier.ended.extend(stored);
        Ok(Conclusion::Finished(RunResult { known: Some(earlier), added, ended }).into())
    }

    fn report_attempt(&self, run: &RunRow, outcome: &Outcome) {
        let took = (now() - self.start).to_std().unwrap_or_default();
        let (id, graph, request) = (run.id, &run.graph_name, &self.request.request_id);
        let times = RunTimes::of(&outcome.spans, took);
        self.app.metrics.graph(graph).times(times);
        self.app.warn_of_failure(&EndedRun { id, graph, request, took }, outcome, times);
    }

    /// Parks a run that waits for values: until one arrives it is rows only. False if a client has
    /// cancelled the run.
    async fn park_run(&self, run: &RunRow, outcome: &Outcome) -> Result<bool, AppError> {
        let waiting = waiting_nodes(&outcome.nodes);
        let nodes = with_waiting(&run.nodes, &waiting, &outcome.spans, self.start);
        let values = value_rows(outcome);
        let parked = persist(|| self.lease.park(&nodes, &values)).await?;
        Ok(parked != ParkOutcome::Cancelled)
    }

    async fn unfinished_run(&self) -> Result<UnfinishedRun, AppError> {
        Ok(persist(|| self.lease.stored_run()).await?.into())
    }

    /// Writes the record and returns it, `None` if the lease was lost. A signal that arrives meanwhile is in the
    /// record, too.
    async fn record_run(&self, mut result: RunResult) -> Result<Option<Arc<RunRow>>, AppError> {
        loop {
            // Read again only if there are values of signals by now.
            let earlier = match result.known.take() {
                Some(known) => known,
                None => self.unfinished_run().await?,
            };
            let checkpoints = earlier.checkpoints();
            let (added, ended) = (result.added.clone(), result.ended.clone());
            let run = Arc::new(earlier.without_cost_of(&added).finished(added, ended, now()));
            match persist(|| self.lease.end_run(run.clone(), checkpoints)).await? {
                CommitOutcome::Stored => return Ok(Some(run)),
                CommitOutcome::Behind => {}
                CommitOutcome::LeaseLost => return Ok(None),
            }
        }
    }
}

/// The nodes that a run waits for.
fn names(outcome: &Outcome) -> Vec<String> {
    waiting_nodes(&outcome.nodes).into_iter().map(|(name, _)| name.to_string()).collect()
}

/// The names of the checkpoints that the values for these nodes become.
fn value_rows(outcome: &Outcome) -> Vec<String> {
    let waiting = waiting_nodes(&outcome.nodes).into_iter();
    waiting.map(|(name, node)| value_row_name(name, node)).collect()
}

const CANCELLED: &str = "the run was cancelled";

/// Stores checkpoints in the database.
struct CheckpointJournal<'a> {
    attempt: &'a JobAttempt,
    guard: &'a ActiveGuard,
    /// Those that are stored.
    stored: Mutex<Vec<NodeRow>>,
}

impl CheckpointJournal<'_> {
    /// The checkpoints that are stored. Takes them.
    fn stored(&self) -> impl Iterator<Item = NodeRow> {
        std::mem::take(&mut *self.lock()).into_iter()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<NodeRow>> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The checkpoint without its trace, which the outcome of the attempt has.
fn without_trace(row: Arc<NodeRow>) -> NodeRow {
    NodeRow { trace: NO_TRACE.to_owned(), prefixes: Vec::new(), ..Arc::unwrap_or_clone(row) }
}

impl Journal for CheckpointJournal<'_> {
    fn record(&self, node: CompletedNode) -> BoxFuture<'_, Result<(), JournalError>> {
        async move {
            let JobAttempt { job, lease, start, .. } = self.attempt;
            let row = node_row(&node, *start);
            let row = Arc::new(match &node.outcome.pause {
                Some(pause) => pause_row(row, pause),
                None => row,
            });
            match persist(|| lease.store_node(row.clone(), now())).await {
                Ok(true) => {
                    self.lock().push(without_trace(row));
                    Ok(())
                }
                Ok(false) => {
                    self.guard.stop(StopReason::Lost);
                    Err(JournalError("another worker has claimed the run".to_owned()))
                }
                Err(error) => {
                    tracing::error!(run = %job.lease.job, cause = error.cause(), "a checkpoint is not stored");
                    Err(JournalError("the database refused it; the log has the cause".to_owned()))
                }
            }
        }
        .boxed()
    }
}
