//! Objects and arrays of JSON Schema: classes, dicts, lists and tuples.

use std::sync::Arc;

use super::{SchemaReader, SchemaShape};
use crate::problem::{At, Code, Problems};
use crate::read::{list, shared_text};
use crate::types::TypeIR;
use crate::types::field::FieldOutline;
use crate::types::names::{check_name, definition_name};
use crate::types::schema::notes::SchemaNotes;
use crate::types::schema::parts::ValuePart;
use crate::value::{Map, Payload};

impl SchemaReader<'_, '_> {
    pub(super) fn object(
        &mut self,
        map: &Map,
        hint: &str,
        notes: &mut SchemaNotes,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<SchemaShape> {
        check_key_names(map, at, problems);
        let others = map.get("additionalProperties");
        let Some(properties) = map.get("properties") else {
            required_names(map, &Map::new(), at, problems);
            return match others {
                Some(Payload::Bool(false)) => Some(SchemaShape::Object(Vec::new())),
                None => Some(SchemaShape::Type(TypeIR::dict(TypeIR::Any))),
                Some(value) => {
                    let at = at.key("additionalProperties");
                    let value = self.part(value, hint, &ValuePart::Value, notes, &at, problems)?;
                    Some(SchemaShape::Type(TypeIR::dict(value)))
                }
            };
        };
        if !matches!(others, None | Some(Payload::Bool(_))) {
            let detail = "an object with `properties` cannot have typed additional properties; use true or false";
            problems.add(&at.key("additionalProperties"), Code::InvalidType, detail);
        }
        for limit in ["minProperties", "maxProperties"] {
            if map.contains_key(limit) {
                let detail = format!("`{limit}` is not supported for an object with `properties`");
                problems.add(&at.key(limit), Code::InvalidType, detail);
            }
        }
        self.properties(map, properties, at, problems).map(SchemaShape::Object)
    }

    fn properties(
        &mut self,
        map: &Map,
        properties: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Vec<(Arc<str>, FieldOutline)>> {
        let place = at.key("properties");
        let Some(members) = properties.as_map() else {
            problems.add(&place, Code::InvalidType, "`properties` must be an object of schemas");
            return None;
        };
        let required = required_names(map, members, at, problems);
        let mut fields = Vec::new();
        let mut complete = true;
        for (name, schema) in members {
            let at = place.key(name);
            let named = check_name("field", name, &at, problems);
            let needed = required.contains(name);
            match self.field(schema, &definition_name(name), needed, &at, problems) {
                Some(outline) if named => fields.push((name.clone(), outline)),
                _ => complete = false,
            }
        }
        complete.then_some(fields)
    }

    pub(super) fn array(
        &mut self,
        map: &Map,
        hint: &str,
        notes: &mut SchemaNotes,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<TypeIR> {
        let Some((word, first, rest)) = tuple_members(map) else {
            if map.contains_key("additionalItems") {
                let detail = "`additionalItems` is only allowed for a tuple";
                problems.add(&at.key("additionalItems"), Code::InvalidType, detail);
            }
            let Some(items) = map.get("items") else { return Some(TypeIR::list(TypeIR::Any)) };
            let at = at.key("items");
            return self
                .part(items, hint, &ValuePart::Element, notes, &at, problems)
                .map(TypeIR::list);
        };
        if !matches!(map.get(rest), None | Some(Payload::Bool(false))) {
            let detail = format!(
                "a tuple has no elements after its `{word}`; set `{rest}` to false or remove it"
            );
            problems.add(&at.key(rest), Code::InvalidType, detail);
        }
        notes.limits.retain(|limit| !["minItems", "maxItems"].contains(&limit.keyword()));
        let place = at.key(word);
        if first.is_empty() {
            problems.add(&place, Code::InvalidType, "a tuple needs at least one member");
        }
        check_length(map, first.len(), at, problems);
        let mut members = Vec::with_capacity(first.len());
        for (index, item) in first.iter().enumerate() {
            let (part, at) = (ValuePart::Position(index), place.index(index));
            members.push(self.part(item, hint, &part, notes, &at, problems));
        }
        Some(TypeIR::Tuple(members.into_iter().collect::<Option<Vec<_>>>()?.into()))
    }
}

/// The keyword of the members of a tuple, the members, and the keyword for further elements:
/// `prefixItems`, or a list of `items` as in drafts before 2020.
fn tuple_members(map: &Map) -> Option<(&'static str, &[Payload], &'static str)> {
    let list = |word: &str| map.get(word).and_then(Payload::as_list);
    list("prefixItems")
        .map(|members| ("prefixItems", members, "items"))
        .or_else(|| list("items").map(|members| ("items", members, "additionalItems")))
}

/// Keys are strings; no type has further conditions on them.
fn check_key_names(map: &Map, at: &At<'_>, problems: &mut Problems) {
    let Some(names) = map.get("propertyNames") else { return };
    let plain = |map: &Map| {
        map.iter().all(|(word, value)| word.as_ref() == "type" && value.as_str() == Some("string"))
    };
    if !names.as_map().is_some_and(plain) {
        let detail = "the keys of a dict can be any string; remove `propertyNames`";
        problems.add(&at.key("propertyNames"), Code::InvalidType, detail);
    }
}

/// A tuple has a fixed length, so a bound is only allowed if it equals that length.
fn check_length(map: &Map, length: usize, at: &At<'_>, problems: &mut Problems) {
    for limit in ["minItems", "maxItems"] {
        let says = |bound: &Payload| *bound != Payload::Int(i64::try_from(length).unwrap_or(-1));
        if map.get(limit).is_some_and(says) {
            let detail = format!("this tuple has {length} members; `{limit}` must be the same");
            problems.add(&at.key(limit), Code::InvalidType, detail);
        }
    }
}

fn required_names(map: &Map, members: &Map, at: &At<'_>, problems: &mut Problems) -> Vec<Arc<str>> {
    let Some(required) = map.get("required") else { return Vec::new() };
    let read = list(required, &at.key("required"), problems, |name, at, problems| {
        let name = shared_text(name, at, problems)?;
        if !members.contains_key(&name) {
            let detail = format!("`{name}` is required but not in `properties`");
            problems.add(at, Code::InvalidType, detail);
        }
        Some(name)
    });
    read.unwrap_or_default()
}
