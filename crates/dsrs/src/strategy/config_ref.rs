//! Where a config refers to stored graphs and to other strategies. A strategy declares the places;
//! collecting and changing references is written once, here. Knows no strategy and loads nothing.

use std::sync::Arc;

use super::StoredGraphRef;
use crate::value::{Map, Payload};

/// A place in a config that refers to other definitions.
#[derive(Clone, Copy, Debug)]
pub enum ConfigRef {
    /// The object itself names a stored graph with the members `graph`, `version`, `state_version`
    /// and `id`.
    Graph,
    /// The member of this name is a strategy with its config: `{strategy, config?}`.
    Strategy(&'static str),
    /// As [`Self::Strategy`]. The member also has a `signature`, which is filled in for a strategy
    /// that brings its own, so that the definition still loads after the graph is deleted.
    SignedStrategy(&'static str),
    /// The member of this name is an object, of which each member is as [`Self::SignedStrategy`].
    SignedStrategies(&'static str),
    /// The member of this name is an object with references of its own.
    Within(&'static str, &'static [ConfigRef]),
    /// The member of this name is a list of objects with references of their own.
    Each(&'static str, &'static [ConfigRef]),
}

/// What one place of a config refers to.
#[derive(Clone, Debug)]
pub enum Reference<'c> {
    /// A stored graph.
    Graph(StoredGraphRef),
    /// Another strategy, whose config may refer to more.
    Strategy {
        /// Its name.
        name: &'c str,
        /// Its config.
        config: &'c Payload,
    },
}

/// What one place of a config refers to, to fill in what is left open.
pub(super) enum ReferenceMut<'c> {
    /// The members that name a stored graph.
    Graph(&'c mut Map),
    /// The members that name a strategy, and whether its signature belongs there.
    Strategy { members: &'c mut Map, signed: bool },
}

/// What a config refers to. The config may be any value: places that do not fit are left out.
pub(super) fn references<'c>(places: &[ConfigRef], config: &'c Payload) -> Vec<Reference<'c>> {
    let mut found = Vec::new();
    collect(places, config, &mut found);
    found
}

fn collect<'c>(places: &[ConfigRef], config: &'c Payload, found: &mut Vec<Reference<'c>>) {
    for place in places {
        match place {
            ConfigRef::Graph => {
                found.extend(StoredGraphRef::named_by(config).map(Reference::Graph))
            }
            ConfigRef::Strategy(name) | ConfigRef::SignedStrategy(name) => {
                found.extend(member(config, name).and_then(strategy_of));
            }
            ConfigRef::SignedStrategies(name) => {
                let members = member(config, name).and_then(Payload::as_map);
                found.extend(members.into_iter().flat_map(Map::values).filter_map(strategy_of));
            }
            ConfigRef::Within(name, places) => {
                if let Some(inner) = member(config, name) {
                    collect(places, inner, found);
                }
            }
            ConfigRef::Each(name, places) => {
                let entries = member(config, name).and_then(Payload::as_list).unwrap_or_default();
                entries.iter().for_each(|entry| collect(places, entry, found));
            }
        }
    }
}

/// Calls `change` for everything that a config refers to.
pub(super) fn change_references(
    places: &[ConfigRef],
    members: &mut Map,
    change: &mut dyn FnMut(ReferenceMut<'_>),
) {
    for place in places {
        match place {
            ConfigRef::Graph => change(ReferenceMut::Graph(members)),
            ConfigRef::Strategy(name) | ConfigRef::SignedStrategy(name) => {
                let signed = matches!(place, ConfigRef::SignedStrategy(_));
                if let Some(Payload::Map(inner)) = members.get_mut(*name) {
                    change(ReferenceMut::Strategy { members: Arc::make_mut(inner), signed });
                }
            }
            ConfigRef::SignedStrategies(name) => {
                let Some(Payload::Map(all)) = members.get_mut(*name) else { continue };
                for inner in Arc::make_mut(all).values_mut() {
                    if let Payload::Map(inner) = inner {
                        let members = Arc::make_mut(inner);
                        change(ReferenceMut::Strategy { members, signed: true });
                    }
                }
            }
            ConfigRef::Within(name, places) => {
                if let Some(Payload::Map(inner)) = members.get_mut(*name) {
                    change_references(places, Arc::make_mut(inner), change);
                }
            }
            ConfigRef::Each(name, places) => {
                let Some(Payload::List(entries)) = members.get_mut(*name) else { continue };
                for entry in Arc::make_mut(entries) {
                    if let Payload::Map(entry) = entry {
                        change_references(places, Arc::make_mut(entry), change);
                    }
                }
            }
        }
    }
}

/// A member of a config; null counts as absent.
fn member<'c>(config: &'c Payload, name: &str) -> Option<&'c Payload> {
    config.as_map().and_then(|members| members.get(name)).filter(|found| !found.is_null())
}

fn strategy_of(object: &Payload) -> Option<Reference<'_>> {
    static NO_CONFIG: Payload = Payload::Null;
    let name = member(object, "strategy")?.as_str()?;
    Some(Reference::Strategy { name, config: member(object, "config").unwrap_or(&NO_CONFIG) })
}
