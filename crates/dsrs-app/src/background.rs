//! The tasks beside requests: the recorder of runs, the worker, notifications of other servers, the
//! connections to MCP servers, and upkeep. May not know what the tasks do.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use crate::engine_worker::EngineListener;
use crate::model::shared_limit;
use crate::online_evaluation;
use crate::partition;
use crate::retention;
use crate::run::upkeep;
use crate::schedule::fire;
use crate::usage;
use crate::webhook::delivery;
use crate::worker;
use crate::{App, spawn_named};
use dsrs_config::RetentionConfig;
use dsrs_store::group_writer::WriterTask;
use dsrs_store::run_recorder::RunRecorder;
use dsrs_store::{
    Scope, StoreError, background_run, idempotency, key_count, key_spending, optimization_record,
    run_event, workspace,
};
use dsrs_telemetry::Telemetry;

/// How often the histograms of metrics are compacted.
const UPKEEP: Duration = Duration::from_secs(5);

/// How often expired idempotency keys are removed.
const PURGE: Duration = Duration::from_secs(3600);

/// The time that the recorder gets to write the last runs.
const LAST_WRITES: Duration = Duration::from_secs(10);

/// The time that a collector gets to accept the last spans.
const LAST_SPANS: Duration = Duration::from_secs(5);

/// The tasks beside requests. Hold it while the server runs, then [`BackgroundTasks::stop`] it.
pub struct BackgroundTasks {
    recorder: RunRecorder,
    telemetry: Option<Arc<Telemetry>>,
    writer: JoinHandle<Option<()>>,
    stop: CancellationToken,
}

impl BackgroundTasks {
    pub(crate) fn start(
        app: &Arc<App>,
        writer: WriterTask,
        retention: RetentionConfig,
        engine: Option<EngineListener>,
    ) -> Self {
        let stop = CancellationToken::new();
        let db = app.db.clone();
        until(&stop, "listening", async move { db.watch().await });
        let tools = app.tools.clone();
        until(&stop, "tools", async move { tools.maintain().await });
        let (db, models) = (app.db.clone(), app.models.clone());
        until(&stop, "limits of models", shared_limit::share_always(db, models));
        let quotas = app.quotas.clone();
        until(&stop, "limits of keys", async move { quotas.exchange_always().await });
        let (access, db) = (app.access.clone(), app.db.clone());
        until(&stop, "uses of keys", async move { access.write_uses(&db).await });
        until(&stop, "cancellations", worker::receive_cancellations(app.clone()));
        until(&stop, "cancelled runs", worker::look_for_cancellations(app.clone()));
        until(&stop, "schedules", fire::fire_always(app.clone()));
        until(&stop, "webhooks", delivery::send_always(app.clone()));
        if app.worker.enabled {
            until(&stop, "online evaluations", online_evaluation::score_always(app.clone()));
            until(&stop, "worker", worker::empty_queue(app.clone()));
            until(&stop, "leases", worker::renew_leases(app.clone()));
        }
        if let Some(listener) = engine {
            until(&stop, "engine", listener.serve(app.clone()));
        }
        let weak = Arc::downgrade(app);
        until(&stop, "upkeep", async move {
            let mut tick = every(UPKEEP);
            while let Some(app) = weak.upgrade() {
                app.metrics.upkeep();
                drop(app);
                tick.tick().await;
            }
        });
        until(&stop, "usage", usage::merge_always(Arc::downgrade(app)));
        until(&stop, "bodies of runs", upkeep::maintain(Arc::downgrade(app)));
        until(&stop, "texts of runs", upkeep::refresh_texts(app.db.clone()));
        let weak = Arc::downgrade(app);
        until(&stop, "purge", async move {
            let mut tick = every(PURGE);
            while let Some(app) = weak.upgrade() {
                purge(&app).await;
                purge_events(&app).await;
                purge_replies(&app).await;
                purge_counts(&app).await;
                purge_checkpoints(&app).await;
                drop(app);
                tick.tick().await;
            }
        });
        until(&stop, "partitions", partition::maintain(Arc::downgrade(app), retention));
        until(&stop, "indexes", partition::add_indexes(Arc::downgrade(app)));
        for sweep in retention::sweeps(retention, app.webhook_settings.retention) {
            until(&stop, "retention", sweep.run_always(Arc::downgrade(app)));
        }
        let writer = spawn_named("recorder", writer.run());
        Self { recorder: app.recorder.clone(), telemetry: app.telemetry.clone(), writer, stop }
    }

    /// Stops the tasks. The recorder writes its runs first, and the last spans are sent.
    pub async fn stop(self) {
        self.recorder.close();
        if timeout(LAST_WRITES, self.writer).await.is_err() {
            tracing::error!("runs were still being written when the server ended");
        }
        if let Some(telemetry) = &self.telemetry {
            telemetry.flush(LAST_SPANS).await;
        }
        self.stop.cancel();
    }
}

fn until(
    stop: &CancellationToken,
    name: &'static str,
    work: impl Future<Output = ()> + Send + 'static,
) {
    let stop = stop.clone();
    spawn_named(name, async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = work => {}
        }
    });
}

fn every(period: Duration) -> tokio::time::Interval {
    let mut tick = interval(period);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    tick
}

async fn purge(app: &App) {
    match purge_keys(app).await {
        Ok(0) => {}
        Ok(count) => tracing::debug!(count, "removed expired idempotency keys"),
        Err(error) => tracing::warn!(%error, "could not remove expired idempotency keys"),
    }
}

async fn purge_keys(app: &App) -> Result<u64, StoreError> {
    let now = app.db.now().await?;
    let mut removed = 0;
    for workspace in workspace::all(&app.db).await? {
        removed += idempotency::purge(&Scope::upkeep(workspace), &app.db, now).await?;
    }
    Ok(removed)
}

/// Removes old events in small steps, so that no query waits for it.
async fn purge_events(app: &App) {
    loop {
        let removed = match app.db.now().await {
            Ok(now) => run_event::purge(&app.db, now).await,
            Err(error) => Err(error),
        };
        match removed {
            Ok(0) => return,
            Ok(count) => tracing::debug!(count, "removed old events"),
            Err(error) => return tracing::warn!(%error, "could not remove old events"),
        }
    }
}

/// Removes the counts of servers that have ended and of days that are over.
async fn purge_counts(app: &App) {
    for purged in [key_count::purge(&app.db).await, key_spending::purge(&app.db).await] {
        if let Err(error) = purged {
            tracing::warn!(%error, "could not remove old counts of keys");
        }
    }
}

/// Removes the checkpoints that servers of the release before have left behind.
async fn purge_checkpoints(app: &App) {
    if let Err(error) = background_run::purge_checkpoints(&app.db).await {
        tracing::warn!(%error, "could not remove checkpoints of ended runs");
    }
}

/// Removes the recorded replies of optimizations whose worker was killed before it could.
async fn purge_replies(app: &App) {
    loop {
        match optimization_record::purge(&app.db, None).await {
            Ok(0) => return,
            Ok(count) => tracing::debug!(count, "removed recorded replies of ended optimizations"),
            Err(error) => return tracing::warn!(%error, "could not remove recorded replies"),
        }
    }
}
