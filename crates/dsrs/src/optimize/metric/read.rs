//! Reading metrics: a name, or an object with one member. Reports every problem, in nested metrics too.

use super::composite::{Aggregation, CompositeMetric};
use super::fieldwise::FieldwiseMetric;
use super::judge::JudgeMetric;
use super::options::{object, threshold, weight};
use super::spec::{MetricContext, MetricSpec};
use super::{Metric, MetricKind};
use crate::problem::{At, Code, Problems};
use crate::read::{Object, list, nearest, wrong_type};
use crate::signature::SignatureSchema;
use crate::strategy::BuildEnv;
use crate::value::{Map, Payload};

/// The maximum number of metrics in one composition.
const LIMIT: usize = 100;

/// The maximum nesting depth of metrics.
const DEPTH: usize = 8;

/// The metric that runs a stored graph.
const GRAPH: &str = "graph";

/// All metrics.
const NAMES: [&str; 14] = [
    "exact",
    "normalized_exact",
    "contains",
    "f1",
    "numeric",
    "expression",
    "judge",
    GRAPH,
    "mean",
    "weighted",
    "min",
    "max",
    "product",
    "at_least",
];

/// Metrics that can be written as a plain name.
pub(super) const PLAIN: [&str; 5] = ["exact", "normalized_exact", "contains", "f1", "numeric"];

/// Reads the metrics of one document.
pub(super) struct MetricReader<'r> {
    context: MetricContext<'r>,
    /// How many metrics were read so far.
    count: usize,
    /// How many metrics enclose the current one.
    depth: usize,
}

impl<'r> MetricReader<'r> {
    pub(super) const fn new(env: &'r dyn BuildEnv, program: &'r SignatureSchema) -> Self {
        Self { context: MetricContext { env, program }, count: 0, depth: 0 }
    }

    /// Reads a metric; returns `None` and adds problems if it does not fit.
    pub(super) fn metric(
        &mut self,
        payload: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Metric> {
        self.count += 1;
        if self.depth > DEPTH || self.count > LIMIT {
            if self.depth > DEPTH || self.count == LIMIT + 1 {
                let detail = format!("a metric has at most {LIMIT} parts, {DEPTH} deep");
                problems.add(at, Code::TooLarge, detail);
            }
            return None;
        }
        match payload {
            Payload::Str(name) => self.plain(name, at, problems),
            // The options of this metric are siblings of its name.
            Payload::Map(members) if members.contains_key(GRAPH) => {
                let spec = MetricSpec { name: GRAPH, options: payload, at };
                let (judged, written) = JudgeMetric::read_graph(self.context, spec, problems)?;
                Some(Metric { name: GRAPH, kind: MetricKind::Judged(judged), written })
            }
            Payload::Map(members) => {
                let (name, options) = only(members, at, problems)?;
                self.depth += 1;
                let metric = self.named(MetricSpec { name, options, at: &at.key(name) }, problems);
                self.depth -= 1;
                metric
            }
            other => {
                wrong_type(at, problems, "the name of a metric, or an object of one", other);
                None
            }
        }
    }

    /// Reads a metric that is a plain name.
    fn plain(&mut self, name: &str, at: &At<'_>, problems: &mut Problems) -> Option<Metric> {
        let name = known(name, at, problems)?;
        if PLAIN.contains(&name) {
            return self
                .named(MetricSpec { name, options: &Payload::map(Map::new()), at }, problems);
        }
        let detail = format!("`{name}` needs options: write an object `{{\"{name}\": …}}`");
        problems.add(at, Code::InvalidValue, detail);
        None
    }

    fn named(&mut self, spec: MetricSpec<'_>, problems: &mut Problems) -> Option<Metric> {
        let (kind, options) = match spec.name {
            "expression" => judged(JudgeMetric::read_expression(self.context, spec, problems)?),
            "judge" => judged(JudgeMetric::read_judge(self.context, spec, problems)?),
            "weighted" => composed(self.weighted(spec, problems)?),
            "at_least" => composed(self.at_least(spec, problems)?),
            plain if PLAIN.contains(&plain) => {
                let (fieldwise, options) =
                    FieldwiseMetric::read(self.context.program, spec, problems)?;
                (MetricKind::Fieldwise(fieldwise), options)
            }
            _ => composed(self.parts(spec, problems)?),
        };
        Some(Metric::named(spec.name, kind, options))
    }

    fn parts(
        &mut self,
        spec: MetricSpec<'_>,
        problems: &mut Problems,
    ) -> Option<(CompositeMetric, Payload)> {
        let read = |part: &Payload, at: &At<'_>, found: &mut Problems| self.metric(part, at, found);
        let parts = some(list(spec.options, spec.at, problems, read)?, spec, problems)?;
        let written = Payload::list(parts.iter().map(Metric::to_payload).collect());
        let way = match spec.name {
            "min" => Aggregation::Min,
            "max" => Aggregation::Max,
            "product" => Aggregation::Product,
            _ => Aggregation::Mean,
        };
        Some((CompositeMetric::new(parts, way), written))
    }

    fn weighted(
        &mut self,
        spec: MetricSpec<'_>,
        problems: &mut Problems,
    ) -> Option<(CompositeMetric, Payload)> {
        let read = |part: &Payload, at: &At<'_>, problems: &mut Problems| {
            let mut part = Object::open(part, at, problems)?;
            let metric = part.required("metric", |part, at, found| self.metric(part, at, found));
            let weight = part.required("weight", weight);
            part.close();
            Some((metric?, weight?))
        };
        let parts = some(list(spec.options, spec.at, problems, read)?, spec, problems)?;
        let (parts, weights): (Vec<Metric>, Vec<f64>) = parts.into_iter().unzip();
        let options = |(part, weight): (&Metric, &f64)| {
            object([("metric", Some(part.to_payload())), ("weight", Some((*weight).into()))])
        };
        let written = Payload::list(parts.iter().zip(&weights).map(options).collect());
        Some((CompositeMetric::new(parts, Aggregation::Weighted(weights)), written))
    }

