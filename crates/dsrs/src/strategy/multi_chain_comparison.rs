//! `multi_chain_comparison`: an LM compares several attempts and then answers (Yoran et al. 2023;
//! DSPy's module of the same name). The attempts are made by a wrapped strategy or come as inputs; for
//! signatures as data and for typed ones.

use std::sync::Arc;

use facet::Facet;

use super::attempt::{AttemptTarget, ModuleTarget, TypedTarget};
use super::chain_of_thought::ChainOfThought;
use super::config::WrappedStrategy;
use super::inner_module::{InnerModule, MODULE, check_attempts};
use super::registry::StrategyRegistration;
use super::sampling::{Sampling, sample_all};
use super::wrapper::{MODULE_REFS, Wrapper, WrapperSpec, wrapper};
use super::{BuildEnv, DynModule};
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
const DEFAULT_TEMPERATURE: f64 = 0.7;

/// The input for an attempt that failed.
const NOTHING: &str = "(this attempt failed and gave no answer)";

/// The output that comes before the signature's own.
#[derive(dsrs::Augmentation, Clone, Debug)]
#[augment(output, prepend, derive(PartialEq, Eq, Hash))]
pub struct Rationale {
    /// a comparison of the attempts: where they agree, where they differ, which are right, and the answer
    /// that follows
    pub rationale: String,
}

/// The signature of the comparison: the base with the attempts as further inputs.
fn comparison(base: &SignatureSchema, m: usize) -> SignatureSchema {
    let attempt = |number: usize| FieldSchema {
        description: Some(
            "an earlier attempt at this task; it may be wrong or only partly right".into(),
        ),
        format: Some(FieldFormat::Text),
        ..FieldSchema::of(attempt_name(number), TypeIR::Any)
    };
    let mut schema = base.clone();
    schema.instructions = format!(
        "{}\n\nThe inputs `{}` to `{}` are earlier attempts at this task. Compare them in \
         `rationale`, then write the right outputs.",
        base.instructions.trim(),
        attempt_name(0),
        attempt_name(m - 1)
    )
    .into();
    schema.inputs.extend((0..m).map(attempt));
    schema.outputs.splice(0..0, added_outputs::<Rationale>());
    schema
}

fn attempt_name(number: usize) -> Arc<str> {
    format!("attempt_{}", number + 1).into()
}

