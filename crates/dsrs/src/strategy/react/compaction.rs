//! The summary of old steps: a predictor of its own writes it when they are too long. Knows no tools.

use std::sync::Arc;

use facet::Facet;

use super::COMPACT;
use super::ending::output_names;
use super::steps::AgentSteps;
use crate::predict::{Ctx, DynPredictor, PredictError, SchemaPredictor};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::strategy::steps::is_invalid_answer;
use crate::types::TypeIR;
use crate::value::{Fields, Payload};

pub(super) const STEPS: &str = "steps";
pub(super) const SUMMARY: &str = "summary";

/// When old steps are summarized, and which stay as they are.
#[derive(Clone, Copy, Debug, Facet)]
pub(super) struct Compaction {
    /// The characters of the steps as text above which a summary replaces the older ones. Default: only if the steps exceed
    /// the context of the model.
    #[facet(dsrs::minimum(1_000))]
    pub(super) max_chars: Option<usize>,
    /// How many of the last steps stay whole.
    #[facet(default = 2, dsrs::minimum(1), dsrs::maximum(20))]
    pub(super) newest: usize,
}

/// The predictor of summaries, and when it is called.
#[derive(Clone, Copy)]
pub(super) struct Compactor<'c> {
    pub(super) predictor: &'c SchemaPredictor,
    pub(super) compaction: Compaction,
}

impl Compactor<'_> {
    /// Whether the steps are longer than they may be.
    pub(super) fn is_due(&self, steps: &AgentSteps) -> bool {
        self.compaction.max_chars.is_some_and(|most| steps.texts.shown().chars().count() > most)
    }

    /// Replaces the older steps by a summary. `false` if there are none, or if there is no summary of them: steps are left out
    /// then.
    pub(super) async fn compact(
        &self,
        ctx: &Ctx,
        input: &Fields,
        steps: &mut AgentSteps,
    ) -> Result<bool, PredictError> {
        let newest = self.compaction.newest;
        let Some(older) = steps.texts.older(newest) else { return Ok(false) };
        let mut input = input.clone();
        input.insert(STEPS.into(), older.into());
        match self.predictor.forward(ctx, input).await {
            Err(error) if error.is_context_overflow() || is_invalid_answer(&error) => Ok(false),
            Err(error) => Err(error),
            Ok(found) => {
                let Some(Payload::Str(summary)) = found.get(SUMMARY) else { return Ok(false) };
                steps.texts.summarize(newest, summary.clone());
                Ok(true)
            }
        }
    }
}

/// The predictor: the inputs and the older steps, to a summary.
pub(super) fn predictor(base: &SignatureSchema) -> SchemaPredictor {
    let field = |name: &'static str, description: &'static str| FieldSchema {
        description: Some(description.into()),
        ..FieldSchema::of(name, TypeIR::Str)
    };
    let mut inputs = base.inputs.clone();
    inputs.push(field(STEPS, "the oldest steps so far: thoughts, tool calls and their results"));
    let instructions = format!(
        "An agent has this task:\n{}\n\nIt works toward {} step by step, using tools. Summarize `{STEPS}` for its next \
         steps, which will not see them: what was done, what was found, with every fact, number, name and \
         identifier that may be needed, and what failed and why. Do not do the task.",
        base.instructions.trim(),
        output_names(base)
    );
    let schema = SignatureSchema {
        instructions: instructions.into(),
        inputs,
        outputs: vec![field(SUMMARY, "the steps in short")],
        defs: base.defs.clone(),
    };
    SchemaPredictor::new(Arc::new(schema), COMPACT)
}
