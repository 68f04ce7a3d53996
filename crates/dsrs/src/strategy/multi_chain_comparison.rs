//! `multi_chain_comparison`: several attempts are laid side by side before an LM that compares them
//! and answers (Yoran et al. 2023; DSPy's module of the same name). The attempts are those of a
//! wrapped strategy, or come in as inputs; once for signatures that are data, once for typed ones.

use std::sync::Arc;

use facet::Facet;
use futures_util::future::BoxFuture;

use super::attempt::{Tried, Typed, Untyped};
use super::chain_of_thought::ChainOfThought;
use super::config::{config_schema, count_schema, flag, number, schema, wrapped_schema};
use super::registry::StrategyRegistration;
use super::sampling::{Sampling, sample_all, temperature_schema};
use super::wrapped::{MODULE, Wrapped, attempts};
use super::{BuildEnv, DynModule, StrategyFactory, pins};
use crate::module::{Module, Prediction};
use crate::predict::fields;
use crate::predict::{Ctx, DynPredictor, Predict, PredictError, PredictErrorKind, SchemaPredictor};
use crate::problem::{At, Code, Problems};
use crate::reflect::from_payload;
use crate::signature::{
    Augmented, FieldFormat, FieldSchema, Signature, SignatureSchema, added_outputs,
};
use crate::types::TypeIR;
use crate::value::{Fields, Payload};

/// The predictor that compares.
const COMPARE: &str = "compare";
const DEFAULT_M: usize = 3;
const DEFAULT_TEMPERATURE: f64 = 0.7;

/// What is said of an attempt that failed.
const NOTHING: &str = "(this attempt gave no answer)";

/// The output that comes before the signature's own.
#[derive(dsrs::Augmentation, Clone, Debug)]
#[augment(output, prepend)]
pub struct Rationale {
    /// where the attempts agree, where they differ and which of them holds, up to the answer
    pub rationale: String,
}

/// A signature that takes so many attempts at its outputs besides its inputs.
fn comparison(base: &SignatureSchema, m: usize) -> SignatureSchema {
    let attempt = |number: usize| FieldSchema {
        description: Some("an attempt at the same task, which may be wrong".into()),
        format: Some(FieldFormat::Text),
        ..FieldSchema::of(attempt_name(number), TypeIR::Any)
    };
    let mut schema = base.clone();
    schema.inputs.extend((0..m).map(attempt));
    schema.outputs.splice(0..0, added_outputs::<Rationale>());
    schema
}

fn attempt_name(number: usize) -> Arc<str> {
    format!("attempt_{}", number + 1).into()
}

/// The attempts as inputs of the comparison.
async fn tried<T: Tried>(
    sampling: Sampling,
    ctx: &Ctx,
    tried: &T,
) -> Result<Vec<(Arc<str>, Payload)>, PredictError> {
    let found = sample_all(sampling, sampling.count, ctx, tried).await?;
    let nothing = (0..sampling.count).map(|number| (attempt_name(number), NOTHING.into()));
    let mut inputs: Vec<(Arc<str>, Payload)> = nothing.collect();
    for (number, one) in found {
        if let Some((_, input)) = inputs.get_mut(number) {
            *input = Payload::map(tried.outputs(&one)?);
        }
    }
    Ok(inputs)
}

struct Factory;

inventory::submit! { StrategyRegistration(&Factory) }

impl StrategyFactory for Factory {
    fn name(&self) -> &'static str {
        "multi_chain_comparison"
    }

    fn description(&self) -> &'static str {
        "Makes `m` attempts at once and has an LM compare them before it answers; adds the output \
         `rationale` in front of the signature's own. For questions where every attempt may be right \
         in part. `m` times the LM calls of the wrapped strategy, and one; with `from_inputs`, which \
         takes the attempts from other nodes, one."
    }

    fn config_schema(&self) -> Payload {
        config_schema(
            [
                (
                    MODULE,
                    wrapped_schema(
                        "the strategy that makes the attempts; `chain_of_thought` when it is not said",
                    ),
                ),
                ("m", count_schema("how many attempts are compared", 2, 20, 3)),
                ("temperature", temperature_schema("of the attempts; 0.7 when it is not said")),
                (
                    "from_inputs",
                    schema(
                        r#"{"type": "boolean", "default": false, "description": "takes the attempts as inputs `attempt_1` to `attempt_m` of any type, from other nodes, instead of making them"}"#,
                    ),
                ),
            ],
            &[],
        )
    }

    fn predictors(&self) -> &[&'static str] {
        &["module.predict", COMPARE]
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
        let from_inputs = flag(config, "from_inputs");
        let mut problems = Problems::new();
        let module = match from_inputs {
            true => {
                check_no_module(config, &at.key("config"), &mut problems);
                None
            }
            false => Wrapped::read(env, base, config, "chain_of_thought", at)
                .map_err(|found| problems.extend(found))
                .ok(),
        };
        let within = module.as_ref().map_or(1, Wrapped::attempts);
        let m = attempts(config, ("m", DEFAULT_M), within, at)
            .map_err(|found| problems.extend(found))
            .unwrap_or(DEFAULT_M);
        let compared = Arc::new(comparison(base, m));
        check_names(base, &compared, &at.key("signature"), &mut problems);
        problems.or(())?;
        let schema = match from_inputs {
            true => compared.clone(),
            false => {
                Arc::new(SignatureSchema { inputs: base.inputs.clone(), ..(*compared).clone() })
            }
        };
        let temperature = Some(number(config, "temperature").unwrap_or(DEFAULT_TEMPERATURE));
        let sampling = Sampling { count: m, temperature };
        let compare = SchemaPredictor::new(compared, Arc::from(COMPARE));
        Ok(Box::new(Compared { module, compare, schema, sampling }))
    }
}

