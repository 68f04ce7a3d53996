//! The metrics of the runs of one graph, and of their requests to models. The number of graphs with labels of
//! their own is bounded: clients name graphs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use dsrs::lm::{LmAttempt, LmErrorKind, LmObserver, Usage};
use metrics::{Gauge, Histogram, Label};

use super::catalogue as name;
use super::count::Count;
use super::series::Series;
use crate::RunTimes;

/// The most graphs with labels of their own.
const MOST_GRAPHS: usize = 100;

/// The label of all other graphs.
const OTHER: &str = "other";

/// The meters of all graphs.
pub(super) struct GraphMeters {
    series: Arc<Series>,
    by_name: ArcSwap<HashMap<Box<str>, Arc<GraphMeter>>>,
    adding: Mutex<()>,
    other: Arc<GraphMeter>,
}

/// The metrics of one graph.
pub(crate) struct GraphMeter {
    series: Arc<Series>,
    graph: Arc<str>,
    outcomes: [(&'static str, Arc<Count>); 4],
    seconds: Histogram,
    overhead: Histogram,
    models: ArcSwap<Vec<(Box<str>, Arc<ModelMeter>)>>,
    adding: Mutex<()>,
}

/// The metrics of the requests of one graph to one model.
struct ModelMeter {
    requests: Arc<Count>,
    stored: Arc<Count>,
    retries: Arc<Count>,
    fallbacks: Arc<Count>,
    seconds: Histogram,
    first_token: Histogram,
    queue: Histogram,
    /// Input, cached, written to a cache, output, reasoning.
    tokens: [Arc<Count>; 5],
    /// A counter of numbers that are not whole.
    cost: Gauge,
}

impl GraphMeters {
    pub(super) fn new(series: Arc<Series>) -> Self {
        let other = Arc::new(GraphMeter::new(series.clone(), OTHER));
        Self { series, by_name: ArcSwap::default(), adding: Mutex::default(), other }
    }

    /// The metrics of a graph; beyond the bound, those of all others. A graph may have the name of their label.
    pub(super) fn of(&self, graph: &str) -> Arc<GraphMeter> {
        let found = |known: &HashMap<Box<str>, Arc<GraphMeter>>| match known.get(graph) {
            _ if graph == OTHER => Some(self.other.clone()),
            None if known.len() >= MOST_GRAPHS => Some(self.other.clone()),
            known => known.cloned(),
        };
        found(&self.by_name.load()).unwrap_or_else(|| {
            let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
            let known = self.by_name.load_full();
            found(&known).unwrap_or_else(|| {
                let meter = Arc::new(GraphMeter::new(self.series.clone(), graph));
                let mut all = HashMap::clone(&known);
                all.insert(graph.into(), meter.clone());
                self.by_name.store(Arc::new(all));
                meter
            })
        })
    }
}

impl GraphMeter {
    fn new(series: Arc<Series>, graph: &str) -> Self {
        let graph: Arc<str> = graph.into();
        let label = || Label::new("graph", graph.clone());
        let outcomes = ["succeeded", "failed", "cancelled", "waiting"].map(|outcome| {
            (outcome, series.count(name::RUNS, vec![label(), Label::new("outcome", outcome)]))
        });
        Self {
            outcomes,
            seconds: series.histogram(name::RUN_SECONDS, vec![label()]),
            overhead: series.histogram(name::RUN_OVERHEAD, Vec::new()),
            models: ArcSwap::default(),
            adding: Mutex::default(),
            graph: graph.clone(),
            series,
        }
    }

    /// Counts a run that ended, with the time of its execution if there was one.
    pub(crate) fn run_ended(&self, outcome: &str, took: Option<Duration>) {
        if let Some((_, count)) = self.outcomes.iter().find(|(known, _)| *known == outcome) {
            count.add(1);
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
        found(&self.models.load()).unwrap_or_else(|| {
            let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
            let models = self.models.load_full();
            found(&models).unwrap_or_else(|| {
                let meter = Arc::new(ModelMeter::new(&self.series, &self.labels(alias)));
                let mut all = Vec::clone(&models);
                all.push((alias.into(), meter.clone()));
                self.models.store(Arc::new(all));
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
            model.stored.add(1);
            return;
        }
        model.requests.add(1);
        model.seconds.record(attempt.duration);
        if attempt.is_retry {
            model.retries.add(1);
        }
        if attempt.is_fallback {
            model.fallbacks.add(1);
        }
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
        let count = |name| series.count(name, labels.to_vec());
        let histogram = |name| series.histogram(name, labels.to_vec());
        let tokens = ["input", "cached", "cache_write", "output", "reasoning"].map(|kind| {
            let labels = [labels.to_vec(), vec![Label::new("type", kind)]].concat();
            series.count(name::LM_TOKENS, labels)
        });
        Self {
            requests: count(name::LM_REQUESTS),
            stored: count(name::LM_STORED),
            retries: count(name::LM_RETRIES),
            fallbacks: count(name::LM_FALLBACKS),
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
        for (count, tokens) in self.tokens.iter().zip(used).filter(|(_, tokens)| *tokens > 0) {
            count.add(tokens);
        }
        if let Some(cost) = usage.cost {
            self.cost.increment(cost);
        }
    }
}
