//! The metrics of the runs of one graph, and of their requests to models. The number of graphs with labels of
//! their own is bounded: clients name graphs.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use dsrs::lm::{LmAttempt, LmErrorKind, LmObserver, Usage};
use metrics::{Counter, Gauge, Histogram, Label};

use super::catalogue as name;
use super::series::Series;
use crate::app::RunTimes;

/// The most graphs with labels of their own.
const MOST_GRAPHS: usize = 100;

/// The label of all other graphs.
const OTHER: &str = "other";

/// The meters of all graphs.
pub(super) struct GraphMeters {
    series: Arc<Series>,
    by_name: RwLock<HashMap<Box<str>, Arc<GraphMeter>>>,
    other: Arc<GraphMeter>,
}

/// The metrics of one graph.
pub(crate) struct GraphMeter {
    series: Arc<Series>,
    graph: Arc<str>,
    outcomes: [(&'static str, Counter); 4],
    seconds: Histogram,
    overhead: Histogram,
    models: RwLock<Vec<(Box<str>, Arc<ModelMeter>)>>,
}

/// The metrics of the requests of one graph to one model.
struct ModelMeter {
    requests: Counter,
    stored: Counter,
    retries: Counter,
    fallbacks: Counter,
    seconds: Histogram,
    first_token: Histogram,
    queue: Histogram,
    /// Input, cached, written to a cache, output, reasoning.
    tokens: [Counter; 5],
    /// A counter of numbers that are not whole.
    cost: Gauge,
}

impl GraphMeters {
    pub(super) fn new(series: Arc<Series>) -> Self {
        let other = Arc::new(GraphMeter::new(series.clone(), OTHER));
        Self { series, by_name: RwLock::default(), other }
    }

    /// The metrics of a graph; beyond the bound, those of all others.
    pub(super) fn of(&self, graph: &str) -> Arc<GraphMeter> {
        let known = self.by_name.read().unwrap_or_else(PoisonError::into_inner);
        match known.get(graph) {
            Some(meter) => return meter.clone(),
            None if known.len() >= MOST_GRAPHS => return self.other.clone(),
            None => drop(known),
        }
        let mut known = self.by_name.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_GRAPHS {
            return known.get(graph).unwrap_or(&self.other).clone();
        }
        let new = || Arc::new(GraphMeter::new(self.series.clone(), graph));
        known.entry(graph.into()).or_insert_with(new).clone()
    }
}

impl GraphMeter {
    fn new(series: Arc<Series>, graph: &str) -> Self {
        let graph: Arc<str> = graph.into();
        let label = || Label::new("graph", graph.clone());
        let outcomes = ["succeeded", "failed", "cancelled", "waiting"].map(|outcome| {
            (outcome, series.counter(name::RUNS, vec![label(), Label::new("outcome", outcome)]))
        });
        Self {
            outcomes,
            seconds: series.histogram(name::RUN_SECONDS, vec![label()]),
            overhead: series.histogram(name::RUN_OVERHEAD, Vec::new()),
            models: RwLock::default(),
            graph: graph.clone(),
            series,
        }
    }

    /// Counts a run that ended, with the time of its execution if there was one.
    pub(crate) fn run_ended(&self, outcome: &str, took: Option<Duration>) {
        if let Some((_, count)) = self.outcomes.iter().find(|(known, _)| *known == outcome) {
            count.increment(1);
        }
        if let Some(took) = took {
            self.seconds.record(took);
        }
    }

    /// Counts for what a run waited.
    pub(crate) fn times(&self, times: RunTimes) {
        self.overhead.record(times.own);
    }

    fn model(&self, alias: &str) -> Arc<ModelMeter> {
        let found = |known: &[(Box<str>, Arc<ModelMeter>)]| {
            known.iter().find(|(known, _)| **known == *alias).map(|(_, meter)| meter.clone())
        };
        let known = found(&self.models.read().unwrap_or_else(PoisonError::into_inner));
        known.unwrap_or_else(|| {
            let mut models = self.models.write().unwrap_or_else(PoisonError::into_inner);
            found(&models).unwrap_or_else(|| {
                let meter = Arc::new(ModelMeter::new(&self.series, &self.labels(alias)));
                models.push((alias.into(), meter.clone()));
                meter
            })
        })
    }

    fn labels(&self, alias: &str) -> [Label; 2] {
        [Label::new("alias", alias.to_owned()), Label::new("graph", self.graph.clone())]
    }

    fn failed(&self, alias: &str, kind: LmErrorKind) {
        let mut labels = self.labels(alias).to_vec();
        labels.push(Label::new("kind", kind.as_str()));
        self.series.counter(name::LM_ERRORS, labels).increment(1);
    }
}

impl LmObserver for GraphMeter {
    fn attempted(&self, attempt: &LmAttempt<'_>) {
        let model = self.model(attempt.alias);
        if attempt.is_stored {
            model.stored.increment(1);
            return;
        }
        model.requests.increment(1);
        model.seconds.record(attempt.duration);
        model.retries.increment(u64::from(attempt.is_retry));
        model.fallbacks.increment(u64::from(attempt.is_fallback));
        if !attempt.queued.is_zero() {
            model.queue.record(attempt.queued);
        }
        if let Some(first) = attempt.first_token {
            model.first_token.record(first);
        }
        match attempt.result {
            Ok(usage) => model.used(usage),
            Err(kind) => self.failed(attempt.alias, kind),
        }
    }

    fn repaired(&self, kind: &'static str) {
        self.series.counter(name::PARSE_REPAIRS, vec![Label::new("kind", kind)]).increment(1);
    }
}

impl ModelMeter {
    fn new(series: &Series, labels: &[Label; 2]) -> Self {
        let counter = |name| series.counter(name, labels.to_vec());
        let histogram = |name| series.histogram(name, labels.to_vec());
        let tokens = ["input", "cached", "cache_write", "output", "reasoning"].map(|kind| {
            let labels = [labels.to_vec(), vec![Label::new("type", kind)]].concat();
            series.counter(name::LM_TOKENS, labels)
        });
        Self {
            requests: counter(name::LM_REQUESTS),
            stored: counter(name::LM_STORED),
            retries: counter(name::LM_RETRIES),
            fallbacks: counter(name::LM_FALLBACKS),
            seconds: histogram(name::LM_SECONDS),
            first_token: histogram(name::LM_FIRST_TOKEN),
            queue: histogram(name::LM_QUEUE),
            tokens,
            cost: series.gauge(name::LM_COST, labels.to_vec()),
        }
    }

    fn used(&self, usage: &Usage) {
        let used = [
            usage.input_tokens,
            usage.cached_tokens,
            usage.cache_write_tokens,
            usage.output_tokens,
            usage.reasoning_tokens,
        ];
        for (counter, tokens) in self.tokens.iter().zip(used) {
            counter.increment(tokens);
        }
        if let Some(cost) = usage.cost {
            self.cost.increment(cost);
        }
    }
}
