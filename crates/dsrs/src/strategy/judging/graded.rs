//! Judging by a stored graph: one of its outputs is the score.

use std::sync::Arc;

use super::feeds::Feeds;
use super::view::{Shown, View};
use super::{Found, Says, found};
use crate::predict::{Ctx, PredictError};
use crate::problem::{At, Code, Problem, Problems};
use crate::read::listed;
use crate::signature::SignatureSchema;
use crate::strategy::{DynModule, GraphPin};
use crate::types::brief;

/// A stored graph that judges. Its predictors are tuned where the graph is.
pub(crate) struct Graded {
    name: Arc<str>,
    module: Box<dyn DynModule>,
    score: Arc<str>,
    feedback: Option<Arc<str>>,
    feeds: Feeds,
}

/// Which outputs of a graph count.
pub(crate) struct Wanted<'w> {
    /// The name of the score, and its place, where it is said.
    pub(crate) score: Option<(&'w str, At<'w>)>,
    /// The name that it is looked for under where it is not, unless it is the only output.
    pub(crate) usual: &'static str,
    /// The name of the feedback and its place.
    pub(crate) feedback: Option<(&'w str, At<'w>)>,
}

impl Graded {
    pub(super) fn of_module(
        pin: &GraphPin,
        module: Box<dyn DynModule>,
        wanted: &Wanted<'_>,
        view: View<'_>,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        let schema = module.schema();
        let score = score_of(pin, schema, wanted, at)?;
        if let Some((name, place)) = &wanted.feedback {
            let mut problems = Problems::new();
            Says::Feedback.check(&format!("`{}`", pin.graph), schema, name, place, &mut problems);
            problems.or(())?;
        }
        let feedback = wanted.feedback.as_ref().map(|(name, _)| Arc::from(*name));
        let feeds = Feeds::between(view, schema, at)?;
        Ok(Self { name: pin.graph.clone(), score, feedback, feeds, module })
    }

    pub(super) async fn of(&self, ctx: &Ctx, shown: Shown<'_>) -> Result<Found, PredictError> {
        let input = self.feeds.gather(shown)?;
        let judged = self.module.forward(&ctx.without_hints(), input).await?;
        found(&judged, &self.score, self.feedback.as_ref())
    }

    pub(super) fn attempts(&self) -> usize {
        self.module.attempts()
    }

    /// What a graph of graphs calls is not seen from outside, but by its predictors.
    pub(super) fn calls_lm(&self) -> bool {
        self.module.compute().is_none()
    }

    pub(super) fn told(&self) -> String {
        let task = &self.module.schema().instructions;
        format!("the `{}` that the program `{}` gives: {task}", self.score, self.name)
    }
}

/// The output that is the score: the one that is said, the one of the usual name, or the only one.
fn score_of(
    pin: &GraphPin,
    schema: &SignatureSchema,
    wanted: &Wanted<'_>,
    at: &At<'_>,
) -> Result<Arc<str>, Problems> {
    if let Some((name, place)) = &wanted.score {
        let mut problems = Problems::new();
        Says::Score.check(&format!("`{}`", pin.graph), schema, name, place, &mut problems);
        return problems.or(Arc::from(*name));
    }
    let field = schema.output(wanted.usual).or(match schema.outputs.as_slice() {
        [only] => Some(only),
        _ => None,
    });
    match field {
        Some(field) if Says::Score.fits(schema, field) => Ok(field.name.clone()),
        other => {
            let found = other.map_or_else(
                || format!("`{}` gives {}", pin.graph, tell(schema)),
                |field| format!("`{}` of `{}` is `{}`", field.name, pin.graph, brief(&field.ty)),
            );
            let detail = format!(
                "{found}; a graph that judges has one number or bool as output, or one named `{}`",
                wanted.usual
            );
            let pointer = at.pointer();
            Err(Problem { pointer, code: Code::TypeMismatch, detail }.into())
        }
    }
}

fn tell(schema: &SignatureSchema) -> String {
    listed(schema.outputs.iter().map(|field| field.name.as_ref()))
}
