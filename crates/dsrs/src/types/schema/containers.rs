//! Objects and arrays of JSON Schema: classes, dicts, lists and tuples.

use std::sync::Arc;

use super::notes::Notes;
use super::reader::{Reader, Shape};
use crate::problem::{At, Code, Problems};
use crate::read::{list, shared_text};
use crate::types::TypeIR;
use crate::types::field::Outline;
use crate::types::names::{check_name, definition_name};
use crate::value::{Map, Payload};

impl Reader<'_, '_> {
    pub(super) fn object(
        &mut self,
        map: &Map,
        hint: &str,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Shape> {
        let others = map.get("additionalProperties");
        let Some(properties) = map.get("properties") else {
            required_names(map, &Map::new(), at, problems);
            return match others {
                Some(Payload::Bool(false)) => Some(Shape::Object(Vec::new())),
                None => Some(Shape::Type(TypeIR::dict(TypeIR::Any))),
                Some(value) => {
                    let at = at.key("additionalProperties");
                    let value = self.bare(value, hint, &at, problems)?;
                    Some(Shape::Type(TypeIR::dict(value)))
                }
            };
        };
        if !matches!(others, None | Some(Payload::Bool(_))) {
            let detail = "an object with named properties takes no others of a type of their own";
            problems.add(&at.key("additionalProperties"), Code::InvalidType, detail);
        }
        for limit in ["minProperties", "maxProperties"] {
            if map.contains_key(limit) {
                let detail = format!("`{limit}` says nothing of an object with named properties");
                problems.add(&at.key(limit), Code::InvalidType, detail);
            }
        }
        self.properties(map, properties, at, problems).map(Shape::Object)
    }

    fn properties(
        &mut self,
        map: &Map,
        properties: &Payload,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<Vec<(Arc<str>, Outline)>> {
        let place = at.key("properties");
        let Some(members) = properties.as_map() else {
            problems.add(&place, Code::InvalidType, "`properties` wants an object of schemas");
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
        notes: &mut Notes,
        at: &At<'_>,
        problems: &mut Problems,
    ) -> Option<TypeIR> {
        let items = map.get("items");
        let Some(first) = map.get("prefixItems") else {
            let Some(items) = items else { return Some(TypeIR::list(TypeIR::Any)) };
            return self.bare(items, hint, &at.key("items"), problems).map(TypeIR::list);
        };
        if !matches!(items, None | Some(Payload::Bool(false))) {
            let detail =
                "a tuple ends with its `prefixItems`; `items` beside them is false or left out";
            problems.add(&at.key("items"), Code::InvalidType, detail);
        }
        let place = at.key("prefixItems");
        let members = list(first, &place, problems, |item, at, problems| {
            Some(self.bare(item, hint, at, problems))
        })?;
        if members.is_empty() {
            problems.add(&place, Code::InvalidType, "a tuple has one member at least");
        }
        check_length(map, members.len(), at, problems);
        notes.limits.retain(|limit| !["minItems", "maxItems"].contains(&limit.keyword()));
        Some(TypeIR::Tuple(members.into_iter().collect::<Option<Vec<_>>>()?.into()))
    }
}

/// A tuple has its length already; a bound that says the same is no loss.
fn check_length(map: &Map, length: usize, at: &At<'_>, problems: &mut Problems) {
    for limit in ["minItems", "maxItems"] {
        let says = |bound: &Payload| *bound != Payload::Int(i64::try_from(length).unwrap_or(-1));
        if map.get(limit).is_some_and(says) {
            let detail = format!("this tuple has {length} members; `{limit}` cannot differ");
            problems.add(&at.key(limit), Code::InvalidType, detail);
        }
    }
}

fn required_names(map: &Map, members: &Map, at: &At<'_>, problems: &mut Problems) -> Vec<Arc<str>> {
    let Some(required) = map.get("required") else { return Vec::new() };
    let read = list(required, &at.key("required"), problems, |name, at, problems| {
        let name = shared_text(name, at, problems)?;
        if !members.contains_key(&name) {
            let detail = format!("`{name}` is required and no property");
            problems.add(at, Code::InvalidType, detail);
        }
        Some(name)
    });
    read.unwrap_or_default()
}
