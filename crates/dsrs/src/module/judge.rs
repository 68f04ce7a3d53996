//! Judges: what scores outputs and may call LMs. Knows neither metrics nor searches.

use std::future::Future;

use crate::predict::{Ctx, PredictError};
use crate::score::Score;

/// Scores outputs with LM calls of its own, or with any other asynchronous work: the metric of
/// `compile_judged` and `evaluate_judged`, the reward of [`BestOfN::judged`](crate::BestOfN::judged) and
/// [`Refine::judged`](crate::Refine::judged). What it scores with is the input of the module (`G`), or for a
/// metric the example.
///
/// An `async fn` of the context, this and the output is a judge, and so is an async closure that owns
/// nothing. It returns whatever is a [`Score`]:
///
/// ```
/// use std::sync::Arc;
/// use dsrs::lm::{Models, ScriptedLm};
/// use dsrs::{BestOfN, Ctx, Module, Predict, PredictError, Signature};
///
/// #[derive(Signature)]
/// struct QA {
///     #[input]
///     question: String,
///     #[output]
///     answer: String,
/// }
///
/// /// Is the answer polite?
/// #[derive(Signature)]
/// struct Verdict {
///     #[input]
///     answer: String,
///     #[output]
///     polite: bool,
///     #[output]
///     advice: String,
/// }
///
/// async fn politeness(ctx: &Ctx, _: &QAInput, output: &QAOutput) -> Result<(bool, String), PredictError> {
///     let asked = VerdictInput { answer: output.answer.clone() };
///     let verdict = Predict::<Verdict>::new().call(ctx, asked).await?;
///     Ok((verdict.polite, verdict.advice.clone()))
/// }
///
/// # dsrs::block_on(async {
/// let lm = Arc::new(ScriptedLm::answering([
///     "[[ ## answer ## ]]\nNo.",
///     "[[ ## polite ## ]]\nfalse\n[[ ## advice ## ]]\nsay please",
///     "[[ ## answer ## ]]\nNo, sorry.",
///     "[[ ## polite ## ]]\ntrue\n[[ ## advice ## ]]\nnone",
/// ]));
/// let ctx = Ctx::within(Models::only(lm).into(), std::time::Duration::from_secs(60));
/// let polite = BestOfN::judged(Predict::<QA>::new(), 3, 1.0, politeness);
/// let result = polite.call(&ctx, QAInput { question: "May I?".into() }).await.unwrap();
/// assert_eq!((&*result.answer, result.usage().lm_calls), ("No, sorry.", 4));
/// # });
/// ```
///
/// A judge with a state, such as predictors of its own, is a struct that implements this trait:
///
/// ```
/// use dsrs::optimize::TypedExample;
/// use dsrs::{Ctx, Judge, Module, Predict, PredictError, Score, Signature};
/// # #[derive(Signature)]
/// # struct QA { #[input] question: String, #[output] answer: String }
/// # #[derive(Signature)]
/// # struct Verdict { #[input] answer: String, #[output] score: f32 }
///
/// struct Grader {
///     verdict: Predict<Verdict>,
/// }
///
/// impl Judge<TypedExample<QAInput, ()>, QAOutput> for Grader {
///     async fn judge(
///         &self,
///         ctx: &Ctx,
///         _: &TypedExample<QAInput, ()>,
///         output: &QAOutput,
///     ) -> Result<Score, PredictError> {
///         let asked = VerdictInput { answer: output.answer.clone() };
///         Ok(self.verdict.call(ctx, asked).await?.score.into())
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not judge a `{O}`",
    label = "no judge of `{O}` with `{G}`",
    note = "a judge is `async fn(ctx: &Ctx, given: &{G}, output: &{O}) -> Result<S, PredictError>`, where `S` is a number, a `bool`, or one of them with a text",
    note = "a closure that owns values is none: implement `dsrs::Judge` for a struct with these values"
)]
pub trait Judge<G, O>: Send + Sync {
    /// Scores an output. `given` is the example of a metric, or the input of a rewarded module; `ctx` has
    /// the models, the time limit, the budget and the trace.
    fn judge(
        &self,
        ctx: &Ctx,
        given: &G,
        output: &O,
    ) -> impl Future<Output = Result<Score, PredictError>> + Send;
}

/// An async function of three references: what makes it a [`Judge`].
#[doc(hidden)]
pub trait JudgeFn<'a, G: 'a, O: 'a>: Send + Sync {
    /// What it returns.
    type Score: Into<Score>;
    /// Its future.
    type Judging: Future<Output = Result<Self::Score, PredictError>> + Send;

    /// Starts it.
    fn start(&self, ctx: &'a Ctx, given: &'a G, output: &'a O) -> Self::Judging;
}

impl<'a, G: 'a, O: 'a, F, J, S> JudgeFn<'a, G, O> for F
where
    F: Fn(&'a Ctx, &'a G, &'a O) -> J + Send + Sync,
    J: Future<Output = Result<S, PredictError>> + Send,
    S: Into<Score>,
{
    type Score = S;
    type Judging = J;

    fn start(&self, ctx: &'a Ctx, given: &'a G, output: &'a O) -> J {
        self(ctx, given, output)
    }
}

#[diagnostic::do_not_recommend]
impl<G: Sync, O: Sync, F: for<'a> JudgeFn<'a, G, O>> Judge<G, O> for F {
    async fn judge(&self, ctx: &Ctx, given: &G, output: &O) -> Result<Score, PredictError> {
        self.start(ctx, given, output).await.map(Into::into)
    }
}
