//! `refine`: attempts in sequence, each with advice about what was wrong with the previous one (DSPy's
//! module of the same name), for any strategy of the registry and any typed module. Advice lives in
//! the context of one attempt and nowhere else.

use std::ops::ControlFlow;
use std::sync::Arc;

use facet::Facet;

use super::advice::{self, ADVICE, AdviceHints, Adviser, OfferAdvice};
use super::attempt::{AttemptSpan, AttemptTarget, ModuleTarget, TypedTarget};
use super::best_of_n::{SEARCH_REFS, SearchConfig, TypedReward};
use super::inner_module::{InnerModule, MODULE};
use super::registry::StrategyRegistration;
use super::reward::{Reward, RewardForInputs};
use super::search::{BestAttempt, RewardModel, RewardSearch, judge_attempt};
use super::wrapper::{Wrapper, WrapperSpec, wrapper};
use super::{BuildEnv, DynModule};
use crate::module::{
    Judge, Module, Prediction, ScoreFn, WalkError, named_predictors, named_predictors_mut,
};
use crate::predict::fields;
use crate::predict::{Ctx, DynPredictor, Predict, PredictError, PredictErrorKind, SchemaPredictor};
use crate::problem::{At, Problems};
use crate::score::Score;
use crate::signature::SignatureSchema;
use crate::value::Fields;

/// The best of several attempts; every attempt but the first receives advice.
async fn refine<T: AttemptTarget>(
    search: RewardSearch,
    ctx: &Ctx,
    tried: &T,
    rewards: &impl RewardModel<T::Found>,
    adviser: &Adviser<'_>,
) -> Result<T::Found, PredictError> {
    let mut best = BestAttempt::new(search);
    let mut hints = AdviceHints::new();
    for number in 0..search.n {
        let attempt = AttemptSpan::open(ctx, number);
        let varied = attempt.varied(None);
        let hinted = if hints.is_empty() { varied } else { varied.with_hints(hints.clone()) };
        let result = judge_attempt(&attempt, &hinted, tried, rewards).await;
        let is_last = number + 1 == search.n;
        let poor = result.as_ref().ok().filter(|_| !is_last);
        let poor =
            poor.and_then(|(reward, found)| Some((reward.clone(), tried.outputs(found).ok()?)));
        if let ControlFlow::Break(end) = best.take(ctx, number, result) {
            return end;
        }
        let Some((reward, outputs)) = poor else { continue };
        match adviser.advise(ctx, &reward, &outputs).await {
            Ok(advice) => hints = advice,
            Err(error) if ctx.is_fatal(&error) => return Err(error),
            // The failure is in the trace; the next attempt uses the previous advice.
            Err(_) => {}
        }
    }
    best.finish()
}

inventory::submit! { StrategyRegistration(&WrapperSpec {
    name: "refine",
    description: "Runs a strategy up to `n` times. After each attempt below `threshold` an LM writes advice \
                  for its predictors, which the next attempt receives. Returns the best attempt. For \
                  tasks whose answers can be improved once the problem is named. Up to `n` times the \
                  LM calls of the wrapped strategy and of a judge, and `n - 1` for advice.",
    predictors: &[MODULE, ADVICE],
    refs: SEARCH_REFS,
    create,
}) }

fn create(
    env: &dyn BuildEnv,
    base: &Arc<SignatureSchema>,
    config: SearchConfig,
    at: &At<'_>,
) -> Result<Box<dyn DynModule>, Problems> {
    let (module, search, reward) = config.build(env, base, at)?;
    let advice = SchemaPredictor::new(advice::schema(), Arc::from(ADVICE));
    Ok(wrapper(RefineModule { module, search, reward, advice }))
}

struct RefineModule {
    module: InnerModule,
    search: RewardSearch,
    reward: Reward,
    advice: SchemaPredictor,
}

impl Wrapper for RefineModule {
    fn schema(&self) -> &Arc<SignatureSchema> {
        self.module.schema()
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        let mut found = self.module.predictors();
        found.extend(self.reward.predictors());
        found.push((ADVICE, &self.advice));
        found
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        let mut found = self.module.predictors_mut();
        found.extend(self.reward.predictors_mut());
        found.push((ADVICE, &mut self.advice));
        found
    }

    fn attempts(&self) -> usize {
        self.search.n.saturating_mul(self.module.attempts().max(self.reward.attempts()))
    }

    async fn run(&self, ctx: &Ctx, input: Fields) -> Result<Fields, PredictError> {
        let tried = ModuleTarget { module: &self.module, input: &input };
        let rewards = RewardForInputs { reward: &self.reward, inputs: &input };
        let adviser = Adviser {
            predictor: &self.advice,
            path: self.advice.path(),
            parts: self.module.predictors(),
            inputs: &input,
            definition: self.reward.describe(),
            threshold: self.search.threshold,
        };
        refine(self.search, ctx, &tried, &rewards, &adviser).await
    }
}