/// The attempts as inputs of the comparison.
async fn tried<T: AttemptTarget>(
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

inventory::submit! { StrategyRegistration(&WrapperSpec {
    name: "multi_chain_comparison",
    description: "Makes `m` attempts at once and has an LM compare them before it answers; adds the output \
                  `rationale` in front of the signature's own. For questions on which each attempt \
                  may be partly right. `m` times the LM calls of the wrapped strategy, and one; with \
                  `from_inputs`, which accepts the attempts from other nodes, only one.",
    predictors: &["module.predict", COMPARE],
    refs: MODULE_REFS,
    create,
}) }

#[derive(Facet)]
struct MultiChainConfig {
    /// The strategy that makes the attempts. Default: `chain_of_thought`.
    module: Option<WrappedStrategy>,
    /// How many attempts are compared.
    #[facet(default = 3, dsrs::minimum(2), dsrs::maximum(20))]
    m: usize,
    /// The temperature of the attempts. Default: 0.7.
    #[facet(dsrs::minimum(0), dsrs::maximum(2))]
    temperature: Option<f64>,
    /// Reads the attempts from the inputs `attempt_1` to `attempt_m` of any type instead of making them.
    #[facet(default)]
    from_inputs: bool,
}

fn create(
    env: &dyn BuildEnv,
    base: &Arc<SignatureSchema>,
    config: MultiChainConfig,
    at: &At<'_>,
) -> Result<Box<dyn DynModule>, Problems> {
    let mut problems = Problems::new();
    let temperature = config.temperature;
    let module = match config.from_inputs {
        true => {
            check_no_attempts(&config, &at.key("config"), &mut problems);
            None
        }
        false => InnerModule::build(env, base, &config.module.unwrap_or_else(default_module), at)
            .map_err(|found| problems.append(found))
            .ok(),
    };
    let within = module.as_ref().map_or(1, InnerModule::attempts);
    problems.append(check_attempts(("m", config.m), within, at).err().unwrap_or_default());
    let compared = Arc::new(comparison(base, config.m));
    check_names(base, &compared, &at.key("signature"), &mut problems);
    problems.or(())?;
    let schema = match config.from_inputs {
        true => compared.clone(),
        false => Arc::new(SignatureSchema {
            instructions: base.instructions.clone(),
            inputs: base.inputs.clone(),
            ..(*compared).clone()
        }),
    };
    let temperature = Some(temperature.unwrap_or(DEFAULT_TEMPERATURE));
    let sampling = Sampling { count: config.m, temperature };
    let compare = SchemaPredictor::new(compared, Arc::from(COMPARE));
    Ok(wrapper(MultiChainModule { module, compare, schema, sampling }))
}

/// The strategy that makes the attempts if the config names none.
fn default_module() -> WrappedStrategy {
    WrappedStrategy { strategy: "chain_of_thought".to_owned(), config: None }
}

/// Reports settings for attempts that are not made here.
fn check_no_attempts(config: &MultiChainConfig, at: &At<'_>, problems: &mut Problems) {
    let settings =
        [(MODULE, config.module.is_some()), ("temperature", config.temperature.is_some())];
    for (name, _) in settings.into_iter().filter(|(_, is_set)| *is_set) {
        let detail =
            format!("`{name}` has no effect with `from_inputs`: the attempts come as inputs");
        problems.add(&at.key(name), Code::InvalidConfig, detail);
    }
}

/// Reports fields of a signature that have the name of an added field.
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
                "`{}` is a field that multi_chain_comparison adds; rename the signature's own field",
                new.name
            );
            problems.add(at, Code::DuplicateName, detail);
        }
    }
}

struct MultiChainModule {
    /// Makes the attempts; `None` if they come as inputs.
    module: Option<InnerModule>,
    compare: SchemaPredictor,
    schema: Arc<SignatureSchema>,
    sampling: Sampling,
}

impl Wrapper for MultiChainModule {
    fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    fn predictors(&self) -> Vec<(&str, &dyn DynPredictor)> {
        let mut found = self.module.as_ref().map_or_else(Vec::new, InnerModule::predictors);
        found.push((COMPARE, &self.compare));
        found
    }

    fn predictors_mut(&mut self) -> Vec<(&str, &mut dyn DynPredictor)> {
        let mut found = self.module.as_mut().map_or_else(Vec::new, InnerModule::predictors_mut);
        found.push((COMPARE, &mut self.compare));
        found
    }

    fn attempts(&self) -> usize {
        let within = self.module.as_ref().map(InnerModule::attempts);
        within.map_or(1, |within| self.sampling.count.saturating_mul(within))
    }

    async fn run(&self, ctx: &Ctx, mut input: Fields) -> Result<Fields, PredictError> {
        if let Some(module) = &self.module {
            let attempts =
                tried(self.sampling, ctx, &ModuleTarget { module, input: &input }).await?;
            input.extend(attempts);
        }
        self.compare.forward(ctx, input).await
    }
}

/// Compares several attempts at a typed signature before it answers: `result.rationale` comes with the
/// outputs of `S`.
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
/// # dsrs::block_on(async {
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

impl<S: Signature> Clone for MultiChainComparison<S> {
    fn clone(&self) -> Self {
        Self {
            module: self.module.clone(),
            compare: self.compare.clone(),
            m: self.m,
            temperature: self.temperature,
        }
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
        all.extend(
            tried(sampling, ctx, &TypedTarget { module: &self.module, input: &input }).await?,
        );
        let typed = |found: &Fields| from_payload(&Payload::map(found.clone()));
        self.compare.predictor.forward_as(ctx, all, typed).await.map(Prediction::of)
    }
}
