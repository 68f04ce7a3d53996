//! `DynPredictor`: the handle through which servers, strategies and optimizers reach a predictor
//! without knowing its Rust types.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::{Ctx, Decision, Demo, PredictError, PredictState};
use crate::lm::Message;
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::value::Fields;

/// One tunable prompt: a schema, and the state that optimizers change.
///
/// ```
/// use dsrs::predict::DynPredictor;
///
/// /// Adds "Be brief." to the instruction of any predictor.
/// fn shorten(predictor: &mut dyn DynPredictor) {
///     let instruction = format!("{} Be brief.", predictor.instruction());
///     predictor.set_instruction(Some(instruction.into()));
/// }
///
/// # #[derive(dsrs::Signature)]
/// # #[instruction = "Answer."]
/// # struct QA { #[input] question: String, #[output] answer: String }
/// let mut qa = dsrs::Predict::<QA>::new();
/// for (_, predictor) in dsrs::module::named_predictors_mut(&mut qa).unwrap() {
///     shorten(predictor);
/// }
/// assert_eq!(qa.instruction(), "Answer. Be brief.");
/// ```
pub trait DynPredictor: Send + Sync {
    /// Its fields and own instructions, including those that its strategy added.
    fn schema(&self) -> &Arc<SignatureSchema>;

    /// Its state.
    fn state(&self) -> &PredictState;

    /// The active instruction: the override, else the schema's own.
    fn instruction(&self) -> &str {
        self.state().instruction.as_deref().unwrap_or(&self.schema().instructions)
    }

    /// The names of the tools that the LM may call, those of an agent around it included.
    fn tools(&self) -> &[Arc<str>] {
        &[]
    }

    /// What the node decides by its outputs.
    fn decisions(&self) -> &[Decision] {
        &[]
    }

    /// Replaces the whole state, or nothing. Every demo value is checked against the schema first.
    ///
    /// # Errors
    /// Every field that does not fit, with pointers below `at` into `{"instruction", "demos":
    /// [{"input", "output"}], "lm", "nearest", "decisions"}`.
    fn load_state(&mut self, state: PredictState, at: &At<'_>) -> Result<(), Problems>;

    /// Replaces the instruction alone; `None` returns to the schema's own.
    fn set_instruction(&mut self, instruction: Option<Arc<str>>);

    /// Adds a demo after the existing ones, or nothing if it does not fit.
    ///
    /// # Errors
    /// Every field that does not fit, as [`Self::load_state`].
    fn add_demo(&mut self, demo: Demo) -> Result<(), Problems> {
        let mut state = self.state().clone();
        state.demos.push(demo);
        self.load_state(state, &At::Root)
    }

    /// Sets the path for traces and errors.
    fn set_path(&mut self, path: Arc<str>);

    /// The exact messages that a call with these inputs sends first. If calls choose the nearest
    /// demos, which needs an embedding model, the first demos of the pool stand in for them.
    fn render(&self, input: &Fields) -> Vec<Message>;

    /// Predicts. Inputs are complete and have the schema's types; so do the outputs.
    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>>;
}
