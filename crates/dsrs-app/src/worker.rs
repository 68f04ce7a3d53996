//! The worker: claims jobs while it has free slots, renews their leases, and requeues jobs whose
//! lease expired. With an engine beside the database it passes the queue on instead, and `engine_worker` makes
//! the attempts. May not know what a job does: `job_registry` does.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::pending;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use uuid::Uuid;

use crate::engine::JobLease;
use crate::job::active::StopReason;
use crate::job::driver::ClaimedJob;
use crate::{App, job_registry};
use dsrs_shutdown::WorkGuard;
use dsrs_store::job::{self, Job, JobType, RenewedLease};
use dsrs_store::run::RunRow;
use dsrs_store::{StoreError, background_run, cancellation};

/// How often the worker looks at the queue without a notification.
const POLL: Duration = Duration::from_secs(2);

/// The pause after a query that failed.
const RETRY: Duration = Duration::from_millis(500);

/// How often a lease is renewed within its length.
const HEARTBEATS: u32 = 4;

/// How often executions are looked up among the cancelled runs.
const CANCELLATION_LOOK: Duration = Duration::from_millis(500);

/// How long claimed jobs wait for their runs.
const READ_TIME: Duration = Duration::from_secs(1);

/// Jobs that are claimed with one statement.
const CLAIMED_AT_ONCE: usize = 64;

/// A free slot, and the guard that lets the shutdown wait for the work in it.
type FreeSlot = (OwnedSemaphorePermit, WorkGuard);

/// Empties the queue until the server stops: claims jobs, or passes them to the engine.
pub(crate) async fn empty_queue(app: Arc<App>) {
    match app.engine.is_claimed() {
        true => claim_jobs(app).await,
        false => dispatch_jobs(&app).await,
    }
}

async fn dispatch_jobs(app: &App) {
    let types = job_registry::job_types();
    while !app.shutdown.is_draining() {
        match app.engine.dispatch(&app.db, &types).await {
            Ok(true) => {}
            Ok(false) => wait_for_jobs(app).await,
            Err(error) => {
                log_error(&error, "could not dispatch jobs");
                sleep(RETRY).await;
            }
        }
    }
}

/// Claims jobs until the server stops. A queued job has no task, only its rows.
async fn claim_jobs(app: Arc<App>) {
    let slots = Arc::new(Semaphore::new(app.worker.concurrency as usize));
    let types = job_registry::job_types();
    // Definitions may name tools that are unknown before.
    app.tools_tried().await;
    loop {
        let Some(free) = free_slots(&app, &slots).await else { return };
        match claim(&app, &types, free).await {
            Ok(true) => {}
            Ok(false) => wait_for_jobs(&app).await,
            Err(error) => {
                log_error(&error, "could not claim jobs");
                sleep(RETRY).await;
            }
        }
    }
}

/// Waits for a free slot, and returns all that are free. `None` once the server stops.
async fn free_slots(app: &App, slots: &Arc<Semaphore>) -> Option<Vec<FreeSlot>> {
    let mut permit = slots.clone().acquire_owned().await.ok();
    let mut free = Vec::new();
    while let Some(slot) = permit.take() {
        // Before the claim: a server that stops claims nothing that it would have to give back.
        free.push((slot, app.shutdown.begin_work()?));
        if free.len() < CLAIMED_AT_ONCE {
            permit = slots.clone().try_acquire_owned().ok();
        }
    }
    Some(free)
}

/// Claims and starts as many jobs as there are free slots. False if the queue is empty.
async fn claim(
    app: &Arc<App>,
    types: &[JobType],
    mut free: Vec<FreeSlot>,
) -> Result<bool, StoreError> {
    let holders: Vec<Uuid> = free.iter().map(|_| Uuid::now_v7()).collect();
    let divided = app.active_work.divided_jobs();
    let jobs = job::claim(&app.db, types, &holders, &divided, app.worker.lease).await?;
    let has_jobs = !jobs.is_empty();
    let (jobs, others) = without_second_parts(jobs);
    let mut runs = unstarted_runs(app, &jobs).await;
    for job in jobs {
        let Some((slot, work)) = free.pop() else { break };
        let run = runs.remove(&job.lease.job);
        start(app.clone(), job, run, (slot, work));
    }
    for job in others {
        job::requeue(&app.db, job.lease).await?;
    }
    Ok(has_jobs)
}

/// The runs of these jobs that no attempt has started. What cannot be read soon, each attempt reads itself: the leases
/// are not renewed before the attempts start.
async fn unstarted_runs(app: &App, jobs: &[Job]) -> HashMap<Uuid, RunRow> {
    match timeout(READ_TIME, background_run::unstarted(&app.db, jobs)).await {
        Ok(Ok(runs)) => runs.into_iter().map(|run| (run.id, run)).collect(),
        failed => {
            let cause = failed.map_or_else(
                |_| "no answer in time".to_owned(),
                |read| read.err().map(|error| error.cause()).unwrap_or_default(),
            );
            tracing::debug!(cause, "could not read the runs of claimed jobs together");
            HashMap::new()
        }
    }
}

