//! Evaluating a typed module: a batch of calls, each scored by a closure.

use std::future::IntoFuture;

use futures_util::future::BoxFuture;

use super::TypedExample;
use super::optimizer::CONCURRENCY;
use crate::lm::Usage;
use crate::module::{Module, Prediction};
use crate::optimize::rollout_failure::says_nothing;
use crate::optimize::{Interval, Score, mean_interval};
use crate::predict::{Ctx, PredictError};
use crate::signature::Data;

/// The seed of the interval of the mean.
const SEED: u64 = 0;

/// Evaluates a module on examples with a metric: `.await` it, after
/// [`concurrency`](Evaluate::concurrency) if need be. A call that fails scores 0. If it fails for a reason that is
/// not the module's (the provider, the time, a budget), it is made once more at the end; if it fails again, the example
/// is unmeasured and does not count.
///
/// The metric is a closure as that of [`compile`](super::compile()). `ctx` gives the models and limits the
/// time of all calls together.
///
/// ```
/// use std::sync::Arc;
/// use dsrs::lm::{Models, ScriptedLm};
/// use dsrs::optimize::{TypedExample, evaluate};
/// use dsrs::{Ctx, Predict, Signature};
///
/// #[derive(Signature)]
/// struct QA {
///     #[input]
///     question: String,
///     #[output]
///     answer: String,
/// }
///
/// # dsrs::block_on(async {
/// let lm = Arc::new(ScriptedLm::answering(["[[ ## answer ## ]]\n4", "[[ ## answer ## ]]\n5"]));
/// let ctx = Ctx::within(Models::only(lm).into(), std::time::Duration::from_secs(60));
/// let devset = [("2 + 2?", "4"), ("3 + 3?", "6")].map(|(question, answer)| {
///     let input = QAInput { question: question.into() };
///     TypedExample::new(input, QAOutput { answer: answer.into() })
/// });
/// let qa = Predict::<QA>::new();
/// let found = evaluate(&ctx, &qa, &devset, |example, output| output.answer == example.expected.answer)
///     .concurrency(1)
///     .await;
/// assert_eq!(found.mean.mean, 0.5);
/// assert_eq!(found.examples[1].output.as_ref().unwrap().answer, "5");
/// # });
/// ```
pub fn evaluate<'a, M, E, R, F>(
    ctx: &'a Ctx,
    module: &'a M,
    devset: &'a [TypedExample<M::Input, E>],
    metric: F,
) -> Evaluate<'a, M, E, F>
where
    M: Module,
    F: Fn(&TypedExample<M::Input, E>, &M::Output) -> R,
    R: Into<Score>,
{
    Evaluate { ctx, module, devset, metric, concurrency: CONCURRENCY }
}

/// An evaluation that begins when it is awaited.
#[must_use = "an evaluation does nothing unless it is awaited"]
pub struct Evaluate<'a, M: Module, E, F> {
    ctx: &'a Ctx,
    module: &'a M,
    devset: &'a [TypedExample<M::Input, E>],
    metric: F,
    concurrency: usize,
}

impl<M: Module, E, F> Evaluate<'_, M, E, F> {
    /// How many examples run at a time; 8 by default.
    pub fn concurrency(mut self, most: usize) -> Self {
        self.concurrency = most.max(1);
        self
    }
}

/// The scores of a module on some examples.
#[derive(Debug)]
pub struct ModuleEvaluation<O> {
    /// One for each example, in order.
    pub examples: Vec<EvaluatedExample<O>>,
    /// The mean score of the measured examples with its confidence interval.
    pub mean: Interval,
    /// The number of examples without a score, for reasons that are not the module's.
    pub unmeasured: usize,
    /// What all calls that succeeded used together.
    pub usage: Usage,
}

/// The output of a module for an example, and its score.
#[derive(Debug)]
pub struct EvaluatedExample<O> {
    /// The output, or why there is none.
    pub output: Result<Prediction<O>, PredictError>,
    /// The score, and the feedback of the metric; 0 without an output.
    pub score: Score,
}

impl<O> EvaluatedExample<O> {
    /// Whether the score says something about the module.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        !self.output.as_ref().is_err_and(says_nothing)
    }
}

impl<'a, M, E, R, F> IntoFuture for Evaluate<'a, M, E, F>
where
    M: Module,
    M::Input: Clone,
    E: Data,
    F: Fn(&TypedExample<M::Input, E>, &M::Output) -> R + Send + 'a,
    R: Into<Score>,
{
    type Output = ModuleEvaluation<M::Output>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let inputs: Vec<_> = self.devset.iter().map(|found| found.input.clone()).collect();
            let mut outputs = self.module.batch(self.ctx, inputs, self.concurrency).await;
            let Self { ctx, module, devset, concurrency, .. } = self;
            measure_again(ctx, module, devset, concurrency, &mut outputs).await;
            let pairs = self.devset.iter().zip(outputs);
            let examples = pairs.map(|(example, output)| {
                let score = match &output {
                    Ok(found) => (self.metric)(example, found).into().within_bounds(),
                    Err(_) => Score::of(0.0),
                };
                EvaluatedExample { output, score }
            });
            concluded(examples.collect())
        })
    }
}

/// Repeats the calls without a score.
async fn measure_again<M, E>(
    ctx: &Ctx,
    module: &M,
    devset: &[TypedExample<M::Input, E>],
    concurrency: usize,
    outputs: &mut [Result<Prediction<M::Output>, PredictError>],
) where
    M: Module,
    M::Input: Clone,
{
    let pairs = devset.iter().zip(outputs);
    let open = pairs.filter(|(_, output)| output.as_ref().is_err_and(says_nothing));
    let (inputs, places): (Vec<_>, Vec<_>) =
        open.map(|(example, output)| (example.input.clone(), output)).unzip();
    if inputs.is_empty() {
        return;
    }
    let again = module.batch(ctx, inputs, concurrency).await;
    places.into_iter().zip(again).for_each(|(place, output)| *place = output);
}

fn concluded<O>(examples: Vec<EvaluatedExample<O>>) -> ModuleEvaluation<O> {
    let measured = examples.iter().filter(|found| found.is_measured());
    let scores: Vec<f64> = measured.map(|found| found.score.value).collect();
    let mut usage = Usage::default();
    for found in examples.iter().filter_map(|found| found.output.as_ref().ok()) {
        usage += *found.usage();
    }
    let unmeasured = examples.len() - scores.len();
    ModuleEvaluation { mean: mean_interval(&scores, SEED), unmeasured, usage, examples }
}
