//! Metrics from what people write: a name, or an object of one member. Everything that is wrong is
//! reported, in parts of parts too.

use super::composed::{Composed, Way};
use super::fieldwise::{Comparison, Fieldwise};
use super::judged::{Judged, Scale};
use super::options::{fields, object, scale, threshold, tolerance, weight, written};
use super::{Kind, Metric};
use crate::problem::{At, Code, Problems};
use crate::read::{Object, list, nearest, shared_text, wrong_type};
use crate::signature::SignatureSchema;
use crate::strategy::judging::{Judging, Sight, View, Wanted};
use crate::strategy::{BuildEnv, GraphPin, registry};
use crate::value::{Map, Payload};

/// How many metrics one may be made of.
const LIMIT: usize = 100;

/// How deep metrics may be parts of metrics.
const DEPTH: usize = 8;

/// All metrics.
pub(super) const NAMES: [&str; 14] = [
    "exact",
    "normalized_exact",
    "contains",
    "f1",
    "numeric",
    "expression",
    "judge",
    "graph",
    "mean",
    "weighted",
    "min",
    "max",
    "product",
    "at_least",
];

/// Those that may be written as their names alone.
pub(super) const PLAIN: [&str; 5] = ["exact", "normalized_exact", "contains", "f1", "numeric"];

/// A reading of one document.
pub(super) struct Reading<'r> {
    env: &'r dyn BuildEnv,
    program: &'r SignatureSchema,
    /// How many metrics have been read.
    count: usize,
    /// How many metrics this is inside of.
    depth: usize,
}

impl<'r> Reading<'r> {
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
            Payload::Map(members) if members.contains_key("graph") => {
                self.graph(payload, at, problems)
            }
            Payload::Map(members) => {
                let (name, options) = only(members, at, problems)?;
                self.depth += 1;
                let metric = self.named(name, options, &at.key(name), problems);
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
        if PLAIN.contains(&name) {
            let name = known(name, at, problems)?;
            return self.named(name, &Payload::map(Map::new()), at, problems);
        }
        let name = known(name, at, problems)?;
        let detail = format!("`{name}` has to be told more: write an object `{{\"{name}\": …}}`");
        problems.add(at, Code::InvalidValue, detail);
        None
    }

