//! Evaluating a typed module: a batch of calls, each scored by a closure or a judge.

use std::future::IntoFuture;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt};

use super::TypedExample;
use super::metric::ModuleScoreFn;
use super::optimizer::CONCURRENCY;
use crate::lm::Usage;
use crate::module::{Judge, Module, Prediction, ScoreFn};
use crate::optimize::rollout_failure::says_nothing;
use crate::optimize::{Interval, RolloutFailure, Score, mean_interval};
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
pub fn evaluate<'a, M, E, R>(
    ctx: &'a Ctx,
    module: &'a M,
    devset: &'a [TypedExample<M::Input, E>],
    metric: impl Fn(&TypedExample<M::Input, E>, &M::Output) -> R + Send + Sync + 'a,
) -> Evaluate<'a, M, E>
where
    M: Module,
    E: Data,
    R: Into<Score>,
{
    Evaluate { ctx, module, devset, scoring: ScoreFn::of(metric), concurrency: CONCURRENCY }
}

/// Like [`evaluate`], with a [`Judge`] as the metric, which may call LMs. An example whose judge fails
/// because of its model is unmeasured.
pub fn evaluate_judged<'a, M, E>(
    ctx: &'a Ctx,
    module: &'a M,
    devset: &'a [TypedExample<M::Input, E>],
    judge: impl Judge<TypedExample<M::Input, E>, M::Output> + 'a,
) -> Evaluate<'a, M, E>
where
    M: Module,
    E: Data,
{
    Evaluate { ctx, module, devset, scoring: ScoreFn::judged(judge), concurrency: CONCURRENCY }
}

/// An evaluation that begins when it is awaited.
#[must_use = "an evaluation does nothing unless it is awaited"]
pub struct Evaluate<'a, M: Module, E> {
    ctx: &'a Ctx,
    module: &'a M,
    devset: &'a [TypedExample<M::Input, E>],
    scoring: ModuleScoreFn<'a, M, E>,
    concurrency: usize,
}

impl<M: Module, E> Evaluate<'_, M, E> {
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
    /// What the judge used; nothing if the metric is a closure.
    pub judging: Usage,
}

/// The output of a module for an example, and its score.
#[derive(Debug)]
pub struct EvaluatedExample<O> {
    /// The output, or why there is none.
    pub output: Result<Prediction<O>, PredictError>,
    /// The score, and the feedback of the metric; 0 without an output, and if the judge failed.
    pub score: Score,
    /// Why the judge gave no score, if it failed.
    pub unjudged: Option<PredictError>,
}

impl<O> EvaluatedExample<O> {
    fn of(output: Result<Prediction<O>, PredictError>, score: JudgeResult) -> Self {
        let (score, unjudged) = match score {
            Some(Ok(score)) => (score, None),
            Some(Err(error)) => (Score::of(0.0), Some(error)),
            None => (Score::of(0.0), None),
        };
        Self { output, score, unjudged }
    }

    /// Whether the score says something about the module.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        !self.output.as_ref().is_err_and(says_nothing)
            && !self.unjudged.as_ref().is_some_and(is_unmeasured)
    }
}

impl<'a, M, E> IntoFuture for Evaluate<'a, M, E>
where
    M: Module,
    M::Input: Clone,
    E: Data,
{
    type Output = ModuleEvaluation<M::Output>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let outputs = self.outputs().await;
            let (ctx, tally) = self.ctx.with_tally();
            let scores = self.scores(&ctx, &outputs).await;
            let pairs = outputs.into_iter().zip(scores);
            let examples = pairs.map(|(output, score)| EvaluatedExample::of(output, score));
            concluded(examples.collect(), tally.sum().usage)
        })
    }
}

/// The output of a call, or why there is none.
type CallResult<M> = Result<Prediction<<M as Module>::Output>, PredictError>;

/// The score of an output, or why there is none. `None` without an output.
type JudgeResult = Option<Result<Score, PredictError>>;

impl<M: Module, E: Data> Evaluate<'_, M, E>
where
    M::Input: Clone,
{
    /// Calls the module with each input, and repeats the calls without a score.
    async fn outputs(&self) -> Vec<CallResult<M>> {
        let all: Vec<usize> = (0..self.devset.len()).collect();
        let mut outputs = self.call(&all).await;
        let open = places(&outputs, |output| output.as_ref().is_err_and(says_nothing));
        replace(&mut outputs, &open, self.call(&open).await);
        outputs
    }

    async fn call(&self, places: &[usize]) -> Vec<CallResult<M>> {
        let mut inputs = Vec::with_capacity(places.len());
        for place in places {
            inputs.push(self.devset[*place].input.clone());
        }
        self.module.batch(self.ctx, inputs, self.concurrency).await
    }

    /// Scores each output, and repeats the scores that say nothing.
    async fn scores(&self, ctx: &Ctx, outputs: &[CallResult<M>]) -> Vec<JudgeResult> {
        let all: Vec<usize> = (0..outputs.len()).collect();
        let mut scores = self.judge(ctx, outputs, &all).await;
        let open = places(&scores, |score| {
            score.as_ref().is_some_and(|score| score.as_ref().is_err_and(is_unmeasured))
        });
        replace(&mut scores, &open, self.judge(ctx, outputs, &open).await);
        scores
    }

    async fn judge(
        &self,
        ctx: &Ctx,
        outputs: &[CallResult<M>],
        places: &[usize],
    ) -> Vec<JudgeResult> {
        let mut judging: Vec<BoxFuture<'_, JudgeResult>> = Vec::with_capacity(places.len());
        for place in places {
            judging.push(Box::pin(self.judge_one(ctx, &outputs[*place], *place)));
        }
        stream::iter(judging).buffered(self.concurrency).collect().await
    }

    async fn judge_one(&self, ctx: &Ctx, output: &CallResult<M>, place: usize) -> JudgeResult {
        let output = output.as_ref().ok()?;
        let score = self.scoring.score(ctx, &self.devset[place], output).await;
        Some(score.map(Score::within_bounds))
    }
}

/// The places of what has to be done again.
fn places<T>(results: &[T], is_open: impl Fn(&T) -> bool) -> Vec<usize> {
    let numbered = results.iter().enumerate();
    numbered.filter(|(_, result)| is_open(result)).map(|(place, _)| place).collect()
}

/// Replaces the results at some places.
fn replace<T>(results: &mut [T], places: &[usize], by: Vec<T>) {
    places.iter().zip(by).for_each(|(place, result)| results[*place] = result);
}

/// Whether the failure of a judge says nothing about the module.
fn is_unmeasured(error: &PredictError) -> bool {
    RolloutFailure::of_metric(error).is_unmeasured
}

fn concluded<O>(examples: Vec<EvaluatedExample<O>>, judging: Usage) -> ModuleEvaluation<O> {
    let measured = examples.iter().filter(|found| found.is_measured());
    let scores: Vec<f64> = measured.map(|found| found.score.value).collect();
    let mut usage = Usage::default();
    for found in examples.iter().filter_map(|found| found.output.as_ref().ok()) {
        usage += *found.usage();
    }
    let unmeasured = examples.len() - scores.len();
    let mean = mean_interval(&scores, SEED);
    ModuleEvaluation { examples, mean, unmeasured, usage, judging }
}
