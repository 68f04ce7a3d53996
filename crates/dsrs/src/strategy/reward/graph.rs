//! A reward by a stored graph: one of its outputs is the score.

use std::sync::Arc;

use super::feeds::Feeds;
use super::{REWARD, score, score_type};
use crate::predict::{Ctx, PredictError};
use crate::problem::{At, Code, Problem, Problems};
use crate::read::listed;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::strategy::{DynModule, GraphPin};
use crate::types::{Type, brief};
use crate::value::Fields;

/// A stored graph that judges. Its predictors are tuned where the graph is.
pub(in crate::strategy) struct Graded {
    name: Arc<str>,
    module: Box<dyn DynModule>,
    score: Arc<str>,
    feeds: Feeds,
}

impl Graded {
    pub(super) fn of_module(
        pin: &GraphPin,
        module: Box<dyn DynModule>,
        node: Option<&SignatureSchema>,
        at: &At<'_>,
    ) -> Result<Self, Problems> {
        let problem = |code, detail| Problem { pointer: at.pointer(), code, detail };
        let schema = module.schema();
        let field = score_field(schema);
        let score = match field {
            Some(field) if is_score(schema, field) => field.name.clone(),
            other => {
                let found = other.map_or_else(
                    || format!("`{}` gives {}", pin.graph, tell(schema)),
                    |field| {
                        format!("`{}` of `{}` is `{}`", field.name, pin.graph, brief(&field.ty))
                    },
                );
                let detail = format!(
                    "{found}; a graph that rewards has one number or bool as output, or one named \
                     `{REWARD}`"
                );
                return Err(problem(Code::TypeMismatch, detail).into());
            }
        };
        let Some(node) = node else { return Err(Problems::new()) };
        let feeds = Feeds::between(node, schema, at)?;
        Ok(Self { name: pin.graph.clone(), score, feeds, module })
    }

    pub(super) async fn of(
        &self,
        ctx: &Ctx,
        inputs: &Fields,
        outputs: &Fields,
    ) -> Result<f64, PredictError> {
        let input = self.feeds.gather(inputs, outputs)?;
        let judged = self.module.forward(&ctx.unhinted(), input).await?;
        score(judged.get(&self.score))
    }

    pub(super) fn attempts(&self) -> usize {
        self.module.attempts()
    }

    pub(super) fn told(&self) -> String {
        let task = &self.module.schema().instructions;
        format!("the `{}` that the program `{}` gives: {task}", self.score, self.name)
    }
}

/// The output that is the score: the one of that name, or the only one.
fn score_field(schema: &SignatureSchema) -> Option<&FieldSchema> {
    schema.output(REWARD).or(match schema.outputs.as_slice() {
        [only] => Some(only),
        _ => None,
    })
}

fn is_score(schema: &SignatureSchema, field: &FieldSchema) -> bool {
    let wanted = Type::new(score_type(), schema.defs.clone());
    schema.type_of(field).assignable_to(&wanted).is_ok()
}

fn tell(schema: &SignatureSchema) -> String {
    listed(schema.outputs.iter().map(|field| field.name.as_ref()))
}