/// Runs a module several times, with advice from an LM after each attempt.
///
/// ```
/// use std::sync::Arc;
/// use dsrs::lm::{Models, ScriptedLm};
/// use dsrs::module::named_predictors;
/// use dsrs::{Ctx, Module, Predict, Refine, Signature};
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
/// let lm = Arc::new(ScriptedLm::answering([
///     "[[ ## answer ## ]]\nIt is four",
///     "[[ ## diagnosis ## ]]\ntoo long\n\n[[ ## advice ## ]]\n{\"module\": \"Digits only.\"}",
///     "[[ ## answer ## ]]\n4",
/// ]));
/// let ctx = Ctx::within(Models::only(lm.clone()).into(), std::time::Duration::from_secs(60));
/// let short = |_: &QAInput, output: &QAOutput| 1.0 / output.answer.len() as f64;
/// let qa = Refine::new(Predict::<QA>::new(), 3, 1.0, short).unwrap().rewarding("short answers");
///
/// let result = qa.call(&ctx, QAInput { question: "2 + 2?".into() }).await.unwrap();
/// assert_eq!((&*result.answer, result.usage().lm_calls), ("4", 3));
/// assert!(lm.requests()[2].chat.turns[0].content.contains("Digits only."));
/// let found = named_predictors(&qa).unwrap();
/// let paths: Vec<_> = found.iter().map(|(path, _)| path.as_str()).collect();
/// assert_eq!(paths, ["module", "advice"]);
/// # });
/// ```
#[derive(Clone, Facet)]
pub struct Refine<M: Module> {
    module: M,
    advice: Predict<OfferAdvice>,
    n: usize,
    threshold: f64,
    fail_count: Option<usize>,
    definition: String,
    #[facet(opaque, dsrs::skip)]
    reward: ScoreFn<'static, M::Input, M::Output>,
}

impl<M: Module + Facet<'static>> Refine<M> {
    /// Up to `n` attempts, until `reward` returns at least `threshold`: a number, a `bool`, or one of them
    /// with a text, which the LM that writes advice sees.
    ///
    /// # Errors
    /// When the walker cannot search the module for predictors to advise.
    pub fn new<R: Into<Score>>(
        module: M,
        n: usize,
        threshold: f64,
        reward: impl Fn(&M::Input, &M::Output) -> R + Send + Sync + 'static,
    ) -> Result<Self, WalkError>
    where
        Self: Facet<'static>,
    {
        Self::rewarded(module, n, threshold, ScoreFn::of(reward))
    }

    /// The same with a [`Judge`], which may call LMs.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn judged(
        module: M,
        n: usize,
        threshold: f64,
        judge: impl Judge<M::Input, M::Output> + 'static,
    ) -> Result<Self, WalkError>
    where
        Self: Facet<'static>,
    {
        Self::rewarded(module, n, threshold, ScoreFn::judged(judge))
    }

    fn rewarded(
        module: M,
        n: usize,
        threshold: f64,
        reward: ScoreFn<'static, M::Input, M::Output>,
    ) -> Result<Self, WalkError>
    where
        Self: Facet<'static>,
    {
        let (advice, definition) = (Predict::new(), String::from("a custom scoring function"));
        let fail_count = None;
        let mut refine = Self { module, advice, n, threshold, fail_count, definition, reward };
        // Advice is addressed by path, so each predictor must know its own.
        for (path, predictor) in named_predictors_mut(&mut refine)? {
            predictor.set_path(path.into());
        }
        Ok(refine)
    }

    /// Describes the reward function to the LM that writes advice.
    #[must_use]
    pub fn rewarding(self, definition: impl Into<String>) -> Self {
        Self { definition: definition.into(), ..self }
    }

    /// How many attempts may fail before the call fails; all by default.
    #[must_use]
    pub fn fail_count(self, fail_count: usize) -> Self {
        Self { fail_count: Some(fail_count), ..self }
    }
}

impl<M: Module + Facet<'static>> Module for Refine<M>
where
    M::Input: Clone,
{
    type Input = M::Input;
    type Output = M::Output;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: M::Input,
    ) -> Result<Prediction<M::Output>, PredictError> {
        let search = RewardSearch {
            n: self.n,
            threshold: self.threshold,
            fail_count: self.fail_count.unwrap_or(self.n),
            parallel: false,
        };
        let inputs = fields(&input).map_err(|error| unfit(&error.path, error.to_string()))?;
        let found = named_predictors(&self.module);
        let found = found.map_err(|error| unfit(&error.path, error.to_string()))?;
        let paths: Vec<String> = found.iter().map(|(path, _)| below_module(path)).collect();
        let handles = found.iter().map(|(_, predictor)| *predictor);
        let adviser = Adviser {
            predictor: &*self.advice,
            path: self.advice.path(),
            parts: paths.iter().map(String::as_str).zip(handles).collect(),
            inputs: &inputs,
            definition: self.definition.clone(),
            threshold: self.threshold,
        };
        let tried = TypedTarget { module: &self.module, input: &input };
        let rewards = TypedReward::<M> { reward: &self.reward, input: &input };
        refine(search, ctx, &tried, &rewards, &adviser).await
    }
}

/// The path of a predictor of the module within the node.
fn below_module(path: &str) -> String {
    match path {
        "" => MODULE.to_owned(),
        element if element.starts_with('[') => format!("{MODULE}{element}"),
        field => format!("{MODULE}.{field}"),
    }
}

fn unfit(path: &str, message: String) -> PredictError {
    let field = path.split(['.', '[']).next().unwrap_or(path).into();
    PredictError::new(PredictErrorKind::InvalidValue { field }, message)
}
