//! Configs of optimizers: building schemas and reading validated configs. Knows no particular optimizer.

use std::sync::Arc;

use crate::value::{Map, Payload};

/// A config schema of optional properties, each with its schema as JSON text. Refuses other properties.
pub(in crate::optimize) fn config_schema(properties: &[(&str, &str)]) -> Payload {
    let properties = properties.iter().map(|(name, text)| {
        // A test compiles every schema, so invalid JSON, which becomes null, is caught.
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

/// A count, or its default.
pub(in crate::optimize) fn count(config: &Payload, name: &str, default: usize) -> usize {
    match member(config, name) {
        Some(Payload::Int(found)) => usize::try_from(*found).unwrap_or(default),
        // JSON Schema accepts 3.0 as an integer.
        Some(Payload::Float(found)) if *found >= 0.0 => *found as usize,
        _ => default,
    }
}

/// A number, or its default.
pub(in crate::optimize) fn number(config: &Payload, name: &str, default: f64) -> f64 {
    match member(config, name) {
        Some(Payload::Int(found)) => *found as f64,
        Some(Payload::Float(found)) => *found,
        _ => default,
    }
}

/// A text, if present.
pub(in crate::optimize) fn text<'c>(config: &'c Payload, name: &str) -> Option<&'c str> {
    member(config, name).and_then(Payload::as_str)
}

/// A flag, or its default.
pub(in crate::optimize) fn flag(config: &Payload, name: &str, default: bool) -> bool {
    match member(config, name) {
        Some(Payload::Bool(found)) => *found,
        _ => default,
    }
}
