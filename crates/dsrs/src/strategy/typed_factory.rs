//! A typed module as a strategy of the registry: with [`register_module!`] or [`registry::register`] a
//! server hosts it under its name, beside the strategies of graphs.
//!
//! [`register_module!`]: crate::register_module
//! [`registry::register`]: super::registry::register

use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use facet::Facet;

use super::config::NoSettings;
use super::{BuildEnv, DynModule, HostedModule, StrategyFactory};
use crate::document::config_schema;
use crate::module::Module;
use crate::problem::{At, Code, Problem, Problems};
use crate::signature::{SignatureSchema, signature_to_schemas};
use crate::value::Payload;

/// The factory of one typed module.
pub struct ModuleFactory<M, F = fn() -> M> {
    name: &'static str,
    description: &'static str,
    new: F,
    module: PhantomData<fn() -> M>,
    paths: OnceLock<Vec<&'static str>>,
}

impl<M, F> ModuleFactory<M, F> {
    /// A factory that builds modules with `new`.
    #[must_use]
    pub const fn new(name: &'static str, description: &'static str, new: F) -> Self {
        Self { name, description, new, module: PhantomData, paths: OnceLock::new() }
    }
}

impl<M: Module + Facet<'static>, F: Fn() -> M> ModuleFactory<M, F> {
    /// Makes sure that the module can be hosted.
    pub(super) fn check(&self) -> Result<(), Problems> {
        self.hosted(&At::Root).map(drop)
    }

    fn host(&self) -> Result<HostedModule<M>, String> {
        HostedModule::new((self.new)(), "").map_err(|error| error.to_string())
    }

    /// The module, or a problem at the strategy of a node.
    fn hosted(&self, at: &At<'_>) -> Result<HostedModule<M>, Problems> {
        let cannot = |reason| {
            let detail = format!("the module `{}` cannot be hosted: {reason}", self.name);
            let pointer = at.key("strategy").pointer();
            Problem { pointer, code: Code::InvalidSignature, detail }.into()
        };
        self.host().map_err(cannot)
    }
}

impl<M, F> StrategyFactory for ModuleFactory<M, F>
where
    M: Module + Facet<'static> + 'static,
    F: Fn() -> M + Send + Sync,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> &'static str {
        self.description
    }

    fn config_schema(&self) -> Payload {
        config_schema::<NoSettings>()
    }

    // A registration lives as long as the program, so leaking the paths of its predictors is bounded.
    fn predictors(&self) -> &[&'static str] {
        self.paths.get_or_init(|| {
            let hosted = self.host().ok();
            let paths = hosted.iter().flat_map(|hosted| hosted.predictors());
            paths.map(|(path, _)| &*Box::leak(Box::<str>::from(path))).collect()
        })
    }

    fn own_signature(
        &self,
        _env: &dyn BuildEnv,
        _config: &Payload,
        at: &At<'_>,
    ) -> Option<Result<Payload, Problems>> {
        Some(self.hosted(at).map(|hosted| signature_to_schemas(hosted.schema())))
    }

    fn create(
        &self,
        _env: &dyn BuildEnv,
        _base: &Arc<SignatureSchema>,
        _config: &Payload,
        at: &At<'_>,
    ) -> Result<Box<dyn DynModule>, Problems> {
        Ok(Box::new(self.hosted(at)?))
    }
}

/// Makes a typed module a strategy that nodes of a graph can name.
///
/// The module implements and derives [`Module`](crate::Module), and is made by `Default`, or by the
/// closure after the description. Its node has no signature: the module's types are its signature. Call
/// the macro once, beside the module, in the program that serves. A module with a client that is made at
/// run time is registered by [`registry::register`](crate::strategy::registry::register).
///
/// ```
/// use dsrs::predict::PredictError;
/// use dsrs::strategy::registry;
/// use dsrs::{Ctx, Module, Predict, Prediction, Signature};
///
/// #[derive(Signature)]
/// struct Shorten {
///     #[input]
///     text: String,
///     #[output]
///     summary: String,
/// }
///
/// #[derive(Module, Default)]
/// struct Shortener {
///     shorten: Predict<Shorten>,
///     attempts: usize,
/// }
///
/// impl Module for Shortener {
///     type Input = ShortenInput;
///     type Output = ShortenOutput;
///
///     async fn forward(&self, ctx: &Ctx, input: ShortenInput) -> Result<Prediction<ShortenOutput>, PredictError> {
///         self.shorten.call(ctx, input).await
///     }
/// }
///
/// dsrs::register_module!(Shortener as "shortener", "Shortens a text.");
/// dsrs::register_module!(Shortener as "twice", "Shortens a text twice.", || Shortener {
///     attempts: 2,
///     ..Shortener::default()
/// });
///
/// assert_eq!(registry::get("twice").unwrap().description(), "Shortens a text twice.");
/// assert_eq!(registry::get("shortener").unwrap().predictors(), ["shorten"]);
/// ```
#[macro_export]
macro_rules! register_module {
    ($module:ty as $name:literal, $description:literal $(,)?) => {
        $crate::register_module!(
            $module as $name,
            $description,
            <$module as ::core::default::Default>::default
        );
    };
    ($module:ty as $name:literal, $description:literal, $new:expr $(,)?) => {
        const _: () = {
            static FACTORY: $crate::strategy::ModuleFactory<$module> =
                $crate::strategy::ModuleFactory::new($name, $description, $new);
            $crate::inventory::submit! { $crate::strategy::StrategyRegistration(&FACTORY) }
        };
    };
}
