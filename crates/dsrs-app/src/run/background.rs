//! Background runs: accepted, and read while they are in progress. Executing them is
//! `attempt`.

use std::sync::Arc;

use dsrs::graph::Program;
use dsrs::lm::Usage;
use dsrs::value::Fields;
use uuid::Uuid;

use crate::clock::now;
use crate::engine::AcceptedRun;
use crate::error::merge_faults;
use crate::job::await_check::await_nodes;
use crate::job::request::JobRequest;
use crate::run::documents::{NO_TRACE, fields_json, usage_json};
use crate::run::execute::admit;
use crate::run::merged_record::{AttemptOutput, UnfinishedRun, pending_nodes};
use crate::{App, AppError, Commit, ExecuteRequest, RunFailure};
use dsrs_store::graph::{GraphRef, ResolvedGraph};
use dsrs_store::run::{RunRow, RunStatus, RunStorage};
use dsrs_store::run_label::RunLabels;
use dsrs_store::{Scope, StoreError, engine_run, job};

impl App {
    /// Accepts a run. When this returns, the run is stored and queued.
    pub async fn run_start(
        self: &Arc<Self>,
        scope: &Scope,
        graph: &GraphRef,
        request: ExecuteRequest,
        commit: Commit<RunRow>,
    ) -> Result<RunRow, AppError> {
        let (pin, program) = self.ready(scope, graph, request.pick).await?;
        let inputs = merge_faults(request.faults, admit(&program, &request.inputs))?;
        self.check_queue(scope).await?;
        self.check_waiting(scope, &program).await?;
        let run = RunRow {
            labels: request.labels,
            ..queued_run(scope, &pin, &inputs, pending_nodes(&program))
        };
        request.request_id.note_run(run.id);
        let job = JobRequest::new(request.timeout, request.request_id);
        let (job, ending) = (job.to_json(), commit.ending(&run));
        let accepted = AcceptedRun { scope, run: &run, request: &job, ending: &ending };
        self.engine.accept_run(&self.db, accepted).await?;
        Ok(run)
    }

    /// Ends a run that has no job: if no attempt has begun, or in any case with `force`. An attempt that begins
    /// meanwhile, or that does not answer, stops when it writes.
    pub(crate) async fn cancel_engine_run(
        &self,
        scope: &Scope,
        id: Uuid,
        force: bool,
    ) -> Result<(), AppError> {
        let run: RunRow = match job::get(scope, &self.db, id).await {
            Ok(run) => run,
            Err(StoreError::NotFound { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let is_open = run.status == RunStatus::Running && force;
        if run.status != RunStatus::Queued && !is_open {
            return Ok(());
        }
        let ended = if is_open { self.engine.progress(id).await } else { Vec::new() };
        let failure = RunFailure::of_run(id, &"".into(), "run_cancelled", "the run was cancelled");
        let earlier = UnfinishedRun { run, ended, newest_event: 0 };
        let cancelled = Err((RunStatus::Cancelled, failure));
        let run = Arc::new(earlier.finished(AttemptOutput::none(), cancelled, now()));
        if engine_run::end(scope, &self.db, &run).await? {
            self.metrics.graph(&run.graph_name).run_ended(run.status.as_str(), None);
        }
        Ok(())
    }

    /// Checks that the queue of a workspace has space ([`QueuePlaces`](crate::job::queue_places::QueuePlaces) says how exactly).
    pub(crate) async fn check_queue(&self, scope: &Scope) -> Result<(), AppError> {
        let limit = self.limits.max_queued_runs;
        if self.run_queue.take_place(scope, &self.db, &*self.engine, limit).await? {
            return Ok(());
        }
        Err(AppError::TooBusy(format!(
            "{limit} background runs of this workspace are queued, which is the limit \
             (`limits.max_queued_runs`); try again later"
        )))
    }

    /// Checks that a workspace has space for another run that waits, if runs of this program may wait. Runs
    /// that have started may exceed the limit by their number: none of them is refused once it has cost money.
    pub(crate) async fn check_waiting(
        &self,
        scope: &Scope,
        program: &Program,
    ) -> Result<(), AppError> {
        if await_nodes(program).next().is_none() {
            return Ok(());
        }
        // Boxed, because few graphs have such nodes, and every run would reserve space for it.
        let limit = self.limits.max_waiting_runs;
        if !Box::pin(job::are_too_many_parked(scope, &self.db, limit)).await? {
            return Ok(());
        }
        Err(AppError::TooBusy(format!(
            "{limit} runs of this workspace wait for values, which is the limit \
             (`limits.max_waiting_runs`); signal or cancel some of them"
        )))
    }

    /// One run, which may be in the archive. Says whether it is.
    pub async fn run_find(&self, scope: &Scope, id: Uuid) -> Result<(RunRow, bool), AppError> {
        let (missing, archive) = match (self.run_get(scope, id).await, &self.archive) {
            (Err(error @ AppError::NotFound(_)), Some(archive)) => (error, archive),
            (found, _) => return Ok((found?, false)),
        };
        let archived = archive.find(scope, id).await?;
        archived.map(|run| (run, true)).ok_or(missing)
    }

    /// One run in the database. If it has not ended, with its progress so far.
    pub async fn run_get(&self, scope: &Scope, id: Uuid) -> Result<RunRow, AppError> {
        let run: RunRow = job::get(scope, &self.db, id).await?;
        if run.status.has_ended() {
            return Ok(run);
        }
        let mut earlier = UnfinishedRun::read(scope, &self.db, id).await?;
        if earlier.run.status == RunStatus::Running && earlier.ended.is_empty() {
            earlier.ended = self.engine.progress(id).await;
        }
        Ok(if earlier.run.status.has_ended() { earlier.run } else { earlier.current() })
    }
}

fn queued_run(scope: &Scope, pin: &ResolvedGraph, inputs: &Fields, nodes: String) -> RunRow {
    RunRow {
        id: Uuid::now_v7(),
        graph_id: pin.id,
        graph_name: pin.name.clone(),
        graph_version: pin.version,
        state_version: pin.state_version,
        status: RunStatus::Queued,
        created_at: now(),
        started_at: None,
        finished_at: None,
        duration_ms: None,
        inputs: fields_json(inputs),
        outputs: None,
        error: None,
        usage: usage_json(&Usage::default()),
        nodes,
        trace: NO_TRACE.to_owned(),
        created_by: scope.actor.to_string(),
        labels: RunLabels::default(),
        storage: RunStorage::default(),
    }
}
