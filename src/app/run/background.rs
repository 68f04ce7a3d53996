//! Background runs: accepted, read while they are in progress, cancelled. Executing them is
//! `attempt`.

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::Usage;
use dsrs::value::{Fields, Payload};
use tokio::time::Instant;
use uuid::Uuid;

use crate::app::clock::now;
use crate::app::error::merge_faults;
use crate::app::run::attempt::{JobRequest, RunAttempt};
use crate::app::run::documents::{fields_json, usage_json};
use crate::app::run::execute::admit;
use crate::app::run::merged_record::{NO_TRACE, UnfinishedRun, pending_nodes};
use crate::app::{App, AppError, ExecuteRequest};
use crate::store::graph::{GraphPin, GraphRef};
use crate::store::job::{self, Held, JobKind, Lease};
use crate::store::run::{self, RunRow, RunStatus};
use crate::store::{Scope, StoreError, background_run};

/// How long a cancellation waits for the end of the run before it answers the current status.
const CANCEL_PATIENCE: Duration = Duration::from_secs(5);

/// The same for a run that may be executed on another server, or nowhere.
const UNKNOWN_RUN_PATIENCE: Duration = Duration::from_secs(1);

const POLL_INTERVAL: Duration = Duration::from_millis(50);

impl App {
    /// Accepts a run. When this returns, the run is stored and queued.
    pub(crate) async fn run_start(
        self: &Arc<Self>,
        scope: &Scope,
        graph: &GraphRef,
        request: ExecuteRequest,
    ) -> Result<RunRow, AppError> {
        let (pin, program) = self.ready(scope, graph, request.pick).await?;
        let inputs = merge_faults(request.faults, admit(&program, &request.inputs))?;
        let job = JobRequest { timeout: request.timeout, request_id: request.request_id };
        let run = queued_run(scope, &pin, &inputs, pending_nodes(&program));
        background_run::accept(scope, &self.db, &run, &job.to_json()).await?;
        Ok(run)
    }

    /// One run. If it has not ended, with its progress so far.
    pub(crate) async fn run_get(&self, scope: &Scope, id: Uuid) -> Result<RunRow, AppError> {
        let run = run::get(scope, &self.db, id).await?;
        if run.status.has_ended() {
            return Ok(run);
        }
        let earlier = UnfinishedRun::read(scope, &self.db, id).await?;
        Ok(if earlier.run.status.has_ended() { earlier.run } else { earlier.current() })
    }

    /// Cancels a run, on whichever server it is executed. Returns the run, which may still be
    /// `running` if its worker does not react in time.
    pub(crate) async fn run_cancel(
        self: &Arc<Self>,
        scope: &Scope,
        id: Uuid,
    ) -> Result<RunRow, AppError> {
        self.refuse_ended(scope, id).await?;
        let patience = match job::cancel(scope, &self.db, JobKind::Run, id).await? {
            Some(Held::ByNobody) => {
                self.cancel_unclaimed(id).await?;
                CANCEL_PATIENCE
            }
            Some(Held::BySomeone) => CANCEL_PATIENCE,
            None => UNKNOWN_RUN_PATIENCE,
        };
        let here = self.active_work.cancel(Some(scope.workspace), id);
        self.run_when_ended(scope, id, if here { CANCEL_PATIENCE } else { patience }).await
    }

    /// Refuses a run that has ended. An unknown run may be in progress: an execution that a client
    /// waits for is recorded only when it ends.
    async fn refuse_ended(&self, scope: &Scope, id: Uuid) -> Result<(), AppError> {
        match run::get(scope, &self.db, id).await {
            Ok(run) if run.status.has_ended() => {
                let status = run.status;
                Err(AppError::RunFinished(format!("the run has ended already: it {status}")))
            }
            Ok(_) | Err(StoreError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends a run that no worker has claimed. A worker that claims it meanwhile sees the
    /// cancellation.
    async fn cancel_unclaimed(self: &Arc<Self>, id: Uuid) -> Result<(), AppError> {
        let lease = Lease { job: id, holder: Uuid::now_v7() };
        if let Some(job) = job::seize(&self.db, lease, self.worker.lease).await? {
            RunAttempt::cancel(self.clone(), job).await?;
        }
        Ok(())
    }

    /// The run once it has ended, or after `patience`.
    async fn run_when_ended(
        &self,
        scope: &Scope,
        id: Uuid,
        patience: Duration,
    ) -> Result<RunRow, AppError> {
        let deadline = Instant::now() + patience;
        loop {
            match self.run_get(scope, id).await {
                Ok(run) if run.status.has_ended() => return Ok(run),
                answer if Instant::now() >= deadline => return answer,
                Ok(_) | Err(AppError::NotFound(_)) => tokio::time::sleep(POLL_INTERVAL).await,
                Err(error) => return Err(error),
            }
        }
    }
}

fn queued_run(scope: &Scope, pin: &GraphPin, inputs: &Fields, nodes: String) -> RunRow {
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
    }
}

/// The recorded inputs of a run.
pub(crate) fn recorded_inputs(run: &RunRow) -> Result<Payload, AppError> {
    Payload::from_record(&run.inputs)
        .map_err(|error| AppError::Internal(format!("stored inputs: {error}")))
}
