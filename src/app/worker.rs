//! The worker: takes jobs while it has room, says that it is at them, and gives the jobs of workers
//! that are gone to whoever is there. What the work is, others know.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use uuid::Uuid;

use crate::app::batch::attempt::Batches;
use crate::app::evaluation::attempt::Evaluations;
use crate::app::job::active::StopReason;
use crate::app::job::item_job::Taken;
use crate::app::optimization::attempt::OptimizationAttempt;
use crate::app::run::attempt::RunAttempt;
use crate::app::{App, spawn_named};
use crate::shutdown::WorkGuard;
use crate::store::StoreError;
use crate::store::job::{self, Job, JobKind, Renewed};
use crate::store::queue::Queue;

/// How often the queue is looked at when nobody tells of work.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// How long to wait before the database is asked again that could not be reached.
const RETRY: Duration = Duration::from_millis(500);

/// How often a lease is renewed while it lasts.
const BEATS: u32 = 4;

/// Takes jobs until the server stops. One that waits has no task, only its rows.
pub(crate) async fn take_jobs(app: Arc<App>) {
    let slots = Arc::new(Semaphore::new(app.worker.concurrency as usize));
    // Definitions may name tools that are not there before.
    app.tools_tried().await;
    let queue = open_queue(&app).await;
    loop {
        let Ok(slot) = slots.clone().acquire_owned().await else { return };
        let Some(work) = app.shutdown.begin_work() else { return };
        match job::take(&app.db, &queue, Uuid::now_v7(), app.worker.lease).await {
            Ok(Some(job)) => {
                let app = app.clone();
                spawn_named("an attempt at a job", async move {
                    let _slot = slot;
                    attempt(app, job, work).await;
                });
            }
            Ok(None) => {
                drop(work);
                wait_for_work(&app).await;
            }
            Err(error) => {
                drop(work);
                complain(&error, "could not take a job");
                sleep(RETRY).await;
            }
        }
    }
}

async fn attempt(app: Arc<App>, job: Job, work: WorkGuard) {
    match JobKind::parse(&job.kind) {
        Some(JobKind::Run) => RunAttempt::run(app, job, work).await,
        Some(JobKind::Batch) => Taken::make::<Batches>(app, job, work).await,
        Some(JobKind::Evaluation) => Taken::make::<Evaluations>(app, job, work).await,
        Some(JobKind::Optimization) => OptimizationAttempt::make(app, job, work).await,
        None => leave(&app, &job).await,
    }
}

/// The lease lapses, and the next to take it may be one of a newer release, who knows the kind: it is
/// not the job's fault, however often it is taken here.
async fn leave(app: &App, job: &Job) {
    tracing::error!(job = %job.lease.job, kind = job.kind, "no job that is known here");
    if let Err(error) = job::decline(&app.db, job.lease).await {
        complain(&error, "could not leave a job to others");
    }
}

async fn open_queue(app: &App) -> Queue {
    loop {
        match app.db.queue().await {
            Ok(queue) => return queue,
            Err(error) => complain(&error, "could not open the queue"),
        }
        sleep(RETRY).await;
    }
}

async fn wait_for_work(app: &App) {
    tokio::select! {
        () = app.db.news().work() => {}
        () = sleep(LOOK_AGAIN) => {}
        () = app.shutdown.draining() => {}
    }
}

/// Renews the leases of all that is under way here, and takes lapsed ones from whoever held them.
pub(crate) async fn keep_leases(app: Arc<App>) {
    let mut beat = interval(app.worker.lease / BEATS);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut reached = Instant::now();
    loop {
        beat.tick().await;
        match keep_once(&app, reached.elapsed() >= app.worker.lease).await {
            Ok(()) => {}
            Err(error) => {
                complain(&error, "could not renew leases");
                // Others could not renew theirs either: they shall have the time to.
                reached = Instant::now();
            }
        }
    }
}

async fn keep_once(app: &App, reclaims: bool) -> Result<(), StoreError> {
    let holders = app.active_work.holders();
    if !holders.is_empty() {
        let renewed = job::renew(&app.db, &holders, app.worker.lease).await?;
        tell(app, &holders, &renewed);
    }
    if reclaims {
        let count = job::reclaim(&app.db).await?;
        if count > 0 {
            tracing::warn!(count, "took runs over from workers that are gone");
        }
    }
    Ok(())
}

/// Stops what is to stop, and what is another's.
fn tell(app: &App, holders: &[Uuid], renewed: &[Renewed]) {
    let cancelled: HashMap<Uuid, bool> =
        renewed.iter().map(|renewed| (renewed.holder, renewed.cancelled)).collect();
    for holder in holders {
        match cancelled.get(holder) {
            None => app.active_work.stop_holder(*holder, StopReason::Lost),
            Some(true) => app.active_work.stop_holder(*holder, StopReason::Cancelled),
            Some(false) => {}
        }
    }
}

/// Stops runs of this process that were cancelled elsewhere.
pub(crate) async fn hear_cancellations(app: Arc<App>) {
    let mut cancellations = app.db.news().cancellations();
    loop {
        match cancellations.recv().await {
            Ok(run) => {
                app.active_work.cancel(None, run);
            }
            // The next renewal tells of those.
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

fn complain(error: &StoreError, what: &'static str) {
    match error {
        StoreError::Unavailable { .. } => tracing::debug!(cause = error.cause(), what),
        _ => tracing::error!(cause = error.cause(), what),
    }
}
