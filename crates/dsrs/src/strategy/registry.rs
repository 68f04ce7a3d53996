//! The registry: every strategy of the program, by name. A strategy registers itself beside its factory
//! with [`inventory::submit!`], a module that is configured at run time with [`register`]; nothing here
//! names a strategy.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use facet::Facet;
use indexmap::IndexMap;

use super::typed_factory::ModuleFactory;
use super::{BuildEnv, DynModule, InputTypes, OpFactory, OpInput, StrategyFactory};
use crate::module::Module;
use crate::problem::{At, Code, Problem, Problems};
use crate::read::{ConfigSchema, unknown_name};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{CompareBudget, TypeScope};
use crate::value::{Map, Payload, is_identifier};

/// The entry that a strategy submits to the registry.
pub struct StrategyRegistration(pub &'static dyn StrategyFactory);

inventory::collect!(StrategyRegistration);

struct StrategyEntry {
    factory: &'static dyn StrategyFactory,
    config: ConfigSchema,
}

impl StrategyEntry {
    fn of(factory: &'static dyn StrategyFactory) -> Arc<Self> {
        Arc::new(Self { factory, config: ConfigSchema::of(&factory.config_schema()) })
    }
}

type StrategyEntries = BTreeMap<&'static str, Arc<StrategyEntry>>;

/// All strategies, by name in alphabetical order.
pub fn list() -> impl Iterator<Item = &'static dyn StrategyFactory> {
    let found: Vec<_> = read(|entries| entries.values().map(|entry| entry.factory).collect());
    found.into_iter()
}

/// The strategy of a name.
#[must_use]
pub fn get(name: &str) -> Option<&'static dyn StrategyFactory> {
    read(|entries| entries.get(name).map(|entry| entry.factory))
}

/// Makes a configured module a strategy that nodes of a graph can name: `new` makes the module of each
/// node, with the client, index or settings that it holds. Call it before the server starts.
///
/// [`register_module!`](crate::register_module) does the same at link time, for modules that need
/// nothing.
///
/// ```
/// use std::sync::Arc;
/// use dsrs::predict::PredictError;
/// use dsrs::strategy::registry;
/// use dsrs::{Ctx, Module, Predict, Prediction, Signature};
///
/// #[derive(Signature)]
/// struct Answer {
///     #[input]
///     question: String,
///     #[output]
///     answer: String,
/// }
///
/// /// A client of a search engine.
/// struct Client {
///     address: String,
/// }
///
/// #[derive(Module)]
/// struct Rag {
///     client: Arc<Client>,
///     answer: Predict<Answer>,
/// }
///
/// impl Module for Rag {
///     type Input = AnswerInput;
///     type Output = AnswerOutput;
///
///     async fn forward(&self, ctx: &Ctx, input: AnswerInput) -> Result<Prediction<AnswerOutput>, PredictError> {
///         let question = format!("{} (see {})", input.question, self.client.address);
///         self.answer.call(ctx, AnswerInput { question }).await
///     }
/// }
///
/// let client = Arc::new(Client { address: "https://search.example".to_owned() });
/// registry::register("rag", "Answers from what it finds.", move || Rag { client: client.clone(), answer: Predict::new() })?;
/// assert_eq!(registry::get("rag").unwrap().predictors(), ["answer"]);
/// # Ok::<(), dsrs::problem::Problems>(())
/// ```
///
/// # Errors
/// When a strategy has the name, the name is no identifier, or the module cannot be hosted.
pub fn register<M: Module + Facet<'static> + 'static>(
    name: &str,
    description: &str,
    new: impl Fn() -> M + Send + Sync + 'static,
) -> Result<(), Problems> {
    if !is_identifier(name) {
        let detail =
            format!("`{name}` is not a name: a letter or `_`, then letters, digits or `_`");
        return Err(unfit_name(Code::InvalidName, detail));
    }
    let factory = ModuleFactory::new(leaked(name), leaked(description), new);
    factory.check()?;
    let entry = StrategyEntry::of(Box::leak(Box::new(factory)));
    let mut entries = entries().write().unwrap_or_else(PoisonError::into_inner);
    if entries.contains_key(name) {
        let detail = format!("there is a strategy `{name}` already; choose another name");
        return Err(unfit_name(Code::DuplicateName, detail));
    }
    entries.insert(entry.factory.name(), entry);
    Ok(())
}

fn unfit_name(code: Code, detail: String) -> Problems {
    Problem { pointer: At::Root.key("name").pointer(), code, detail }.into()
}

// A registration lives as long as the program, so leaking its texts is bounded.
fn leaked(text: &str) -> &'static str {
    Box::leak(Box::from(text))
}

