//! One attempt at a background run by the process that holds its job. It continues from the nodes
//! that earlier attempts completed, and ends with the record, or with the job back in the queue.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use dsrs::graph::{CompletedNode, Journal, JournalError, Outcome, Program};
use dsrs::predict::{PredictErrorKind, RunScope};
use dsrs::value::{Fields, Payload};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::Instant;

use crate::app::clock::now;
use crate::app::event::EventKind;
use crate::app::event::log_writer::EventLog;
use crate::app::job::active::{ActiveGuard, StopReason};
use crate::app::json::JsonObject;
use crate::app::persist::{RETRY, persist};
use crate::app::run::background::recorded_inputs;
use crate::app::run::documents::{fields_json, trace_json};
use crate::app::run::event_json::{LogListener, attempt_json, waiting_json};
use crate::app::run::execute::admit;
use crate::app::run::merged_record::{
    AttemptOutput, UnfinishedRun, members, node_row, own_nodes, waiting_nodes, with_waiting,
};
use crate::app::run::record::status;
use crate::app::{App, AppError, RunFailure};
use crate::shutdown::WorkGuard;
use crate::store::background_run::Finished;
use crate::store::job::{self, Job};
use crate::store::run::{RunRow, RunStatus};
use crate::store::waiting_run::{self, Parked};
use crate::store::{background_run, run_event};

/// What a request says about a job besides the job's own record.
pub(crate) struct JobRequest {
    /// The time limit of an attempt, if it is below the server's.
    pub(crate) timeout: Option<Duration>,
    /// The id of the request.
    pub(crate) request_id: Arc<str>,
}

impl JobRequest {
    pub(crate) fn to_json(&self) -> String {
        let mut object = JsonObject::new();
        object.shown_or_null("timeout_ms", self.timeout.map(|timeout| timeout.as_millis()));
        object.text("request_id", &self.request_id);
        object.finish()
    }

    pub(crate) fn read(json: &str) -> Self {
        let members = members(json);
        let millis = match members.get("timeout_ms") {
            Some(Payload::Int(millis)) => u64::try_from(*millis).ok(),
            _ => None,
        };
        let request_id = members.get("request_id").and_then(Payload::as_str).unwrap_or_default();
        Self { timeout: millis.map(Duration::from_millis), request_id: Arc::from(request_id) }
    }
}

/// One attempt.
pub(crate) struct RunAttempt {
    app: Arc<App>,
    job: Job,
    request: JobRequest,
    start: DateTime<Utc>,
}

impl RunAttempt {
    fn new(app: Arc<App>, job: Job) -> Self {
        let request = JobRequest::read(&job.request);
        Self { app, job, request, start: now() }
    }

    /// Records a run as cancelled that no worker runs.
    pub(crate) async fn cancel(app: Arc<App>, job: Job) -> Result<(), AppError> {
        let attempt = Self::new(app, job);
        attempt.end_without_running(RunStatus::Cancelled, "run_cancelled", CANCELLED).await
    }

    /// Executes a run until it ends, another worker has it, or the server stops.
    pub(crate) async fn run(app: Arc<App>, job: Job, work: WorkGuard) {
        let (run, attempt_number) = (job.lease.job, job.attempt);
        let cancel = work.cancellation().child_token();
        let (workspace, holder) = (job.scope.workspace, job.lease.holder);
        let guard = app.active_work.register(workspace, run, Some(holder), cancel.clone());
        if job.cancelled {
            guard.stop(StopReason::Cancelled);
        }
        let attempt = Self::new(app, job);
        let mut scope = RunScope::new(attempt.app.models.clone(), attempt.deadline());
        scope.cancelled = cancel;
        if let Err(error) = attempt.execute(scope, &guard, &work).await {
            // The lease expires, and a worker tries again.
            tracing::error!(%run, attempt_number, %error, "an attempt at a run failed");
        }
    }

    fn deadline(&self) -> Instant {
        let limit = self.app.limits.run_timeout;
        Instant::now() + self.request.timeout.map_or(limit, |requested| requested.min(limit))
    }

