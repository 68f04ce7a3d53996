//! Schemas combined from others: `anyOf`, `oneOf`, and `allOf` with one member.

use std::sync::Arc;

use indexmap::IndexMap;

use super::shape_type::union;
use super::{SchemaReader, SchemaShape};
use crate::problem::{At, Code, Problems};
use crate::types::schema::notes::SchemaNotes;
use crate::types::schema::parts::ValuePart;
use crate::types::{EnumMember, TypeIR};
use crate::value::{Map, Payload};

impl SchemaReader<'_, '_> {
    pub(super) fn combined(
        &mut self,
        word: &str,
        value: &Payload,
        hint: &str,
        notes: &mut SchemaNotes,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<SchemaShape> {
        let Some(members) = value.as_list().filter(|members| !members.is_empty()) else {
            problems.add(
                at,
                Code::InvalidType,
                format!("`{word}` must be a non-empty array of schemas"),
            );
            return None;
        };
        if word == "allOf" && members.len() > 1 {
            problems.add(at, Code::InvalidType, "`allOf` of more than one schema is not supported");
            return None;
        }
        if let Some(texts) = described_texts(members) {
            return Some(SchemaShape::Enum(texts));
        }
        let others: Vec<(usize, &Payload)> =
            members.iter().enumerate().filter(|(_, member)| !is_null_schema(member)).collect();
        // The notes of a single member belong to the whole schema.
        if let [(index, only)] = others.as_slice() {
            let at = at.index(*index);
            let (shape, inner) = self.schema(only, hint, &at, problems)?;
            notes.absorb(inner);
            if members.len() == 1 && word == "allOf" {
                return Some(shape);
            }
            let name = notes.title.as_deref().unwrap_or(hint);
            let ty = self.close(shape, None, name, &at, problems);
            return Some(SchemaShape::Type(if members.len() > 1 { ty.optional() } else { ty }));
        }
        self.members(members, hint, notes, at, problems)
    }

    fn members(
        &mut self,
        members: &[Payload],
        hint: &str,
        notes: &mut SchemaNotes,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<SchemaShape> {
        let read = members.iter().enumerate().map(|(index, member)| {
            self.typed(member, tag(member).unwrap_or(hint), &at.index(index), problems)
        });
        let read: Vec<Option<(TypeIR, SchemaNotes)>> = read.collect();
        let read: Vec<(TypeIR, SchemaNotes)> = read.into_iter().collect::<Option<_>>()?;
        let types: Vec<TypeIR> = read.iter().map(|(ty, _)| ty.clone()).collect();
        for (index, (ty, inner)) in read.into_iter().enumerate() {
            notes.absorb_part(inner, &ValuePart::Member(&types), &ty, &at.index(index), problems);
        }
        Some(SchemaShape::Type(union(types, at, problems)))
    }
}

fn is_null_schema(payload: &Payload) -> bool {
    let ty = payload.as_map().and_then(|map| map.get("type"));
    ty.and_then(Payload::as_str) == Some("null")
}

/// The members of an enum that has one schema for each member, if at least one has a description.
/// The crate schemars writes enums with documented variants like this.
fn described_texts(members: &[Payload]) -> Option<IndexMap<Arc<str>, EnumMember>> {
    let mut found = IndexMap::new();
    for member in members {
        let map = member.as_map()?;
        let known = |name: &str| ["type", "title", "description", "enum", "const"].contains(&name);
        if !map.keys().all(|name| known(name)) {
            return None;
        }
        let description = match map.get("description") {
            None => None,
            Some(text) => Some(text.as_str()?.into()),
        };
        for text in fixed_texts(map)? {
            found.insert(text, EnumMember { description: description.clone(), alias: None });
        }
    }
    found.values().any(|member| member.description.is_some()).then_some(found)
}

fn fixed_texts(map: &Map) -> Option<Vec<Arc<str>>> {
    let text = |value: &Payload| value.as_str().map(Arc::from);
    match (map.get("type").map(Payload::as_str), map.get("enum"), map.get("const")) {
        (Some(Some("string")) | None, Some(values), None) => {
            values.as_list()?.iter().map(text).collect()
        }
        (Some(Some("string")) | None, None, Some(value)) => Some(vec![text(value)?]),
        _ => None,
    }
}

/// A name for a union member without a title: the constant that distinguishes it.
fn tag(member: &Payload) -> Option<&str> {
    let properties = member.as_map()?.get("properties")?.as_map()?;
    properties.values().find_map(|property| {
        let map = property.as_map()?;
        map.get("const").and_then(Payload::as_str).or_else(|| match map.get("enum")?.as_list()? {
            [only] => only.as_str(),
            _ => None,
        })
    })
}
