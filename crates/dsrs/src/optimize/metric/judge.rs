//! `expression`, `judge` and `graph`: metrics that judge the whole case. They share their judging with
//! the rewards of strategies; this file scales the result to a score.

use std::sync::Arc;

use facet::Facet;

use super::options::{object, scale, written};
use super::spec::{MetricContext, MetricSpec, Scale};
use crate::document::read_settings;
use crate::optimize::{Case, PredictorCall, Score};
use crate::predict::{Ctx, PredictError};
use crate::problem::{At, Problems};
use crate::read::shared_text;
use crate::strategy::judging::{
    ExampleValues, JudgeConfig, JudgedFields, JudgedKind, JudgedValues, ScoreFields, Scorer,
};
use crate::strategy::{GraphPin, pinned};
use crate::value::{Map, Payload};

/// A judgement, scaled to 0 to 1.
pub(super) struct JudgeMetric {
    judging: Scorer,
    scale: Scale,
    /// The expression that explains a score below 1 if there is no other feedback.
    expression: Option<Arc<str>>,
}

/// The settings of a judge.
#[derive(Facet)]
pub(super) struct JudgeMetricConfig {
    #[facet(flatten)]
    judge: JudgeConfig,
    #[facet(flatten)]
    judgement: JudgementConfig,
}

/// The settings of a stored graph that judges.
#[derive(Facet)]
pub(super) struct GraphMetricConfig {
    /// The name of a stored graph.
    graph: String,
    #[facet(flatten)]
    pin: GraphPin,
    /// The output that is the score: a number, or a bool. Default: the one named `score`, or the only one.
    score: Option<String>,
    #[facet(flatten)]
    judgement: JudgementConfig,
}

#[derive(Facet)]
struct JudgementConfig {
    /// The output with the reason: a text.
    feedback: Option<String>,
    /// The worst and the best score. Default: 0 and 1.
    #[facet(dsrs::keywords(SCALE))]
    scale: Option<Payload>,
}

/// The keywords of a pair of numbers.
const SCALE: &str =
    r#"{"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}"#;

impl JudgementConfig {
    fn scale(&self, at: &At<'_>, problems: &mut Problems) -> Option<Scale> {
        match &self.scale {
            Some(found) => scale(found, &at.key("scale"), problems),
            None => Some(Scale::UNIT),
        }
    }
}

impl JudgeMetric {
    /// Reads an expression; returns its options too.
    pub(super) fn read_expression(
        context: MetricContext<'_>,
        spec: MetricSpec<'_>,
        problems: &mut Problems,
    ) -> Option<(Self, Payload)> {
        let expression = shared_text(spec.options, spec.at, problems)?;
        let judging = built(Scorer::expression(&expression, view(context), spec.at), problems)?;
        let judged = Self { judging, scale: Scale::UNIT, expression: Some(expression) };
        Some((judged, spec.options.clone()))
    }

    /// Reads a judge; returns its options too.
    pub(super) fn read_judge(
        context: MetricContext<'_>,
        spec: MetricSpec<'_>,
        problems: &mut Problems,
    ) -> Option<(Self, Payload)> {
        let MetricSpec { options, at, .. } = spec;
        let Some(config) = read_settings(options, at, problems) else {
            JudgeConfig::check_signature(options, view(context), at, problems);
            return None;
        };
        let JudgeMetricConfig { judge, judgement } = config;
        let feedback = judgement.feedback.as_deref();
        let judging = Scorer::judge(context.env, &judge, feedback, view(context), at);
        let judging = built(judging, problems);
        let scale = judgement.scale(at, problems)?;
        let config = judge.config.map(|config| pinned(context.env, &judge.strategy, config));
        let options = object([
            ("signature", Some(judge.signature)),
            ("score", Some(judge.score.into())),
            ("feedback", judgement.feedback.map(Payload::from)),
            ("strategy", Some(judge.strategy.into())),
            ("config", config),
            ("scale", written(scale)),
        ]);
        Some((Self { judging: judging?, scale, expression: None }, options))
    }

    /// Reads a stored graph, whose options are siblings of its name; returns them too.
    pub(super) fn read_graph(
        context: MetricContext<'_>,
        spec: MetricSpec<'_>,
        problems: &mut Problems,
    ) -> Option<(Self, Payload)> {
        let config: GraphMetricConfig = read_settings(spec.options, spec.at, problems)?;
        let GraphMetricConfig { graph, pin, score, judgement } = config;
        let scale = judgement.scale(spec.at, problems).unwrap_or(Scale::UNIT);
        let pin = pin.of(&graph);
        let pin = match context.env.is_stored() {
            true => pin,
            false => context.env.pin_graph(&pin).unwrap_or(pin),
        };
        let wanted = ScoreFields {
            score: score.as_deref().map(|name| (name, spec.at.key("score"))),
            usual: "score",
            feedback: judgement.feedback.as_deref().map(|name| (name, spec.at.key("feedback"))),
        };
        let place = spec.at.key("graph");
        let judging = Scorer::graph(context.env, &pin, &wanted, view(context), &place);
        let judging = built(judging, problems)?;
        let options = object([
            ("score", score.map(Payload::from)),
            ("feedback", judgement.feedback.map(Payload::from)),
            ("scale", written(scale)),
        ]);
        let mut members = Map::new();
        pin.write(&mut members);
        members.extend(options.as_map().cloned().unwrap_or_default());
        Some((Self { judging, scale, expression: None }, Payload::map(members)))
    }

    pub(super) async fn score(&self, ctx: &Ctx, case: Case<'_>) -> Result<Score, PredictError> {
        let trace = || trace(case.calls);
        let example = ExampleValues { expected: &case.example.expected, trace: &trace };
        let shown = JudgedValues {
            inputs: &case.example.inputs,
            outputs: case.outputs,
            example: Some(example),
        };
        let (found, feedback) = self.judging.of(ctx, shown).await?;
        let Scale { low, high } = self.scale;
        let score = Score::of((found - low) / (high - low));
        let failed = self.expression.as_ref().filter(|_| score.value < 1.0);
        let explain = || failed.map(|text| format!("`{text}` evaluates to {}", score.value).into());
        Ok(Score { feedback: feedback.or_else(explain), ..score })
    }

    pub(super) fn calls_lm(&self) -> bool {
        self.judging.calls_lm()
    }
}

/// The view of a metric: it judges examples.
const fn view(context: MetricContext<'_>) -> JudgedFields<'_> {
    JudgedFields { schema: Some(context.program), sight: JudgedKind::Example }
}

/// The result, or `None` with its problems added to the others.
fn built<T>(made: Result<T, Problems>, problems: &mut Problems) -> Option<T> {
    made.map_err(|found| problems.append(found)).ok()
}

/// The predictor calls of a run as expressions read them.
fn trace(calls: &[PredictorCall]) -> Payload {
    let member = |step: &PredictorCall| {
        let members = [
            ("predictor", Payload::Str(step.predictor.clone())),
            ("inputs", Payload::map(step.inputs.clone())),
            ("outputs", Payload::map(step.outputs.clone())),
        ];
        Payload::map(
            members.map(|(name, member)| (Arc::from(name), member)).into_iter().collect::<Map>(),
        )
    };
    Payload::list(calls.iter().map(member).collect())
}
