//! Judges runs in the background: every server claims runs that wait for their scores, judges them within the budget of
//! the day, and stores the scores as feedback. A run whose server is killed is judged by another one. May not know SQL.

use std::sync::Arc;
use std::time::Duration;

use dsrs::lm::Usage;
use dsrs::optimize::{Evaluator, Example, RolloutFailure, Score};
use dsrs::value::{Fields, Payload};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::clock::now;
use crate::run::documents::usage_json;
use crate::{App, AppError, spawn_named};
use dsrs_api::feedback::ONLINE;
use dsrs_store::feedback::{FeedbackRow, RatedRun};
use dsrs_store::online_evaluation::{self, OnlineEvaluationRow};
use dsrs_store::online_sample::{self, ClaimedSample, JudgingSpent};
use dsrs_store::run::RunRow;
use dsrs_store::{Scope, job};

/// Runs that a server judges at a time.
const CONCURRENT: usize = 4;

/// A run that has waited for longer stays without scores: what waits is bounded if metrics are slower than runs.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// How often runs that have waited for too long are removed.
const REMOVAL: Duration = Duration::from_secs(60);

/// How often a server looks for runs.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The time of all metrics of a run.
const TIME: Duration = Duration::from_secs(120);

/// After so many attempts a run stays without scores.
const ATTEMPTS: i32 = 3;

/// The scores of a run by name, and what they cost.
struct JudgedRun {
    scores: Vec<(String, Score)>,
    spent: Usage,
    /// Whether a metric failed for a reason that says nothing about the run.
    is_unmeasured: bool,
}

/// Judges until the server stops.
pub(crate) async fn score_always(app: Arc<App>) {
    let places = Arc::new(Semaphore::new(CONCURRENT));
    let mut removed: Option<Instant> = None;
    while !app.shutdown.is_draining() {
        if removed.is_none_or(|removed| removed.elapsed() > REMOVAL) {
            remove_old(&app).await;
            removed = Some(Instant::now());
        }
        let free = places.available_permits();
        let claimed = if free > 0 { claim(&app, free).await } else { Vec::new() };
        if claimed.is_empty() {
            sleep(POLL_INTERVAL).await;
        }
        for sample in claimed {
            // Only this loop takes places, so one is free.
            let Ok(place) = places.clone().acquire_owned().await else { return };
            let app = app.clone();
            drop(spawn_named("scores of a run", async move {
                attempt(&app, &sample).await;
                drop(place);
            }));
        }
    }
}

async fn claim(app: &App, free: usize) -> Vec<ClaimedSample> {
    // Long enough for the metrics, and for the record while the database is slow.
    let lease = TIME + app.worker.lease;
    let most = i64::try_from(free).unwrap_or(i64::MAX);
    online_sample::claim(&app.db, most, lease).await.unwrap_or_else(|error| {
        tracing::warn!(cause = error.cause(), "could not look for runs to judge");
        Vec::new()
    })
}

async fn remove_old(app: &App) {
    match online_sample::remove_old(&app.db, LONGEST_WAIT).await {
        Ok(0) => {}
        Ok(count) => tracing::info!(count, "runs waited too long for their scores"),
        Err(error) => tracing::warn!(cause = error.cause(), "could not remove runs to judge"),
    }
}

