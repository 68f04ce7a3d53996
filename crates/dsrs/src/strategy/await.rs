//! `await`: parks the run until a signal brings the outputs of the node. Does not know who sends the
//! signal, nor where a parked run is stored.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::config::NoSettings;
use super::registry::StrategyRegistration;
use super::{BuildEnv, DynModule, StrategyFactory};
use crate::document::config_schema;
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
        "Waits for a person or another system, who sees its inputs and answers with its outputs. The \
         run parks at no cost while other nodes continue; POST /v1/runs/{id}/signal sends the \
         value. Must be a node of its own, not part of another strategy or graph."
    }

    fn config_schema(&self) -> Payload {
        config_schema::<NoSettings>()
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
        Ok(Box::new(AwaitModule(base.clone())))
    }
}

struct AwaitModule(Arc<SignatureSchema>);

impl DynModule for AwaitModule {
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
        let kind = PredictErrorKind::Waiting { pause: None };
        let error = PredictError::new(kind, "waits for its value");
        Box::pin(std::future::ready(Err(error)))
    }
}
