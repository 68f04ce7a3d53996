//! Metrics: how good what a program made of an example is, from 0 to 1, and why. A metric is data: it
//! is read, checked against the program whose outputs it judges, and written down again. Knows
//! nothing of evaluations.

mod composite;
mod contains;
mod exact;
mod f1;
mod fieldwise;
mod form;
mod judge;
mod normalized;
mod numeric;
mod options;
mod read;
mod references;
mod schema;

use std::sync::Arc;

use futures_util::future::BoxFuture;

use self::composite::CompositeMetric;
use self::fieldwise::FieldwiseMetric;
use self::judge::JudgeMetric;
use self::read::MetricReader;
use super::{Case, Score};
use crate::graph::Program;
use crate::predict::{Ctx, PredictError};
use crate::problem::{At, Problems};
use crate::strategy::{BuildEnv, StoredGraphRef};
use crate::value::{Map, Payload};

/// Says how good what a program made of an example is.
///
/// ```
/// use dsrs::graph::Program;
/// use dsrs::optimize::Metric;
/// use dsrs::problem::At;
/// use dsrs::strategy::StoredEnv;
/// use dsrs::value::Payload;
///
/// let json = |text: &str| Payload::from_json(text).unwrap();
/// let graph = json(r#"{"name": "qa", "nodes": {"answer": {"strategy": "predict", "signature": "question -> answer"}}}"#);
/// let program = Program::from_document(&graph, &StoredEnv).unwrap();
/// let metric = Metric::read(&"exact".into(), &StoredEnv, &program, &At::Root).unwrap();
/// assert_eq!(metric.to_payload(), json(r#"{"exact": {}}"#));
/// let wrong = json(r#"{"exact": {"field": "anser"}}"#);
/// assert!(Metric::read(&wrong, &StoredEnv, &program, &At::Root).is_err());
/// ```
pub struct Metric {
    name: &'static str,
    kind: MetricKind,
    written: Payload,
}

enum MetricKind {
    Fieldwise(FieldwiseMetric),
    Judged(JudgeMetric),
    Composed(CompositeMetric),
}

impl Metric {
    /// Reads a metric and checks it against the program whose outputs it judges. Stored graphs are
    /// pinned to the versions that they have now.
    ///
    /// # Errors
    /// Everything that is wrong with it, with pointers below `at`.
    pub fn read(
        payload: &Payload,
        env: &dyn BuildEnv,
        program: &Program,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        let signature = program.signature();
        let mut problems = Problems::new();
        let metric = MetricReader::new(env, &signature).metric(payload, at, &mut problems);
        match metric {
            Some(metric) => problems.or(metric),
            None => Err(problems),
        }
    }

    /// The stored graphs that a metric refers to: what [`Self::read`] asks its surroundings for. The
    /// metric may not have been checked.
    #[must_use]
    pub fn references(payload: &Payload) -> Vec<StoredGraphRef> {
        references::stored_graphs(payload)
    }

    /// The JSON Schema of what [`Self::read`] takes. It stands for itself wherever it is put: the
    /// parts of compositions are described as texts or objects, and read as metrics all the same.
    #[must_use]
    pub fn schema() -> Payload {
        schema::schema()
    }

    /// The metric with everything that was left unsaid filled in. Metrics that are written the same
    /// judge the same.
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        self.written.clone()
    }

    /// Judges. LM calls of judges and graphs go through `ctx`.
    ///
    /// # Errors
    /// `reward_failed` where the case cannot be judged (nothing of it can be compared, an expression
    /// fails), and whatever an LM call of a judge fails with.
    pub async fn score(&self, ctx: &Ctx, case: Case<'_>) -> Result<Score, PredictError> {
        self.judge(ctx, case).await
    }

    /// Whether judging may call an LM.
    #[must_use]
    pub fn calls_lm(&self) -> bool {
        match &self.kind {
            MetricKind::Fieldwise(_) => false,
            MetricKind::Judged(judged) => judged.calls_lm(),
            MetricKind::Composed(composed) => composed.parts().iter().any(Self::calls_lm),
        }
    }

    /// As [`Self::score`], in a box: metrics are made of metrics.
    fn judge<'a>(
        &'a self,
        ctx: &'a Ctx,
        case: Case<'a>,
    ) -> BoxFuture<'a, Result<Score, PredictError>> {
        match &self.kind {
            MetricKind::Fieldwise(fieldwise) => Box::pin(std::future::ready(fieldwise.score(case))),
            MetricKind::Judged(judged) => Box::pin(judged.score(ctx, case)),
            MetricKind::Composed(composed) => Box::pin(composed.score(ctx, case)),
        }
    }

    /// A metric of this kind, written as `{name: options}`.
    fn named(name: &'static str, kind: MetricKind, options: Payload) -> Self {
        let written = Payload::map(Map::from_iter([(Arc::from(name), options)]));
        Self { name, kind, written }
    }
}
