//! Jobs that consist of many items, from the moment someone takes one: an attempt at it, up to its end or
//! back into the queue, and its cancellation. What items are is `item_work`'s to be told; which tables
//! there are, each kind of job knows.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;
use uuid::Uuid;

use crate::app::clock::now;
use crate::app::job::active::{ActiveGuard, StopReason};
use crate::app::job::item_work::{Came, ItemWork, work_on};
use crate::app::json::JsonObject;
use crate::app::persist::persist;
use crate::app::run::attempt::JobRequest;
use crate::app::{App, AppError};
use crate::shutdown::WorkGuard;
use crate::store::job::{self, Held, Job, JobKind, Lease};
use crate::store::run::RunStatus;
use crate::store::{Scope, StoreError};

/// How long a cancellation waits for the end, before it answers how the job stands.
const UNTIL_ENDED: Duration = Duration::from_secs(5);

const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A kind of job that consists of many items.
pub(crate) trait ItemJob: Send + Sync + 'static {
    /// How it stands.
    type Row: Send + Sync;

    /// What is done with its items.
    type Work: ItemWork;

    /// Which kind.
    const KIND: JobKind;

    /// What one is called, with its article.
    const A: &'static str;

    /// What an item of it is called, with its article.
    const AN_ITEM: &'static str;

    /// How it stands.
    fn row(
        scope: &Scope,
        app: &App,
        id: Uuid,
    ) -> impl Future<Output = Result<Self::Row, StoreError>> + Send;

    /// Whether it has ended, and how.
    fn status(row: &Self::Row) -> RunStatus;

    /// Notes that work on it begins; false when the lease is lost.
    fn begin(
        app: &App,
        lease: Lease,
        at: DateTime<Utc>,
    ) -> impl Future<Output = Result<bool, StoreError>> + Send;

    /// What is to be done with its items, and how many at a time.
    fn work(
        taken: &Taken,
        row: &Self::Row,
        guard: &ActiveGuard,
    ) -> impl Future<Output = Result<(Self::Work, usize), AppError>> + Send;

    /// Why it fails when no item more is wanted: code and detail.
    fn enough(row: &Self::Row) -> (&'static str, String);

    /// Writes how it ended; false when the lease is lost.
    fn finish(
        taken: &Taken,
        status: RunStatus,
        error: Option<&str>,
    ) -> impl Future<Output = Result<bool, AppError>> + Send;
}

/// A job that was taken.
pub(crate) struct Taken {
    pub(crate) app: Arc<App>,
    pub(crate) job: Job,
    pub(crate) request: JobRequest,
    start: DateTime<Utc>,
}

impl Taken {
    fn of(app: Arc<App>, job: Job) -> Self {
        let request = JobRequest::read(&job.request);
        Self { app, job, request, start: now() }
    }

    /// How long an item may take.
    pub(crate) fn timeout(&self) -> Duration {
        let limit = self.app.limits.run_timeout;
        self.request.timeout.map_or(limit, |wanted| wanted.min(limit))
    }

    /// Works on it until it has ended, is another's, or the server ends.
    pub(crate) async fn make<J: ItemJob>(app: Arc<App>, job: Job, work: WorkGuard) {
        let (id, number) = (job.lease.job, job.attempt);
        let cancel = work.cancellation().child_token();
        let (workspace, holder) = (job.scope.workspace, job.lease.holder);
        let guard = app.active_work.register(workspace, id, Some(holder), cancel);
        if job.cancelled {
            guard.stop(StopReason::Cancelled);
        }
        let kind = job.kind.clone();
        let taken = Self::of(app, job);
        if let Err(error) = taken.work::<J>(Arc::new(guard), &work).await {
            // The lease lapses, and the job is tried again.
            tracing::error!(job = %id, kind, number, %error, "an attempt at a job broke off");
        }
    }

