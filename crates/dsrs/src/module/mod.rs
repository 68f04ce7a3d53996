//! Typed programs: the trait that every prompting strategy has, what a call gives back, and the
//! walker that finds the predictors inside. Knows nothing of graphs or of any one strategy.

mod path;
mod predicted;
mod walk;

use std::future::Future;

use crate::predict::typed::fields;
use crate::predict::{Ctx, Predict, PredictError, PredictErrorKind};
use crate::reflect::from_payload;
use crate::signature::{Data, Signature};
use crate::value::{Fields, Payload};

pub use predicted::Predicted;
pub use walk::{WalkError, named_predictors, named_predictors_mut};

/// A typed program: it takes one struct and gives another, and calls predictors on the way.
///
/// ```
/// use dsrs::facet::{self, Facet};
/// use dsrs::module::{Module, Predicted, named_predictors};
/// use dsrs::{Ctx, Predict, Signature};
/// use dsrs::predict::PredictError;
///
/// #[derive(Signature)]
/// struct Summarize {
///     #[input]
///     text: String,
///     #[output]
///     summary: String,
/// }
///
/// #[derive(Facet)]
/// struct Twice {
///     first: Predict<Summarize>,
///     second: Predict<Summarize>,
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
///     ) -> Result<Predicted<SummarizeOutput>, PredictError> {
///         let draft = self.first.call(ctx, input).await?;
///         self.second.call(ctx, SummarizeInput { text: draft.summary.clone() }).await
///     }
/// }
///
/// let program = Twice { first: Predict::new(), second: Predict::new() };
/// let found = named_predictors(&program).unwrap();
/// let paths: Vec<_> = found.iter().map(|(path, _)| path.as_str()).collect();
/// assert_eq!(paths, ["first", "second"]);
/// ```
pub trait Module: Send + Sync {
    /// What it takes.
    type Input: Data;
    /// What it gives.
    type Output: Data;

    /// What the module does; authors write this. A result of a predictor may be handed on as it
    /// is; [`Predicted::of`] wraps anything else.
    fn forward(
        &self,
        ctx: &Ctx,
        input: Self::Input,
    ) -> impl Future<Output = Result<Predicted<Self::Output>, PredictError>> + Send;

    /// Runs the module; users call this. The result knows what all LM calls on the way used.
    fn call(
        &self,
        ctx: &Ctx,
        input: Self::Input,
    ) -> impl Future<Output = Result<Predicted<Self::Output>, PredictError>> + Send {
        async move {
            let (ctx, tally) = ctx.tallied();
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
    ) -> Result<Predicted<S::Output>, PredictError> {
        let input =
            fields(&input).map_err(|error| invalid_input(&error.path, &error.to_string()))?;
        let typed = |fields: &Fields| from_payload(&Payload::map(fields.clone()));
        self.predictor.forward_as(ctx, input, typed).await.map(Predicted::of)
    }
}

fn invalid_input(path: &str, message: &str) -> PredictError {
    let field = path.split(['.', '[']).next().unwrap_or(path).into();
    PredictError::new(PredictErrorKind::InvalidValue { field }, message.to_owned())
}
