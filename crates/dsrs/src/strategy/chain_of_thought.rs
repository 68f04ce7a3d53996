//! `chain_of_thought`: the LM writes its reasoning before the outputs (Wei et al. 2022; DSPy's
//! module of the same name). One predictor, `predict`, whose first output is `reasoning`.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::factory::no_config;
use super::registry::StrategyRegistration;
use super::{BuildEnv, DynModule, StrategyFactory};
use crate::predict::{Ctx, DynPredictor, PredictError, SchemaPredictor};
use crate::problem::{At, Code, Problem, Problems};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::TypeIR;
use crate::value::{Fields, Payload};

const REASONING: &str = "reasoning";
const PREDICT: &str = "predict";

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
        no_config()
    }

    fn predictors(&self) -> &'static [&'static str] {
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
        Ok(Box::new(ChainOfThought { predict: SchemaPredictor::new(schema, Arc::from(PREDICT)) }))
    }
}

fn with_reasoning(base: &SignatureSchema, at: &At<'_>) -> Result<SignatureSchema, Problems> {
    let taken = base
        .inputs
        .iter()
        .chain(&base.outputs)
        .any(|field| field.name.as_ref() == REASONING || field.lm_name().as_ref() == REASONING);
    if taken {
        let detail = format!(
            "`{REASONING}` is the output that chain_of_thought adds; rename the signature's own \
             field, or use predict"
        );
        return Err(Problem { pointer: at.pointer(), code: Code::DuplicateName, detail }.into());
    }
    let mut schema = base.clone();
    let reasoning = FieldSchema {
        description: Some(Arc::from("the thinking, step by step, that leads to the answer")),
        ..FieldSchema::of(REASONING, TypeIR::Str)
    };
    schema.outputs.insert(0, reasoning);
    Ok(schema)
}

struct ChainOfThought {
    predict: SchemaPredictor,
}

impl DynModule for ChainOfThought {
    fn schema(&self) -> &Arc<SignatureSchema> {
        self.predict.schema()
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        vec![(PREDICT, &self.predict)]
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        vec![(PREDICT, &mut self.predict)]
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
    use crate::types::TypeDefs;

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
    fn a_signature_that_has_reasoning_already_is_refused() {
        let problems = with_reasoning(&base("reasoning"), &At::Root.key("signature")).unwrap_err();
        assert_eq!(problems.iter().next().unwrap().pointer, "/signature");
    }
}
