//! `predict`: one prompt, one answer. The module is its own predictor.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::config::NoSettings;
use super::registry::StrategyRegistration;
use super::{BuildEnv, DynModule, StrategyFactory};
use crate::document::config_schema;
use crate::predict::{Ctx, DynPredictor, PredictError, SchemaPredictor};
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::value::{Fields, Payload};

struct Factory;

inventory::submit! { StrategyRegistration(&Factory) }

impl StrategyFactory for Factory {
    fn name(&self) -> &'static str {
        "predict"
    }

    fn description(&self) -> &'static str {
        "Asks the LM once for the outputs of the signature. The simplest strategy: start here."
    }

    fn config_schema(&self) -> Payload {
        config_schema::<NoSettings>()
    }

    fn predictors(&self) -> &[&'static str] {
        &[""]
    }

    fn create(
        &self,
        _env: &dyn BuildEnv,
        base: &Arc<SignatureSchema>,
        _config: &Payload,
        _at: &At<'_>,
    ) -> Result<Box<dyn DynModule>, Problems> {
        Ok(Box::new(PredictModule(SchemaPredictor::new(base.clone(), Arc::from("")))))
    }
}

struct PredictModule(SchemaPredictor);

impl DynModule for PredictModule {
    fn schema(&self) -> &Arc<SignatureSchema> {
        self.0.schema()
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        vec![("", &self.0)]
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        vec![("", &mut self.0)]
    }

    fn computes_little(&self) -> bool {
        self.0.state().nearest.is_none()
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        self.0.forward(ctx, input)
    }
}
