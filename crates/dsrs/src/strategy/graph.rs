//! `graph`: a stored graph as a node of another. It brings its own signature, runs as a part of the
//! node, and its predictors are open under the names of its nodes.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::registry::StrategyRegistration;
use super::{BuildEnv, DynModule, GraphPin, NoGraph, StrategyFactory};
use crate::predict::{Ctx, DynPredictor, PredictError, PredictErrorKind};
use crate::problem::{At, Code, Problem, Problems};
use crate::read::Object;
use crate::signature::{SignatureSchema, signature_to_schemas};
use crate::value::{Fields, Payload};

struct Factory;

inventory::submit! { StrategyRegistration(&Factory) }

impl StrategyFactory for Factory {
    fn name(&self) -> &'static str {
        "graph"
    }

    fn description(&self) -> &'static str {
        "Runs a stored graph as a node of this one. The version and the state that it has when this \
         definition is written are kept; write the definition again to take newer ones. Costs what \
         that graph costs."
    }

    fn config_schema(&self) -> Payload {
        let text = format!(
            r#"{{"type": "object", "required": ["graph"], "additionalProperties": false,
                "properties": {{{}}}}}"#,
            GraphPin::SCHEMA_MEMBERS
        );
        Payload::from_json(&text).unwrap_or_default()
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
        // What is wrong with a config that names no graph is told when it is checked.
        let Some(pin) = pin_of(config) else { return Some(Err(Problems::new())) };
        match env.graph_schema(&pin) {
            // What it was is still known from the definition that names it.
            Err(_) if env.is_stored() => None,
            found => Some(match found {
                Ok(schema) => Ok(signature_to_schemas(&schema)),
                Err(missing) => Err(refused(missing, at)),
            }),
        }
    }

    fn pin(&self, env: &dyn BuildEnv, config: &Payload) -> Option<Payload> {
        let pinned = env.pin_graph(&pin_of(config)?).ok()?;
        let mut members = config.as_map()?.clone();
        pinned.write(&mut members);
        Some(Payload::map(members))
    }

    fn create(
        &self,
        env: &dyn BuildEnv,
        base: &Arc<SignatureSchema>,
        config: &Payload,
        at: &At<'_>,
    ) -> Result<Box<dyn DynModule>, Problems> {
        let pin = pin_of(config).unwrap_or_else(|| GraphPin::named(""));
        match env.graph(&pin) {
            Ok(module) => Ok(module),
            Err(missing) if env.is_stored() && missing.code == Code::InvalidConfig => {
                Ok(Box::new(Gone { schema: base.clone(), reason: missing.detail }))
            }
            Err(missing) => Err(refused(missing, at)),
        }
    }
}

fn pin_of(config: &Payload) -> Option<GraphPin> {
    let mut problems = Problems::new();
    let at = At::Root;
    let mut object = Object::open(config, &at, &mut problems)?;
    GraphPin::read(&mut object)
}

fn refused(missing: NoGraph, at: &At<'_>) -> Problems {
    let NoGraph { code, detail } = missing;
    Problem { pointer: at.key("config").key("graph").pointer(), code, detail }.into()
}

/// A graph that was there when the definition was written, and is no more.
struct Gone {
    schema: Arc<SignatureSchema>,
    reason: String,
}

impl DynModule for Gone {
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
