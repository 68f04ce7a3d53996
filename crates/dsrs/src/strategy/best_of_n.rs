//! `best_of_n`: several attempts, the best by a reward (DSPy's module of the same name), over any
//! strategy of the registry and over any typed module.

use std::sync::Arc;

use facet::Facet;
use futures_util::future::{BoxFuture, ready};

use super::attempt::{Typed, Untyped};
use super::config::{config_schema, count, count_schema, flag, number, schema, wrapped_schema};
use super::registry::StrategyRegistration;
use super::reward::{REWARD, Reward, Rewarded};
use super::search::{Rewards, Search, best};
use super::wrapped::{MODULE, Wrapped, attempts};
use super::{BuildEnv, DynModule, StrategyFactory, pins};
use crate::module::{Module, Prediction};
use crate::predict::{Ctx, DynPredictor, PredictError};
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::value::{Fields, Payload};

/// How many attempts there are where a config does not say.
pub(super) const DEFAULT_N: usize = 3;

struct Factory;

inventory::submit! { StrategyRegistration(&Factory) }

impl StrategyFactory for Factory {
    fn name(&self) -> &'static str {
        "best_of_n"
    }

    fn description(&self) -> &'static str {
        "Tries a strategy up to `n` times and gives the best attempt by a reward; stops at the first \
         that reaches `threshold`. For tasks whose answers are easier to judge than to write. Up to \
         `n` times the LM calls of the wrapped strategy, and those of a judge."
    }

    fn config_schema(&self) -> Payload {
        let mut members = search_schema();
        members.push(("parallel", schema(r#"{"type": "boolean", "default": false, "description": "makes all attempts at once: as fast as one, and usually dearer"}"#)));
        config_schema(members, &[MODULE, REWARD])
    }

    fn predictors(&self) -> &[&'static str] {
        &[MODULE]
    }

    fn own_signature(
        &self,
        env: &dyn BuildEnv,
        config: &Payload,
        at: &At<'_>,
    ) -> Option<Result<Payload, Problems>> {
        pins::own_signature(env, config, at)
    }

    fn pin(&self, env: &dyn BuildEnv, config: &Payload) -> Option<Payload> {
        pins::pinned(env, config)
    }

    fn create(
        &self,
        env: &dyn BuildEnv,
        base: &Arc<SignatureSchema>,
        config: &Payload,
        at: &At<'_>,
    ) -> Result<Box<dyn DynModule>, Problems> {
        let (module, search, reward) = read_search(env, base, config, at)?;
        Ok(Box::new(Searched { module, search, reward }))
    }
}

/// What a config says of a search.
pub(super) fn search_schema() -> Vec<(&'static str, Payload)> {
    vec![
        (MODULE, wrapped_schema("the strategy that is tried")),
        ("n", count_schema("the most attempts", 1, 100, 3)),
        (
            "threshold",
            schema(
                r#"{"type": "number", "description": "a reward that is good enough; none is when it is not said"}"#,
            ),
        ),
        (REWARD, Reward::schema()),
        (
            "fail_count",
            schema(
                r#"{"type": "integer", "minimum": 0, "description": "how many failing attempts are tolerated; `n` when it is not said"}"#,
            ),
        ),
    ]
}

/// Reads a search: everything that is wrong with the module and the reward comes at once.
pub(super) fn read_search(
    env: &dyn BuildEnv,
    base: &Arc<SignatureSchema>,
    config: &Payload,
    at: &At<'_>,
) -> Result<(Wrapped, Search, Reward), Problems> {
    let module = Wrapped::read(env, base, config, "", at);
    let schema = module.as_ref().ok().map(|module| module.schema().as_ref());
    let reward = Reward::read(env, config, schema, &at.key("config"));
    match (module, reward) {
        (Ok(module), Ok(reward)) => {
            let within = module.attempts().max(reward.attempts());
            let n = attempts(config, ("n", DEFAULT_N), within, at)?;
            let threshold = number(config, "threshold").unwrap_or(f64::INFINITY);
            let fail_count = count(config, "fail_count", n);
            let parallel = flag(config, "parallel");
            Ok((module, Search { n, threshold, fail_count, parallel }, reward))
        }
        (module, reward) => {
            let mut problems = module.err().unwrap_or_default();
            problems.extend(reward.err().unwrap_or_default());
            Err(problems)
        }
    }
}

struct Searched {
    module: Wrapped,
    search: Search,
    reward: Reward,
}

impl DynModule for Searched {
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

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(async move {
            let tried = Untyped { module: &self.module, input: &input };
            let rewards = Rewarded { reward: &self.reward, inputs: &input };
            best(self.search, ctx, &tried, &rewards).await
        })
    }
}

/// Judges an output: higher is better.
pub type RewardFn<M> =
    Box<dyn Fn(&<M as Module>::Input, &<M as Module>::Output) -> f64 + Send + Sync>;

/// A module that is tried several times.
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
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let lm = Arc::new(ScriptedLm::answering(["[[ ## answer ## ]]\nIt is four", "[[ ## answer ## ]]\n4"]));
/// let ctx = Ctx::within(Models::only(lm).into(), std::time::Duration::from_secs(60));
/// let short = |_: &QAInput, output: &QAOutput| 1.0 / output.answer.len() as f64;
/// let qa = BestOfN::new(Predict::<QA>::new(), 3, 1.0, short);
/// let result = qa.call(&ctx, QAInput { question: "2 + 2?".into() }).await.unwrap();
/// assert_eq!((&*result.answer, result.usage().lm_calls), ("4", 2));
/// # });
/// ```
#[derive(Facet)]
pub struct BestOfN<M: Module> {
    /// What is tried.
    pub module: M,
    /// The most attempts.
    pub n: usize,
    /// A reward that is good enough.
    pub threshold: f64,
    /// How many attempts may fail before the call does; `n` when it is not said.
    pub fail_count: Option<usize>,
    /// Whether all attempts are made at once.
    pub parallel: bool,
    /// Judges an output.
    #[facet(opaque, dsrs::skip)]
    pub reward: RewardFn<M>,
}

impl<M: Module> BestOfN<M> {
    /// Up to `n` attempts, one after the other, until `reward` gives at least `threshold`.
    pub fn new(
        module: M,
        n: usize,
        threshold: f64,
        reward: impl Fn(&M::Input, &M::Output) -> f64 + Send + Sync + 'static,
    ) -> Self {
        let reward = Box::new(reward);
        Self { module, n, threshold, fail_count: None, parallel: false, reward }
    }

    /// The same, with all attempts made at once.
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
        let search = Search {
            n: self.n,
            threshold: self.threshold,
            fail_count: self.fail_count.unwrap_or(self.n),
            parallel: self.parallel,
        };
        let tried = Typed { module: &self.module, input: &input };
        best(search, ctx, &tried, &By::<M> { reward: &self.reward, input: &input }).await
    }
}

/// A reward that is a function.
pub(super) struct By<'a, M: Module> {
    pub(super) reward: &'a RewardFn<M>,
    pub(super) input: &'a M::Input,
}

impl<M: Module> Rewards<Prediction<M::Output>> for By<'_, M> {
    fn reward<'a>(
        &'a self,
        _ctx: &'a Ctx,
        found: &'a Prediction<M::Output>,
    ) -> BoxFuture<'a, Result<f64, PredictError>> {
        Box::pin(ready(Ok((self.reward)(self.input, found))))
    }
}
