//! Attempts that the engine starts: each takes over its job, and is driven as any other attempt. If the settings
//! name another engine, what this one still has returns to the database instead. May not know what a job does:
//! `job_registry` does.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use crate::engine::{DocumentError, JobLease, ObjectLease};
use crate::job::active::StopReason;
use crate::job::driver::{ClaimedJob, DriveEnd};
use crate::{App, job_registry};
use dsrs_config::{Config, EngineKey};
use dsrs_restate::{
    EngineEndpoint, EngineSession, Invocation, Service, ServiceNames, Unfinished, Worker, listen,
};
use dsrs_shutdown::WorkGuard;
use dsrs_store::StoreError;
use dsrs_store::background_run;
use dsrs_store::job::{self, Job, TakenOver};
use dsrs_store::persist;

/// Listens for the attempts that the engine starts.
pub(crate) struct EngineListener {
    listener: TcpListener,
    names: ServiceNames,
    key: Option<EngineKey>,
}

impl EngineListener {
    /// Opens the address of the settings; `None` if this process makes no such attempts.
    pub(crate) fn open(config: &Config) -> io::Result<Option<Self>> {
        let restate = config.engine.restate.as_ref().filter(|_| config.worker.enabled);
        let Some(restate) = restate else { return Ok(None) };
        let listener = listen(restate.bind).map_err(|error| {
            io::Error::new(error.kind(), format!("restate.bind {}: {error}", restate.bind))
        })?;
        let names = ServiceNames::new(&restate.prefix);
        Ok(Some(Self { listener, names, key: restate.identity_key }))
    }

    /// Makes attempts until the server stops.
    pub(crate) async fn serve(self, app: Arc<App>) {
        // Definitions may name tools that are unknown before.
        app.tools_tried().await;
        let shutdown = app.shutdown.clone();
        let worker = Arc::new(EngineWorker::new(app));
        let Self { listener, names, key } = self;
        let endpoint = EngineEndpoint { worker, names, key, shutdown };
        endpoint.serve(listener).await;
    }
}

/// Makes the attempts of one process.
#[derive(Clone)]
pub(crate) struct EngineWorker {
    app: Arc<App>,
    slots: Arc<Semaphore>,
}

impl EngineWorker {
    pub(crate) fn new(app: Arc<App>) -> Self {
        let slots = Arc::new(Semaphore::new(app.worker.concurrency as usize));
        Self { app, slots }
    }

    async fn work(self, invocation: Invocation) -> Result<(), Unfinished> {
        self.check_installation(&invocation).await?;
        let is_draining = self.app.engine.is_claimed();
        match (invocation.service, is_draining) {
            (Service::Job, true) => self.return_job(invocation.key).await,
            (Service::Job, false) => self.job(invocation.key, &invocation.session).await,
            (Service::Run, is_draining) => self.run(invocation, is_draining).await,
        }
    }

    /// Leaves work of another database to its own workers: here it has no rows, and would be taken for work that has
    /// ended.
    async fn check_installation(&self, invocation: &Invocation) -> Result<(), Unfinished> {
        let Some(sender) = invocation.installation else { return Ok(()) };
        let own = persist(|| self.app.db.installation()).await.map_err(unfinished)?;
        if sender == own {
            return Ok(());
        }
        tracing::warn!(key = %invocation.key, %sender, %own, "{FOREIGN}");
        Err(Unfinished::Elsewhere(FOREIGN))
    }

