//! The strategies that can replace the strategy of a node. Knows the registry and config schemas; knows
//! nothing of graphs.

use std::sync::Arc;

use crate::signature::SignatureSchema;
use crate::strategy::{StoredEnv, StrategyFactory, registry};
use crate::types::TypeIR;
use crate::value::{Map, Payload};

/// The default strategy that others wrap.
const WRAPPED: &str = "chain_of_thought";

/// The strategy for numeric outputs.
const COMPUTES: &str = "program_of_thought";

/// The strategy that is worth it once its rules are set, which is another optimizer's work.
const DECIDES: &str = "decide";

/// A strategy with a config.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StrategyChoice {
    pub(super) strategy: Arc<str>,
    pub(super) config: Payload,
}

/// The strategies of a search.
pub(super) enum AllowedStrategies {
    /// All that need no config but a strategy to wrap.
    Registry,
    /// These.
    Listed(Vec<StrategyChoice>),
}

impl StrategyChoice {
    /// A config for a strategy on any node: empty, or with the wrapped strategy. `None` for strategies
    /// that require more (a reward, a graph) or are useless without it (tools).
    pub(super) fn config_for(factory: &dyn StrategyFactory) -> Option<Payload> {
        let schema = factory.config_schema();
        let required = member(&schema, "required").and_then(Payload::as_list).unwrap_or_default();
        let required: Vec<&str> = required.iter().filter_map(Payload::as_str).collect();
        let properties = member(&schema, "properties");
        let has = |name| properties.is_some_and(|properties| member(properties, name).is_some());
        match required.as_slice() {
            _ if has("tools") => None,
            [] => Some(Payload::map(Map::new())),
            ["module"] => Some(object([("module", object([("strategy", WRAPPED.into())]))])),
            _ => None,
        }
    }

    fn is_simple(&self) -> bool {
        member(&self.config, "module").is_none()
            && registry::get(&self.strategy).is_some_and(|factory| {
                let schema = factory.config_schema();
                member(&schema, "properties").is_none_or(|all| member(all, "module").is_none())
            })
    }

    fn as_module(&self) -> Payload {
        let config = ("config", self.config.clone());
        object([("strategy", Payload::Str(self.strategy.clone())), config])
    }
}

impl AllowedStrategies {
    /// The alternatives for a node with this signature, wrapped strategies included.
    pub(super) fn of_node(
        &self,
        base: &SignatureSchema,
        now: &StrategyChoice,
    ) -> Vec<StrategyChoice> {
        let mut all = match self {
            Self::Registry => of_registry(base),
            Self::Listed(listed) => listed.clone(),
        };
        if let Some(module) = member(&now.config, "module") {
            let wraps = member(module, "strategy").cloned();
            let simple: Vec<_> = all.iter().filter(|choice| choice.is_simple()).cloned().collect();
            all.extend(simple.into_iter().filter_map(|inner| {
                let other = wraps.as_ref().and_then(Payload::as_str) != Some(&*inner.strategy);
                let mut config = now.config.as_map()?.clone();
                config.insert("module".into(), inner.as_module());
                let (strategy, config) = (now.strategy.clone(), Payload::map(config));
                other.then_some(StrategyChoice { strategy, config })
            }));
        }
        all.retain(|choice| choice != now);
        all
    }
}

fn of_registry(base: &SignatureSchema) -> Vec<StrategyChoice> {
    let asks = registry::list().filter(|factory| factory.op().is_none() && factory.calls_lm());
    let asks = asks.filter(|factory| factory.name() != DECIDES);
    let fitting = asks.filter(|factory| factory.name() != COMPUTES || has_number(base));
    let made = fitting.filter_map(|factory| {
        let config = StrategyChoice::config_for(factory)?;
        // A strategy with its own signature performs its own task.
        let own = factory.own_signature(&StoredEnv, &config, &crate::problem::At::Root);
        own.is_none().then(|| StrategyChoice { strategy: factory.name().into(), config })
    });
    made.collect()
}

fn has_number(base: &SignatureSchema) -> bool {
    base.outputs.iter().any(|field| matches!(field.ty, TypeIR::Int | TypeIR::Float))
}

pub(super) fn object<'m>(members: impl IntoIterator<Item = (&'m str, Payload)>) -> Payload {
    let members = members.into_iter().map(|(name, member)| (Arc::from(name), member));
    Payload::map(members.collect())
}

/// A member of an object; null counts as absent.
pub(super) fn member<'c>(object: &'c Payload, name: &str) -> Option<&'c Payload> {
    object.as_map().and_then(|members| members.get(name)).filter(|value| !value.is_null())
}
