//! Reads the `types` member of a graph, each entry a `{"class": …}`, an `{"enum": …}` or a JSON
//! Schema, and writes its canonical form.

use std::sync::Arc;

use indexmap::IndexMap;

use super::enum_members::{check_seen_names, enum_to_payload, read_enum_members};
use super::field::{check_alias, class_field_to_payload};
use super::names::{check_name, check_type_name, definition_name};
use super::read_field::{FieldContext, read_outline};
use super::schema;
use super::scope::too_many;
use super::{Class, ClassField, Enum, TypeDef, TypeDefs, TypeScope};
use crate::problem::{At, Code, Problems};
use crate::read::{Object, members, shared_text, wrong_type};
use crate::value::{Map, Payload};

impl TypeScope {
    /// Reads a `types` member: classes, enums and JSON Schemas by name. An entry that cannot be read
    /// is reported and becomes `any`, so that its uses are not reported again.
    #[must_use]
    pub fn read(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Self {
        let mut scope = Self::new();
        let Some(members) = payload.as_map() else {
            wrong_type(at, problems, "an object", payload);
            return scope;
        };
        if let Some(name) = scope.excess(members.keys()) {
            problems.add(&at.key(name), Code::TooLarge, too_many());
            return scope;
        }
        for name in members.keys() {
            if check_type_name(name, &at.key(name), problems) {
                scope.declare(name);
            }
        }
        for (name, member) in members {
            let place = at.key(name);
            let def = read_definition(name, member, &mut scope, &place, problems);
            scope.end_declaration(name, def, &place);
        }
        scope.settle(problems);
        scope
    }
}

/// Reads one entry of `types`.
fn read_definition(
    name: &Arc<str>,
    payload: &Payload,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<TypeDef> {
    let Some(map) = payload.as_map() else {
        let expected = "`{\"class\": …}`, `{\"enum\": …}` or a JSON Schema object";
        wrong_type(at, problems, expected, payload);
        return None;
    };
    let is_enum = map.get("enum").is_some_and(|members| members.as_list().is_none());
    if !map.contains_key("class") && !is_enum {
        return schema::read_definition(name, payload, scope, at, problems);
    }
    let mut object = Object::open(payload, at, problems)?;
    let description = object.optional("description", shared_text);
    let def = if is_enum {
        let members = object.required("enum", read_enum_members);
        members.map(|members| TypeDef::Enum(Enum { description, members, ..Enum::default() }))
    } else {
        let fields =
            object.required("class", |payload: &Payload, at: &At<'_>, problems: &mut Problems| {
                read_class_fields(payload, scope, at, problems)
            });
        fields.map(|fields| TypeDef::Class(Class { description, fields }))
    };
    object.close();
    def
}

fn read_class_fields(
    payload: &Payload,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<IndexMap<Arc<str>, ClassField>> {
    let fields = members(payload, at, problems, |name, payload, at, problems| {
        read_class_field(name, payload, scope, at, problems)
    })?;
    let fields = fields.into_iter().collect();
    check_seen_names(&fields, at, problems);
    Some(fields)
}

fn read_class_field(
    name: &Arc<str>,
    payload: &Payload,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<ClassField> {
    let named = check_name("field", name, at, problems);
    let expect = FieldContext { absent: None, hint: &definition_name(name), format: false };
    let outline = read_outline(payload, &expect, scope, at, problems)?;
    if let Some(alias) = &outline.field.alias {
        check_alias(alias, &at.key("alias"), problems);
    }
    if outline.format.is_some() {
        let detail = "only fields of a signature can have a format";
        problems.add(at, Code::InvalidType, detail);
    }
    named.then_some(outline.field)
}

/// The canonical `types` member of definitions.
#[must_use]
pub fn defs_to_payload(defs: &TypeDefs) -> Payload {
    let entries = defs.0.iter().map(|(name, def)| (name.clone(), definition_to_payload(def)));
    Payload::map(entries.collect())
}

fn definition_to_payload(def: &TypeDef) -> Payload {
    let (kind, body, description) = match def {
        TypeDef::Class(class) => ("class", class_to_payload(class), &class.description),
        TypeDef::Enum(members) => ("enum", enum_to_payload(members), &members.description),
        TypeDef::Alias(ty) => return schema::alias_to_schema(ty),
    };
    let mut entry = Map::new();
    entry.insert(kind.into(), body);
    if let Some(description) = description {
        entry.insert("description".into(), Payload::Str(description.clone()));
    }
    Payload::map(entry)
}

fn class_to_payload(class: &Class) -> Payload {
    let fields = class.fields.iter();
    Payload::map(
        fields.map(|(name, field)| (name.clone(), class_field_to_payload(field))).collect(),
    )
}
