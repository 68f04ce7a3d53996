//! The metrics of a server when they are asked for: what is counted all the time, and what is looked up now. If the
//! database does not answer in time, what it knows is left out.

use std::time::{Duration, Instant};

use tokio::time::timeout;

use crate::App;
use crate::metrics::catalogue as name;
use dsrs_store::StoreError;
use dsrs_store::job::{self, QueueFigures};

/// How long the database may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long what it said holds: scrapers may be many.
const VALID: Duration = Duration::from_secs(5);

/// The figures of the queue that were looked up last.
#[derive(Default)]
pub(crate) struct QueueCache(tokio::sync::Mutex<Option<(Instant, Vec<QueueFigures>)>>);

impl App {
    /// The metrics in the text format of Prometheus.
    pub async fn metrics_text(&self) -> String {
        self.set_gauges();
        match timeout(PATIENCE, self.queue_figures()).await {
            Ok(Ok(figures)) => self.set_queue(&figures),
            Ok(Err(error)) => {
                tracing::debug!(cause = error.cause(), "the queue cannot be looked at");
            }
            Err(_) => tracing::debug!("the queue cannot be looked at in time"),
        }
        self.metrics.render()
    }

    fn set_gauges(&self) {
        let stats = self.recorder.stats();
        self.metrics.counted(name::RECORDER_COMMITS, [], stats.commits);
        self.metrics.counted(name::RECORDER_RUNS, [], stats.runs);
        self.metrics.counted(name::RECORDER_LOST, [], stats.lost);
        let spans = self.telemetry.as_ref().map(|telemetry| telemetry.counts()).unwrap_or_default();
        for (outcome, count) in
            [("sent", spans.sent), ("dropped", spans.dropped), ("failed", spans.failed)]
        {
            self.metrics.counted(name::SPANS, [("outcome", outcome)], count);
        }
        let confirmed = self.db.changes().is_confirmed();
        let gauges = [
            (name::CHANGES_CONFIRMED, f64::from(u8::from(confirmed))),
            (name::RECORDER_QUEUED, self.recorder.queued() as f64),
            (name::SPOOLED, self.spool.used() as f64),
            (name::BODY_MEMORY, self.body_memory.total() as f64),
            (name::FOLLOWERS, self.followers.total() as f64),
            (name::EVENT_BUFFERS, self.event_buffers.len() as f64),
            (name::PROGRAMS, self.cached_programs() as f64),
        ];
        for (name, value) in gauges {
            self.metrics.gauge(name, value);
        }
        for pool in self.db.pool_sizes() {
            let set = |state, value| {
                let labels = [("pool", pool.name), ("state", state)];
                self.metrics.labelled(name::POOL_CONNECTIONS, labels, f64::from(value));
            };
            set("idle", pool.idle);
            set("used", pool.open.saturating_sub(pool.idle));
            self.metrics.labelled(name::POOL_MAX, [("pool", pool.name)], f64::from(pool.max));
        }
    }

    fn set_queue(&self, figures: &[QueueFigures]) {
        for kind in crate::job_registry::job_types() {
            let kind = kind.as_str();
            let found = figures.iter().find(|found| found.kind == kind);
            let (jobs, age) = found.map_or((0, 0.0), |found| (found.jobs, found.oldest_age));
            self.metrics.labelled(name::QUEUE_JOBS, [("kind", kind)], jobs as f64);
            self.metrics.labelled(name::QUEUE_AGE, [("kind", kind)], age);
        }
    }

    /// The figures of the queue. One query at a time, and none soon after another.
    async fn queue_figures(&self) -> Result<Vec<QueueFigures>, StoreError> {
        let mut cached = self.queue_cache.0.lock().await;
        if let Some((at, figures)) = &*cached
            && at.elapsed() < VALID
        {
            return Ok(figures.clone());
        }
        let figures = job::queue_figures(&self.db).await?;
        *cached = Some((Instant::now(), figures.clone()));
        Ok(figures)
    }
}
