//! Typed programs: the trait of all prompting strategies, the result of a call, and the walker that
//! finds the predictors of a module. Does not know graphs or single strategies.

mod boundary;
mod judge;
mod path;
mod prediction;
mod score_fn;
#[doc(hidden)]
pub mod shape;
mod walk;

use std::future::Future;

use facet::Facet;
use futures_util::FutureExt;
use futures_util::stream::{self, StreamExt};

use crate::coerce::split_first_step;
use crate::predict::fields;
use crate::predict::{Ctx, Predict, PredictError, PredictErrorKind};
use crate::problem::{At, Code, Problem, Problems};
use crate::reflect::from_payload;
use crate::signature::{Data, Signature};
use crate::value::{Fields, Payload};

pub use crate::predict::ModuleState;
use boundary::Boundary;
pub use judge::{Judge, JudgeFn};
pub use prediction::Prediction;
pub use score_fn::ScoreFn;
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
/// /// Where notes are stored.
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
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a module: `impl Module for {Self}` is missing",
    label = "not a module",
    note = "`#[derive(Module)]` makes its predictors findable; what it does is the method `forward` of `impl dsrs::Module for {Self}`, with `type Input` and `type Output`",
    note = "a struct of predictors that is only a part of modules is marked `#[module(part)]` below the derive"
)]
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

    /// Runs the module; users call this. The result includes the usage of all LM calls. The asserts of
    /// the input type hold before the module runs, those of the output type before it returns.
    fn call(
        &self,
        ctx: &Ctx,
        input: Self::Input,
    ) -> impl Future<Output = Result<Prediction<Self::Output>, PredictError>> + Send {
        async move {
            let boundary = Boundary::of::<Self::Input, Self::Output>();
            boundary.admit_input(&input)?;
            let (ctx, tally) = ctx.with_tally();
            let predicted = self.forward(&ctx, input).await?;
            boundary.admit_output(&*predicted)?;
            Ok(predicted.about(tally.sum(), ctx.run))
        }
    }

    /// Calls the module with each input, `concurrency` of them at a time. The results have the order of
    /// the inputs; a failed call is an error in its place, and the others go on.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use dsrs::lm::{Models, ScriptedLm};
    /// # use dsrs::{Ctx, Module, Predict, Signature};
    /// # #[derive(Signature)]
    /// # struct QA { #[input] question: String, #[output] answer: String }
    /// # dsrs::block_on(async {
    /// # let lm = Arc::new(ScriptedLm::answering(["[[ ## answer ## ]]\n4", "[[ ## answer ## ]]\n6"]));
    /// # let ctx = Ctx::within(Models::only(lm).into(), std::time::Duration::from_secs(60));
    /// let questions = ["2 + 2?", "3 + 3?"].map(|text| QAInput { question: text.into() });
    /// let results = Predict::<QA>::new().batch(&ctx, questions, 1).await;
    /// let answers: Vec<_> = results.iter().flatten().map(|result| &*result.answer).collect();
    /// assert_eq!(answers, ["4", "6"]);
    /// # });
    /// ```
    fn batch(
        &self,
        ctx: &Ctx,
        inputs: impl IntoIterator<Item = Self::Input>,
        concurrency: usize,
    ) -> impl Future<Output = Vec<Result<Prediction<Self::Output>, PredictError>>> + Send {
        let numbered = inputs.into_iter().enumerate();
        let calls =
            numbered.map(|(number, input)| self.call(ctx, input).map(move |found| (number, found)));
        let calls: Vec<_> = calls.collect();
        async move {
            // In the order in which they end, so that a slow call does not hold up those after it.
            let running = stream::iter(calls).buffer_unordered(concurrency.max(1));
            let mut results: Vec<_> = running.collect().await;
            results.sort_unstable_by_key(|(number, _)| *number);
            results.into_iter().map(|(_, found)| found).collect()
        }
    }

    /// The states of all its predictors, by path. `dsrs::save_json` writes it to a file.
    ///
    /// # Errors
    /// If the walker cannot search the module.
    fn state(&self) -> Result<ModuleState, WalkError>
    where
        Self: Facet<'static> + Sized,
    {
        named_predictors(self).map(ModuleState::of)
    }

    /// Replaces the states of all its predictors, or of none. A predictor that the state leaves out is
    /// at its defaults.
    ///
    /// # Errors
    /// Every path that is no predictor's, and every field and value that does not fit its predictor,
    /// with pointers as in `{path: {"instruction", "demos": [{"input", "output"}], "lm"}}`.
    fn load_state(&mut self, state: impl Into<ModuleState>) -> Result<(), Problems>
    where
        Self: Facet<'static> + Sized,
    {
        let found = named_predictors_mut(self).map_err(|error| Problem {
            pointer: At::Root.pointer(),
            code: Code::WrongType,
            detail: error.to_string(),
        })?;
        state.into().load_into(found)
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

    /// A predictor checks its values itself and records the outcomes.
    async fn call(
        &self,
        ctx: &Ctx,
        input: S::Input,
    ) -> Result<Prediction<S::Output>, PredictError> {
        let (ctx, tally) = ctx.with_tally();
        let predicted = self.forward(&ctx, input).await?;
        Ok(predicted.about(tally.sum(), ctx.run))
    }
}

fn invalid_input(path: &str, message: &str) -> PredictError {
    let field = split_first_step(path).0.into();
    PredictError::new(PredictErrorKind::InvalidValue { field }, message.to_owned())
}