    async fn execute(
        &self,
        mut scope: RunScope,
        guard: &ActiveGuard,
        work: &WorkGuard,
    ) -> Result<(), AppError> {
        let earlier = self.earlier().await?;
        let limit = self.app.worker.attempts;
        if u32::try_from(self.job.attempt).unwrap_or(0) > limit {
            let detail = too_many_attempts(limit);
            return self.end_without_running(RunStatus::Failed, "run_abandoned", &detail).await;
        }
        let lease = self.job.lease;
        if !persist(|| background_run::begin(&self.app.db, lease, self.start)).await? {
            return Ok(());
        }
        let (program, inputs) = match self.prepare(&earlier.run).await {
            Ok(ready) => ready,
            Err(AppError::Unavailable(_)) => return self.give_back().await,
            Err(error) => {
                tracing::error!(run = %lease.job, %error, "an accepted run cannot be executed");
                let detail = "the run can no longer be executed; the log has the cause";
                return self.end_without_running(RunStatus::Failed, "internal", detail).await;
            }
        };
        let _running = self.app.metrics.run_started();
        let ended = earlier.ended_nodes(&program);
        let nodes = program.graph().nodes();
        let completed =
            nodes.filter(|(name, _)| ended.contains_key(&**name)).map(|(name, _)| &**name);
        let log = self.open_log(&mut scope, &earlier.run, completed).await;
        let scope = Arc::new(scope);
        let journal = CheckpointJournal { attempt: self, guard };
        let executed = program.execute_from(&scope, inputs, ended, &journal);
        let outcome = match &log {
            Some(log) => self.log_events(log, executed).await,
            None => executed.await,
        };
        let stopping = work.cancellation().is_cancelled();
        self.settle(earlier, outcome, guard.stopped(), stopping).await
    }

    /// Opens the log of events for followers.
    async fn open_log<'n>(
        &self,
        scope: &mut RunScope,
        run: &RunRow,
        completed: impl Iterator<Item = &'n str>,
    ) -> Option<Arc<EventLog>> {
        if !self.app.worker.events {
            return None;
        }
        // Without the newest id, ids would restart at 1.
        let newest = persist(|| run_event::newest(&self.app.db, run.id)).await.ok()?;
        let log = Arc::new(EventLog::after(newest.unwrap_or(0)));
        let versions = (run.graph_version, run.state_version);
        let started = attempt_json(run.id, &run.graph_name, versions, self.start, completed);
        log.push(EventKind::RunStarted, &started);
        scope.listener = Some(Arc::new(LogListener(log.clone())));
        Some(log)
    }

    /// Drives the execution. Its events are in the log when this returns.
    async fn log_events(&self, log: &EventLog, work: impl Future<Output = Outcome>) -> Outcome {
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

    async fn prepare(&self, run: &RunRow) -> Result<(Arc<Program>, Fields), AppError> {
        let program = self.app.recorded_program(&self.job.scope, run).await?;
        let inputs = admit(&program, &recorded_inputs(run)?)?;
        Ok((program, inputs))
    }

    /// Writes the record of an outcome, parks the run, or puts it back into the queue.
    async fn settle(
        &self,
        earlier: UnfinishedRun,
        outcome: Outcome,
        stopped: Option<StopReason>,
        stopping: bool,
    ) -> Result<(), AppError> {
        let cancelled = outcome
            .outputs
            .as_ref()
            .is_err_and(|failure| failure.error.kind == PredictErrorKind::Cancelled);
        let waits = outcome.waits();
        let unread = names(&outcome).into_iter().find(|node| earlier.has(node));
        let parks = waits && unread.is_none();
        match stopped {
            Some(StopReason::Lost) => return Ok(()),
            None if parks && self.park(&earlier.run, &outcome).await? => return Ok(()),
            None if cancelled && stopping => return self.give_back().await,
            _ => {}
        }
        let (run, request) = (self.job.lease.job, &self.request.request_id);
        let ended = match &outcome.outputs {
            Err(_) if let Some(node) = &unread => {
                let detail = format!("the stored value of `{node}` cannot be read");
                Err((RunStatus::Failed, RunFailure::of_run(run, request, "internal", detail)))
            }
            Ok(outputs) => Ok(fields_json(outputs)),
            Err(_) if waits => {
                let failure = RunFailure::of_run(run, request, "run_cancelled", CANCELLED);
                Err((RunStatus::Cancelled, failure))
            }
            // No client cancelled it: the checkpoint of a node could not be stored.
            Err(failure) if cancelled && stopped.is_none() => {
                let detail = failure.to_string();
                Err((RunStatus::Failed, RunFailure::of_run(run, request, "internal", detail)))
            }
            Err(failure) => Err((status(&outcome), RunFailure::of(run, request, failure))),
        };
        let added = AttemptOutput {
            nodes: own_nodes(&outcome.nodes, self.start),
            usage: outcome.usage,
            trace: trace_json(&outcome.spans, self.start),
        };
        let took = (now() - self.start).to_std().unwrap_or_default();
        let status = self.finish(&added, &ended).await?;
        self.app.metrics.run_finished(status.as_str(), took, &outcome.usage);
        Ok(())
    }

    /// Releases a run that waits for signals: until one arrives, it needs only its rows. False if the
    /// run is to be cancelled instead.
    async fn park(&self, run: &RunRow, outcome: &Outcome) -> Result<bool, AppError> {
        let waiting = waiting_nodes(&outcome.nodes);
        let nodes = with_waiting(&run.nodes, &waiting, &outcome.spans, self.start);
        let names = names(outcome);
        let db = &self.app.db;
        let parked = persist(|| waiting_run::park(db, self.job.lease, &nodes, &names)).await?;
        Ok(parked != Parked::Cancelled)
    }

    /// Ends a run without another attempt.
    async fn end_without_running(
        &self,
        status: RunStatus,
        code: &'static str,
        detail: &str,
    ) -> Result<(), AppError> {
        let failure =
            RunFailure::of_run(self.job.lease.job, &self.request.request_id, code, detail);
        self.finish(&AttemptOutput::none(), &Err((status, failure))).await?;
        Ok(())
    }

    async fn earlier(&self) -> Result<UnfinishedRun, AppError> {
        let read = || UnfinishedRun::read(&self.job.scope, &self.app.db, self.job.lease.job);
        loop {
            match read().await {
                Err(AppError::Unavailable(_)) => tokio::time::sleep(RETRY).await,
                done => return done,
            }
        }
    }

    /// Writes the record, including the values that signals set meanwhile.
    async fn finish(
        &self,
        added: &AttemptOutput,
        ended: &Result<String, (RunStatus, RunFailure)>,
    ) -> Result<RunStatus, AppError> {
        let (db, lease) = (&self.app.db, self.job.lease);
        loop {
            // Read again: by now there are checkpoints of this attempt, and values of signals.
            let earlier = self.earlier().await?;
            let count = earlier.count();
            let run = earlier.without_cost_of(added).finished(added.clone(), ended.clone(), now());
            match persist(|| background_run::finish(db, lease, &run, count)).await? {
                Finished::Done => {
                    // A lost notification only delays followers: they poll.
                    let _ = run_event::tell(db, run.id).await;
                    return Ok(run.status);
                }
                Finished::Behind => {}
                Finished::Lost => {
                    let message = "another worker has the run; the outcome here is dropped";
                    tracing::info!(run = %run.id, message);
                    return Ok(run.status);
                }
            }
        }
    }

    async fn give_back(&self) -> Result<(), AppError> {
        persist(|| job::give_back(&self.app.db, self.job.lease)).await?;
        Ok(())
    }
}

