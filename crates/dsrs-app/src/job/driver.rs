//! The driver: runs an attempt at a claimed job, up to its conclusion or back to the queue. May not know
//! any particular kind of job.

use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::engine::AttemptLease;
use crate::job::active::{ActiveGuard, HeldJob, StopReason};
use crate::job::attempt::JobAttempt;
use crate::job::conclusion::{AttemptEnd, Conclusion};
use crate::job::kind::JobKind;
use crate::{App, AppError};
use dsrs_shutdown::WorkGuard;
use dsrs_store::job::{Job, JobType};
use dsrs_store::persist;

/// A job that this process may work on.
pub(crate) struct ClaimedJob {
    pub(crate) job: Job,
    /// The right to work on it.
    pub(crate) lease: Arc<dyn AttemptLease>,
    /// Lets the shutdown wait for the work.
    pub(crate) work: WorkGuard,
    /// Ends when the attempt is to stop.
    pub(crate) stop: BoxFuture<'static, StopReason>,
}

/// How an attempt ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DriveEnd {
    /// The job has ended, is parked, or the attempt has nothing to do.
    Ended,
    /// Another attempt has the job, or had it.
    Lost,
    /// The job needs another attempt.
    Requeued,
}

/// The result of an attempt.
pub(crate) type DriveResult = Result<DriveEnd, AppError>;

/// A [`JobKind`] as the registry lists it.
pub(crate) trait RegisteredJobKind: Send + Sync {
    /// The type of the job in the store.
    fn job_type(&self) -> JobType;

    /// Runs an attempt at a claimed job. The error is one after which the job is still held.
    fn drive(&self, app: Arc<App>, claimed: ClaimedJob) -> BoxFuture<'static, DriveResult>;
}

impl<K: JobKind> RegisteredJobKind for K {
    fn job_type(&self) -> JobType {
        K::TYPE
    }

    fn drive(&self, app: Arc<App>, claimed: ClaimedJob) -> BoxFuture<'static, DriveResult> {
        drive::<K>(app, claimed).boxed()
    }
}

/// Runs an attempt until the job ends, another worker has claimed it, or the server stops.
async fn drive<K: JobKind>(app: Arc<App>, claimed: ClaimedJob) -> DriveResult {
    let ClaimedJob { job, lease, work, mut stop } = claimed;
    let (id, number) = (job.lease.job, job.attempt);
    let cancel = work.cancellation().child_token();
    let (workspace, holder) = (job.scope.workspace, job.lease.holder);
    let divided = K::IS_DIVIDED.then(|| job.divided());
    // The cancellation of a run that has no job is stored elsewhere, as that of an execution.
    let held = (!job.lease.is_of_engine()).then_some(HeldJob { holder, divided });
    let guard = app.active_work.register(workspace, id, held, cancel);
    if job.cancelled {
        guard.stop(StopReason::Cancelled);
    }
    let attempt = JobAttempt::new(app, job, lease, work.cancellation().clone());
    let guard = Arc::new(guard);
    let mut working = pin!(attempt.work::<K>(&guard));
    let ended = tokio::select! {
        ended = &mut working => ended,
        why = &mut stop => {
            guard.stop(why);
            working.await
        }
    };
    ended.inspect_err(|error| {
        // The lease expires or the engine starts another attempt.
        let kind = K::TYPE.as_str();
        tracing::error!(kind, job = %id, attempt = number, %error, "an attempt at a job failed");
    })
}

impl JobAttempt {
    async fn work<K: JobKind>(&self, guard: &Arc<ActiveGuard>) -> DriveResult {
        // Before the count of attempts: a job that a client cancelled ends as cancelled, not as abandoned.
        if guard.stopped() == Some(StopReason::Cancelled) {
            return self.conclude::<K>(Conclusion::Cancelled).await;
        }
        let (db, id, limit) = (&self.app.db, self.job.lease.job, self.app.worker.attempts);
        if u32::try_from(self.job.attempt).unwrap_or(0) > limit {
            let detail = K::abandoned(limit);
            return self.conclude::<K>(Conclusion::failed("run_abandoned", detail)).await;
        }
        if !persist(|| self.lease.begin(K::TYPE, self.start)).await? {
            return Ok(DriveEnd::Lost);
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
                tracing::error!(kind, job = %id, %error, "a job cannot be loaded");
                let detail = format!("the {kind} cannot be loaded any more; the log has the cause");
                Conclusion::failed("internal", detail).into()
            }
        };
        match end {
            // Whatever the work returned: this attempt may write nothing.
            _ if guard.stopped() == Some(StopReason::Lost) => Ok(DriveEnd::Lost),
            AttemptEnd::Concluded(conclusion) => self.conclude::<K>(conclusion).await,
            AttemptEnd::Requeue => {
                tracing::debug!(job = %id, "a job is requeued");
                persist(|| self.lease.requeue()).await?;
                Ok(DriveEnd::Requeued)
            }
            AttemptEnd::Released => Ok(DriveEnd::Ended),
        }
    }

    /// Writes how the job ended.
    pub(crate) async fn conclude<K: JobKind>(
        &self,
        conclusion: Conclusion<K::Output>,
    ) -> DriveResult {
        if !K::conclude(self, conclusion).await? {
            let (kind, job) = (K::TYPE.as_str(), self.job.lease.job);
            tracing::info!(kind, %job, "another worker has claimed the job; this result is dropped");
            return Ok(DriveEnd::Lost);
        }
        Ok(DriveEnd::Ended)
    }
}
