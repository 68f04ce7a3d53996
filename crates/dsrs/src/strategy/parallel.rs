//! `parallel`: several attempts at once, everything that they give, as lists. What to make of them
//! is for the nodes behind.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::attempt::Untyped;
use super::config::{config_schema, count, count_schema, number, schema, wrapped_schema};
use super::registry::StrategyRegistration;
use super::sampling::{Sampling, sample_all, temperature_schema};
use super::wrapped::{MODULE, Wrapped, attempts};
use super::{BuildEnv, DynModule, StrategyFactory, pins};
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::problem::{At, Problems};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::TypeIR;
use crate::value::{Fields, Payload};

const DEFAULT_N: usize = 3;

struct Factory;

inventory::submit! { StrategyRegistration(&Factory) }

impl StrategyFactory for Factory {
    fn name(&self) -> &'static str {
        "parallel"
    }

    fn description(&self) -> &'static str {
        "Makes `n` attempts of a strategy at once and gives what all of them gave: each output becomes \
         a list, in the order of the attempts. For graphs that choose, merge or rank themselves. `n` \
         times the LM calls of the wrapped strategy."
    }

    fn config_schema(&self) -> Payload {
        config_schema(
            [
                (MODULE, wrapped_schema("the strategy that is tried")),
                ("n", count_schema("how many attempts are made", 1, 100, 3)),
                (
                    "fail_count",
                    schema(
                        r#"{"type": "integer", "minimum": 0, "default": 0, "description": "how many failing attempts are left out instead of failing the node"}"#,
                    ),
                ),
                (
                    "temperature",
                    temperature_schema(
                        "of all attempts; when it is not said, the first is as it would be alone",
                    ),
                ),
            ],
            &[MODULE],
        )
    }

    fn predictors(&self) -> &[&'static str] {
        &[MODULE]
    }

    fn own_signature(
        &self,
        env: &dyn BuildEnv,
        config: &Payload,
        at: &At<'_>,
    ) -> Option<Result<Payload, Problems>> {
        pins::own_signature(env, config, at)
    }

    fn pin(&self, env: &dyn BuildEnv, config: &Payload) -> Option<Payload> {
        pins::pinned(env, config)
    }

    fn create(
        &self,
        env: &dyn BuildEnv,
        base: &Arc<SignatureSchema>,
        config: &Payload,
        at: &At<'_>,
    ) -> Result<Box<dyn DynModule>, Problems> {
        let module = Wrapped::read(env, base, config, "", at)?;
        let n = attempts(config, ("n", DEFAULT_N), module.attempts(), at)?;
        let sampling = Sampling { count: n, temperature: number(config, "temperature") };
        let schema = Arc::new(listing(module.schema()));
        Ok(Box::new(Parallel {
            module,
            schema,
            sampling,
            fail_count: count(config, "fail_count", 0),
        }))
    }
}

/// The same signature with a list of each output. What must hold of one was seen to in its attempt.
fn listing(schema: &SignatureSchema) -> SignatureSchema {
    let list = |field: &FieldSchema| FieldSchema {
        ty: TypeIR::List(Arc::new(field.ty.clone())),
        default: None,
        constraints: Vec::new(),
        ..field.clone()
    };
    SignatureSchema { outputs: schema.outputs.iter().map(list).collect(), ..schema.clone() }
}

struct Parallel {
    module: Wrapped,
    schema: Arc<SignatureSchema>,
    sampling: Sampling,
    fail_count: usize,
}

impl Parallel {
    async fn run(&self, ctx: &Ctx, input: &Fields) -> Result<Fields, PredictError> {
        let tried = Untyped { module: &self.module, input };
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

impl DynModule for Parallel {
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

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(async move { self.run(ctx, &input).await })
    }
}
