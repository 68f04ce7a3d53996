//! The stored graphs of a definition: collected from configs, through the strategies within them,
//! and pinned to versions. Knows configs by what their strategies declare, and loads nothing.

use super::config_ref::{Reference, ReferenceMut, change_references};
use super::{BuildEnv, StoredGraphRef, StrategyFactory, registry};
use crate::problem::At;
use crate::value::{Map, Payload};

/// The stored graphs that a config of a strategy refers to, also within the configs of strategies
/// inside it. The config may be any value; an unknown strategy refers to nothing.
///
/// ```
/// use dsrs::strategy::stored_graphs;
/// use dsrs::value::Payload;
///
/// let config = r#"{"module": {"strategy": "graph", "config": {"graph": "triage", "version": 2}},
///     "reward": {"graph": "grade"}}"#;
/// let found = stored_graphs("best_of_n", &Payload::from_json(config).unwrap());
/// let names: Vec<_> = found.iter().map(|graph| (&*graph.graph, graph.version)).collect();
/// assert_eq!(names, [("triage", Some(2)), ("grade", None)]);
/// ```
#[must_use]
pub fn stored_graphs(strategy: &str, config: &Payload) -> Vec<StoredGraphRef> {
    let mut found = Vec::new();
    collect(strategy, config, &mut found);
    found
}

fn collect(strategy: &str, config: &Payload, found: &mut Vec<StoredGraphRef>) {
    let references = registry::get(strategy).map(|factory| factory.references(config));
    for reference in references.unwrap_or_default() {
        match reference {
            Reference::Graph(graph) => found.push(graph),
            Reference::Strategy { name, config } => collect(name, config, found),
        }
    }
}

/// A config with everything filled in that is written down with a definition: the versions of the
/// stored graphs that it refers to, and the signatures that strategies inside it bring. A definition
/// that is loaded is complete already.
#[must_use]
pub fn pinned(env: &dyn BuildEnv, strategy: &str, config: Payload) -> Payload {
    let factory = registry::get(strategy).filter(|_| !env.is_stored());
    let places = factory.map(StrategyFactory::config_refs).unwrap_or_default();
    match (places.is_empty(), config.as_map()) {
        (false, Some(members)) => {
            let mut members = members.clone();
            change_references(places, &mut members, &mut |reference| pin(env, reference));
            Payload::map(members)
        }
        _ => config,
    }
}

fn pin(env: &dyn BuildEnv, reference: ReferenceMut<'_>) {
    match reference {
        ReferenceMut::Graph(members) => {
            let graph = StoredGraphRef::named_by(&Payload::map(members.clone()));
            if let Some(pinned) = graph.and_then(|graph| env.pin_graph(&graph).ok()) {
                pinned.write(members);
            }
        }
        ReferenceMut::Strategy { members, signed } => pin_strategy(env, members, signed),
    }
}

/// Pins `{strategy, config?}`, and writes the strategy's own signature beside them where it belongs.
fn pin_strategy(env: &dyn BuildEnv, members: &mut Map, signed: bool) {
    let Some(Payload::Str(strategy)) = members.get("strategy").cloned() else { return };
    let written = members.get("config").cloned();
    let has_config = written.is_some();
    let config = pinned(env, &strategy, written.unwrap_or_else(|| Payload::map(Map::new())));
    if signed && !members.contains_key("signature") {
        let own = registry::get(&strategy)
            .and_then(|factory| factory.own_signature(env, &config, &At::Root))
            .and_then(Result::ok);
        members.extend(own.map(|own| ("signature".into(), own)));
    }
    if has_config {
        members.insert("config".into(), config);
    }
}