    fn named(
        &mut self,
        name: &'static str,
        options: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Metric> {
        match name {
            "exact" => self.fieldwise(name, Comparison::Exact, options, at, problems),
            "normalized_exact" => {
                self.fieldwise(name, Comparison::Normalized, options, at, problems)
            }
            "contains" => self.fieldwise(name, Comparison::Contains, options, at, problems),
            "f1" => self.fieldwise(name, Comparison::F1, options, at, problems),
            "numeric" => self.numeric(name, options, at, problems),
            "expression" => self.expression(name, options, at, problems),
            "judge" => self.judge(name, options, at, problems),
            "mean" => self.parts(name, Way::Mean, options, at, problems),
            "min" => self.parts(name, Way::Min, options, at, problems),
            "max" => self.parts(name, Way::Max, options, at, problems),
            "product" => self.parts(name, Way::Product, options, at, problems),
            "weighted" => self.weighted(name, options, at, problems),
            "at_least" => self.at_least(name, options, at, problems),
            _ => None,
        }
    }

    fn fieldwise(
        &self,
        name: &'static str,
        by: Comparison,
        options: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Metric> {
        let mut read = Object::open(options, at, problems)?;
        let fields = fields(&mut read, self.program);
        read.close();
        let options = object([("fields", fields.as_deref().map(texts))]);
        Some(Metric::named(name, Kind::Fieldwise(Fieldwise { fields, by }), options))
    }

    fn numeric(
        &self,
        name: &'static str,
        options: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Metric> {
        let mut read = Object::open(options, at, problems)?;
        let fields = fields(&mut read, self.program);
        let tolerance = tolerance(&mut read);
        read.close();
        let options = object([
            ("fields", fields.as_deref().map(texts)),
            ("tolerance", Some(tolerance.within.into())),
            ("relative", Some(tolerance.relative.into())),
        ]);
        let by = Comparison::Numeric(tolerance);
        Some(Metric::named(name, Kind::Fieldwise(Fieldwise { fields, by }), options))
    }

    fn expression(
        &self,
        name: &'static str,
        source: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Metric> {
        let judging = kept(Judging::expression(source, self.view(), at), problems)?;
        let told = shared_text(source, at, problems);
        let judged = Judged { judging, scale: Scale::UNIT, told };
        Some(Metric::named(name, Kind::Judged(judged), source.clone()))
    }

    fn judge(
        &self,
        name: &'static str,
        judge: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Metric> {
        let judging = kept(Judging::judge(self.env, judge, self.view(), at), problems);
        let members = judge.as_map()?;
        let said = |name: &str| members.get(name).filter(|found| !found.is_null()).cloned();
        let scale = match said("scale") {
            Some(found) => scale(&found, &at.key("scale"), problems)?,
            None => Scale::UNIT,
        };
        let strategy = said("strategy").unwrap_or_else(|| "predict".into());
        let config = said("config").map(|config| match &strategy {
            Payload::Str(strategy) => registry::pinned(self.env, strategy, config),
            _ => config,
        });
        let options = object([
            ("signature", said("signature")),
            ("score", said("score")),
            ("feedback", said("feedback")),
            ("strategy", Some(strategy)),
            ("config", config),
            ("scale", written(scale)),
        ]);
        let judged = Judged { judging: judging?, scale, told: None };
        Some(Metric::named(name, Kind::Judged(judged), options))
    }

    /// A stored graph: the one metric whose options stand beside its name.
    fn graph(&self, payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Metric> {
        let mut read = Object::open(payload, at, problems)?;
        let pin = GraphPin::read(&mut read);
        let score = read.optional("score", shared_text);
        let feedback = read.optional("feedback", shared_text);
        let scale = read.optional("scale", scale).unwrap_or(Scale::UNIT);
        read.close();
        let pin = pin?;
        let pin = match self.env.is_stored() {
            true => pin,
            false => self.env.pin_graph(&pin).unwrap_or(pin),
        };
        let wanted = Wanted {
            score: score.as_deref().map(|name| (name, at.key("score"))),
            usual: "score",
            feedback: feedback.as_deref().map(|name| (name, at.key("feedback"))),
        };
        let judging = Judging::graph(self.env, &pin, &wanted, self.view(), &at.key("graph"));
        let judging = kept(judging, problems)?;
        let mut members = Map::new();
        pin.write(&mut members);
        let options = object([
            ("score", score.map(Payload::Str)),
            ("feedback", feedback.map(Payload::Str)),
            ("scale", written(scale)),
        ]);
        members.extend(options.as_map().cloned().unwrap_or_default());
        let kind = Kind::Judged(Judged { judging, scale, told: None });
        Some(Metric { name: "graph", kind, written: Payload::map(members) })
    }

    fn parts(
        &mut self,
        name: &'static str,
        way: Way,
        parts: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Metric> {
        let read = |part: &Payload, at: &At<'_>, found: &mut Problems| self.metric(part, at, found);
        let parts = some(list(parts, at, problems, read)?, parts, at, problems)?;
        let written = Payload::list(parts.iter().map(Metric::to_payload).collect());
        Some(Metric::named(name, Kind::Composed(Composed::new(parts, way)), written))
    }

    fn weighted(
        &mut self,
        name: &'static str,
        parts: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Metric> {
        let read = |part: &Payload, at: &At<'_>, problems: &mut Problems| {
            let mut part = Object::open(part, at, problems)?;
            let metric = part.required("metric", |part, at, found| self.metric(part, at, found));
            let weight = part.required("weight", weight);
            part.close();
            Some((metric?, weight?))
        };
        let parts = some(list(parts, at, problems, read)?, parts, at, problems)?;
        let (parts, weights): (Vec<Metric>, Vec<f64>) = parts.into_iter().unzip();
        let options = |(part, weight): (&Metric, &f64)| {
            object([("metric", Some(part.to_payload())), ("weight", Some((*weight).into()))])
        };
        let written = Payload::list(parts.iter().zip(&weights).map(options).collect());
        let composed = Composed::new(parts, Way::Weighted(weights));
        Some(Metric::named(name, Kind::Composed(composed), written))
    }

    fn at_least(
        &mut self,
        name: &'static str,
        options: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Metric> {
        let mut read = Object::open(options, at, problems)?;
        let metric = read.required("metric", |part, at, found| self.metric(part, at, found));
        let threshold = read.required("threshold", threshold);
        read.close();
        let (metric, threshold) = (metric?, threshold?);
        let options =
            object([("metric", Some(metric.to_payload())), ("threshold", Some(threshold.into()))]);
        let composed = Composed::new(vec![metric], Way::AtLeast(threshold));
        Some(Metric::named(name, Kind::Composed(composed), options))
    }

    const fn view(&self) -> View<'r> {
        View { schema: Some(self.program), sight: Sight::Example }
    }
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
fn some<T>(
    read: Vec<T>,
    written: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Vec<T>> {
    let count = written.as_list().map_or(0, <[_]>::len);
    if count == 0 {
        problems.add(at, Code::InvalidValue, "one metric at least is needed");
    }
    (count > 0 && read.len() == count).then_some(read)
}

/// What was made, or its problems with the others.
fn kept<T>(made: Result<T, Problems>, problems: &mut Problems) -> Option<T> {
    made.map_err(|found| problems.extend(found)).ok()
}

fn texts(names: &[std::sync::Arc<str>]) -> Payload {
    Payload::list(names.iter().cloned().map(Payload::Str).collect())
}
