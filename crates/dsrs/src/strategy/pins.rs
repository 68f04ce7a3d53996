//! What a definition pins of strategies inside of strategies: the versions of the stored graphs that
//! they name, and the signature that a wrapped one brings. Knows the shared members of configs and
//! no one strategy.

use std::sync::Arc;

use super::config::member;
use super::judging::JUDGE;
use super::reward::REWARD;
use super::tools::TOOLS;
use super::wrapped::MODULE;
use super::{BuildEnv, GraphPin, registry};
use crate::problem::{At, Problems};
use crate::read::Object;
use crate::value::{Map, Payload};

/// The signature that the strategy of `module` brings.
pub(super) fn own_signature(
    env: &dyn BuildEnv,
    config: &Payload,
    at: &At<'_>,
) -> Option<Result<Payload, Problems>> {
    let wrapped = member(config, MODULE)?;
    let factory = registry::get(member(wrapped, "strategy")?.as_str()?)?;
    let nothing = Payload::map(Map::new());
    let inner = member(wrapped, "config").unwrap_or(&nothing);
    factory.own_signature(env, inner, &at.key("config").key(MODULE))
}

/// The config with every stored graph in it pinned.
pub(super) fn pinned(env: &dyn BuildEnv, config: &Payload) -> Option<Payload> {
    let mut members = config.as_map()?.clone();
    change(&mut members, MODULE, |wrapped| pin_strategy(env, wrapped));
    change(&mut members, REWARD, |reward| {
        change(reward, JUDGE, |judge| pin_strategy(env, judge));
        pin_graph(env, reward);
    });
    Some(Payload::map(members))
}

/// The config with every stored graph among its tools pinned.
pub(super) fn pinned_tools(env: &dyn BuildEnv, config: &Payload) -> Option<Payload> {
    let mut members = config.as_map()?.clone();
    if let Some(Payload::List(tools)) = members.get_mut(TOOLS) {
        for tool in Arc::make_mut(tools) {
            if let Payload::Map(tool) = tool {
                pin_graph(env, Arc::make_mut(tool));
            }
        }
    }
    Some(Payload::map(members))
}

/// Pins the stored graph that an object names, if it names one.
fn pin_graph(env: &dyn BuildEnv, members: &mut Map) {
    let read = Payload::map(members.clone());
    let mut problems = Problems::new();
    let pin = Object::open(&read, &At::Root, &mut problems)
        .and_then(|mut object| GraphPin::read(&mut object));
    if let Some(pin) = pin.and_then(|pin| env.pin_graph(&pin).ok()) {
        pin.write(members);
    }
}

/// Pins what the config of `{strategy, config?}` names.
fn pin_strategy(env: &dyn BuildEnv, members: &mut Map) {
    let Some(Payload::Str(strategy)) = members.get("strategy").cloned() else { return };
    if let Some(config) = members.get_mut("config") {
        *config = registry::pinned(env, &strategy, config.clone());
    }
}

/// Changes a member that is an object.
fn change(members: &mut Map, name: &str, change: impl FnOnce(&mut Map)) {
    if let Some(Payload::Map(found)) = members.get_mut(name) {
        change(Arc::make_mut(found));
    }
}
