//! Scoring by a stored graph: one of its outputs is the score.

use std::sync::Arc;

use super::inputs::JudgeInputs;
use super::values::{JudgedFields, JudgedValues};
use super::{JudgeOutput, Judgement, read_judgement};
use crate::predict::{Ctx, PredictError};
use crate::problem::{At, Code, Problem, Problems};
use crate::read::listed;
use crate::signature::SignatureSchema;
use crate::strategy::{DynModule, StoredGraphRef};
use crate::types::brief;

/// A stored graph that scores. Its predictors are tuned by its own state.
pub(crate) struct GraphScorer {
    name: Arc<str>,
    module: Box<dyn DynModule>,
    score: Arc<str>,
    feedback: Option<Arc<str>>,
    feeds: JudgeInputs,
}

/// The outputs of a graph that hold score and feedback.
pub(crate) struct ScoreFields<'w> {
    /// The name of the score and its place, if the config names it.
    pub(crate) score: Option<(&'w str, At<'w>)>,
    /// The name of the score otherwise, unless there is only one output.
    pub(crate) usual: &'static str,
    /// The name of the feedback and its place.
    pub(crate) feedback: Option<(&'w str, At<'w>)>,
}

impl GraphScorer {
    pub(super) fn of_module(
        pin: &StoredGraphRef,
        module: Box<dyn DynModule>,
        wanted: &ScoreFields<'_>,
        view: JudgedFields<'_>,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        let schema = module.schema();
        let score = score_of(pin, schema, wanted, at)?;
        if let Some((name, place)) = &wanted.feedback {
            let mut problems = Problems::new();
            JudgeOutput::Feedback.check(
                &format!("`{}`", pin.graph),
                schema,
                name,
                place,
                &mut problems,
            );
            problems.or(())?;
        }
        let feedback = wanted.feedback.as_ref().map(|(name, _)| Arc::from(*name));
        let feeds = JudgeInputs::between(view, schema, at)?;
        Ok(Self { name: pin.graph.clone(), score, feedback, feeds, module })
    }

    pub(super) async fn of(
        &self,
        ctx: &Ctx,
        shown: JudgedValues<'_>,
    ) -> Result<Judgement, PredictError> {
        let input = self.feeds.gather(shown)?;
        let judged = self.module.forward(&ctx.without_hints(), input).await?;
        read_judgement(&judged, &self.score, self.feedback.as_ref())
    }

    pub(super) fn attempts(&self) -> usize {
        self.module.attempts()
    }

    /// A graph that never waits calls no LM.
    #[cfg(feature = "optimize")]
    pub(super) fn calls_lm(&self) -> bool {
        self.module.compute().is_none()
    }

    pub(super) fn describe(&self) -> String {
        let task = &self.module.schema().instructions;
        format!("the output `{}` of the program `{}`: {task}", self.score, self.name)
    }
}

/// The output with the score: the named one, the one with the usual name, or the only one.
fn score_of(
    pin: &StoredGraphRef,
    schema: &SignatureSchema,
    wanted: &ScoreFields<'_>,
    at: &At<'_>,
) -> Result<Arc<str>, Problems> {
    if let Some((name, place)) = &wanted.score {
        let mut problems = Problems::new();
        JudgeOutput::Score.check(&format!("`{}`", pin.graph), schema, name, place, &mut problems);
        return problems.or(Arc::from(*name));
    }
    let field = schema.output(wanted.usual).or(match schema.outputs.as_slice() {
        [only] => Some(only),
        _ => None,
    });
    match field {
        Some(field) if JudgeOutput::Score.fits(schema, field) => Ok(field.name.clone()),
        other => {
            let found = other.map_or_else(
                || format!("`{}` has the outputs {}", pin.graph, output_names(schema)),
                |field| format!("`{}` of `{}` is `{}`", field.name, pin.graph, brief(&field.ty)),
            );
            let detail = format!(
                "{found}; a graph that scores needs one output that is a number or bool, or one named `{}`",
                wanted.usual
            );
            let pointer = at.pointer();
            Err(Problem { pointer, code: Code::TypeMismatch, detail }.into())
        }
    }
}

fn output_names(schema: &SignatureSchema) -> String {
    listed(schema.outputs.iter().map(|field| field.name.as_ref()))
}