    fn at_least(
        &mut self,
        spec: MetricSpec<'_>,
        problems: &mut Problems,
    ) -> Option<(CompositeMetric, Payload)> {
        let mut read = Object::open(spec.options, spec.at, problems)?;
        let metric = read.required("metric", |part, at, found| self.metric(part, at, found));
        let threshold = read.required("threshold", threshold);
        read.close();
        let (metric, threshold) = (metric?, threshold?);
        let written =
            object([("metric", Some(metric.to_payload())), ("threshold", Some(threshold.into()))]);
        Some((CompositeMetric::new(vec![metric], Aggregation::AtLeast(threshold)), written))
    }
}

fn judged((judged, written): (JudgeMetric, Payload)) -> (MetricKind, Payload) {
    (MetricKind::Judged(judged), written)
}

fn composed((composed, written): (CompositeMetric, Payload)) -> (MetricKind, Payload) {
    (MetricKind::Composed(composed), written)
}

/// The only member of a metric object.
fn only<'m>(
    members: &'m Map,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<(&'static str, &'m Payload)> {
    let mut named = members.iter();
    match (named.next(), named.next()) {
        (Some((name, options)), None) => Some((known(name, &at.key(name), problems)?, options)),
        _ => {
            let detail = format!("a metric is exactly one of {}", NAMES.join(", "));
            problems.add(at, Code::InvalidValue, detail);
            None
        }
    }
}

fn known(name: &str, at: &At<'_>, problems: &mut Problems) -> Option<&'static str> {
    let found = NAMES.into_iter().find(|known| *known == name);
    if found.is_none() {
        let hint = nearest(name, NAMES)
            .map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        let detail =
            format!("there is no metric `{name}`; {hint}known metrics: {}", NAMES.join(", "));
        problems.add(at, Code::UnknownField, detail);
    }
    found
}

/// The parts if all could be read and there is at least one.
fn some<T>(read: Vec<T>, spec: MetricSpec<'_>, problems: &mut Problems) -> Option<Vec<T>> {
    let count = spec.options.as_list().map_or(0, <[_]>::len);
    if count == 0 {
        problems.add(spec.at, Code::InvalidValue, "at least one metric is required");
    }
    (count > 0 && read.len() == count).then_some(read)
}
