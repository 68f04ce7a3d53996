//! The metrics of answered requests, by route, method and status. Knows no routes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use metrics::{Histogram, Label};

use super::catalogue as name;
use super::count::Count;
use super::series::Series;

/// The meters of all requests. Routes are few: they are patterns.
#[derive(Default)]
pub(super) struct RequestMeters {
    by_route: ArcSwap<HashMap<Box<str>, Vec<RequestMeter>>>,
    adding: Mutex<()>,
}

/// The metrics of the requests with one answer.
#[derive(Clone)]
struct RequestMeter {
    method: &'static str,
    status: u16,
    count: Arc<Count>,
    seconds: Histogram,
}

impl RequestMeters {
    /// Counts a request to a route with a method that was answered with a status.
    pub(super) fn record(
        &self,
        series: &Series,
        (route, method, status): (&str, &'static str, u16),
        took: Duration,
    ) {
        let record = |known: &HashMap<Box<str>, Vec<RequestMeter>>| {
            let mut meters = known.get(route).into_iter().flatten();
            let meter = meters.find(|meter| meter.method == method && meter.status == status);
            meter.inspect(|meter| meter.record(took)).is_some()
        };
        if record(&self.by_route.load()) {
            return;
        }
        let _adding = self.adding.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.by_route.load_full();
        if record(&known) {
            return;
        }
        let meter = RequestMeter::new(series, route, method, status);
        meter.record(took);
        let mut all = HashMap::clone(&known);
        all.entry(route.into()).or_default().push(meter);
        self.by_route.store(Arc::new(all));
    }
}

impl RequestMeter {
    fn new(series: &Series, route: &str, method: &'static str, status: u16) -> Self {
        let labels = [Label::new("route", route.to_owned()), Label::new("method", method)];
        let seconds = series.histogram(name::HTTP_SECONDS, labels.to_vec());
        let [route, method_label] = labels;
        let labels = vec![route, method_label, Label::new("status", status.to_string())];
        Self { method, status, count: series.count(name::HTTP_REQUESTS, labels), seconds }
    }

    fn record(&self, took: Duration) {
        self.count.add(1);
        self.seconds.record(took);
    }
}