    async fn work<J: ItemJob>(
        &self,
        guard: Arc<ActiveGuard>,
        work: &WorkGuard,
    ) -> Result<(), AppError> {
        let (app, lease) = (&self.app, self.job.lease);
        let row = persist(|| J::row(&self.job.scope, app, lease.job)).await?;
        let limit = app.worker.attempts;
        if u32::try_from(self.job.attempt).unwrap_or(0) > limit {
            return self.fail::<J>("run_abandoned", &abandoned::<J>(limit)).await;
        }
        if !persist(|| J::begin(app, lease, self.start)).await? {
            return Ok(());
        }
        let (items, at_once) = match J::work(self, &row, &guard).await {
            Ok((items, at_once)) => (Arc::new(items), at_once.max(1)),
            Err(AppError::Unavailable(_)) => return self.give_back().await,
            Err(error) => {
                tracing::error!(job = %lease.job, %error, "{} cannot be worked on", J::A);
                let detail = format!(
                    "{} that was accepted cannot be worked on; the log has the cause",
                    J::A
                );
                return self.fail::<J>("internal", &detail).await;
            }
        };
        let came = work_on(app, &items, &guard, at_once).await?;
        match (guard.stopped(), came) {
            (Some(StopReason::Lost), _) => Ok(()),
            (Some(StopReason::Cancelled), _) => self.finish::<J>(RunStatus::Cancelled, None).await,
            (Some(StopReason::Enough), _) => {
                let (code, detail) = J::enough(&row);
                self.fail::<J>(code, &detail).await
            }
            (None, Came::Through) => self.finish::<J>(RunStatus::Succeeded, None).await,
            (None, Came::Part) => {
                let cut = work.cancellation().is_cancelled();
                tracing::debug!(job = %lease.job, cut, "{} goes back into the queue", J::A);
                self.give_back().await
            }
        }
    }

    async fn fail<J: ItemJob>(&self, code: &str, detail: &str) -> Result<(), AppError> {
        let mut error = JsonObject::new();
        error.text("detail", detail).text("code", code).raw("errors", "[]");
        error.text("request_id", &self.request.request_id);
        self.finish::<J>(RunStatus::Failed, Some(&error.finish())).await
    }

    async fn finish<J: ItemJob>(
        &self,
        status: RunStatus,
        error: Option<&str>,
    ) -> Result<(), AppError> {
        if !J::finish(self, status, error).await? {
            let job = self.job.lease.job;
            tracing::info!(%job, "{} was taken over; its end here is dropped", J::A);
        }
        Ok(())
    }

    async fn give_back(&self) -> Result<(), AppError> {
        persist(|| job::give_back(&self.app.db, self.job.lease)).await?;
        Ok(())
    }
}

fn abandoned<J: ItemJob>(limit: u32) -> String {
    format!(
        "{limit} workers ended one after the other without bringing {} to its end, which is the limit \
         (`worker.attempts`); the results so far are kept",
        J::AN_ITEM
    )
}

impl App {
    /// Stops a job, wherever it is. Answers how it stands, which may be `running` still, when the one who
    /// works on it does not answer.
    pub(crate) async fn item_job_cancel<J: ItemJob>(
        self: &Arc<Self>,
        scope: &Scope,
        id: Uuid,
    ) -> Result<J::Row, AppError> {
        let status = J::status(&J::row(scope, self, id).await?);
        if status.has_ended() {
            let kind = J::KIND.as_str();
            return Err(AppError::RunFinished(format!("the {kind} has ended already ({status})")));
        }
        if job::cancel(scope, &self.db, J::KIND, id).await? == Some(Held::ByNobody) {
            // Whoever takes it meanwhile sees that it is to stop.
            let lease = Lease { job: id, holder: Uuid::now_v7() };
            if let Some(job) = job::seize(&self.db, lease, self.worker.lease).await? {
                let taken = Taken::of(self.clone(), job);
                taken.finish::<J>(RunStatus::Cancelled, None).await?;
            }
        }
        self.active_work.cancel(Some(scope.workspace), id);
        let deadline = Instant::now() + UNTIL_ENDED;
        loop {
            let row = J::row(scope, self, id).await?;
            if J::status(&row).has_ended() || Instant::now() >= deadline {
                return Ok(row);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}
