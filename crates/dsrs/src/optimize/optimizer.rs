//! The `CandidateSearch` trait and the registry of linked optimizers. Each optimizer registers itself; this
//! file names none.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::OnceLock;

use facet::Facet;
use futures_util::future::BoxFuture;

use super::{EarlyStop, TrialId, Workbench};
use crate::document::{config_schema, description_of, read_config};
use crate::problem::{At, Code, Problems};
use crate::read::{ConfigSchema, unknown_name};
use crate::value::{Map, Payload};

/// An optimizer with its config, ready to work.
pub trait CandidateSearch: Send + Sync {
    /// Searches for a candidate that is better than the [start](Workbench::start) of the bench, and
    /// returns its number on the board.
    ///
    /// Decides by results of the workbench only (not by time, usage, or the order in which rollouts
    /// complete), so that a restarted optimization repeats the same decisions.
    ///
    /// # Errors
    /// If the work stops early. The best candidate on the board counts then.
    fn run<'a>(&'a self, bench: &'a Workbench) -> BoxFuture<'a, Result<TrialId, EarlyStop>>;
}

/// Describes and creates an optimizer.
pub trait OptimizerFactory: Send + Sync {
    /// Its name in requests.
    fn name(&self) -> &'static str;

    /// What it does and when to use it.
    fn description(&self) -> String;

    /// The JSON Schema of its config.
    fn config_schema(&self) -> Payload;

    /// Whether it changes graphs, not only states.
    fn changes_graph(&self) -> bool {
        false
    }

    /// Creates the optimizer. The config already fits its schema.
    ///
    /// # Errors
    /// Problems that the schema cannot express, with pointers below `at`, the place of the config.
    fn create(&self, config: &Payload, at: &At<'_>) -> Result<Box<dyn CandidateSearch>, Problems>;
}

/// An optimizer of states. It is the struct of its settings, which describes its config; its documentation is the
/// description of the optimizer.
pub trait StateOptimizer: CandidateSearch + Facet<'static> {
    /// Its name in requests.
    const NAME: &'static str;

    /// Checks what the schema of the config cannot express.
    ///
    /// # Errors
    /// Problems with pointers below `at`, the place of the config.
    fn check(&self, _at: &At<'_>) -> Result<(), Problems> {
        Ok(())
    }
}

struct StateOptimizerFactory<S>(PhantomData<fn() -> S>);

impl<S: StateOptimizer> OptimizerFactory for StateOptimizerFactory<S> {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn description(&self) -> String {
        description_of::<S>()
    }

    fn config_schema(&self) -> Payload {
        config_schema::<S>()
    }

    fn create(&self, config: &Payload, at: &At<'_>) -> Result<Box<dyn CandidateSearch>, Problems> {
        let optimizer: S = read_config(config, at)?;
        optimizer.check(at)?;
        Ok(Box::new(optimizer))
    }
}

/// The registration that an optimizer submits.
pub struct OptimizerRegistration(pub &'static dyn OptimizerFactory);

impl OptimizerRegistration {
    /// The registration of an optimizer of states.
    #[must_use]
    pub const fn of<S: StateOptimizer>() -> Self {
        Self(&StateOptimizerFactory::<S>(PhantomData))
    }
}

inventory::collect!(OptimizerRegistration);

struct RegisteredOptimizer {
    factory: &'static dyn OptimizerFactory,
    config: ConfigSchema,
}

/// All optimizers, by name in alphabetical order.
pub fn optimizers() -> impl Iterator<Item = &'static dyn OptimizerFactory> {
    entries().values().map(|entry| entry.factory)
}

/// Creates an optimizer by name after checking its config. An absent config is empty.
///
/// # Errors
/// An unknown name below `optimizer`, everything that does not fit below `config`; pointers below
/// `at`, the place of the two.
pub fn create_optimizer(
    name: &str,
    config: Option<&Payload>,
    at: &At<'_>,
) -> Result<(&'static dyn OptimizerFactory, Box<dyn CandidateSearch>), Problems> {
    let Some(entry) = entries().get(name) else {
        let known: Vec<&str> = entries().keys().copied().collect();
        return Err(unknown_name(
            "optimizer",
            name,
            &known,
            Code::InvalidValue,
            &at.key("optimizer"),
        ));
    };
    let (empty, place) = (Payload::map(Map::new()), at.key("config"));
    let config = config.unwrap_or(&empty);
    entry.config.check(name, config, &place)?;
    Ok((entry.factory, entry.factory.create(config, &place)?))
}

fn entries() -> &'static BTreeMap<&'static str, RegisteredOptimizer> {
    static ENTRIES: OnceLock<BTreeMap<&'static str, RegisteredOptimizer>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let registrations = inventory::iter::<OptimizerRegistration>;
        let entry = |factory: &'static dyn OptimizerFactory| RegisteredOptimizer {
            factory,
            config: ConfigSchema::of(&factory.config_schema()),
        };
        registrations.into_iter().map(|found| (found.0.name(), entry(found.0))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_config_schema_compiles_and_accepts_its_absence() {
        for factory in optimizers() {
            let schema = serde_json::to_value(factory.config_schema()).unwrap();
            assert!(jsonschema::validator_for(&schema).is_ok(), "{}", factory.name());
            let made = create_optimizer(factory.name(), None, &At::Root);
            assert!(made.is_ok(), "{}", factory.name());
        }
        assert!(optimizers().count() >= 1);
    }

    #[test]
    fn an_unknown_optimizer_is_reported_with_the_nearest_name() {
        let problems = create_optimizer("labeled_fewshot", None, &At::Root).err().unwrap();
        let problem = problems.iter().next().unwrap();
        assert_eq!(problem.pointer, "/optimizer");
        assert!(problem.detail.contains("`labeled_few_shot`"), "{}", problem.detail);
    }
}
