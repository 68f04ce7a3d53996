//! `expression`, `judge` and `graph`: metrics that judge the whole case. How they judge is in the
//! room of strategies, whose rewards judge the same way; here it becomes a score.

use std::sync::Arc;

use super::options::{object, scale, written};
use super::read::{MetricReader, MetricSpec};
use crate::optimize::{Case, PredictorCall, Score};
use crate::predict::{Ctx, PredictError};
use crate::problem::Problems;
use crate::read::{Object, shared_text};
use crate::strategy::judging::{
    ExampleValues, JudgedFields, JudgedKind, JudgedValues, ScoreFields, Scorer,
};
use crate::strategy::{StoredGraphRef, pinned};
use crate::value::{Map, Payload};

/// A judgement brought to 0 to 1.
pub(super) struct JudgeMetric {
    judging: Scorer,
    scale: Scale,
    /// What is told of a score that is not full and comes without words.
    told: Option<Arc<str>>,
}

/// The ends of the scale that scores are given on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Scale {
    /// From 0 to 1.
    pub(super) const UNIT: Self = Self { low: 0.0, high: 1.0 };
}

impl JudgeMetric {
    /// An expression, and how it is written.
    pub(super) fn read_expression(
        reading: &MetricReader<'_>,
        said: MetricSpec<'_>,
        problems: &mut Problems,
    ) -> Option<(Self, Payload)> {
        let judging = kept(Scorer::expression(said.options, view(reading), said.at), problems)?;
        let told = shared_text(said.options, said.at, problems);
        Some((Self { judging, scale: Scale::UNIT, told }, said.options.clone()))
    }

    /// A judge, and how it is written.
    pub(super) fn read_judge(
        reading: &MetricReader<'_>,
        said: MetricSpec<'_>,
        problems: &mut Problems,
    ) -> Option<(Self, Payload)> {
        let judging = Scorer::judge(reading.env, said.options, view(reading), said.at);
        let judging = kept(judging, problems);
        let members = said.options.as_map()?;
        let member = |name: &str| members.get(name).filter(|found| !found.is_null()).cloned();
        let scale = match member("scale") {
            Some(found) => scale(&found, &said.at.key("scale"), problems)?,
            None => Scale::UNIT,
        };
        let strategy = member("strategy").unwrap_or_else(|| "predict".into());
        let config = member("config").map(|config| match &strategy {
            Payload::Str(strategy) => pinned(reading.env, strategy, config),
            _ => config,
        });
        let options = object([
            ("signature", member("signature")),
            ("score", member("score")),
            ("feedback", member("feedback")),
            ("strategy", Some(strategy)),
            ("config", config),
            ("scale", written(scale)),
        ]);
        Some((Self { judging: judging?, scale, told: None }, options))
    }

    /// A stored graph, and how it is written: its options stand beside its name.
    pub(super) fn read_graph(
        reading: &MetricReader<'_>,
        said: MetricSpec<'_>,
        problems: &mut Problems,
    ) -> Option<(Self, Payload)> {
        let mut read = Object::open(said.options, said.at, problems)?;
        let pin = StoredGraphRef::read(&mut read);
        let score = read.optional("score", shared_text);
        let feedback = read.optional("feedback", shared_text);
        let scale = read.optional("scale", scale).unwrap_or(Scale::UNIT);
        read.close();
        let pin = pin?;
        let pin = match reading.env.is_stored() {
            true => pin,
            false => reading.env.pin_graph(&pin).unwrap_or(pin),
        };
        let wanted = ScoreFields {
            score: score.as_deref().map(|name| (name, said.at.key("score"))),
            usual: "score",
            feedback: feedback.as_deref().map(|name| (name, said.at.key("feedback"))),
        };
        let place = said.at.key("graph");
        let judging = Scorer::graph(reading.env, &pin, &wanted, view(reading), &place);
        let judging = kept(judging, problems)?;
        let options = object([
            ("score", score.map(Payload::Str)),
            ("feedback", feedback.map(Payload::Str)),
            ("scale", written(scale)),
        ]);
        let mut members = Map::new();
        pin.write(&mut members);
        members.extend(options.as_map().cloned().unwrap_or_default());
        Some((Self { judging, scale, told: None }, Payload::map(members)))
    }

    pub(super) async fn score(&self, ctx: &Ctx, case: Case<'_>) -> Result<Score, PredictError> {
        let trace = || trace(case.calls);
        let example = ExampleValues { expected: &case.example.expected, trace: &trace };
        let shown = JudgedValues {
            inputs: &case.example.inputs,
            outputs: case.outputs,
            example: Some(example),
        };
        let found = self.judging.of(ctx, shown).await?;
        let Scale { low, high } = self.scale;
        let score = Score::of((found.score - low) / (high - low));
        let short = self.told.as_ref().filter(|_| score.value < 1.0);
        let told = || short.map(|told| format!("`{told}` gives {}", score.value).into());
        Ok(Score { feedback: found.feedback.or_else(told), ..score })
    }

    pub(super) fn calls_lm(&self) -> bool {
        self.judging.calls_lm()
    }
}

/// Examples are judged.
const fn view<'r>(reading: &MetricReader<'r>) -> JudgedFields<'r> {
    JudgedFields { schema: Some(reading.program), sight: JudgedKind::Example }
}

/// What was made, or its problems with the others.
fn kept<T>(made: Result<T, Problems>, problems: &mut Problems) -> Option<T> {
    made.map_err(|found| problems.extend(found)).ok()
}

/// The steps of a run as expressions see them.
fn trace(calls: &[PredictorCall]) -> Payload {
    let told = |step: &PredictorCall| {
        let members = [
            ("predictor", Payload::Str(step.predictor.clone())),
            ("inputs", Payload::map(step.inputs.clone())),
            ("outputs", Payload::map(step.outputs.clone())),
        ];
        Payload::map(
            members.map(|(name, member)| (Arc::from(name), member)).into_iter().collect::<Map>(),
        )
    };
    Payload::list(calls.iter().map(told).collect())
}
