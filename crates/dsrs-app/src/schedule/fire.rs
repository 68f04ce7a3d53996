//! Fires schedules. Every server that answers requests looks for times that are over and writes their firings, then
//! claims firings and starts their work (`work`). A server that is killed in between leaves a firing that another one
//! takes, with the same idempotency key. May not know HTTP.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dsrs::document::parse_word;
use dsrs_api::schedule::Overlap;
use futures_util::future::join_all;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::calendar;
use super::work::{ScheduledWork, WorkRefusal};
use crate::quota::Start;
use crate::{App, AppError, Identity};
use dsrs_store::schedule_firing::{self, ClaimedFiring, FiringOutcome};
use dsrs_store::{Scope, StoreError, schedule};

/// How often a server checks which schedules are due.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The pause after a query that failed.
const PAUSE: Duration = Duration::from_secs(1);

/// Firings that one server starts at the same time.
const CONCURRENT: i64 = 8;

/// How long starting work may take, before another server tries.
const LEASE: Duration = Duration::from_secs(60);

/// How long a firing waits before the server checks again whether earlier work has ended.
const TURN: Duration = Duration::from_secs(2);

/// How often work is tried to start that cannot be accepted now, and the longest pause between two tries.
const MOST_ATTEMPTS: i32 = 20;
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The details of refusals of a firing before its work is requested.
const KEY_ENDED: &str = "the key that this schedule runs as was revoked or has expired; change the schedule with \
     another key";
const LIMIT: &str = "a limit of the key that this schedule runs as is reached";

/// Fires schedules until the server stops.
pub(crate) async fn fire_always(app: Arc<App>) {
    while !app.shutdown.is_draining() {
        match fire_due(&app).await {
            Ok(true) => continue,
            Ok(false) => {}
            Err(error) => {
                log_error(&error);
                sleep(PAUSE).await;
            }
        }
        tokio::select! {
            () = sleep(POLL_INTERVAL) => {}
            () = app.firings_due.notified() => {}
            () = app.shutdown.draining() => {}
        }
    }
}

/// Writes firings and starts work. Whether there was any.
async fn fire_due(app: &Arc<App>) -> Result<bool, StoreError> {
    if !app.fires_schedules.load(Ordering::Relaxed) {
        return Ok(false);
    }
    let advanced = schedule::advance(&app.db, calendar::advance).await?;
    let lease = LEASE.min(app.worker.lease * 4);
    let claimed = schedule_firing::claim(&app.db, CONCURRENT, lease).await?;
    let any = advanced > 0 || !claimed.is_empty();
    let firings = claimed.into_iter().map(|firing| fire(app, firing, lease));
    for result in join_all(firings).await {
        result?;
    }
    Ok(any)
}

async fn fire(app: &Arc<App>, firing: ClaimedFiring, lease: Duration) -> Result<(), StoreError> {
    let outcome = outcome(app, &firing, lease).await?;
    let recorded = schedule_firing::record(&app.db, &firing, &outcome).await?;
    if let Some(outcome) = ending(&outcome).filter(|_| recorded) {
        app.metrics.schedule_firing(outcome);
    }
    Ok(())
}

/// How a firing ended, if it did.
fn ending(outcome: &FiringOutcome) -> Option<&'static str> {
    match outcome {
        FiringOutcome::Started(_) => Some("started"),
        FiringOutcome::Refused(_) => Some("refused"),
        FiringOutcome::Skipped => Some("skipped"),
        FiringOutcome::Later(_) | FiringOutcome::Waiting(_) => None,
    }
}

async fn outcome(
    app: &Arc<App>,
    firing: &ClaimedFiring,
    lease: Duration,
) -> Result<FiringOutcome, StoreError> {
    if let Some(outcome) = overlapping(app, firing).await? {
        return Ok(outcome);
    }
    let scope = Scope { workspace: firing.workspace_id, actor: (&*firing.runs_as).into() };
    let identity = match app.access.of_actor(&scope).await {
        Ok(Some(identity)) => identity,
        Ok(None) => {
            schedule::disable_for_key(&app.db, firing.schedule_id, &firing.runs_as).await?;
            let refusal = WorkRefusal::from(AppError::Forbidden(KEY_ENDED.to_owned()));
            return Ok(FiringOutcome::Refused(refusal.problem));
        }
        // The key could not be read, which says nothing about it: the claim does not count.
        Err(_) => return Ok(FiringOutcome::Waiting(TURN)),
    };
    // A newer release may have another kind of work.
    let Some(target) = parse_word(&firing.target) else {
        return Ok(FiringOutcome::Waiting(LONGEST_PAUSE));
    };
    let work = ScheduledWork { target, graph: firing.graph_id, request: firing.request.clone() };
    Ok(match start(app, identity, work, firing.id, lease).await {
        Ok(work) => FiringOutcome::Started(work),
        Err(WorkRefusal { retry_after: Some(wait), .. }) if firing.attempts < MOST_ATTEMPTS => {
            later(firing, wait)
        }
        Err(refusal) => FiringOutcome::Refused(refusal.problem),
    })
}

/// Starts the work of a firing within the limits of its key, on the threads for computations.
async fn start(
    app: &Arc<App>,
    identity: Arc<Identity>,
    work: ScheduledWork,
    firing: Uuid,
    lease: Duration,
) -> Result<Uuid, WorkRefusal> {
    let place = match app.quotas.of(&identity) {
        Some(quota) => app.quotas.admit(&quota, Some(Start::Job)).await,
        None => Ok(Ok(None)),
    };
    let Ok(Ok(_place)) = place else { return Err(AppError::TooBusy(LIMIT.to_owned()).into()) };
    let (time, endless, starter) = (app.limits.run_timeout, CancellationToken::new(), app.clone());
    let started = async move { starter.start_once(&identity, &work, firing, lease).await };
    let started = app.compute().spawn_within("the work of a firing", time, &endless, started);
    let panicked = || AppError::Internal("starting the work of a firing panicked".to_owned());
    started.await.ok().flatten().unwrap_or_else(|| Err(panicked().into()))
}

/// What follows if earlier work is in progress.
async fn overlapping(
    app: &App,
    firing: &ClaimedFiring,
) -> Result<Option<FiringOutcome>, StoreError> {
    let outcome = match parse_word(&firing.overlap) {
        _ if firing.by_hand => return Ok(None),
        Some(Overlap::Queue) => FiringOutcome::Waiting(TURN),
        Some(Overlap::Skip) => FiringOutcome::Skipped,
        _ => return Ok(None),
    };
    let is_active = schedule_firing::has_active_work(&app.db, firing).await?;
    Ok(is_active.then_some(outcome))
}

fn later(firing: &ClaimedFiring, retry_after: u64) -> FiringOutcome {
    // More than 64 s is cut below, and a large shift would overflow.
    let own = Duration::from_secs(1 << firing.attempts.clamp(0, 6));
    let asked = Duration::from_secs(retry_after);
    FiringOutcome::Later(own.max(asked).min(LONGEST_PAUSE))
}

fn log_error(error: &StoreError) {
    let what = "could not fire schedules";
    match error {
        StoreError::Unavailable { .. } => tracing::debug!(cause = error.cause(), what),
        _ => tracing::error!(cause = error.cause(), what),
    }
}