    /// Makes an attempt at a job.
    async fn job(self, id: Uuid, session: &EngineSession) -> Result<(), Unfinished> {
        // Before it waits: the slots may all be of jobs that wait for their parts.
        self.decline_part(id).await?;
        let slot = self.slot(session).await?;
        let work = self.begin_work()?;
        let Some(mut job) = self.take_over(id).await? else { return Ok(()) };
        if u32::try_from(job.attempt).is_ok_and(|attempt| attempt > self.app.worker.attempts) {
            wait(LOSS_IS_KNOWN, session).await;
            let counted = persist(|| job::attempts(&self.app.db, job.lease)).await;
            job.attempt = counted.map_err(unfinished)?.unwrap_or(job.attempt);
        }
        let lease = JobLease::new(self.app.db.clone(), job.scope.clone(), job.lease);
        // A job that is requeued is in the queue of the database, and is sent again. One that this attempt has lost
        // must not be left without an attempt, so the engine starts another, which may find nothing to do.
        let (lease, stop) = (Arc::new(lease), stop_reason(session.clone()));
        let (db, lost) = (self.app.db.clone(), job.lease);
        let forgive = async move { persist(|| job::forgive_attempt(&db, lost)).await };
        match self.drive(ClaimedJob { job, lease, work, stop }, slot, forgive).await? {
            DriveEnd::Ended | DriveEnd::Requeued => Ok(()),
            DriveEnd::Lost => Err(Unfinished::Elsewhere(LOST)),
        }
    }

    /// Makes an attempt at a run whose progress is in the engine.
    async fn run(self, invocation: Invocation, is_draining: bool) -> Result<(), Unfinished> {
        let Invocation { input, state, session, .. } = invocation;
        let lease = ObjectLease::open(self.app.db.clone(), session.clone(), &input, &state);
        let lease = Arc::new(lease.map_err(|error| match error {
            DocumentError::Newer(_) => Unfinished::Elsewhere("a newer release made the run"),
            DocumentError::Malformed(_) => Unfinished::Failed(error.to_string()),
        })?);
        wait(pause_before(lease.begun()), &session).await;
        persist(|| lease.read_forgiven()).await.map_err(unfinished)?;
        if lease.counted() > self.app.worker.attempts {
            wait(LOSS_IS_KNOWN, &session).await;
            persist(|| lease.read_forgiven()).await.map_err(unfinished)?;
        }
        let slot = self.slot(&session).await?;
        let work = self.begin_work()?;
        if persist(|| lease.write_end(self.app.worker.attempts)).await.map_err(unfinished)? {
            return Ok(());
        }
        if is_draining {
            return persist(|| lease.return_to_queue()).await.map_err(unfinished);
        }
        let (job, held) = (lease.job(background_run::JOB), lease.clone());
        let (stop, lost) = (stop_reason(session), lease.clone());
        let forgive = async move { persist(|| lost.forgive()).await };
        match self.drive(ClaimedJob { job, lease: held, work, stop }, slot, forgive).await? {
            DriveEnd::Ended => Ok(()),
            // The database refused it: the run has ended or has a job.
            DriveEnd::Lost if lease.is_over() => Ok(()),
            DriveEnd::Lost => Err(Unfinished::Elsewhere(LOST)),
            DriveEnd::Requeued => Err(Unfinished::Elsewhere("the worker is stopping")),
        }
    }

    async fn slot(&self, session: &EngineSession) -> Result<OwnedSemaphorePermit, Unfinished> {
        let slot = tokio::select! {
            slot = self.slots.clone().acquire_owned() => slot.ok(),
            () = session.lost().cancelled() => None,
        };
        slot.ok_or(Unfinished::Elsewhere("the connection to the engine is lost"))
    }

    /// Drives an attempt to its end. It stops if the engine has replaced it: then the attempt does not count, because
    /// this worker lives.
    async fn drive(
        &self,
        claimed: ClaimedJob,
        slot: OwnedSemaphorePermit,
        forgive: impl Future<Output = Result<(), StoreError>> + Send + 'static,
    ) -> Result<DriveEnd, Unfinished> {
        let Some(kind) = job_registry::find(&claimed.job.kind) else {
            return Err(Unfinished::Failed(format!(
                "this release knows no `{}` jobs",
                claimed.job.kind
            )));
        };
        let attempt = kind.drive(self.app.clone(), claimed);
        let attempt = async move {
            let _slot = slot;
            let end = attempt.await;
            // Here, because nothing waits for an attempt whose connection is lost.
            if matches!(end, Ok(DriveEnd::Lost))
                && let Err(error) = forgive.await
            {
                tracing::error!(cause = error.cause(), "an attempt that was lost counts");
            }
            end
        };
        match self.app.compute().spawn("an attempt at a job", attempt).await {
            Ok(Some(Ok(end))) => Ok(end),
            _ => Err(Unfinished::Failed(
                "the attempt failed; the log of the worker has the cause".to_owned(),
            )),
        }
    }

