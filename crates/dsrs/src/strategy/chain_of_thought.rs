//! `chain_of_thought`: the LM writes its reasoning before the outputs (Wei et al. 2022; DSPy's
//! module of the same name). One predictor, `predict`, whose first output is `reasoning`; for
//! signatures as data and for typed ones, with one definition of the added output.

use std::sync::Arc;

use facet::Facet;
use futures_util::future::BoxFuture;

use super::config::NoSettings;
use super::registry::StrategyRegistration;
use super::{BuildEnv, DynModule, StrategyFactory};
use crate::document::config_schema;
use crate::module::{Module, Prediction};
use crate::predict::{Ctx, DynPredictor, Predict, PredictError, SchemaPredictor};
use crate::problem::{At, Code, Problem, Problems};
use crate::signature::{Augmented, Signature, SignatureSchema, added_outputs};
use crate::value::{Fields, Payload};

const PREDICT: &str = "predict";

/// The output that comes before the signature's own.
#[derive(dsrs::Augmentation, Clone, Debug)]
#[augment(output, prepend, derive(PartialEq, Eq, Hash))]
pub struct Reasoning {
    /// the thinking, step by step, that leads to the answer
    pub reasoning: String,
}

/// A typed predictor that reasons before it answers: `result.reasoning` comes with the outputs of `S`.
#[derive(Facet, Debug)]
pub struct ChainOfThought<S: Signature> {
    /// The one predictor.
    pub predict: Predict<Augmented<S, Reasoning>>,
}

impl<S: Signature> ChainOfThought<S> {
    /// A predictor without overrides.
    ///
    /// # Panics
    /// As [`SignatureSchema::of`].
    #[must_use]
    pub fn new() -> Self {
        Self { predict: Predict::new() }
    }
}

impl<S: Signature> Clone for ChainOfThought<S> {
    fn clone(&self) -> Self {
        Self { predict: self.predict.clone() }
    }
}

impl<S: Signature> Default for ChainOfThought<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Signature> Module for ChainOfThought<S> {
    type Input = S::Input;
    type Output = WithReasoning<S::Output>;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: S::Input,
    ) -> Result<Prediction<WithReasoning<S::Output>>, PredictError> {
        self.predict.call(ctx, input).await
    }
}

struct Factory;

inventory::submit! { StrategyRegistration(&Factory) }

impl StrategyFactory for Factory {
    fn name(&self) -> &'static str {
        "chain_of_thought"
    }

    fn description(&self) -> &'static str {
        "Has the LM reason step by step before it answers. Adds the output `reasoning` in front of \
         the signature's own; one LM call, more output tokens than `predict`."
    }

    fn config_schema(&self) -> Payload {
        config_schema::<NoSettings>()
    }

    fn predictors(&self) -> &[&'static str] {
        &[PREDICT]
    }

    fn create(
        &self,
        _env: &dyn BuildEnv,
        base: &Arc<SignatureSchema>,
        _config: &Payload,
        at: &At<'_>,
    ) -> Result<Box<dyn DynModule>, Problems> {
        let schema = Arc::new(with_reasoning(base, &at.key("signature"))?);
        Ok(Box::new(ChainOfThoughtModule {
            predict: SchemaPredictor::new(schema, Arc::from(PREDICT)),
        }))
    }
}

/// The schema with the reasoning in front of its outputs.
pub(super) fn with_reasoning(
    base: &SignatureSchema,
    at: &At<'_>,
) -> Result<SignatureSchema, Problems> {
    let added = added_outputs::<Reasoning>();
    let mut own = base.inputs.iter().chain(&base.outputs);
    let taken = own.find_map(|field| {
        added.iter().find(|new| new.name == field.name || new.lm_name() == field.lm_name())
    });
    if let Some(taken) = taken {
        let detail = format!(
            "`{}` is the output that chain_of_thought adds; rename the signature's own field, or \
             use predict",
            taken.name
        );
        return Err(Problem { pointer: at.pointer(), code: Code::DuplicateName, detail }.into());
    }
    let mut schema = base.clone();
    schema.outputs.splice(0..0, added);
    Ok(schema)
}

struct ChainOfThoughtModule {
    predict: SchemaPredictor,
}

impl DynModule for ChainOfThoughtModule {
    fn schema(&self) -> &Arc<SignatureSchema> {
        self.predict.schema()
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        vec![(PREDICT, &self.predict)]
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        vec![(PREDICT, &mut self.predict)]
    }

    fn computes_little(&self) -> bool {
        self.predict.state().nearest.is_none()
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        self.predict.forward(ctx, input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::FieldSchema;
    use crate::types::{TypeDefs, TypeIR};

    fn base(output: &str) -> SignatureSchema {
        SignatureSchema {
            instructions: "Answer.".into(),
            inputs: vec![FieldSchema::of("question", TypeIR::Str)],
            outputs: vec![FieldSchema::of(output, TypeIR::Str)],
            defs: Arc::new(TypeDefs::default()),
        }
    }

    #[test]
    fn reasoning_comes_before_the_signatures_own_outputs() {
        let schema = with_reasoning(&base("answer"), &At::Root).unwrap();
        let names: Vec<_> = schema.outputs.iter().map(|field| field.name.as_ref()).collect();
        assert_eq!(names, ["reasoning", "answer"]);
    }

    #[test]
    fn a_signature_with_its_own_reasoning_is_refused() {
        let problems = with_reasoning(&base("reasoning"), &At::Root.key("signature")).unwrap_err();
        assert_eq!(problems.iter().next().unwrap().pointer, "/signature");
    }
}
