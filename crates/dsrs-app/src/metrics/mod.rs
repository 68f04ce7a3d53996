//! Counters and histograms, and their Prometheus text. Each server owns its metrics, so that several
//! servers in one process do not share them. Knows only names and numbers.

pub(crate) mod catalogue;
mod count;
mod graph_meter;
mod page;
mod process;
mod request_meter;
mod score_meter;
mod series;

use std::sync::Arc;
use std::time::Duration;

use metrics::Label;

use catalogue as name;
pub use catalogue::{ALL_METRICS, MetricInfo, MetricKind};
use count::Count;
pub(crate) use graph_meter::GraphMeter;
use graph_meter::GraphMeters;
pub use metrics_exporter_prometheus::BuildError as MetricsError;
pub use page::metrics_markdown;
use request_meter::RequestMeters;
use score_meter::ScoreMeters;
use series::Series;

/// The metrics of one server.
pub struct Metrics {
    series: Arc<Series>,
    requests: RequestMeters,
    graphs: GraphMeters,
    scores: ScoreMeters,
    running: Arc<Count>,
}

/// Counts a run as running until dropped.
pub struct RunningGuard(Arc<Count>);

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.0.subtract(1);
    }
}

impl Metrics {
    /// Metrics without any samples.
    ///
    /// # Errors
    /// If the exporter refuses the buckets.
    pub fn new() -> Result<Self, MetricsError> {
        let series = Arc::new(Series::new()?);
        let version = vec![Label::new("version", env!("CARGO_PKG_VERSION"))];
        series.gauge(name::BUILD_INFO, version).set(1.0);
        series.gauge(name::STARTED, Vec::new()).set(process::started());
        series.counter(name::LEASES_TAKEN_OVER, Vec::new()).increment(0);
        for outcome in ["delivered", "retry", "given_up", "gone"] {
            series.outcome(name::WEBHOOK_ATTEMPTS, outcome).increment(0);
        }
        for outcome in ["started", "refused", "skipped"] {
            series.outcome(name::SCHEDULE_FIRINGS, outcome).increment(0);
        }
        Ok(Self {
            requests: RequestMeters::default(),
            graphs: GraphMeters::new(series.clone()),
            scores: ScoreMeters::new(series.clone()),
            running: Arc::default(),
            series,
        })
    }

    /// Counts an answered request. `route` is the pattern, not the path.
    pub fn request(&self, route: &str, method: &'static str, status: u16, took: Duration) {
        self.requests.record(&self.series, (route, method, status), took);
    }

    /// Counts a run as running until the guard is dropped.
    #[must_use]
    pub fn run_started(&self) -> RunningGuard {
        self.running.add(1);
        RunningGuard(self.running.clone())
    }

    /// The metrics of the runs of a graph.
    pub(crate) fn graph(&self, graph: &str) -> Arc<GraphMeter> {
        self.graphs.of(graph)
    }

    /// Records a score of a run.
    pub(crate) fn score(&self, graph: &str, name: &str, source: &str, score: f64) {
        self.scores.record([graph, name, source], score);
    }

    /// Counts jobs that were returned to the queue.
    pub(crate) fn taken_over(&self, jobs: u64) {
        self.series.counter(name::LEASES_TAKEN_OVER, Vec::new()).increment(jobs);
    }

    /// Counts an attempt at a message of a webhook.
    pub(crate) fn webhook_attempt(&self, outcome: &'static str) {
        self.series.outcome(name::WEBHOOK_ATTEMPTS, outcome).increment(1);
    }

    /// Counts a firing of a schedule.
    pub(crate) fn schedule_firing(&self, outcome: &'static str) {
        self.series.outcome(name::SCHEDULE_FIRINGS, outcome).increment(1);
    }

    /// Sets a counter to what something else has counted.
    pub(crate) fn counted<const N: usize>(
        &self,
        name: &'static str,
        labels: [(&'static str, &'static str); N],
        count: u64,
    ) {
        let labels = labels.into_iter().map(|(name, value)| Label::new(name, value));
        self.series.counter(name, labels.collect()).absolute(count);
    }

    /// Sets a gauge.
    pub(crate) fn gauge(&self, name: &'static str, value: f64) {
        self.series.gauge(name, Vec::new()).set(value);
    }

    /// Sets a gauge with labels.
    pub(crate) fn labelled<const N: usize>(
        &self,
        name: &'static str,
        labels: [(&'static str, &'static str); N],
        value: f64,
    ) {
        let labels = labels.into_iter().map(|(name, value)| Label::new(name, value));
        self.series.gauge(name, labels.collect()).set(value);
    }

    /// Records whether a wall of the sandbox stands.
    pub fn wall(&self, wall: &'static str, stands: bool) {
        self.labelled(name::SANDBOX_WALL, [("wall", wall)], f64::from(u8::from(stands)));
    }

