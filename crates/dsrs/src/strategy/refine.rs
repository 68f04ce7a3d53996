//! `refine`: attempts one after the other, each advised by what was wrong with the one before
//! (DSPy's module of the same name), over any strategy of the registry and over any typed module.
//! Advice is in the context of one attempt and nowhere else.

use std::ops::ControlFlow;
use std::sync::Arc;

use facet::Facet;
use futures_util::future::BoxFuture;

use super::advice::{self, ADVICE, Adviser, Hinted, OfferAdvice};
use super::attempt::{Attempt, Tried, Typed, Untyped};
use super::best_of_n::{By, RewardFn, read_search, search_schema};
use super::config::config_schema;
use super::registry::StrategyRegistration;
use super::reward::{REWARD, Reward, Rewarded};
use super::search::{Best, Rewards, Search, judged};
use super::wrapped::{MODULE, Wrapped};
use super::{BuildEnv, DynModule, StrategyFactory, pins};
use crate::module::{Module, Prediction, WalkError, named_predictors, named_predictors_mut};
use crate::predict::fields;
use crate::predict::{Ctx, DynPredictor, Predict, PredictError, PredictErrorKind, SchemaPredictor};
use crate::problem::{At, Problems};
use crate::signature::SignatureSchema;
use crate::value::{Fields, Payload};

/// The best attempt, each but the first made with advice.
async fn refine<T: Tried>(
    search: Search,
    ctx: &Ctx,
    tried: &T,
    rewards: &impl Rewards<T::Found>,
    adviser: &Adviser<'_>,
) -> Result<T::Found, PredictError> {
    let mut best = Best::new(search);
    let mut hints = Hinted::new();
    for number in 0..search.n {
        let attempt = Attempt::open(ctx, number);
        let varied = attempt.varied(None);
        let hinted = if hints.is_empty() { varied } else { varied.with_hints(hints.clone()) };
        let result = judged(&attempt, &hinted, tried, rewards).await;
        let is_last = number + 1 == search.n;
        let poor = result.as_ref().ok().filter(|_| !is_last);
        let poor = poor.and_then(|(reward, found)| Some((*reward, tried.outputs(found).ok()?)));
        if let ControlFlow::Break(end) = best.take(ctx, number, result) {
            return end;
        }
        let Some((reward, outputs)) = poor else { continue };
        match adviser.advise(ctx, reward, &outputs).await {
            Ok(advice) => hints = advice,
            Err(error) if ctx.is_fatal(&error) => return Err(error),
            // The trace tells of it; the attempts go on with what was advised before.
            Err(_) => {}
        }
    }
    best.finish()
}

struct Factory;

inventory::submit! { StrategyRegistration(&Factory) }

impl StrategyFactory for Factory {
    fn name(&self) -> &'static str {
        "refine"
    }

    fn description(&self) -> &'static str {
        "Tries a strategy up to `n` times, and after each attempt below `threshold` asks an LM what \
         its predictors should do otherwise, which they are told in the next. Gives the best attempt. \
         For tasks that can be mended once it is said what is wrong. Up to `n` times the LM calls of \
         the wrapped strategy and of a judge, and `n - 1` for advice."
    }

    fn config_schema(&self) -> Payload {
        config_schema(search_schema(), &[MODULE, REWARD])
    }

    fn predictors(&self) -> &[&'static str] {
        &[MODULE, ADVICE]
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
        let advice = SchemaPredictor::new(advice::schema(), Arc::from(ADVICE));
        Ok(Box::new(Refined { module, search, reward, advice }))
    }
}

struct Refined {
    module: Wrapped,
    search: Search,
    reward: Reward,
    advice: SchemaPredictor,
}

impl DynModule for Refined {
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

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(async move {
            let tried = Untyped { module: &self.module, input: &input };
            let rewards = Rewarded { reward: &self.reward, inputs: &input };
            let adviser = Adviser {
                predictor: &self.advice,
                path: self.advice.path(),
                parts: self.module.predictors(),
                inputs: &input,
                definition: self.reward.told(),
                threshold: self.search.threshold,
            };
            refine(self.search, ctx, &tried, &rewards, &adviser).await
        })
    }
}

/// A module that is tried several times, and advised on the way.
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
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
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
#[derive(Facet)]
pub struct Refine<M: Module> {
    module: M,
    advice: Predict<OfferAdvice>,
    n: usize,
    threshold: f64,
    fail_count: Option<usize>,
    definition: String,
    #[facet(opaque, dsrs::skip)]
    reward: RewardFn<M>,
}

impl<M: Module + Facet<'static>> Refine<M> {
    /// Up to `n` attempts, until `reward` gives at least `threshold`.
    ///
    /// # Errors
    /// When the module cannot be searched for the predictors that are to be advised.
    pub fn new(
        module: M,
        n: usize,
        threshold: f64,
        reward: impl Fn(&M::Input, &M::Output) -> f64 + Send + Sync + 'static,
    ) -> Result<Self, WalkError>
    where
        Self: Facet<'static>,
    {
        let (advice, definition) = (Predict::new(), String::from("a program of its own judges"));
        let (fail_count, reward) = (None, Box::new(reward));
        let mut refine = Self { module, advice, n, threshold, fail_count, definition, reward };
        // Advice finds its predictor by path, so each must know its own.
        for (path, predictor) in named_predictors_mut(&mut refine)? {
            predictor.set_path(path.into());
        }
        Ok(refine)
    }

    /// Tells the one who advises what is rewarded, which a function cannot tell itself.
    #[must_use]
    pub fn rewarding(self, definition: impl Into<String>) -> Self {
        Self { definition: definition.into(), ..self }
    }

    /// How many attempts may fail before the call does; all of them when it is not said.
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
        let search = Search {
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
        let tried = Typed { module: &self.module, input: &input };
        let rewards = By::<M> { reward: &self.reward, input: &input };
        refine(search, ctx, &tried, &rewards, &adviser).await
    }
}

/// The path of a predictor of the module, seen from around it.
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
