//! Metrics: a score from 0 to 1 for the outputs of a program on an example, with feedback. A metric is
//! data, read from a document and checked against the program. Knows nothing of evaluations.

mod composite;
mod contains;
mod exact;
mod f1;
mod fieldwise;
mod form;
mod function;
mod judge;
mod normalized;
mod numeric;
mod options;
mod read;
mod references;
mod schema;
mod spec;

use std::sync::Arc;

use futures_util::future::BoxFuture;

use self::composite::CompositeMetric;
use self::fieldwise::FieldwiseMetric;
pub(super) use self::function::CaseScorer;
use self::function::{CaseFn, FunctionMetric};
use self::judge::JudgeMetric;
use self::read::MetricReader;
use super::{Case, Score};
use crate::graph::Program;
use crate::predict::{Ctx, PredictError};
use crate::problem::{At, Problems};
use crate::strategy::{BuildEnv, StoredGraphRef};
use crate::value::{Map, Payload};

/// Scores the outputs of a program on an example.
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
    Function(FunctionMetric),
}

impl Metric {
    /// Reads a metric and checks it against the program. Pins stored graphs to their current versions.
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

    /// A metric that is a Rust function. It cannot be read back from its document.
    #[must_use]
    pub fn function(
        score: impl Fn(Case<'_>) -> Result<Score, PredictError> + Send + Sync + 'static,
    ) -> Self {
        Self::of_scorer(CaseFn(score))
    }

    /// A metric that is Rust code.
    pub(super) fn of_scorer(scorer: impl CaseScorer + 'static) -> Self {
        let kind = MetricKind::Function(FunctionMetric::of(scorer));
        Self::named(function::NAME, kind, Payload::map(Map::new()))
    }

    /// The stored graphs that a metric refers to, which [`Self::read`] looks up in its environment. The
    /// metric may be unchecked.
    #[must_use]
    pub fn references(payload: &Payload) -> Vec<StoredGraphRef> {
        references::stored_graphs(payload)
    }

    /// The JSON Schema for [`Self::read`]. It is self-contained: nested metrics are described as strings
    /// or objects only.
    #[must_use]
    pub fn schema() -> Payload {
        schema::schema()
    }

    /// Its name, such as `exact`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The metric with all defaults filled in. Metrics with equal documents score equally.
    #[must_use]
    pub fn to_payload(&self) -> Payload {
        self.written.clone()
    }

    /// Judges. LM calls of judges and graphs go through `ctx`.
    ///
    /// # Errors `reward_failed` if the case cannot be scored (nothing can be compared, an
    /// expression fails), and the error of an LM call of a judge.
    pub async fn score(&self, ctx: &Ctx, case: Case<'_>) -> Result<Score, PredictError> {
        self.judge(ctx, case).await
    }

    /// Whether judging may call an LM.
    #[must_use]
    pub fn calls_lm(&self) -> bool {
        match &self.kind {
            MetricKind::Fieldwise(_) => false,
            // Nothing is known of the code.
            MetricKind::Function(_) => true,
            MetricKind::Judged(judged) => judged.calls_lm(),
            MetricKind::Composed(composed) => composed.parts().iter().any(Self::calls_lm),
        }
    }

    /// [`Self::score`] as a boxed future, because metrics contain metrics.
    fn judge<'a>(
        &'a self,
        ctx: &'a Ctx,
        case: Case<'a>,
    ) -> BoxFuture<'a, Result<Score, PredictError>> {
        match &self.kind {
            MetricKind::Fieldwise(fieldwise) => Box::pin(std::future::ready(fieldwise.score(case))),
            MetricKind::Function(function) => Box::pin(function.score(ctx, case)),
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