    /// The metrics in the text format of Prometheus.
    #[must_use]
    pub fn render(&self) -> String {
        if let Some(found) = process::figures() {
            self.gauge(name::CPU_SECONDS, found.cpu_seconds);
            self.gauge(name::RESIDENT, found.resident_bytes as f64);
            self.gauge(name::OPEN_FILES, found.open_files as f64);
        }
        self.gauge(name::RUNS_RUNNING, self.running.level() as f64);
        self.series.render()
    }

    /// Aggregates the samples of histograms. Call it every few seconds, whether or not the metrics are
    /// scraped.
    pub fn upkeep(&self) {
        self.series.upkeep();
    }
}

#[cfg(test)]
mod tests {
    use dsrs::lm::{LmAttempt, LmErrorKind, LmObserver, Usage};

    use super::*;

    fn attempt<'a>(result: Result<&'a Usage, LmErrorKind>) -> LmAttempt<'a> {
        LmAttempt {
            alias: "fast",
            is_retry: false,
            is_fallback: false,
            is_stored: false,
            queued: Duration::ZERO,
            duration: Duration::from_millis(700),
            first_token: None,
            result,
        }
    }

    #[test]
    fn counters_are_rendered_with_their_labels() {
        let metrics = Metrics::new().unwrap();
        metrics.request("/v1/runs/{id}", "GET", 404, Duration::from_millis(3));
        drop(metrics.run_started());
        metrics.wall("seccomp", true);
        let graph = metrics.graph("qa");
        graph.run_ended("succeeded", Some(Duration::from_millis(20)));
        let usage = Usage { lm_calls: 1, input_tokens: 7, cost: Some(0.25), ..Usage::default() };
        graph.attempted(&attempt(Ok(&usage)));
        let retried = LmAttempt { is_retry: true, ..attempt(Err(LmErrorKind::RateLimited)) };
        graph.attempted(&retried);
        graph.attempted(&LmAttempt { is_stored: true, ..attempt(Ok(&usage)) });
        graph.repaired("quotes");
        let text = metrics.render();
        for line in [
            r#"dsrs_http_requests_total{route="/v1/runs/{id}",method="GET",status="404"} 1"#,
            r#"dsrs_runs_total{graph="qa",outcome="succeeded"} 1"#,
            r#"dsrs_lm_requests_total{alias="fast",graph="qa"} 2"#,
            r#"dsrs_lm_stored_replies_total{alias="fast",graph="qa"} 1"#,
            r#"dsrs_lm_retries_total{alias="fast",graph="qa"} 1"#,
            r#"dsrs_lm_errors_total{alias="fast",graph="qa",kind="rate_limited"} 1"#,
            r#"dsrs_lm_tokens_total{alias="fast",graph="qa",type="input"} 7"#,
            r#"dsrs_lm_cost_total{alias="fast",graph="qa"} 0.25"#,
            "# TYPE dsrs_lm_cost_total counter",
            r#"dsrs_parse_repairs_total{kind="quotes"} 1"#,
            "dsrs_runs_running 0",
            r#"dsrs_sandbox_wall{wall="seccomp"} 1"#,
            r#"dsrs_http_request_duration_seconds_bucket{route="/v1/runs/{id}",method="GET",le="0.005"} 1"#,
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn graphs_beyond_the_bound_share_a_label() {
        let metrics = Metrics::new().unwrap();
        for number in 0..1000 {
            metrics.graph(&format!("g{number}")).run_ended("failed", None);
        }
        let text = metrics.render();
        let lines = text.lines().filter(|line| line.starts_with("dsrs_runs_total{"));
        assert_eq!(lines.count(), 101 * 4);
        assert!(text.contains(r#"dsrs_runs_total{graph="other",outcome="failed"} 900"#));
    }

    #[test]
    fn a_graph_with_the_name_of_the_shared_label_is_counted_with_the_others() {
        let metrics = Metrics::new().unwrap();
        for _ in 0..5 {
            metrics.graph("other").run_ended("failed", None);
        }
        for number in 0..150 {
            metrics.graph(&format!("g{number}")).run_ended("failed", None);
        }
        let text = metrics.render();
        let shared = r#"dsrs_runs_total{graph="other",outcome="failed"} 55"#;
        assert!(text.contains(shared), "{text}");
    }

    #[test]
    fn two_servers_in_one_process_count_separately() {
        let (one, two) = (Metrics::new().unwrap(), Metrics::new().unwrap());
        let running = one.run_started();
        assert!(one.render().contains("dsrs_runs_running 1"));
        assert!(two.render().contains("dsrs_runs_running 0"));
        drop(running);
        assert!(one.render().contains("dsrs_runs_running 0"));
    }
}