/// Reports what speaks of attempts that are not made here.
fn check_no_module(config: &Payload, at: &At<'_>, problems: &mut Problems) {
    for name in [MODULE, "temperature"] {
        if super::config::member(config, name).is_some() {
            let detail = format!(
                "`{name}` has no meaning with `from_inputs`: the attempts come in as inputs"
            );
            problems.add(&at.key(name), Code::InvalidConfig, detail);
        }
    }
}

/// Reports fields of a signature that are called as what is added.
fn check_names(
    base: &SignatureSchema,
    compared: &SignatureSchema,
    at: &At<'_>,
    problems: &mut Problems,
) {
    let own: Vec<&FieldSchema> = base.inputs.iter().chain(&base.outputs).collect();
    let all = compared.inputs.iter().chain(&compared.outputs);
    let added = all.filter(|field| !own.contains(field));
    for new in added {
        let clash =
            own.iter().any(|field| field.name == new.name || field.lm_name() == new.lm_name());
        if clash {
            let detail = format!(
                "`{}` is what multi_chain_comparison adds; rename the signature's own field",
                new.name
            );
            problems.add(at, Code::DuplicateName, detail);
        }
    }
}

struct Compared {
    /// What makes the attempts; `None` when they come in.
    module: Option<Wrapped>,
    compare: SchemaPredictor,
    schema: Arc<SignatureSchema>,
    sampling: Sampling,
}

impl DynModule for Compared {
    fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        let mut found = self.module.as_ref().map_or_else(Vec::new, Wrapped::predictors);
        found.push((COMPARE, &self.compare));
        found
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        let mut found = self.module.as_mut().map_or_else(Vec::new, Wrapped::predictors_mut);
        found.push((COMPARE, &mut self.compare));
        found
    }

    fn attempts(&self) -> usize {
        let within = self.module.as_ref().map(Wrapped::attempts);
        within.map_or(1, |within| self.sampling.count.saturating_mul(within))
    }

    fn forward<'a>(
        &'a self,
        ctx: &'a Ctx,
        mut input: Fields,
    ) -> BoxFuture<'a, Result<Fields, PredictError>> {
        Box::pin(async move {
            if let Some(module) = &self.module {
                let attempts =
                    tried(self.sampling, ctx, &Untyped { module, input: &input }).await?;
                input.extend(attempts);
            }
            self.compare.forward(ctx, input).await
        })
    }
}

/// Attempts of a typed signature that are compared before it is answered: `result.rationale` stands
/// beside the outputs of `S`.
///
/// ```
/// use std::sync::Arc;
/// use dsrs::lm::{Models, ScriptedLm};
/// use dsrs::{Ctx, Module, MultiChainComparison, Signature};
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
/// let lm = Arc::new(ScriptedLm::sections([
///     ("reasoning", "two and two"),
///     ("rationale", "all agree"),
///     ("answer", "4"),
/// ]));
/// let ctx = Ctx::within(Models::only(lm).into(), std::time::Duration::from_secs(60));
/// let qa = MultiChainComparison::<QA>::new(3);
/// let result = qa.call(&ctx, QAInput { question: "2 + 2?".into() }).await.unwrap();
/// assert_eq!((&*result.rationale, &*result.answer), ("all agree", "4"));
/// assert_eq!(result.usage().lm_calls, 4);
/// # });
/// ```
#[derive(Facet, Debug)]
pub struct MultiChainComparison<S: Signature> {
    module: ChainOfThought<S>,
    compare: Predict<Augmented<S, Rationale>>,
    m: usize,
    temperature: f64,
}

impl<S: Signature> MultiChainComparison<S> {
    /// Compares `m` attempts, two at least.
    ///
    /// # Panics
    /// As [`SignatureSchema::of`].
    #[must_use]
    pub fn new(m: usize) -> Self {
        let m = m.max(2);
        let compared = comparison(&SignatureSchema::of::<S>(), m);
        let (module, compare) = (ChainOfThought::new(), Predict::over(Arc::new(compared), COMPARE));
        Self { module, compare, m, temperature: DEFAULT_TEMPERATURE }
    }

    /// The temperature of the attempts, instead of 0.7.
    #[must_use]
    pub fn temperature(self, temperature: f64) -> Self {
        Self { temperature, ..self }
    }
}

impl<S: Signature> Module for MultiChainComparison<S>
where
    S::Input: Clone,
{
    type Input = S::Input;
    type Output = WithRationale<S::Output>;

    async fn forward(
        &self,
        ctx: &Ctx,
        input: S::Input,
    ) -> Result<Prediction<WithRationale<S::Output>>, PredictError> {
        let sampling = Sampling { count: self.m, temperature: Some(self.temperature) };
        let mut all = fields(&input).map_err(|error| {
            let kind = PredictErrorKind::InvalidValue { field: error.path.as_str().into() };
            PredictError::new(kind, error.to_string())
        })?;
        all.extend(tried(sampling, ctx, &Typed { module: &self.module, input: &input }).await?);
        let typed = |found: &Fields| from_payload(&Payload::map(found.clone()));
        self.compare.predictor.forward_as(ctx, all, typed).await.map(Prediction::of)
    }
}
