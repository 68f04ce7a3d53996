//! `best_of_n`: the best of several attempts by a reward (DSPy's module of the same name), for any
//! strategy of the registry and any typed module.

use std::sync::Arc;

use facet::Facet;
use futures_util::future::BoxFuture;

use super::attempt::{ModuleTarget, TypedTarget};
use super::config::WrappedStrategy;
use super::inner_module::{InnerModule, MODULE, check_attempts};
use super::registry::StrategyRegistration;
use super::reward::{REWARD, REWARD_REFS, Reward, RewardConfig, RewardForInputs};
use super::search::{RewardModel, RewardSearch, best};
use super::wrapper::{Wrapper, WrapperSpec, wrapper};
use super::{BuildEnv, ConfigRef, DynModule};
use crate::module::{Judge, Module, Prediction, ScoreFn};
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::problem::{At, Problems};
use crate::score::Score;
use crate::signature::SignatureSchema;
use crate::value::Fields;

inventory::submit! { StrategyRegistration(&WrapperSpec {
    name: "best_of_n",
    description: "Runs a strategy up to `n` times and returns the best attempt by a reward; stops at the \
                  first that reaches `threshold`. For tasks whose answers are easier to judge than to \
                  write. Up to `n` times the LM calls of the wrapped strategy, and those of a judge.",
    predictors: &[MODULE],
    refs: SEARCH_REFS,
    create,
}) }

#[derive(Facet)]
struct BestOfNConfig {
    #[facet(flatten)]
    search: SearchConfig,
    /// Makes all attempts at once: as fast as one, usually more expensive.
    #[facet(default)]
    parallel: bool,
}

fn create(
    env: &dyn BuildEnv,
    base: &Arc<SignatureSchema>,
    config: BestOfNConfig,
    at: &At<'_>,
) -> Result<Box<dyn DynModule>, Problems> {
    let (module, search, reward) = config.search.build(env, base, at)?;
    let search = RewardSearch { parallel: config.parallel, ..search };
    Ok(wrapper(BestOfNModule { module, search, reward }))
}

/// The references of a search: the strategy that is tried, and what rewards it.
pub(super) const SEARCH_REFS: &[ConfigRef] =
    &[ConfigRef::Strategy(MODULE), ConfigRef::Within(REWARD, REWARD_REFS)];

/// The settings of a search.
#[derive(Facet)]
pub(super) struct SearchConfig {
    /// The strategy to run.
    module: WrappedStrategy,
    /// The most attempts.
    #[facet(default = 3, dsrs::minimum(1), dsrs::maximum(100))]
    n: usize,
    /// The reward that is good enough to stop. None by default.
    threshold: Option<f64>,
    /// The score of an attempt, higher is better: exactly one of `expression`, `judge` and `graph` (a stored graph with
    /// one number or bool as output, or one named `reward`).
    reward: RewardConfig,
    /// How many failed attempts are tolerated. Default: `n`.
    #[facet(dsrs::minimum(0))]
    fail_count: Option<usize>,
}

impl SearchConfig {
    /// Builds what is searched, with its limits; reports all problems of the module and the reward together.
    pub(super) fn build(
        self,
        env: &dyn BuildEnv,
        base: &Arc<SignatureSchema>,
        at: &At<'_>,
    ) -> Result<(InnerModule, RewardSearch, Reward), Problems> {
        let module = InnerModule::build(env, base, &self.module, at);
        let schema = module.as_ref().ok().map(|module| module.schema().as_ref());
        match (Reward::build(env, self.reward, schema, &at.key("config")), module) {
            (Ok(reward), Ok(module)) => {
                check_attempts(("n", self.n), module.attempts().max(reward.attempts()), at)?;
                let search = RewardSearch {
                    n: self.n,
                    threshold: self.threshold.unwrap_or(f64::INFINITY),
                    fail_count: self.fail_count.unwrap_or(self.n),
                    parallel: false,
                };
                Ok((module, search, reward))
            }
            (reward, module) => {
                let mut problems = module.err().unwrap_or_default();
                problems.append(reward.err().unwrap_or_default());
                Err(problems)
            }
        }
    }
}

struct BestOfNModule {
    module: InnerModule,
    search: RewardSearch,
    reward: Reward,
}

