//! Configs of optimizers: the schemas that they share, and reading what a schema has accepted. Knows
//! nothing of any one optimizer.

use std::sync::Arc;

use crate::value::{Map, Payload};

/// A config schema of these properties, each with its schema as JSON text; all may be left out, and
/// others are refused.
pub(in crate::optimize) fn config_schema(properties: &[(&str, &str)]) -> Payload {
    let properties = properties.iter().map(|(name, text)| {
        // A test compiles every schema; null, which is none, would not get past it.
        (Arc::from(*name), Payload::from_json(text).unwrap_or_default())
    });
    let members = [
        ("type", Payload::str("object")),
        ("properties", Payload::map(properties.collect())),
        ("additionalProperties", Payload::Bool(false)),
    ];
    Payload::map(members.map(|(name, member)| (Arc::from(name), member)).into_iter().collect())
}

/// A member of a config; null counts as absent.
pub(in crate::optimize) fn member<'c>(config: &'c Payload, name: &str) -> Option<&'c Payload> {
    config.as_map().and_then(|members: &Map| members.get(name)).filter(|found| !found.is_null())
}

/// A count, or what it is when it is not said.
pub(in crate::optimize) fn count(config: &Payload, name: &str, default: usize) -> usize {
    match member(config, name) {
        Some(Payload::Int(found)) => usize::try_from(*found).unwrap_or(default),
        // JSON Schema takes 3.0 for an integer.
        Some(Payload::Float(found)) if *found >= 0.0 => *found as usize,
        _ => default,
    }
}

/// A number, or what it is when it is not said.
pub(in crate::optimize) fn number(config: &Payload, name: &str, default: f64) -> f64 {
    match member(config, name) {
        Some(Payload::Int(found)) => *found as f64,
        Some(Payload::Float(found)) => *found,
        _ => default,
    }
}

/// A text, if it is said.
pub(in crate::optimize) fn text<'c>(config: &'c Payload, name: &str) -> Option<&'c str> {
    member(config, name).and_then(Payload::as_str)
}

/// Whether something is wanted, or what it is when it is not said.
pub(in crate::optimize) fn flag(config: &Payload, name: &str, default: bool) -> bool {
    match member(config, name) {
        Some(Payload::Bool(found)) => *found,
        _ => default,
    }
}
