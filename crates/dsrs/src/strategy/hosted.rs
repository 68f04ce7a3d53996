//! A typed module as a `DynModule`: its input and output structs become a schema, and the walker
//! finds its predictors. `register_module!` puts one into the registry.

use std::sync::Arc;

use facet::Facet;
use futures_util::future::BoxFuture;

use super::DynModule;
use crate::module::{Module, named_predictors, named_predictors_mut};
use crate::predict::{Ctx, DynPredictor, PredictError, PredictErrorKind};
use crate::reflect::{ReflectError, from_payload, to_payload};
use crate::signature::{SignatureSchema, from_types};
use crate::value::{Fields, Payload};

/// A typed module with the untyped interface.
pub struct HostedModule<M> {
    module: M,
    schema: Arc<SignatureSchema>,
    paths: Vec<String>,
}

impl<M: Module + Facet<'static>> HostedModule<M> {
    /// Hosts a module.
    ///
    /// # Errors
    /// When its inputs or outputs cannot be described as fields, or the walker cannot search it.
    pub fn new(mut module: M, instructions: &str) -> Result<Self, ReflectError> {
        let schema = from_types::<M::Input, M::Output>(instructions)?;
        let found = named_predictors_mut(&mut module);
        let found = found.map_err(|error| ReflectError::new(error.to_string()))?;
        let mut paths = Vec::with_capacity(found.len());
        for (path, predictor) in found {
            predictor.set_path(path.as_str().into());
            paths.push(path);
        }
        Ok(Self { module, schema: Arc::new(schema), paths })
    }

    /// The module itself.
    pub const fn module(&self) -> &M {
        &self.module
    }

    async fn run(&self, ctx: &Ctx, input: Fields) -> Result<Fields, PredictError> {
        let input = from_payload(&Payload::map(input)).map_err(|error| {
            let field = error.path.split(['.', '[']).next().unwrap_or_default().into();
            PredictError::new(PredictErrorKind::InvalidValue { field }, error.to_string())
        })?;
        let output = self.module.call(ctx, input).await?.into_output();
        match to_payload(&output) {
            Ok(Payload::Map(fields)) => Ok(Arc::unwrap_or_clone(fields)),
            Ok(_) => Err(unfit("the module's output is not a struct with named fields")),
            Err(error) => Err(unfit(&error.to_string())),
        }
    }
}

fn unfit(message: &str) -> PredictError {
    let kind = PredictErrorKind::Parse { field: None, failure: Box::default() };
    PredictError::new(kind, message)
}

impl<M: Module + Facet<'static>> DynModule for HostedModule<M> {
    fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    // The walk succeeded when the module was hosted, and the paths are from that walk: the structure of
    // a module does not change while it is owned here.
    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        let found = named_predictors(&self.module).unwrap_or_default();
        let handles = found.into_iter().map(|(_, predictor)| predictor);
        self.paths.iter().map(String::as_str).zip(handles).collect()
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        let found = named_predictors_mut(&mut self.module).unwrap_or_default();
        let handles = found.into_iter().map(|(_, predictor)| predictor);
        self.paths.iter().map(String::as_str).zip(handles).collect()
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(self.run(ctx, input))
    }
}
