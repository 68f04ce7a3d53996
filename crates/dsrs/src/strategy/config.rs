//! Configs: the schemas that strategies share, and reading configs that a schema has accepted. Knows
//! no strategy.

use std::sync::Arc;

use crate::value::{Map, Payload};

/// A config schema with these properties and no others.
pub(super) fn config_schema<'p>(
    properties: impl IntoIterator<Item = (&'p str, Payload)>,
    required: &[&str],
) -> Payload {
    let required = required.iter().map(|name| Payload::str(*name)).collect();
    object([
        ("type", "object".into()),
        ("properties", object(properties)),
        ("required", Payload::list(required)),
        ("additionalProperties", Payload::Bool(false)),
    ])
}

/// A schema written as JSON text in the program.
pub(super) fn schema(text: &str) -> Payload {
    // The registry's tests compile every schema; null would fail there.
    Payload::from_json(text).unwrap_or_default()
}

/// The schema of a wrapped strategy.
pub(super) fn wrapped_schema(description: &str) -> Payload {
    let members = [
        ("strategy", schema(r#"{"type": "string", "description": "a strategy of the registry"}"#)),
        ("config", schema(r#"{"type": "object", "description": "its config"}"#)),
    ];
    described(config_schema(members, &["strategy"]), description)
}

/// The schema of a count.
pub(super) fn count_schema(description: &str, least: i64, most: i64, default: i64) -> Payload {
    object([
        ("type", "integer".into()),
        ("minimum", Payload::Int(least)),
        ("maximum", Payload::Int(most)),
        ("default", Payload::Int(default)),
        ("description", description.into()),
    ])
}

/// A schema with a description.
pub(super) fn described(schema: Payload, description: &str) -> Payload {
    let mut members = schema.as_map().cloned().unwrap_or_default();
    members.insert("description".into(), description.into());
    Payload::map(members)
}

fn object<'p>(members: impl IntoIterator<Item = (&'p str, Payload)>) -> Payload {
    let members = members.into_iter().map(|(name, member)| (Arc::from(name), member));
    Payload::map(members.collect())
}

/// A member of a config; null counts as absent.
pub(super) fn member<'c>(config: &'c Payload, name: &str) -> Option<&'c Payload> {
    config.as_map().and_then(|members: &Map| members.get(name)).filter(|found| !found.is_null())
}

/// A count, or the default.
pub(super) fn count(config: &Payload, name: &str, default: usize) -> usize {
    match member(config, name) {
        Some(Payload::Int(found)) => usize::try_from(*found).unwrap_or(default),
        // JSON Schema accepts 3.0 as an integer.
        Some(Payload::Float(found)) if *found >= 0.0 => *found as usize,
        _ => default,
    }
}

/// A number, if there is one.
pub(super) fn number(config: &Payload, name: &str) -> Option<f64> {
    match member(config, name)? {
        Payload::Int(found) => Some(*found as f64),
        Payload::Float(found) => Some(*found),
        _ => None,
    }
}

/// A flag; false by default.
pub(super) fn flag(config: &Payload, name: &str) -> bool {
    matches!(member(config, name), Some(Payload::Bool(true)))
}
