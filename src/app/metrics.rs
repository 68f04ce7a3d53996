//! Counters and histograms, and their Prometheus text. Each server owns its metrics, so that several
//! servers in one process do not share them. Knows only names and numbers.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::Duration;

use dsrs::lm::Usage;
use metrics::{Counter, Gauge, Histogram, Key, KeyName, Label, Level, Metadata, Recorder, Unit};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusRecorder};

pub use metrics_exporter_prometheus::BuildError as MetricsError;

const METADATA: Metadata<'static> = Metadata::new(module_path!(), Level::INFO, None);

/// Upper bounds of the histogram buckets of durations, in seconds.
const BUCKETS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];

/// Upper bounds of the histogram buckets of scores.
const SCORE_BUCKETS: &[f64] = &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// The most graphs, names and sources whose scores are distinguished.
const MOST_SCORE_SERIES: usize = 200;

/// The metrics of one server.
pub struct Metrics {
    recorder: PrometheusRecorder,
    requests: RwLock<HashMap<RequestSeries, RequestMeter>>,
    runs: RwLock<HashMap<&'static str, RunMeter>>,
    scores: Mutex<HashMap<ScoreSeries, Histogram>>,
    lm_calls: Counter,
    input_tokens: Counter,
    output_tokens: Counter,
    running: Gauge,
}

/// Counts a run as running until dropped.
pub struct RunningGuard(Gauge);

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}

#[derive(PartialEq, Eq, Hash)]
struct RequestSeries {
    route: String,
    method: &'static str,
    status: u16,
}

/// A graph, the name of a score, its source.
#[derive(PartialEq, Eq, Hash)]
struct ScoreSeries([String; 3]);

#[derive(Clone)]
struct RequestMeter {
    count: Counter,
    seconds: Histogram,
}

#[derive(Clone)]
struct RunMeter {
    count: Counter,
    seconds: Histogram,
}

impl Metrics {
    /// Metrics without any samples.
    ///
    /// # Errors
    /// If the exporter refuses the buckets.
    pub fn new() -> Result<Self, MetricsError> {
        let scores = Matcher::Full("dsrs_run_score".to_owned());
        let builder = PrometheusBuilder::new().set_buckets(BUCKETS)?;
        let recorder = builder.set_buckets_for_metric(scores, SCORE_BUCKETS)?.build_recorder();
        describe(&recorder);
        let counter = |name| recorder.register_counter(&Key::from_static_name(name), &METADATA);
        let running = Key::from_static_name("dsrs_runs_running");
        Ok(Self {
            requests: RwLock::default(),
            runs: RwLock::default(),
            scores: Mutex::default(),
            lm_calls: counter("dsrs_lm_calls_total"),
            input_tokens: counter("dsrs_lm_input_tokens_total"),
            output_tokens: counter("dsrs_lm_output_tokens_total"),
            running: recorder.register_gauge(&running, &METADATA),
            recorder,
        })
    }

    /// Counts an answered request. `route` is the pattern, not the path.
    pub fn request(&self, route: &str, method: &'static str, status: u16, took: Duration) {
        let meter = self.request_meter(route, method, status);
        meter.count.increment(1);
        meter.seconds.record(took.as_secs_f64());
    }

    /// Counts a run as running until the guard is dropped.
    #[must_use]
    pub fn run_started(&self) -> RunningGuard {
        self.running.increment(1.0);
        RunningGuard(self.running.clone())
    }

    /// Counts a run that ended.
    pub fn run_finished(&self, status: &'static str, took: Duration, usage: &Usage) {
        let meter = self.run_meter(status);
        meter.count.increment(1);
        meter.seconds.record(took.as_secs_f64());
        self.lm_calls.increment(usage.lm_calls);
        self.input_tokens.increment(usage.input_tokens);
        self.output_tokens.increment(usage.output_tokens);
    }

    /// Records a score of a run. Clients name scores and sources as they like, so what exceeds the limit of series
    /// is counted as `other`.
    pub fn score(&self, graph: &str, name: &str, source: &str, score: f64) {
        let series = ScoreSeries([graph, name, source].map(str::to_owned));
        let mut meters = self.scores.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = meters.contains_key(&series) || meters.len() < MOST_SCORE_SERIES;
        let series = if is_known { series } else { ScoreSeries(["other"; 3].map(str::to_owned)) };
        let meter =
            meters.entry(series).or_insert_with_key(|ScoreSeries([graph, name, source])| {
                let labels = [("graph", graph), ("score", name), ("source", source)];
                let labels = labels.map(|(label, value)| Label::new(label, value.clone()));
                self.histogram("dsrs_run_score", labels.to_vec())
            });
        meter.record(score);
    }

    /// Sets a gauge.
    pub fn gauge(&self, name: &'static str, value: f64) {
        self.recorder.register_gauge(&Key::from_static_name(name), &METADATA).set(value);
    }

    /// Records whether a wall of the sandbox stands.
    pub fn wall(&self, wall: &'static str, stands: bool) {
        let key = Key::from_parts("dsrs_sandbox_wall", vec![Label::new("wall", wall)]);
        self.recorder.register_gauge(&key, &METADATA).set(f64::from(u8::from(stands)));
    }

