//! One attempt at a claimed job, as every kind of job has it. May not know the kinds.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio_util::sync::CancellationToken;

use crate::clock::now;
use crate::engine::AttemptLease;
use crate::job::conclusion::Conclusion;
use crate::job::request::JobRequest;
use crate::json::JsonObject;
use crate::{App, AppError};
use dsrs_store::job::{self, Job, JobEnd, JobType};
use dsrs_store::persist;
use dsrs_store::run::RunStatus;

/// One attempt at a claimed job.
pub struct JobAttempt {
    pub(crate) app: Arc<App>,
    pub(crate) job: Job,
    /// The right to work on it, and where progress is stored.
    pub(crate) lease: Arc<dyn AttemptLease>,
    pub(crate) request: JobRequest,
    pub(crate) start: DateTime<Utc>,
    /// Cancelled when the server stops and the work may take no longer.
    pub(crate) shutdown: CancellationToken,
}

impl JobAttempt {
    pub(crate) fn new(
        app: Arc<App>,
        job: Job,
        lease: Arc<dyn AttemptLease>,
        shutdown: CancellationToken,
    ) -> Self {
        let request = JobRequest::read(&job.request);
        Self { app, job, lease, request, start: now(), shutdown }
    }

    /// The time limit of one run.
    pub(crate) fn timeout(&self) -> Duration {
        let limit = self.app.limits.run_timeout;
        self.request.timeout.map_or(limit, |requested| requested.min(limit))
    }

    /// Writes the conclusion of a job whose result is all in its rows by now. False if the lease is
    /// lost.
    pub(crate) async fn finish(
        &self,
        kind: JobType,
        conclusion: Conclusion<()>,
    ) -> Result<bool, AppError> {
        let (status, error) = match conclusion {
            Conclusion::Finished(()) => (RunStatus::Succeeded, None),
            Conclusion::Cancelled => (RunStatus::Cancelled, None),
            Conclusion::Failed { code, detail } => {
                (RunStatus::Failed, Some(self.problem_json(code, &detail)))
            }
        };
        let end = JobEnd { status, error: error.as_deref(), at: now() };
        Ok(persist(|| job::finish(&self.app.db, kind, self.job.lease, end)).await?)
    }

    /// The error of a job that failed as a whole.
    pub(crate) fn problem_json(&self, code: &str, detail: &str) -> String {
        let mut object = JsonObject::new();
        object.text("detail", detail).text("code", code).raw("errors", "[]");
        object.text("request_id", &self.request.request_id);
        object.finish()
    }
}
