//! `expression`, `judge` and `graph`: metrics that judge the whole case. How they judge is in the
//! room of strategies, whose rewards judge the same way; here it becomes a score.

use std::sync::Arc;

use crate::optimize::{Case, Score, Step};
use crate::predict::{Ctx, PredictError};
use crate::strategy::judging::{Judging, OfExample, Shown};
use crate::value::{Map, Payload};

/// A judgement brought to 0 to 1.
pub(super) struct Judged {
    pub(super) judging: Judging,
    pub(super) scale: Scale,
    /// What is told of a score that is not full and comes without words.
    pub(super) told: Option<Arc<str>>,
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

impl Judged {
    pub(super) async fn score(&self, ctx: &Ctx, case: Case<'_>) -> Result<Score, PredictError> {
        let trace = || trace(case.steps);
        let of_example = OfExample { expected: &case.example.expected, trace: &trace };
        let shown = Shown {
            inputs: &case.example.inputs,
            outputs: case.outputs,
            of_example: Some(of_example),
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

/// The steps of a run as expressions see them.
fn trace(steps: &[Step]) -> Payload {
    let told = |step: &Step| {
        let members = [
            ("predictor", Payload::Str(step.predictor.clone())),
            ("inputs", Payload::map(step.inputs.clone())),
            ("outputs", Payload::map(step.outputs.clone())),
        ];
        Payload::map(
            members.map(|(name, member)| (Arc::from(name), member)).into_iter().collect::<Map>(),
        )
    };
    Payload::list(steps.iter().map(told).collect())
}
