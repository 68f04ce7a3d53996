//! The arguments of a tool, by the JSON Schema that it names: which may be null, and which values fit. Knows no types.

use std::sync::Arc;

use crate::lm::ToolSpec;
use crate::problem::{At, Code, Problems};
use crate::read::{ValueSchema, listed, nearest};
use crate::value::{Map, Payload};

/// The schema of the arguments.
pub(super) fn parameters(spec: &ToolSpec) -> Payload {
    Payload::from_json(spec.parameters.get()).unwrap_or_default()
}

/// A member of a schema.
pub(super) fn member<'s>(schema: &'s Payload, name: &str) -> Option<&'s Payload> {
    schema.as_map().and_then(|members| members.get(name))
}

/// The schemas of the arguments by name.
pub(super) fn properties(schema: &Payload) -> Map {
    member(schema, "properties").and_then(Payload::as_map).cloned().unwrap_or_default()
}

/// Whether an argument is required.
pub(super) fn is_required(schema: &Payload, name: &str) -> bool {
    let required = member(schema, "required").and_then(Payload::as_list).unwrap_or_default();
    required.iter().any(|known| known.as_str() == Some(name))
}

/// The optional arguments that may not be null: a call without a value leaves them out.
pub(super) fn left_out_if_null(spec: &ToolSpec) -> Vec<Arc<str>> {
    let schema = parameters(spec);
    let optional = properties(&schema).into_iter().filter(|(name, _)| !is_required(&schema, name));
    let is_left_out = |property: &Payload| {
        checker(&schema, property).is_some_and(|check| !check.problems_in("null", 1).is_empty())
    };
    optional.filter(|(_, property)| is_left_out(property)).map(|(name, _)| name).collect()
}

/// The check of one argument, with the definitions that it may refer to.
fn checker(schema: &Payload, property: &Payload) -> Option<ValueSchema> {
    let mut whole = property.as_map()?.clone();
    for name in ["$defs", "definitions"] {
        whole.extend(member(schema, name).map(|found| (name.into(), found.clone())));
    }
    ValueSchema::compile(&serde_json::to_value(Payload::map(whole)).ok()?).ok()
}

/// Checks arguments of a config: their names, and their values.
pub(super) fn check_fixed(fixed: &Map, spec: &ToolSpec, at: &At<'_>, problems: &mut Problems) {
    let schema = parameters(spec);
    let known = properties(&schema);
    let accepts_others =
        member(&schema, "additionalProperties").is_some_and(|more| *more != Payload::Bool(false));
    for (name, value) in fixed {
        let Some(property) = known.get(name) else {
            if !accepts_others {
                let hint = nearest(name, known.keys().map(|known| &**known))
                    .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                let names = listed(known.keys().map(|known| &**known));
                let detail =
                    format!("`{}` has no argument `{name}`{hint}; it has {names}", spec.name);
                problems.add(&at.key(name), Code::UnknownField, detail);
            }
            continue;
        };
        let check = checker(&schema, property);
        for (_, reason) in check.iter().flat_map(|check| check.problems_in(&value.to_json(), 1)) {
            problems.add(&at.key(name), Code::InvalidValue, reason);
        }
    }
}
