//! The registry: every strategy that is linked into the program, by name. A strategy registers
//! itself beside its factory with [`inventory::submit!`]; nothing here names one.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use indexmap::IndexMap;
use jsonschema::Validator;

use super::{BuildEnv, DynModule, Given, OpFactory, OpInput, StrategyFactory};
use crate::problem::{At, Code, Problem, Problems};
use crate::read::nearest;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{CompareBudget, TypeScope};
use crate::value::{Map, Payload};

/// What a strategy submits to be found.
pub struct StrategyRegistration(pub &'static dyn StrategyFactory);

inventory::collect!(StrategyRegistration);

struct Entry {
    factory: &'static dyn StrategyFactory,
    config: Validator,
    /// Whether an empty config will do: then it needs no validator.
    takes_none: bool,
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

/// Makes the module of a node: finds the strategy, checks the config against its schema, creates.
/// An absent config is an empty one.
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
/// `unknown_strategy`, every `invalid_config`, and what the strategy itself refuses; pointers below
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

/// Makes an op for inputs of these types, as if they were connected.
///
/// # Errors
/// Every `invalid_config`, what the op itself refuses, and `undetermined_type` for inputs whose
/// types nobody says; pointers below `at`.
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
    let (defs, mut budget) = (scope.finish(), CompareBudget::of_a_document());
    let types = read.infer(&mut Given::new(given, &defs, &mut budget), at)?;
    Ok(read.module(types.signature(op.name(), defs)))
}

/// A config with everything filled in that its strategy fills in when a definition is written.
#[must_use]
pub fn pinned(env: &dyn BuildEnv, strategy: &str, config: Payload) -> Payload {
    match get(strategy).filter(|_| !env.is_stored()) {
        Some(factory) => factory.pin(env, &config).unwrap_or(config),
        None => config,
    }
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
        return Err(unknown(strategy, &at.key("strategy")));
    };
    if let Some(config) = config {
        check_config(entry, config, &at.key("config"))?;
    }
    Ok(entry.factory)
}

fn unknown(strategy: &str, at: &At<'_>) -> Problems {
    let known: Vec<&str> = entries().keys().copied().collect();
    let hint = nearest(strategy, known.iter().copied())
        .map_or_else(String::new, |name| format!("did you mean `{name}`? "));
    let detail =
        format!("there is no strategy `{strategy}`; {hint}known ones: {}", known.join(", "));
    let pointer = at.pointer();
    Problem { pointer, code: Code::UnknownStrategy, detail }.into()
}

fn check_config(entry: &Entry, config: &Payload, at: &At<'_>) -> Result<(), Problems> {
    if entry.takes_none && config.as_map().is_some_and(Map::is_empty) {
        return Ok(());
    }
    // The validator reads serde_json's own tree; a payload always has one.
    let tree = serde_json::to_value(config).unwrap_or_default();
    if entry.config.is_valid(&tree) {
        return Ok(());
    }
    let mut problems = Problems::new();
    for error in entry.config.iter_errors(&tree) {
        let pointer = format!("{}{}", at.pointer(), error.instance_path());
        let detail = format!("config of `{}`: {error}", entry.factory.name());
        problems.push(Problem { pointer, code: Code::InvalidConfig, detail });
    }
    problems.or(())
}

fn entries() -> &'static BTreeMap<&'static str, Entry> {
    static ENTRIES: OnceLock<BTreeMap<&'static str, Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let registrations = inventory::iter::<StrategyRegistration>;
        registrations.into_iter().map(|found| (found.0.name(), entry(found.0))).collect()
    })
}

// A config schema is a constant of the program, so one that does not compile is caught by the
// test below; the validator that refuses everything keeps a release build from guessing.
fn entry(factory: &'static dyn StrategyFactory) -> Entry {
    let schema = serde_json::to_value(factory.config_schema()).unwrap_or_default();
    let refuse_all = serde_json::Value::Bool(false);
    let config = jsonschema::validator_for(&schema)
        .or_else(|_| jsonschema::validator_for(&refuse_all))
        .unwrap_or_else(|_| unreachable!("`false` is a JSON Schema"));
    let takes_none = config.is_valid(&serde_json::Value::Object(serde_json::Map::new()));
    Entry { factory, config, takes_none }
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
    fn an_unknown_strategy_is_told_with_the_nearest_name() {
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
