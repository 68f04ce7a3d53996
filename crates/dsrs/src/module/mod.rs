//! Typed programs: the trait of all prompting strategies, the result of a call, and the walker that
//! finds the predictors of a module. Does not know graphs or single strategies.

mod path;
mod prediction;
#[doc(hidden)]
pub mod shape;
mod walk;

use std::future::Future;

use crate::coerce::split_first_step;
use crate::predict::fields;
use crate::predict::{Ctx, Predict, PredictError, PredictErrorKind};
use crate::reflect::from_payload;
use crate::signature::{Data, Signature};
use crate::value::{Fields, Payload};

pub use prediction::Prediction;
pub use shape::Searchable;
pub use walk::{WalkError, named_predictors, named_predictors_mut};

/// A typed program: accepts one struct, returns another, and calls predictors in between.
///
/// `#[derive(Module)]` makes its predictors findable, for servers and optimizers; the trait is
/// implemented by hand. A field that is no part of the program is skipped, or a compiler error that
/// says what to do.
///
/// ```
/// use std::sync::Arc;
/// use dsrs::module::named_predictors;
/// use dsrs::predict::PredictError;
/// use dsrs::{Ctx, Module, Predict, Prediction, Signature};
///
/// #[derive(Signature)]
/// struct Summarize {
///     #[input]
///     text: String,
///     #[output]
///     summary: String,
/// }
///
/// /// Where notes are kept.
/// struct Store;
///
/// #[derive(Module)]
/// struct Twice {
///     first: Predict<Summarize>,
///     second: Predict<Summarize>,
///     store: Arc<Store>,
/// }
///
/// impl Module for Twice {
///     type Input = SummarizeInput;
///     type Output = SummarizeOutput;
///
///     async fn forward(
///         &self,
///         ctx: &Ctx,
///         input: SummarizeInput,
///     ) -> Result<Prediction<SummarizeOutput>, PredictError> {
///         let draft = self.first.call(ctx, input).await?;
///         self.second.call(ctx, SummarizeInput { text: draft.summary.clone() }).await
///     }
/// }
///
/// let program = Twice { first: Predict::new(), second: Predict::new(), store: Arc::new(Store) };
/// let found = named_predictors(&program).unwrap();
/// let paths: Vec<_> = found.iter().map(|(path, _)| path.as_str()).collect();
/// assert_eq!(paths, ["first", "second"]);
/// ```
pub trait Module: Send + Sync {
    /// The type of its input.
    type Input: Data;
    /// The type of its output.
    type Output: Data;

    /// The work of the module; authors implement this. Return the result of a predictor as it is;
    /// wrap anything else in [`Prediction::of`].
    fn forward(
        &self,
        ctx: &Ctx,
        input: Self::Input,
    ) -> impl Future<Output = Result<Prediction<Self::Output>, PredictError>> + Send;

    /// Runs the module; users call this. The result includes the usage of all LM calls.
    fn call(
        &self,
        ctx: &Ctx,
        input: Self::Input,
    ) -> impl Future<Output = Result<Prediction<Self::Output>, PredictError>> + Send {
        async move {
            let (ctx, tally) = ctx.with_tally();
            let predicted = self.forward(&ctx, input).await?;
            Ok(predicted.about(tally.sum(), ctx.run))
        }
    }
}

impl<S: Signature> Module for Predict<S> {
    type Input = S::Input;
    type Output = S::Output;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: S::Input,
    ) -> Result<Prediction<S::Output>, PredictError> {
        let input =
            fields(&input).map_err(|error| invalid_input(&error.path, &error.to_string()))?;
        let typed = |fields: &Fields| from_payload(&Payload::map(fields.clone()));
        self.predictor.forward_as(ctx, input, typed).await.map(Prediction::of)
    }
}

fn invalid_input(path: &str, message: &str) -> PredictError {
    let field = split_first_step(path).0.into();
    PredictError::new(PredictErrorKind::InvalidValue { field }, message.to_owned())
}
