//! The base of strategies that run another strategy several times: `best_of_n`, `refine`, `majority`,
//! `parallel`, `multi_chain_comparison`. A file beside this one writes a [`WrapperSpec`] and a
//! [`Wrapper`]; everything else about being a strategy and a module is here.

use std::future::Future;
use std::sync::Arc;

use facet::Facet;
use futures_util::future::BoxFuture;

use super::config_ref::references;
use super::inner_module::MODULE;
use super::{BuildEnv, ConfigRef, DynModule, Reference, StrategyFactory, registry};
use crate::document::{config_schema, read_config};
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::value::{Fields, Payload};

/// The references of a strategy whose only reference is the strategy that it wraps.
pub(super) const MODULE_REFS: &[ConfigRef] = &[ConfigRef::Strategy(MODULE)];

/// What the registry knows about a strategy that wraps another.
pub(super) struct WrapperSpec<C> {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    /// The paths of its predictors with a default config.
    pub(super) predictors: &'static [&'static str],
    pub(super) refs: &'static [ConfigRef],
    pub(super) create: Create<C>,
}

/// As [`StrategyFactory::create`], with the settings of the config.
type Create<C> =
    fn(&dyn BuildEnv, &Arc<SignatureSchema>, C, &At<'_>) -> Result<Box<dyn DynModule>, Problems>;

impl<C: Facet<'static>> StrategyFactory for WrapperSpec<C> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> &'static str {
        self.description
    }

    fn config_schema(&self) -> Payload {
        config_schema::<C>()
    }

    fn predictors(&self) -> &[&'static str] {
        self.predictors
    }

    fn config_refs(&self) -> &'static [ConfigRef] {
        self.refs
    }

    /// The signature that the wrapped strategy brings.
    fn own_signature(
        &self,
        env: &dyn BuildEnv,
        config: &Payload,
        at: &At<'_>,
    ) -> Option<Result<Payload, Problems>> {
        let wrapped = references(MODULE_REFS, config).into_iter().next();
        let Some(Reference::Strategy { name, config }) = wrapped else { return None };
        registry::get(name)?.own_signature(env, config, &at.key("config").key(MODULE))
    }

    fn create(
        &self,
        env: &dyn BuildEnv,
        base: &Arc<SignatureSchema>,
        config: &Payload,
        at: &At<'_>,
    ) -> Result<Box<dyn DynModule>, Problems> {
        (self.create)(env, base, read_config(config, &at.key("config"))?, at)
    }
}

/// A strategy around another one.
pub(super) trait Wrapper: Send + Sync + 'static {
    fn schema(&self) -> &Arc<SignatureSchema>;

    /// The predictors of the wrapped strategy, then its own.
    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)>;

    /// The same, to change.
    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)>;

    /// How many attempts one call makes at most, with those within attempts.
    fn attempts(&self) -> usize;

    /// Runs once.
    fn run(
        &self,
        ctx: &Ctx,
        input: Fields,
    ) -> impl Future<Output = Result<Fields, PredictError>> + Send;
}

/// A wrapper as a module of a graph.
pub(super) fn wrapper(wrapper: impl Wrapper) -> Box<dyn DynModule> {
    Box::new(WrapperModule(wrapper))
}

struct WrapperModule<W>(W);

impl<W: Wrapper> DynModule for WrapperModule<W> {
    fn schema(&self) -> &Arc<SignatureSchema> {
        self.0.schema()
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        self.0.predictors()
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        self.0.predictors_mut()
    }

    fn attempts(&self) -> usize {
        self.0.attempts()
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(self.0.run(ctx, input))
    }
}
