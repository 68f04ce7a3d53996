//! stub
use super::field::Outline;
use super::{Type, TypeDef, TypeIR, TypeScope};
use crate::problem::{At, Code, Problems};
use crate::value::{Map, Payload};
use std::sync::Arc;

pub(super) fn looks_like_schema(map: &Map) -> bool {
    map.keys().any(|k| {
        [
            "properties",
            "items",
            "prefixItems",
            "anyOf",
            "oneOf",
            "allOf",
            "enum",
            "const",
            "$ref",
            "$defs",
        ]
        .contains(&k.as_ref())
    }) || map.get("type").is_some_and(|t| {
        t.as_list().is_some() || t.as_str().is_some_and(|t| t == "object" || t == "array")
    })
}
fn sorry<T>(at: &At<'_>, problems: &mut Problems) -> Option<T> {
    problems.add(at, Code::InvalidType, "JSON Schema types are not read yet");
    None
}
pub(super) fn read_type(
    _: &Payload,
    _: &str,
    _: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<TypeIR> {
    sorry(at, problems)
}
pub(super) fn read_field(
    _: &Payload,
    _: &str,
    _: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Outline> {
    sorry(at, problems)
}
pub(super) fn read_definition(
    _: &Arc<str>,
    _: &Payload,
    _: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<TypeDef> {
    sorry(at, problems)
}
pub(super) fn alias_to_schema(_: &TypeIR) -> Payload {
    Payload::Map(Arc::default())
}
/// stub
#[must_use]
pub fn to_json_schema(_: &Type) -> Payload {
    Payload::Map(Arc::default())
}
type Fields = Vec<(Arc<str>, Outline)>;
pub(crate) fn read_object_fields(
    _: &Payload,
    _: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<(Option<Arc<str>>, Fields)> {
    sorry(at, problems)
}