    /// The metrics in the text format of Prometheus.
    #[must_use]
    pub fn render(&self) -> String {
        self.recorder.handle().render()
    }

    /// Aggregates the samples of histograms. Call it every few seconds, whether or not the metrics are
    /// scraped.
    pub fn upkeep(&self) {
        self.recorder.handle().run_upkeep();
    }

    fn request_meter(&self, route: &str, method: &'static str, status: u16) -> RequestMeter {
        // A borrowed key would avoid the copy, but need a map of maps.
        let key = RequestSeries { route: route.to_owned(), method, status };
        if let Some(meter) = self.requests.read().unwrap_or_else(PoisonError::into_inner).get(&key)
        {
            return meter.clone();
        }
        let labels = vec![
            Label::new("route", key.route.clone()),
            Label::new("method", method),
            Label::new("status", status.to_string()),
        ];
        let meter = RequestMeter {
            count: self.counter("dsrs_http_requests_total", labels.clone()),
            seconds: self.histogram("dsrs_http_request_seconds", labels[..2].to_vec()),
        };
        let mut meters = self.requests.write().unwrap_or_else(PoisonError::into_inner);
        meters.entry(key).or_insert(meter).clone()
    }

    fn run_meter(&self, status: &'static str) -> RunMeter {
        if let Some(meter) = self.runs.read().unwrap_or_else(PoisonError::into_inner).get(status) {
            return meter.clone();
        }
        let labels = vec![Label::new("status", status)];
        let meter = RunMeter {
            count: self.counter("dsrs_runs_total", labels.clone()),
            seconds: self.histogram("dsrs_run_seconds", labels),
        };
        let mut meters = self.runs.write().unwrap_or_else(PoisonError::into_inner);
        meters.entry(status).or_insert(meter).clone()
    }

    fn counter(&self, name: &'static str, labels: Vec<Label>) -> Counter {
        self.recorder.register_counter(&Key::from_parts(name, labels), &METADATA)
    }

    fn histogram(&self, name: &'static str, labels: Vec<Label>) -> Histogram {
        self.recorder.register_histogram(&Key::from_parts(name, labels), &METADATA)
    }
}

fn describe(recorder: &PrometheusRecorder) {
    let name = KeyName::from_const_str;
    let counters = [
        ("dsrs_http_requests_total", "requests answered"),
        ("dsrs_runs_total", "runs ended"),
        ("dsrs_lm_calls_total", "LM requests answered"),
        ("dsrs_lm_input_tokens_total", "tokens read by LMs"),
        ("dsrs_lm_output_tokens_total", "tokens written by LMs"),
    ];
    for (key, text) in counters {
        recorder.describe_counter(name(key), Some(Unit::Count), text.into());
    }
    let seconds = Some(Unit::Seconds);
    recorder.describe_histogram(
        name("dsrs_http_request_seconds"),
        seconds,
        "time to the head of the answer".into(),
    );
    recorder.describe_histogram(name("dsrs_run_seconds"), seconds, "time of a whole run".into());
    recorder.describe_histogram(
        name("dsrs_run_score"),
        None,
        "scores of runs; sum by count is the average".into(),
    );
    recorder.describe_gauge(
        name("dsrs_runs_running"),
        Some(Unit::Count),
        "runs in progress".into(),
    );
    let gauges = [
        ("dsrs_recorder_commits", "transactions that recorded runs"),
        ("dsrs_recorder_runs", "runs recorded"),
        ("dsrs_recorder_lost", "runs that could not be recorded"),
        ("dsrs_uploads_spooled_bytes", "bytes of uploads that are in progress"),
        ("dsrs_sandbox_wall", "1 if the wall of the sandbox stands"),
        ("dsrs_sandbox_usable", "1 if every required wall of the sandbox stands"),
    ];
    for (key, text) in gauges {
        recorder.describe_gauge(name(key), Some(Unit::Count), text.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_rendered_with_their_labels() {
        let metrics = Metrics::new().unwrap();
        metrics.request("/v1/runs/{id}", "GET", 404, Duration::from_millis(3));
        drop(metrics.run_started());
        metrics.wall("seccomp", true);
        metrics.run_finished(
            "succeeded",
            Duration::from_millis(20),
            &Usage { lm_calls: 2, input_tokens: 7, ..Usage::default() },
        );
        let text = metrics.render();
        for line in [
            r#"dsrs_http_requests_total{route="/v1/runs/{id}",method="GET",status="404"} 1"#,
            r#"dsrs_runs_total{status="succeeded"} 1"#,
            "dsrs_lm_calls_total 2",
            "dsrs_lm_input_tokens_total 7",
            "dsrs_runs_running 0",
            r#"dsrs_sandbox_wall{wall="seccomp"} 1"#,
            r#"dsrs_http_request_seconds_bucket{route="/v1/runs/{id}",method="GET",le="0.005"} 1"#,
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
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
