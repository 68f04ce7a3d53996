//! `program_of_thought`: the LM writes a program, the sandbox runs it, and the outputs are derived from
//! the result (Chen et al. 2022; DSPy's `ProgramOfThought`). Three predictors: `code_generate`,
//! `code_regenerate` after a program that failed, and `generate_output`, each with its reasoning.

mod coder;
mod prompt;
mod typed;

use std::sync::Arc;

use facet::Facet;
use futures_util::future::BoxFuture;

use self::coder::Coder;
use self::prompt::Schemas;
use super::programs::no_sandbox;
use super::registry::StrategyRegistration;
use super::{BuildEnv, DynModule, StrategyFactory};
use crate::document::{config_schema, read_config};
use crate::predict::{Ctx, DynPredictor, PredictError, SchemaPredictor};
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::value::{Fields, Payload};

pub use typed::{CodeGenerate, CodeRegenerate, GenerateOutput, ProgramOfThought};

const GENERATE: &str = "code_generate.predict";
const REGENERATE: &str = "code_regenerate.predict";
const OUTPUT: &str = "generate_output.predict";

#[derive(Facet)]
struct ProgramOfThoughtConfig {
    /// The most programs to run.
    #[facet(default = MAX_ITERS, dsrs::minimum(1), dsrs::maximum(20))]
    max_iters: usize,
}

/// The default number of programs.
const MAX_ITERS: usize = 3;

struct Factory;

inventory::submit! { StrategyRegistration(&Factory) }

impl StrategyFactory for Factory {
    fn name(&self) -> &'static str {
        "program_of_thought"
    }

    fn description(&self) -> &'static str {
        "Has the LM write a Python program, runs it in a sandbox and derives the outputs from the \
         result: for counting, dates and arithmetic. Two LM calls, and one more for every program \
         that fails."
    }

    fn config_schema(&self) -> Payload {
        config_schema::<ProgramOfThoughtConfig>()
    }

    fn predictors(&self) -> &[&'static str] {
        &[GENERATE, REGENERATE, OUTPUT]
    }

    fn create(
        &self,
        env: &dyn BuildEnv,
        base: &Arc<SignatureSchema>,
        config: &Payload,
        at: &At<'_>,
    ) -> Result<Box<dyn DynModule>, Problems> {
        let ProgramOfThoughtConfig { max_iters } = read_config(config, &at.key("config"))?;
        let mut problems = Problems::new();
        let sandbox = env.sandbox();
        if sandbox.is_none() && !env.is_stored() {
            problems.push(no_sandbox(at));
        }
        let schemas = Schemas::of(base, &at.key("signature"));
        let schemas = schemas.map_err(|found| problems.append(found)).ok();
        match schemas.filter(|_| problems.is_empty()) {
            Some(schemas) => Ok(Box::new(ProgramOfThoughtModule {
                schema: base.clone(),
                generate: SchemaPredictor::new(schemas.generate, GENERATE),
                regenerate: SchemaPredictor::new(schemas.regenerate, REGENERATE),
                output: SchemaPredictor::new(schemas.output, OUTPUT),
                coder: Coder { sandbox, max_iters },
            })),
            None => Err(problems),
        }
    }
}

struct ProgramOfThoughtModule {
    schema: Arc<SignatureSchema>,
    generate: SchemaPredictor,
    regenerate: SchemaPredictor,
    output: SchemaPredictor,
    coder: Coder,
}

impl ProgramOfThoughtModule {
    async fn run(&self, ctx: &Ctx, input: Fields) -> Result<Fields, PredictError> {
        let ran = self.coder.run(ctx, &self.generate, &self.regenerate, &input).await?;
        let mut found = self.output.forward(ctx, ran.shown(input)).await?;
        found.shift_remove("reasoning");
        Ok(found)
    }
}

impl DynModule for ProgramOfThoughtModule {
    fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        vec![(GENERATE, &self.generate), (REGENERATE, &self.regenerate), (OUTPUT, &self.output)]
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        vec![
            (GENERATE, &mut self.generate),
            (REGENERATE, &mut self.regenerate),
            (OUTPUT, &mut self.output),
        ]
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(self.run(ctx, input))
    }
}
