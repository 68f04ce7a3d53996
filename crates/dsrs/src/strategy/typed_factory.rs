//! A typed module as a strategy of the registry: with [`register_module!`] a server hosts it under its
//! name, beside the strategies of graphs.
//!
//! [`register_module!`]: crate::register_module

use std::sync::{Arc, OnceLock};

use facet::Facet;

use super::factory::no_config;
use super::{BuildEnv, DynModule, HostedModule, StrategyFactory};
use crate::module::Module;
use crate::problem::{At, Code, Problem, Problems};
use crate::signature::{SignatureSchema, signature_to_schemas};
use crate::value::Payload;

/// The factory of one typed module.
pub struct ModuleFactory<M> {
    name: &'static str,
    description: &'static str,
    new: fn() -> M,
    paths: OnceLock<Vec<&'static str>>,
}

impl<M: Module + Facet<'static>> ModuleFactory<M> {
    /// A factory that builds modules with `new`.
    #[must_use]
    pub const fn new(name: &'static str, description: &'static str, new: fn() -> M) -> Self {
        Self { name, description, new, paths: OnceLock::new() }
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

impl<M: Module + Facet<'static> + 'static> StrategyFactory for ModuleFactory<M> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> &'static str {
        self.description
    }

    fn config_schema(&self) -> Payload {
        no_config()
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
/// The module implements [`Module`](crate::Module), `Facet` and `Default`. Its node has no signature:
/// the module's types are its signature. Call the macro once, beside the module, in the program that
/// serves:
///
/// ```
/// use dsrs::facet::Facet;
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
/// #[derive(Facet, Default)]
/// #[facet(crate = dsrs::facet)]
/// struct Shortener {
///     shorten: Predict<Shorten>,
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
///
/// assert_eq!(registry::get("shortener").unwrap().predictors(), ["shorten"]);
/// ```
#[macro_export]
macro_rules! register_module {
    ($module:ty as $name:literal, $description:literal) => {
        const _: () = {
            static FACTORY: $crate::strategy::ModuleFactory<$module> =
                $crate::strategy::ModuleFactory::new(
                    $name,
                    $description,
                    <$module as ::core::default::Default>::default,
                );
            $crate::inventory::submit! { $crate::strategy::StrategyRegistration(&FACTORY) }
        };
    };
}