/// The names of the nodes that wait for signals.
fn names(outcome: &Outcome) -> Vec<String> {
    waiting_nodes(&outcome.nodes).into_iter().map(|(name, _)| name.to_string()).collect()
}

const CANCELLED: &str = "the run was cancelled";

fn too_many_attempts(limit: u32) -> String {
    format!(
        "{limit} attempts ended without a result, which is the limit (`worker.attempts`); the \
         outputs of completed nodes are stored: resume the run once the cause is found"
    )
}

/// Stores the outputs of completed nodes as checkpoints.
struct CheckpointJournal<'a> {
    attempt: &'a RunAttempt,
    guard: &'a ActiveGuard,
}

impl Journal for CheckpointJournal<'_> {
    fn record(&self, node: CompletedNode) -> BoxFuture<'_, Result<(), JournalError>> {
        async move {
            let RunAttempt { app, job, start, .. } = self.attempt;
            let row = node_row(&node, *start);
            match persist(|| background_run::keep(&app.db, job.lease, &row, now())).await {
                Ok(true) => Ok(()),
                Ok(false) => {
                    self.guard.stop(StopReason::Lost);
                    Err(JournalError("another worker has the run".to_owned()))
                }
                Err(error) => {
                    tracing::error!(run = %job.lease.job, cause = error.cause(), "cannot store a checkpoint");
                    Err(JournalError("the database refused it; the log has the cause".to_owned()))
                }
            }
        }
        .boxed()
    }
}
