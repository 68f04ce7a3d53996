//! The series of one server: registers counters, gauges and histograms under the names of the catalogue, and
//! renders them. Knows no label values.

use std::sync::{Arc, Mutex, PoisonError};

use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Label, Level, Metadata, Recorder, SharedString,
};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusRecorder};

use super::catalogue::{self, ALL_METRICS, MetricKind};
use super::count::Count;

const METADATA: Metadata<'static> = Metadata::new(module_path!(), Level::INFO, None);

/// Upper bounds of the buckets of durations, in seconds.
const SECONDS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];

/// The same for requests to models: none takes a millisecond, and many take a minute.
const MODEL_SECONDS: &[f64] =
    &[0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// The same for what the server adds to a run.
const OVERHEAD_SECONDS: &[f64] =
    &[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.0, 10.0];

/// The same for scores, which are from 0 to 1.
const SCORES: &[f64] = &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];

/// Counters of numbers that are not whole. The exporter has gauges for these; its text is corrected.
const FRACTIONAL: &[&str] = &[catalogue::LM_COST, catalogue::CPU_SECONDS];

/// Registered series.
pub(super) struct Series {
    recorder: PrometheusRecorder,
    /// What is counted apart, until it is rendered.
    counts: Mutex<Vec<(Arc<Count>, Counter)>>,
}

impl Series {
    pub(super) fn new() -> Result<Self, BuildError> {
        let mut builder = PrometheusBuilder::new().set_buckets(SECONDS)?;
        let own = [
            (catalogue::LM_SECONDS, MODEL_SECONDS),
            (catalogue::LM_FIRST_TOKEN, MODEL_SECONDS),
            (catalogue::LM_QUEUE, MODEL_SECONDS),
            (catalogue::RUN_OVERHEAD, OVERHEAD_SECONDS),
            (catalogue::RUN_SCORE, SCORES),
        ];
        for (name, buckets) in own {
            builder = builder.set_buckets_for_metric(Matcher::Full(name.to_owned()), buckets)?;
        }
        let recorder = builder.build_recorder();
        describe(&recorder);
        Ok(Self { recorder, counts: Mutex::default() })
    }

    pub(super) fn counter(&self, name: &'static str, labels: Vec<Label>) -> Counter {
        self.recorder.register_counter(&Key::from_parts(name, labels), &METADATA)
    }

    /// A counter that every run adds to. Each series is registered once.
    pub(super) fn count(&self, name: &'static str, labels: Vec<Label>) -> Arc<Count> {
        let count = Arc::<Count>::default();
        let shown = self.counter(name, labels);
        shown.absolute(0);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.push((count.clone(), shown));
        count
    }

    /// A counter by outcome.
    pub(super) fn outcome(&self, name: &'static str, outcome: &'static str) -> Counter {
        self.counter(name, vec![Label::new("outcome", outcome)])
    }

    pub(super) fn gauge(&self, name: &'static str, labels: Vec<Label>) -> Gauge {
        self.recorder.register_gauge(&Key::from_parts(name, labels), &METADATA)
    }

    pub(super) fn histogram(&self, name: &'static str, labels: Vec<Label>) -> Histogram {
        self.recorder.register_histogram(&Key::from_parts(name, labels), &METADATA)
    }

    /// The text format of Prometheus.
    pub(super) fn render(&self) -> String {
        for (count, shown) in &*self.counts.lock().unwrap_or_else(PoisonError::into_inner) {
            shown.absolute(count.sum());
        }
        let declare = |name: &str, kind| format!("# TYPE {name} {kind}\n");
        FRACTIONAL.iter().fold(self.recorder.handle().render(), |text, name| {
            text.replacen(&declare(name, "gauge"), &declare(name, "counter"), 1)
        })
    }

    /// Moves samples into the buckets.
    pub(super) fn upkeep(&self) {
        self.recorder.handle().run_upkeep();
    }
}

fn describe(recorder: &PrometheusRecorder) {
    for metric in ALL_METRICS {
        let (name, help) = (KeyName::from_const_str(metric.name), SharedString::from(metric.help));
        match metric.kind {
            MetricKind::Counter => recorder.describe_counter(name, None, help),
            MetricKind::Gauge => recorder.describe_gauge(name, None, help),
            MetricKind::Histogram => recorder.describe_histogram(name, None, help),
        }
    }
}