/// Builds the module of a node: finds the strategy, checks the config against its schema and creates
/// the module. An absent config is empty.
///
/// ```
/// use std::sync::Arc;
/// use dsrs::problem::At;
/// use dsrs::signature::{FieldSchema, SignatureSchema};
/// use dsrs::strategy::{BuildEnv, registry};
/// use dsrs::types::{TypeDefs, TypeIR};
///
/// struct NoModels;
/// impl BuildEnv for NoModels {
///     fn knows_model(&self, _: &str) -> bool { false }
/// }
/// let base = Arc::new(SignatureSchema {
///     instructions: "Answer.".into(),
///     inputs: vec![FieldSchema::of("question", TypeIR::Str)],
///     outputs: vec![FieldSchema::of("answer", TypeIR::Str)],
///     defs: Arc::new(TypeDefs::default()),
/// });
/// let module = registry::create(&NoModels, "chain_of_thought", &base, None, &At::Root).unwrap();
/// assert_eq!(module.schema().outputs[0].name.as_ref(), "reasoning");
/// assert_eq!(module.predictors()[0].0, "predict");
/// ```
///
/// # Errors
/// `unknown_strategy`, every `invalid_config`, and what the strategy itself refuses, with pointers below
/// `at`, the place of the node.
pub fn create(
    env: &dyn BuildEnv,
    strategy: &str,
    base: &Arc<SignatureSchema>,
    config: Option<&Payload>,
    at: &At<'_>,
) -> Result<Box<dyn DynModule>, Problems> {
    let empty = Payload::map(Map::new());
    let config = config.unwrap_or(&empty);
    let factory = check(strategy, Some(config), at)?;
    factory.create(env, base, config, at)
}

/// Builds an op for inputs of these types, as if they were connected.
///
/// # Errors
/// Every `invalid_config`, what the op itself refuses, and `undetermined_type` for inputs whose
/// types are unknown; pointers below `at`.
pub fn create_op(
    env: &dyn BuildEnv,
    op: &'static dyn OpFactory,
    inputs: Vec<FieldSchema>,
    config: Option<&Payload>,
    mut scope: TypeScope,
    at: &At<'_>,
) -> Result<Box<dyn DynModule>, Problems> {
    let empty = Payload::map(Map::new());
    let config = config.unwrap_or(&empty);
    check(op.name(), Some(config), at)?;
    let read = op.read(env, config, &mut scope, at)?;
    let mut given: IndexMap<_, _> =
        inputs.into_iter().map(|field| (field.name, field.ty)).collect();
    let mut problems = Problems::new();
    for OpInput { name, ty, required } in read.inputs() {
        match ty {
            Some(ty) if required => drop(given.entry(name).or_insert(ty)),
            None if required && !given.contains_key(&name) => {
                let detail = format!(
                    "the type of the input `{name}` is not known; name it among the inputs of \
                     `signature`"
                );
                problems.add(&at.key("signature"), Code::UndeterminedType, detail);
            }
            _ => {}
        }
    }
    problems.or(())?;
    let (defs, mut budget) = (scope.finish(), CompareBudget::for_document());
    let types = read.infer(&mut InputTypes::new(given, &defs, &mut budget), at)?;
    Ok(read.module(types.signature(op.name(), defs)))
}

/// Finds a strategy and checks a config against its schema, where there is one to check.
///
/// # Errors
/// `unknown_strategy` or every `invalid_config`; pointers below `at`, the place of the node.
pub fn check(
    strategy: &str,
    config: Option<&Payload>,
    at: &At<'_>,
) -> Result<&'static dyn StrategyFactory, Problems> {
    let Some(entry) = read(|entries| entries.get(strategy).cloned()) else {
        let known: Vec<&str> = read(|entries| entries.keys().copied().collect());
        let place = at.key("strategy");
        return Err(unknown_name("strategy", strategy, &known, Code::UnknownStrategy, &place));
    };
    if let Some(config) = config {
        entry.config.check(strategy, config, &at.key("config"))?;
    }
    Ok(entry.factory)
}

fn read<T>(read: impl FnOnce(&StrategyEntries) -> T) -> T {
    read(&entries().read().unwrap_or_else(PoisonError::into_inner))
}

fn entries() -> &'static RwLock<StrategyEntries> {
    static ENTRIES: OnceLock<RwLock<StrategyEntries>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let registrations = inventory::iter::<StrategyRegistration>.into_iter();
        let entries = registrations.map(|found| (found.0.name(), StrategyEntry::of(found.0)));
        RwLock::new(entries.collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TypeDefs;

    struct Env;
    impl BuildEnv for Env {
        fn knows_model(&self, _: &str) -> bool {
            true
        }
    }

    fn base() -> Arc<SignatureSchema> {
        Arc::new(SignatureSchema {
            instructions: "Answer.".into(),
            inputs: vec![],
            outputs: vec![],
            defs: Arc::new(TypeDefs::default()),
        })
    }

    #[test]
    fn every_registered_config_schema_compiles_and_accepts_its_absence() {
        for factory in list() {
            let schema = serde_json::to_value(factory.config_schema()).unwrap();
            assert!(jsonschema::validator_for(&schema).is_ok(), "{}", factory.name());
        }
        assert!(list().count() >= 2);
    }

    #[test]
    fn an_unknown_strategy_is_reported_with_the_nearest_name() {
        let node = At::Root.key("nodes");
        let problems =
            create(&Env, "chain_of_thougt", &base(), None, &node.key("a")).err().unwrap();
        let problem = problems.iter().next().unwrap();
        assert_eq!(problem.pointer, "/nodes/a/strategy");
        assert_eq!(problem.code, Code::UnknownStrategy);
        assert!(problem.detail.contains("did you mean `chain_of_thought`?"), "{}", problem.detail);
    }

    #[test]
    fn an_unknown_config_key_is_refused_at_its_place() {
        let config = Payload::from_json(r#"{"temprature": 1}"#).unwrap();
        let problems = create(&Env, "predict", &base(), Some(&config), &At::Root).err().unwrap();
        let problem = problems.iter().next().unwrap();
        assert_eq!((problem.pointer.as_str(), problem.code), ("/config", Code::InvalidConfig));
        assert!(problem.detail.contains("temprature"), "{}", problem.detail);
    }
}
