//! `parallel`: several attempts at once, with all their outputs as lists for the nodes that follow.

use std::sync::Arc;

use facet::Facet;

use super::attempt::ModuleTarget;
use super::config::WrappedStrategy;
use super::inner_module::{InnerModule, MODULE, check_attempts};
use super::registry::StrategyRegistration;
use super::sampling::{Sampling, sample_all};
use super::wrapper::{MODULE_REFS, Wrapper, WrapperSpec, wrapper};
use super::{BuildEnv, DynModule};
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::problem::{At, Problems};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::TypeIR;
use crate::value::{Fields, Payload};

inventory::submit! { StrategyRegistration(&WrapperSpec {
    name: "parallel",
    description: "Runs a strategy `n` times at once and returns all answers: each output becomes a list, \
                  in the order of the attempts. For graphs that choose, merge or rank answers \
                  themselves. `n` times the LM calls of the wrapped strategy.",
    predictors: &[MODULE],
    refs: MODULE_REFS,
    create,
}) }

#[derive(Facet)]
struct ParallelConfig {
    /// The strategy to run.
    module: WrappedStrategy,
    /// How many attempts are made.
    #[facet(default = 3, dsrs::minimum(1), dsrs::maximum(100))]
    n: usize,
    /// How many attempts may fail before the node fails.
    #[facet(default = 0, dsrs::minimum(0))]
    fail_count: usize,
    /// The temperature of all attempts. By default the first attempt runs unchanged.
    #[facet(dsrs::minimum(0), dsrs::maximum(2))]
    temperature: Option<f64>,
}

fn create(
    env: &dyn BuildEnv,
    base: &Arc<SignatureSchema>,
    config: ParallelConfig,
    at: &At<'_>,
) -> Result<Box<dyn DynModule>, Problems> {
    let module = InnerModule::build(env, base, &config.module, at)?;
    check_attempts(("n", config.n), module.attempts(), at)?;
    let sampling = Sampling { count: config.n, temperature: config.temperature };
    let schema = Arc::new(listing(module.schema()));
    Ok(wrapper(ParallelModule { module, schema, sampling, fail_count: config.fail_count }))
}

/// The same signature with a list of each output. Constraints were checked in each attempt.
fn listing(schema: &SignatureSchema) -> SignatureSchema {
    let list = |field: &FieldSchema| FieldSchema {
        ty: TypeIR::List(Arc::new(field.ty.clone())),
        default: None,
        constraints: Vec::new(),
        ..field.clone()
    };
    SignatureSchema { outputs: schema.outputs.iter().map(list).collect(), ..schema.clone() }
}

struct ParallelModule {
    module: InnerModule,
    schema: Arc<SignatureSchema>,
    sampling: Sampling,
    fail_count: usize,
}

impl ParallelModule {
    async fn run(&self, ctx: &Ctx, input: &Fields) -> Result<Fields, PredictError> {
        let tried = ModuleTarget { module: &self.module, input };
        let mut lists: Vec<Vec<Payload>> = self.schema.outputs.iter().map(|_| Vec::new()).collect();
        for (_, found) in sample_all(self.sampling, self.fail_count, ctx, &tried).await? {
            for (field, list) in self.schema.outputs.iter().zip(&mut lists) {
                list.push(found.get(&field.name).cloned().unwrap_or_default());
            }
        }
        let names = self.schema.outputs.iter().map(|field| field.name.clone());
        Ok(names.zip(lists.into_iter().map(Payload::list)).collect())
    }
}

impl Wrapper for ParallelModule {
    fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        self.module.predictors()
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        self.module.predictors_mut()
    }

    fn attempts(&self) -> usize {
        self.sampling.count.saturating_mul(self.module.attempts())
    }

    async fn run(&self, ctx: &Ctx, input: Fields) -> Result<Fields, PredictError> {
        self.run(ctx, &input).await
    }
}