impl Wrapper for BestOfNModule {
    fn schema(&self) -> &Arc<SignatureSchema> {
        self.module.schema()
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        let mut found = self.module.predictors();
        found.extend(self.reward.predictors());
        found
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        let mut found = self.module.predictors_mut();
        found.extend(self.reward.predictors_mut());
        found
    }

    fn attempts(&self) -> usize {
        self.search.n.saturating_mul(self.module.attempts().max(self.reward.attempts()))
    }

    async fn run(&self, ctx: &Ctx, input: Fields) -> Result<Fields, PredictError> {
        let tried = ModuleTarget { module: &self.module, input: &input };
        let rewards = RewardForInputs { reward: &self.reward, inputs: &input };
        best(self.search, ctx, &tried, &rewards).await
    }
}

/// Runs a module several times and returns the best result.
///
/// ```
/// use std::sync::Arc;
/// use dsrs::lm::{Models, ScriptedLm};
/// use dsrs::{BestOfN, Ctx, Module, Predict, Signature};
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
/// let lm = Arc::new(ScriptedLm::answering(["[[ ## answer ## ]]\nIt is four", "[[ ## answer ## ]]\n4"]));
/// let ctx = Ctx::within(Models::only(lm).into(), std::time::Duration::from_secs(60));
/// let short = |_: &QAInput, output: &QAOutput| 1.0 / output.answer.len() as f64;
/// let qa = BestOfN::new(Predict::<QA>::new(), 3, 1.0, short);
/// let result = qa.call(&ctx, QAInput { question: "2 + 2?".into() }).await.unwrap();
/// assert_eq!((&*result.answer, result.usage().lm_calls), ("4", 2));
/// # });
/// ```
#[derive(Clone, Facet)]
pub struct BestOfN<M: Module> {
    /// The module to run.
    pub module: M,
    /// The most attempts.
    pub n: usize,
    /// The reward at which it stops.
    pub threshold: f64,
    /// How many attempts may fail before the call fails; `n` by default.
    pub fail_count: Option<usize>,
    /// Whether all attempts run at once.
    pub parallel: bool,
    /// Scores an output.
    #[facet(opaque, dsrs::skip)]
    pub reward: ScoreFn<'static, M::Input, M::Output>,
}

impl<M: Module> BestOfN<M> {
    /// Up to `n` attempts in sequence, until `reward` returns at least `threshold`: a number, a `bool`, or
    /// one of them with a text.
    pub fn new<R: Into<Score>>(
        module: M,
        n: usize,
        threshold: f64,
        reward: impl Fn(&M::Input, &M::Output) -> R + Send + Sync + 'static,
    ) -> Self {
        Self::rewarded(module, n, threshold, ScoreFn::of(reward))
    }

    /// The same with a [`Judge`], which may call LMs.
    pub fn judged(
        module: M,
        n: usize,
        threshold: f64,
        judge: impl Judge<M::Input, M::Output> + 'static,
    ) -> Self {
        Self::rewarded(module, n, threshold, ScoreFn::judged(judge))
    }

    const fn rewarded(
        module: M,
        n: usize,
        threshold: f64,
        reward: ScoreFn<'static, M::Input, M::Output>,
    ) -> Self {
        Self { module, n, threshold, fail_count: None, parallel: false, reward }
    }

    /// The same, with all attempts at once.
    #[must_use]
    pub fn in_parallel(self) -> Self {
        Self { parallel: true, ..self }
    }
}

impl<M: Module> Module for BestOfN<M>
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
            parallel: self.parallel,
        };
        let tried = TypedTarget { module: &self.module, input: &input };
        best(search, ctx, &tried, &TypedReward::<M> { reward: &self.reward, input: &input }).await
    }
}

/// A reward that is a function.
pub(super) struct TypedReward<'a, M: Module> {
    pub(super) reward: &'a ScoreFn<'static, M::Input, M::Output>,
    pub(super) input: &'a M::Input,
}

impl<M: Module> RewardModel<Prediction<M::Output>> for TypedReward<'_, M> {
    fn reward<'a>(
        &'a self,
        ctx: &'a Ctx,
        found: &'a Prediction<M::Output>,
    ) -> BoxFuture<'a, Result<Score, PredictError>> {
        Box::pin(self.reward.score(ctx, self.input, found))
    }
}
