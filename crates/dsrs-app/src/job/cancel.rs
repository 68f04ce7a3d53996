//! A job as its clients use it: read, and cancelled on whichever server it runs. May not know any
//! particular kind.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::clock::now;
use crate::engine::JobLease;
use crate::job::attempt::JobAttempt;
use crate::job::conclusion::Conclusion;
use crate::job::kind::JobKind;
use crate::{App, AppError};
use dsrs_store::Scope;
use dsrs_store::job::{self, ClaimState, JobRow, Lease};
use dsrs_store::run::RunStatus;

/// How long a cancellation waits for a job to end.
const JOB_PATIENCE: Duration = Duration::from_secs(5);

/// The same for an id without a job: a run on another server, or nothing at all.
const UNKNOWN_PATIENCE: Duration = Duration::from_secs(1);

const POLL: Duration = Duration::from_millis(50);

impl App {
    /// The status row of a job.
    pub async fn job_get<K: JobKind>(
        self: &Arc<Self>,
        scope: &Scope,
        id: Uuid,
    ) -> Result<K::Row, AppError> {
        K::row(self, scope, id).await
    }

    /// Cancels a job, whether it is queued, parked, or running on any server. Returns its row once it
    /// has ended. If the worker does not respond in time, the row still says `running`.
    pub async fn job_cancel<K: JobKind>(
        self: &Arc<Self>,
        scope: &Scope,
        id: Uuid,
    ) -> Result<K::Row, AppError> {
        let has_row = match K::row(self, scope, id).await {
            Ok(row) if row.status().has_ended() => {
                let (kind, status) = (K::TYPE.as_str(), row.status());
                let detail = format!("the {kind} has already ended ({status})");
                return Err(AppError::RunFinished(detail));
            }
            Err(AppError::NotFound(_)) if K::RUNS_WITHOUT_JOB => false,
            row => row.map(|_| true)?,
        };
        let has_job = self.cancel_job::<K>(scope, id).await?;
        if !has_job {
            K::cancel_in_engine(self, scope, id, false).await?;
        }
        let is_here = self.active_work.cancel(scope.workspace, id);
        let patience = if has_row || has_job || is_here { JOB_PATIENCE } else { UNKNOWN_PATIENCE };
        let deadline = Instant::now() + patience;
        loop {
            match job::status_of::<K::Row>(scope, &self.db, id).await? {
                Some(status) if status.has_ended() => break,
                _ if Instant::now() >= deadline => {
                    if !has_job {
                        K::cancel_in_engine(self, scope, id, true).await?;
                    }
                    break;
                }
                // The engine has given it back meanwhile, and it has a job now.
                Some(RunStatus::Waiting | RunStatus::Queued) if !has_job => {
                    self.cancel_job::<K>(scope, id).await?;
                    tokio::time::sleep(POLL).await;
                }
                _ => tokio::time::sleep(POLL).await,
            }
        }
        K::row(self, scope, id).await
    }

    /// Marks the job as cancelled, and ends it if no worker has claimed it. False if there is none.
    async fn cancel_job<K: JobKind>(
        self: &Arc<Self>,
        scope: &Scope,
        id: Uuid,
    ) -> Result<bool, AppError> {
        let state = job::cancel(scope, &self.db, K::TYPE, id, now()).await?;
        if state == Some(ClaimState::Unclaimed) {
            self.conclude_unclaimed::<K>(scope, id).await?;
        }
        Ok(state.is_some())
    }

    /// Ends a job that no worker has claimed. A worker that claims it first sees that it is cancelled.
    async fn conclude_unclaimed<K: JobKind>(
        self: &Arc<Self>,
        scope: &Scope,
        id: Uuid,
    ) -> Result<(), AppError> {
        let lease = Lease { job: id, holder: Uuid::now_v7(), workspace: scope.workspace };
        let Some(job) = job::claim_by_id(&self.db, lease, self.worker.lease).await? else {
            return Ok(());
        };
        let lease = Arc::new(JobLease::new(self.db.clone(), job.scope.clone(), job.lease));
        let attempt = JobAttempt::new(self.clone(), job, lease, CancellationToken::new());
        attempt.conclude::<K>(Conclusion::Cancelled).await.map(drop)
    }
}
