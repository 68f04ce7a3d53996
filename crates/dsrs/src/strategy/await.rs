//! `await`: the run parks until somebody, or something, gives the node's outputs. Knows nothing of
//! who that is, and of where a parked run is kept.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::factory::no_config;
use super::registry::StrategyRegistration;
use super::{BuildEnv, DynModule, StrategyFactory};
use crate::predict::{Ctx, DynPredictor, PredictError, PredictErrorKind};
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::value::{Fields, Payload};

struct Factory;

inventory::submit! { StrategyRegistration(&Factory) }

impl StrategyFactory for Factory {
    fn name(&self) -> &'static str {
        "await"
    }

    fn description(&self) -> &'static str {
        "Waits for a person or another system: its inputs are what they are shown, and its outputs \
         what they give. The run parks at no cost, everything that does not wait for this node goes \
         on, and POST /v1/runs/{id}/signal gives the value. Only a node of its own, not a part of \
         another strategy or graph."
    }

    fn config_schema(&self) -> Payload {
        no_config()
    }

    fn calls_lm(&self) -> bool {
        false
    }

    fn predictors(&self) -> &[&'static str] {
        &[]
    }

    fn create(
        &self,
        _env: &dyn BuildEnv,
        base: &Arc<SignatureSchema>,
        _config: &Payload,
        _at: &At<'_>,
    ) -> Result<Box<dyn DynModule>, Problems> {
        Ok(Box::new(Await(base.clone())))
    }
}

struct Await(Arc<SignatureSchema>);

impl DynModule for Await {
    fn schema(&self) -> &Arc<SignatureSchema> {
        &self.0
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        Vec::new()
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        Vec::new()
    }

    fn parks(&self) -> bool {
        true
    }

    fn forward<'a>(
        &'a self,
        _ctx: &'a Ctx,
        _input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        let error = PredictError::new(PredictErrorKind::Waiting, "waits for its value");
        Box::pin(std::future::ready(Err(error)))
    }
}