    /// Leaves a part of a job to other workers if this one works on the job already.
    async fn decline_part(&self, id: Uuid) -> Result<(), Unfinished> {
        let (db, divided) = (&self.app.db, self.app.active_work.divided_jobs());
        if divided.is_empty() {
            return Ok(());
        }
        let declined = persist(|| job::decline_part(db, id, Uuid::now_v7(), &divided)).await;
        match declined.map_err(unfinished)? {
            true => Err(Unfinished::Declined(DIVIDED)),
            false => Ok(()),
        }
    }

    fn begin_work(&self) -> Result<WorkGuard, Unfinished> {
        let work = self.app.shutdown.begin_work();
        work.ok_or(Unfinished::Elsewhere("the worker is stopping"))
    }

    /// Takes over a job, unless nothing is left to do.
    async fn take_over(&self, id: Uuid) -> Result<Option<Job>, Unfinished> {
        let (db, holder, kinds) = (&self.app.db, Uuid::now_v7(), job_registry::job_types());
        // One server works on one part of a job at a time.
        let divided = self.app.active_work.divided_jobs();
        let taken = persist(|| job::take_over(db, id, holder, &kinds, &divided)).await;
        match taken.map_err(unfinished)? {
            TakenOver::Job(job) => Ok(Some(*job)),
            TakenOver::Nothing => Ok(None),
            TakenOver::Divided => Err(Unfinished::Declined(DIVIDED)),
            TakenOver::Newer => Err(Unfinished::Elsewhere("a newer release made the job")),
        }
    }

    async fn return_job(&self, id: Uuid) -> Result<(), Unfinished> {
        let returned = persist(|| job::return_to_queue(&self.app.db, id)).await;
        returned.map(drop).map_err(unfinished)
    }
}

impl Worker for EngineWorker {
    fn attempt(&self, invocation: Invocation) -> BoxFuture<'static, Result<(), Unfinished>> {
        self.clone().work(invocation).boxed()
    }
}

/// The attempts that begin at once, the pause before the next, and how often it doubles.
const UNPAUSED_ATTEMPTS: u32 = 2;
const PAUSE: Duration = Duration::from_secs(1);
const MOST_DOUBLINGS: u32 = 3;

/// The time in which a worker learns that its connection to the engine is lost, and notes that it lives: no work is
/// given up before.
const LOSS_IS_KNOWN: Duration = Duration::from_secs(10);

const DIVIDED: &str = "this worker works on another part of the job";
const LOST: &str = "another attempt has the work";
const FOREIGN: &str =
    "another installation has sent the work; docs/operations/engine.md says what to do";

/// The pause before an attempt at a run, of so many without progress: a cause that takes workers with it may pass
/// meanwhile. A worker that ends within the pause has not begun.
fn pause_before(attempts: u32) -> Duration {
    match attempts.checked_sub(UNPAUSED_ATTEMPTS + 1) {
        Some(paused) => PAUSE * 2u32.pow(paused.min(MOST_DOUBLINGS)),
        None => Duration::ZERO,
    }
}

/// Waits, unless the engine ends or cancels the attempt.
async fn wait(time: Duration, session: &EngineSession) {
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = session.lost().cancelled() => {}
        () = session.cancelled().cancelled() => {}
    }
}

/// Ends when an attempt is to stop before its end.
fn stop_reason(session: EngineSession) -> BoxFuture<'static, StopReason> {
    async move {
        tokio::select! {
            () = session.lost().cancelled() => StopReason::Lost,
            () = session.cancelled().cancelled() => StopReason::Cancelled,
        }
    }
    .boxed()
}

fn unfinished(error: StoreError) -> Unfinished {
    tracing::error!(cause = error.cause(), "an attempt of the engine failed");
    Unfinished::Failed("the database refused it; the log of the worker has the cause".to_owned())
}
