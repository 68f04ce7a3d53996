//! `graph`: a stored graph as a node of another. It brings its own signature and runs within the node;
//! its predictors can be tuned under the names of its nodes.

use std::sync::Arc;

use facet::Facet;
use futures_util::future::BoxFuture;

use super::registry::StrategyRegistration;
use super::{
    BuildEnv, ConfigRef, DynModule, GraphPin, GraphUnavailable, StoredGraphRef, StrategyFactory,
};
use crate::document::{config_schema, read_config};
use crate::predict::{Ctx, DynPredictor, PredictError, PredictErrorKind};
use crate::problem::{At, Code, Problem, Problems};
use crate::signature::{SignatureSchema, signature_to_schemas};
use crate::value::{Fields, Payload};

#[derive(Facet)]
struct GraphConfig {
    /// The name of a stored graph.
    graph: String,
    #[facet(flatten)]
    pin: GraphPin,
}

struct Factory;

inventory::submit! { StrategyRegistration(&Factory) }

impl StrategyFactory for Factory {
    fn name(&self) -> &'static str {
        "graph"
    }

    fn description(&self) -> &'static str {
        "Runs a stored graph as a node of this one. Its version and state are pinned when this \
         definition is written; write the definition again to use newer ones. Costs what that graph \
         costs."
    }

    fn config_schema(&self) -> Payload {
        config_schema::<GraphConfig>()
    }

    fn predictors(&self) -> &[&'static str] {
        &[]
    }

    fn own_signature(
        &self,
        env: &dyn BuildEnv,
        config: &Payload,
        at: &At<'_>,
    ) -> Option<Result<Payload, Problems>> {
        // The check of the config reports that it names no graph.
        let Some(pin) = StoredGraphRef::named_by(config) else { return Some(Err(Problems::new())) };
        match env.graph_schema(&pin) {
            // The definition holds the signature from when it was written.
            Err(_) if env.is_stored() => None,
            found => Some(match found {
                Ok(schema) => Ok(signature_to_schemas(&schema)),
                Err(missing) => Err(refused(missing, at)),
            }),
        }
    }

    fn config_refs(&self) -> &'static [ConfigRef] {
        &[ConfigRef::Graph]
    }

    fn create(
        &self,
        env: &dyn BuildEnv,
        base: &Arc<SignatureSchema>,
        config: &Payload,
        at: &At<'_>,
    ) -> Result<Box<dyn DynModule>, Problems> {
        let GraphConfig { graph, pin } = read_config(config, &at.key("config"))?;
        match env.graph(&pin.of(&graph)) {
            Ok(module) => Ok(module),
            Err(missing) if env.is_stored() && missing.code == Code::InvalidConfig => {
                Ok(Box::new(MissingGraph { schema: base.clone(), reason: missing.detail }))
            }
            Err(missing) => Err(refused(missing, at)),
        }
    }
}

fn refused(missing: GraphUnavailable, at: &At<'_>) -> Problems {
    let GraphUnavailable { code, detail } = missing;
    Problem { pointer: at.key("config").key("graph").pointer(), code, detail }.into()
}

/// A graph that has been deleted since the definition was written.
struct MissingGraph {
    schema: Arc<SignatureSchema>,
    reason: String,
}

impl DynModule for MissingGraph {
    fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        Vec::new()
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        Vec::new()
    }

    fn forward<'a>(
        &'a self,
        _ctx: &'a Ctx,
        _input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        let kind = PredictErrorKind::Missing;
        Box::pin(async move { Err(PredictError::new(kind, self.reason.clone())) })
    }
}
