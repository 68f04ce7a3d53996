//! The asserts on what enters and leaves a module: values along edges, and outputs that no LM wrote. Knows
//! nothing of how the module computes.

use std::sync::Arc;

use super::{Demo, PredictError, PredictErrorKind, RejectedAnswer};
use crate::adapter::{BrokenOutput, Checks};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::TypeDefs;
use crate::value::Fields;

/// The constraints of a module's signature. Most modules have none.
#[derive(Debug, Default)]
pub(crate) struct SignatureChecks {
    inputs: Option<Checks>,
    outputs: Option<Checks>,
}

/// The fields of one side, and the definitions of their types.
type SideFields<'a> = (&'a [FieldSchema], &'a Arc<TypeDefs>);

impl SignatureChecks {
    pub(crate) fn of(schema: &SignatureSchema) -> Self {
        Self::between((&schema.inputs, &schema.defs), (&schema.outputs, &schema.defs))
    }

    /// Those of inputs and outputs that may share names.
    pub(crate) fn between(inputs: SideFields<'_>, outputs: SideFields<'_>) -> Self {
        let checks = |(fields, defs)| Some(Checks::of(fields, defs)).filter(|one| !one.is_empty());
        Self { inputs: checks(inputs), outputs: checks(outputs) }
    }

    /// Whether there is none.
    pub(crate) const fn is_empty(&self) -> bool {
        !self.has_inputs() && !self.has_outputs()
    }

    /// Whether inputs have constraints.
    pub(crate) const fn has_inputs(&self) -> bool {
        self.inputs.is_some()
    }

    /// Whether outputs have constraints.
    pub(crate) const fn has_outputs(&self) -> bool {
        self.outputs.is_some()
    }

    /// Checks the values of the inputs.
    ///
    /// # Errors
    /// All asserts that do not hold.
    pub(crate) fn admit_inputs(&self, inputs: &Fields) -> Result<(), PredictError> {
        let Some(checks) = &self.inputs else { return Ok(()) };
        checks.judge_inputs(inputs).map(drop).map_err(PredictError::broken_input)
    }

    /// Checks the outputs.
    ///
    /// # Errors
    /// All asserts that do not hold.
    pub(crate) fn admit_outputs(&self, outputs: &Fields) -> Result<(), PredictError> {
        refuse(self.outputs.as_ref().and_then(|checks| checks.broken_output(outputs)))
    }

    /// Checks both sides of a demo.
    ///
    /// # Errors
    /// All asserts that do not hold on its first broken side.
    pub(crate) fn admit_demo(&self, demo: &Demo) -> Result<(), PredictError> {
        self.admit_inputs(&demo.input)?;
        refuse(self.outputs.as_ref().and_then(|checks| checks.broken_demo(&demo.output)))
    }
}

fn refuse(broken: Option<BrokenOutput>) -> Result<(), PredictError> {
    let Some(BrokenOutput { field, constraint, message }) = broken else { return Ok(()) };
    let reason = Arc::from(message.as_str());
    let failure = Box::new(RejectedAnswer { reason, ..RejectedAnswer::default() });
    let kind = PredictErrorKind::Constraint { field, constraint, failure };
    Err(PredictError::new(kind, message))
}
