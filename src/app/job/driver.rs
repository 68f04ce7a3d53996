//! The driver: runs an attempt at a claimed job, up to its conclusion or back to the queue. May not know
//! any particular kind of job.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::app::job::active::{ActiveGuard, HeldJob, StopReason};
use crate::app::job::attempt::JobAttempt;
use crate::app::job::conclusion::{AttemptEnd, Conclusion};
use crate::app::job::kind::JobKind;
use crate::app::persist::persist;
use crate::app::{App, AppError};
use crate::shutdown::WorkGuard;
use crate::store::group_writer;
use crate::store::job::{self, Job, JobType};

/// A [`JobKind`] as the registry lists it.
pub(crate) trait RegisteredJobKind: Send + Sync {
    /// The type of the job in the store.
    fn job_type(&self) -> JobType;

    /// Runs an attempt at a claimed job.
    fn drive(&self, app: Arc<App>, job: Job, work: WorkGuard) -> BoxFuture<'static, ()>;
}

impl<K: JobKind> RegisteredJobKind for K {
    fn job_type(&self) -> JobType {
        K::TYPE
    }

    fn drive(&self, app: Arc<App>, job: Job, work: WorkGuard) -> BoxFuture<'static, ()> {
        drive::<K>(app, job, work).boxed()
    }
}

/// Runs an attempt until the job ends, another worker has claimed it, or the server stops.
pub(crate) async fn drive<K: JobKind>(app: Arc<App>, job: Job, work: WorkGuard) {
    let (id, number) = (job.lease.job, job.attempt);
    let cancel = work.cancellation().child_token();
    let (workspace, holder) = (job.scope.workspace, job.lease.holder);
    let divided = K::IS_DIVIDED.then(|| job.divided());
    let held = HeldJob { holder, divided };
    let guard = app.active_work.register(workspace, id, Some(held), cancel);
    if job.cancelled {
        guard.stop(StopReason::Cancelled);
    }
    let attempt = JobAttempt::new(app, job, work.cancellation().clone());
    if let Err(error) = attempt.work::<K>(&Arc::new(guard)).await {
        // The lease expires, and another attempt follows.
        let kind = K::TYPE.as_str();
        tracing::error!(kind, job = %id, attempt = number, %error, "an attempt at a job failed");
    }
}

impl JobAttempt {
    async fn work<K: JobKind>(&self, guard: &Arc<ActiveGuard>) -> Result<(), AppError> {
        if guard.stopped() == Some(StopReason::Cancelled) {
            return self.conclude::<K>(Conclusion::Cancelled).await;
        }
        let (db, lease, limit) = (&self.app.db, self.job.lease, self.app.worker.attempts);
        if u32::try_from(self.job.attempt).unwrap_or(0) > limit {
            let detail = K::abandoned(limit);
            return self.conclude::<K>(Conclusion::failed("run_abandoned", detail)).await;
        }
        if !persist(|| group_writer::begin(db, K::TYPE, lease, self.start)).await? {
            return Ok(());
        }
        let end = match K::load(self, guard).await {
            Ok(work) => K::run(self, work, guard).await?,
            Err(error @ AppError::Unavailable(_)) => {
                // If the database answers, it is this job that cannot be loaded: the attempt counts.
                if !self.app.shutdown.is_draining() && db.ping().await.is_ok() {
                    return Err(error);
                }
                AttemptEnd::Requeue
            }
            Err(error) => {
                let kind = K::TYPE.as_str();
                tracing::error!(kind, job = %lease.job, %error, "a job cannot be loaded");
                let detail = format!("the {kind} cannot be loaded any more; the log has the cause");
                Conclusion::failed("internal", detail).into()
            }
        };
        match end {
            _ if guard.stopped() == Some(StopReason::Lost) => Ok(()),
            AttemptEnd::Concluded(conclusion) => self.conclude::<K>(conclusion).await,
            AttemptEnd::Requeue => {
                tracing::debug!(job = %lease.job, "a job is requeued");
                persist(|| job::requeue(db, lease)).await?;
                Ok(())
            }
            AttemptEnd::Released => Ok(()),
        }
    }

    /// Writes how the job ended.
    pub(crate) async fn conclude<K: JobKind>(
        &self,
        conclusion: Conclusion<K::Output>,
    ) -> Result<(), AppError> {
        if !K::conclude(self, conclusion).await? {
            let (kind, job) = (K::TYPE.as_str(), self.job.lease.job);
            tracing::info!(kind, %job, "another worker has claimed the job; this result is dropped");
        }
        Ok(())
    }
}
