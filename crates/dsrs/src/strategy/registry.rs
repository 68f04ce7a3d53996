//! The registry: every strategy that is linked into the program, by name. A strategy registers itself
//! beside its factory with [`inventory::submit!`]; nothing here names a strategy.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;

use super::{BuildEnv, DynModule, InputTypes, OpFactory, OpInput, StrategyFactory};
use crate::problem::{At, Code, Problems};
use crate::read::{ConfigSchema, unknown_name};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{CompareBudget, TypeScope};
use crate::value::{Map, Payload};

/// The entry that a strategy submits to the registry.
pub struct StrategyRegistration(pub &'static dyn StrategyFactory);

inventory::collect!(StrategyRegistration);

struct StrategyEntry {
    factory: &'static dyn StrategyFactory,
    config: ConfigSchema,
}

/// All strategies, by name in alphabetical order.
pub fn list() -> impl Iterator<Item = &'static dyn StrategyFactory> {
    entries().values().map(|entry| entry.factory)
}

/// The strategy of a name.
#[must_use]
pub fn get(name: &str) -> Option<&'static dyn StrategyFactory> {
    entries().get(name).map(|entry| entry.factory)
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
    let Some(entry) = entries().get(strategy) else {
        let known: Vec<&str> = entries().keys().copied().collect();
        let place = at.key("strategy");
        return Err(unknown_name("strategy", strategy, &known, Code::UnknownStrategy, &place));
    };
    if let Some(config) = config {
        entry.config.check(strategy, config, &at.key("config"))?;
    }
    Ok(entry.factory)
}

fn entries() -> &'static BTreeMap<&'static str, StrategyEntry> {
    static ENTRIES: OnceLock<BTreeMap<&'static str, StrategyEntry>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let registrations = inventory::iter::<StrategyRegistration>;
        let entry = |factory: &'static dyn StrategyFactory| StrategyEntry {
            factory,
            config: ConfigSchema::of(&factory.config_schema()),
        };
        registrations.into_iter().map(|found| (found.0.name(), entry(found.0))).collect()
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