/// Separates parts of jobs that this claim has already, such as those of another server that was killed: one
/// server works on one part of a job at a time.
fn without_second_parts(jobs: Vec<Job>) -> (Vec<Job>, Vec<Job>) {
    let (parts, whole): (Vec<Job>, Vec<Job>) =
        jobs.into_iter().partition(|job| job.parent.is_some());
    let mut divided: HashSet<Uuid> = whole.iter().map(Job::divided).collect();
    let (mut claimed, mut others) = (whole, Vec::new());
    for part in parts {
        match divided.insert(part.divided()) {
            true => claimed.push(part),
            false => others.push(part),
        }
    }
    (claimed, others)
}

/// Starts an attempt at a job; `run` is the run that it is, if no attempt has started it.
fn start(app: Arc<App>, job: Job, run: Option<RunRow>, (slot, work): FreeSlot) {
    // Only known kinds are claimed.
    let Some(kind) = job_registry::find(&job.kind) else { return };
    let compute = app.compute.clone();
    let lease = JobLease::new(app.db.clone(), job.scope.clone(), job.lease).of_unstarted(run);
    let lease = Arc::new(lease);
    let attempt = kind.drive(app, ClaimedJob { job, lease, work, stop: pending().boxed() });
    let attempt = async move {
        let _slot = slot;
        // A failed attempt holds its job until the lease expires.
        let _ = attempt.await;
    };
    drop(compute.spawn("an attempt at a job", attempt));
}

async fn wait_for_jobs(app: &App) {
    tokio::select! {
        () = app.db.notifications().job_queued() => {}
        () = sleep(POLL) => {}
        () = app.shutdown.draining() => {}
    }
}

/// Renews the leases of this process, and requeues jobs with an expired lease.
pub(crate) async fn renew_leases(app: Arc<App>) {
    let mut heartbeat = interval(app.worker.lease / HEARTBEATS);
    // Heartbeats that were missed are not made up for: one renewal does for all.
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Jobs are requeued only once the database has answered for as long as a lease: after an outage their holders
    // need that time to renew.
    let mut reached = Instant::now();
    loop {
        heartbeat.tick().await;
        match beat_in_time(&app, reached.elapsed() >= app.worker.lease).await {
            Ok(()) => {}
            Err(error) => {
                log_error(&error, "could not renew leases");
                // Other workers could not renew theirs, either. They need time to do so.
                reached = Instant::now();
            }
        }
    }
}

/// The connection for leases may be silent: another one is opened while they still count.
async fn beat_in_time(app: &App, requeues: bool) -> Result<(), StoreError> {
    let late = |_| Err(StoreError::unavailable("leases were not renewed in time"));
    timeout(app.worker.lease / 2, beat(app, requeues)).await.unwrap_or_else(late)
}

async fn beat(app: &App, requeues: bool) -> Result<(), StoreError> {
    let holders = app.active_work.holders();
    if !holders.is_empty() {
        let renewed = app.engine.confirm(&app.db, &holders, app.worker.lease).await?;
        stop_attempts(app, &holders, &renewed);
    }
    if requeues {
        let count = job::requeue_expired(&app.db).await?;
        app.metrics.taken_over(count);
        if count > 0 {
            tracing::warn!(count, "requeued jobs of workers that no longer renew their leases");
        }
    }
    Ok(())
}

/// Stops attempts at cancelled jobs, and attempts that have lost their lease.
fn stop_attempts(app: &App, holders: &[Uuid], renewed: &[RenewedLease]) {
    let cancelled: HashMap<Uuid, bool> =
        renewed.iter().map(|renewed| (renewed.holder, renewed.cancelled)).collect();
    for holder in holders {
        match cancelled.get(holder) {
            // Another worker may have the job already, whose writes count; those of this one are refused.
            None => app.active_work.stop_holder(*holder, StopReason::Lost),
            Some(true) => app.active_work.stop_holder(*holder, StopReason::Cancelled),
            Some(false) => {}
        }
    }
}

/// Stops runs of this process that a client cancelled on another server.
pub(crate) async fn receive_cancellations(app: Arc<App>) {
    let mut cancellations = app.db.notifications().cancellations();
    loop {
        match cancellations.recv().await {
            Ok(cancelled) => {
                app.active_work.cancel(cancelled.workspace, cancelled.run);
            }
            // The next look and the next renewal of leases find the ones that were missed.
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// Looks for cancellations of executions in the database: a notification may be missed. Those of jobs are
/// found when their leases are renewed.
pub(crate) async fn look_for_cancellations(app: Arc<App>) {
    loop {
        sleep(CANCELLATION_LOOK).await;
        let runs = app.active_work.executions();
        if runs.is_empty() {
            continue;
        }
        match cancellation::find(&app.db, &runs).await {
            Ok(found) => {
                for cancelled in found {
                    app.active_work.cancel(cancelled.workspace, cancelled.run);
                }
            }
            Err(error) => log_error(&error, "could not look for cancellations"),
        }
    }
}

fn log_error(error: &StoreError, what: &'static str) {
    match error {
        StoreError::Unavailable { .. } => tracing::debug!(cause = error.cause(), what),
        _ => tracing::error!(cause = error.cause(), what),
    }
}