async fn attempt(app: &App, sample: &ClaimedSample) {
    // Scores are given on behalf of the server.
    let scope = Scope::upkeep(sample.workspace_id);
    let outcome = match judged(app, &scope, sample).await {
        // The provider may answer later.
        Ok(Some((_, found))) if found.is_unmeasured && sample.attempts < ATTEMPTS => {
            postpone(app, &scope, sample, &found).await
        }
        Ok(Some((row, found))) => store(app, &scope, sample, &row, found).await,
        Ok(None) => give_up(app, &scope, sample).await,
        Err(error) if sample.attempts < ATTEMPTS => Err(error),
        Err(error) => {
            tracing::warn!(run = %sample.run_id, %error, "a run could not be judged");
            give_up(app, &scope, sample).await
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(run = %sample.run_id, %error, "a run is judged again later");
    }
}

async fn give_up(app: &App, scope: &Scope, sample: &ClaimedSample) -> Result<(), AppError> {
    Ok(online_sample::give_up(scope, &app.db, sample).await?)
}

/// Judges a run; `None` if it is not to be judged any more.
async fn judged(
    app: &App,
    scope: &Scope,
    sample: &ClaimedSample,
) -> Result<Option<(RunRow, JudgedRun)>, AppError> {
    let online = online_evaluation::get(scope, &app.db, sample.graph_id).await?;
    let Some(online) = online.filter(is_affordable) else { return Ok(None) };
    let Ok(row) = job::get::<RunRow>(scope, &app.db, sample.run_id).await else {
        return Ok(None);
    };
    let (Some(inputs), Some(outputs)) = (fields(Some(&row.inputs)), fields(row.outputs.as_deref()))
    else {
        return Ok(None);
    };
    let example = Example::of(inputs, Fields::new());
    let program = app.recorded_program(scope, &row).await?;
    let mut judged_run =
        JudgedRun { scores: Vec::new(), spent: Usage::default(), is_unmeasured: false };
    for (name, written) in fields(Some(&online.settings.metrics)).unwrap_or_default() {
        let metric = app.stored_metric(scope, &written, &program).await?;
        let evaluator = Evaluator {
            models: app.observed_models(&row.graph_name),
            indexes: Some(app.indexes.of_workspace(scope)),
            call_record: None,
            metric: Arc::new(metric),
            budgeted: None,
            timeout: TIME / 2,
            cancelled: CancellationToken::new(),
            observer: None,
        };
        let (score, usage) = evaluator.score(&example, &outputs).await;
        judged_run.spent += usage;
        match score {
            Ok(score) => judged_run.scores.push((name.to_string(), score)),
            Err(error) => {
                judged_run.is_unmeasured |= RolloutFailure::of_metric(&error).is_unmeasured;
                tracing::warn!(run = %row.id, metric = %name, code = error.kind.code(), "a run has no score");
            }
        }
    }
    Ok(Some((row, judged_run)))
}

/// Whether the budget of the day is not spent.
fn is_affordable(online: &OnlineEvaluationRow) -> bool {
    let settings = &online.settings;
    settings.enabled
        && settings.calls_per_day.is_none_or(|most| online.spent_calls < most)
        && settings.cost_per_day.is_none_or(|most| online.spent_cost < most)
}

fn fields(json: Option<&str>) -> Option<Fields> {
    Payload::from_record(json?).ok()?.as_map().cloned()
}

/// Leaves a run to another attempt, after the lease of this one.
async fn postpone(
    app: &App,
    scope: &Scope,
    sample: &ClaimedSample,
    found: &JudgedRun,
) -> Result<(), AppError> {
    Ok(online_sample::postpone(scope, &app.db, sample, &spent(found, false)).await?)
}

fn spent(found: &JudgedRun, leaves_unmeasured: bool) -> JudgingSpent {
    JudgingSpent {
        usage: usage_json(&found.spent),
        calls: i64::try_from(found.spent.lm_calls).unwrap_or(i64::MAX),
        cost: found.spent.cost,
        leaves_unmeasured,
    }
}

async fn store(
    app: &App,
    scope: &Scope,
    sample: &ClaimedSample,
    run: &RunRow,
    found: JudgedRun,
) -> Result<(), AppError> {
    let rows: Vec<FeedbackRow> =
        found.scores.iter().map(|(name, score)| feedback(scope, run, name, score)).collect();
    let spent = spent(&found, found.is_unmeasured);
    if online_sample::finish(scope, &app.db, sample, rows, &spent).await? {
        for (name, score) in &found.scores {
            app.metrics.score(&run.graph_name, name, ONLINE, score.value);
        }
    }
    Ok(())
}

fn feedback(scope: &Scope, run: &RunRow, name: &str, score: &Score) -> FeedbackRow {
    let rated = RatedRun {
        id: run.id,
        graph_id: run.graph_id,
        graph_name: run.graph_name.clone(),
        graph_version: run.graph_version,
        state_version: run.state_version,
        created_at: run.created_at,
    };
    FeedbackRow {
        source: ONLINE.to_owned(),
        name: Some(name.to_owned()),
        score: Some(score.value),
        comment: score.feedback.as_deref().map(|text| Payload::from(text).to_json()),
        ..rated.feedback(uuid::Uuid::now_v7(), now(), scope)
    }
}
