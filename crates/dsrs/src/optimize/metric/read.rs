//! Metrics from what people write: a name, or an object of one member. Everything that is wrong is
//! reported, in parts of parts too.

use super::composite::{Aggregation, CompositeMetric};
use super::fieldwise::FieldwiseMetric;
use super::judge::JudgeMetric;
use super::options::{object, threshold, weight};
use super::{Metric, MetricKind};
use crate::problem::{At, Code, Problems};
use crate::read::{Object, list, nearest, wrong_type};
use crate::signature::SignatureSchema;
use crate::strategy::BuildEnv;
use crate::value::{Map, Payload};

/// How many metrics one may be made of.
const LIMIT: usize = 100;

/// How deep metrics may be parts of metrics.
const DEPTH: usize = 8;

/// The metric that is a stored graph.
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

/// Those that may be written as their names alone.
pub(super) const PLAIN: [&str; 5] = ["exact", "normalized_exact", "contains", "f1", "numeric"];

/// A metric as it stands in a document.
#[derive(Clone, Copy)]
pub(super) struct MetricSpec<'s> {
    pub(super) name: &'static str,
    pub(super) options: &'s Payload,
    /// The place of the options.
    pub(super) at: &'s At<'s>,
}

/// A reading of one document.
pub(super) struct MetricReader<'r> {
    pub(super) env: &'r dyn BuildEnv,
    /// What the program takes and gives.
    pub(super) program: &'r SignatureSchema,
    /// How many metrics have been read.
    count: usize,
    /// How many metrics this is inside of.
    depth: usize,
}

impl<'r> MetricReader<'r> {
    pub(super) const fn new(env: &'r dyn BuildEnv, program: &'r SignatureSchema) -> Self {
        Self { env, program, count: 0, depth: 0 }
    }

    /// A metric; `None` when it does not fit, with the reasons in the problems.
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
            // The one metric whose options stand beside its name.
            Payload::Map(members) if members.contains_key(GRAPH) => {
                let said = MetricSpec { name: GRAPH, options: payload, at };
                let (judged, written) = JudgeMetric::read_graph(self, said, problems)?;
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

    /// A metric by its name alone.
    fn plain(&mut self, name: &str, at: &At<'_>, problems: &mut Problems) -> Option<Metric> {
        let name = known(name, at, problems)?;
        if PLAIN.contains(&name) {
            return self
                .named(MetricSpec { name, options: &Payload::map(Map::new()), at }, problems);
        }
        let detail = format!("`{name}` has to be told more: write an object `{{\"{name}\": …}}`");
        problems.add(at, Code::InvalidValue, detail);
        None
    }

    fn named(&mut self, said: MetricSpec<'_>, problems: &mut Problems) -> Option<Metric> {
        let (kind, options) = match said.name {
            "expression" => judged(JudgeMetric::read_expression(self, said, problems)?),
            "judge" => judged(JudgeMetric::read_judge(self, said, problems)?),
            "weighted" => composed(self.weighted(said, problems)?),
            "at_least" => composed(self.at_least(said, problems)?),
            plain if PLAIN.contains(&plain) => {
                let (fieldwise, options) = FieldwiseMetric::read(self.program, said, problems)?;
                (MetricKind::Fieldwise(fieldwise), options)
            }
            _ => composed(self.parts(said, problems)?),
        };
        Some(Metric::named(said.name, kind, options))
    }

    fn parts(
        &mut self,
        said: MetricSpec<'_>,
        problems: &mut Problems,
    ) -> Option<(CompositeMetric, Payload)> {
        let read = |part: &Payload, at: &At<'_>, found: &mut Problems| self.metric(part, at, found);
        let parts = some(list(said.options, said.at, problems, read)?, said, problems)?;
        let written = Payload::list(parts.iter().map(Metric::to_payload).collect());
        let way = match said.name {
            "min" => Aggregation::Min,
            "max" => Aggregation::Max,
            "product" => Aggregation::Product,
            _ => Aggregation::Mean,
        };
        Some((CompositeMetric::new(parts, way), written))
    }

    fn weighted(
        &mut self,
        said: MetricSpec<'_>,
        problems: &mut Problems,
    ) -> Option<(CompositeMetric, Payload)> {
        let read = |part: &Payload, at: &At<'_>, problems: &mut Problems| {
            let mut part = Object::open(part, at, problems)?;
            let metric = part.required("metric", |part, at, found| self.metric(part, at, found));
            let weight = part.required("weight", weight);
            part.close();
            Some((metric?, weight?))
        };
        let parts = some(list(said.options, said.at, problems, read)?, said, problems)?;
        let (parts, weights): (Vec<Metric>, Vec<f64>) = parts.into_iter().unzip();
        let options = |(part, weight): (&Metric, &f64)| {
            object([("metric", Some(part.to_payload())), ("weight", Some((*weight).into()))])
        };
        let written = Payload::list(parts.iter().zip(&weights).map(options).collect());
        Some((CompositeMetric::new(parts, Aggregation::Weighted(weights)), written))
    }

    fn at_least(
        &mut self,
        said: MetricSpec<'_>,
        problems: &mut Problems,
    ) -> Option<(CompositeMetric, Payload)> {
        let mut read = Object::open(said.options, said.at, problems)?;
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

/// The one member of an object that says a metric.
fn only<'m>(
    members: &'m Map,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<(&'static str, &'m Payload)> {
    let mut said = members.iter();
    match (said.next(), said.next()) {
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
        let detail = format!("there is no metric `{name}`; {hint}there are {}", NAMES.join(", "));
        problems.add(at, Code::UnknownField, detail);
    }
    found
}

/// The parts, if all could be read and there are any.
fn some<T>(read: Vec<T>, said: MetricSpec<'_>, problems: &mut Problems) -> Option<Vec<T>> {
    let count = said.options.as_list().map_or(0, <[_]>::len);
    if count == 0 {
        problems.add(said.at, Code::InvalidValue, "one metric at least is needed");
    }
    (count > 0 && read.len() == count).then_some(read)
}
