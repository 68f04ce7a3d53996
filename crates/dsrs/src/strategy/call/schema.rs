//! JSON Schemas of other servers, reduced to what types express. A call is checked by the whole schema of its tool, so
//! that what is left out here only makes a type wider.

use crate::value::{Map, Payload};

/// Members that stay as they are.
const PLAIN: [&str; 7] = ["type", "required", "enum", "const", "description", "default", "title"];

/// The schema without what types cannot express, such as formats and lengths.
pub(super) fn reduced(schema: &Payload) -> Payload {
    let Some(members) = schema.as_map() else { return schema.clone() };
    let reference = members.get("$ref").and_then(Payload::as_str);
    if reference == Some("#") {
        return Payload::map(Map::new());
    }
    let reduced = members.iter().filter_map(|(name, member)| {
        Some(match &**name {
            "items" | "additionalProperties" => (name.clone(), reduced(member)),
            "properties" | "$defs" => (name.clone(), each(member)),
            "definitions" => ("$defs".into(), each(member)),
            "anyOf" | "prefixItems" => (name.clone(), all(member)),
            // It says more, which types cannot express.
            "oneOf" => ("anyOf".into(), all(member)),
            "$ref" => (name.clone(), reference?.replace("#/definitions/", "#/$defs/").into()),
            plain if PLAIN.contains(&plain) => (name.clone(), member.clone()),
            _ => return None,
        })
    });
    Payload::map(reduced.collect())
}

fn each(members: &Payload) -> Payload {
    let Some(members) = members.as_map() else { return members.clone() };
    let reduced = members.iter().map(|(name, schema)| (name.clone(), reduced(schema)));
    Payload::map(reduced.collect::<Map>())
}

fn all(schemas: &Payload) -> Payload {
    let Some(schemas) = schemas.as_list() else { return schemas.clone() };
    Payload::list(schemas.iter().map(reduced).collect())
}
