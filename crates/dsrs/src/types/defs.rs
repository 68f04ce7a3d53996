//! The `types` member of a graph, entry by entry: `{"class": …}`, `{"enum": …}` or a JSON Schema
//! read, and its canonical form written.

use std::sync::Arc;

use indexmap::IndexMap;

use super::field::{FieldContext, check_alias, class_field_to_payload, read_outline};
use super::names::{check_name, definition_name};
use super::schema;
use super::{Class, ClassField, Enum, EnumMember, TypeDef, TypeDefs, TypeScope};
use crate::problem::{At, Code, Problems};
use crate::read::{Object, members, shared_text, wrong_type};
use crate::value::{Map, Payload};

/// Reads one entry of `types`.
pub(super) fn read_definition(
    name: &Arc<str>,
    payload: &Payload,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<TypeDef> {
    let Some(map) = payload.as_map() else {
        let wanted = "`{\"class\": …}`, `{\"enum\": …}` or a JSON Schema object";
        wrong_type(at, problems, wanted, payload);
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
        members.map(|members| TypeDef::Enum(Enum { description, members }))
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
        let detail = "only fields of signatures have a format";
        problems.add(at, Code::InvalidType, detail);
    }
    named.then_some(outline.field)
}

/// Reports two members of a class that an LM would see under one name.
pub(super) fn check_seen_names(
    fields: &IndexMap<Arc<str>, ClassField>,
    at: &At<'_>,
    problems: &mut Problems,
) {
    let seen = fields.iter().map(|(name, field)| (name, field.alias.as_ref()));
    check_distinct(seen, at, problems);
}

fn check_distinct<'n>(
    members: impl Iterator<Item = (&'n Arc<str>, Option<&'n Arc<str>>)>,
    at: &At<'_>,
    problems: &mut Problems,
) {
    let mut taken: IndexMap<&str, &str> = IndexMap::new();
    for (name, alias) in members {
        let seen = alias.unwrap_or(name);
        if let Some(other) = taken.insert(seen, name) {
            let detail =
                format!("`{name}` and `{other}` would both be told as `{seen}`; change an alias");
            problems.add(&at.key(name), Code::DuplicateName, detail);
        }
    }
}

/// Reads the members of an enum.
pub(super) fn read_enum_members(
    payload: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<IndexMap<Arc<str>, EnumMember>> {
    let found = members(payload, at, problems, |_, payload, at, problems| {
        read_enum_member(payload, at, problems)
    })?;
    let found: IndexMap<Arc<str>, EnumMember> = found.into_iter().collect();
    if payload.as_map().is_some_and(Map::is_empty) {
        problems.add(at, Code::InvalidType, "an enum has one member at least");
        return None;
    }
    check_distinct(found.iter().map(|(name, member)| (name, member.alias.as_ref())), at, problems);
    Some(found)
}

fn read_enum_member(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<EnumMember> {
    match payload {
        Payload::Null => Some(EnumMember::default()),
        Payload::Str(text) => Some(EnumMember { description: Some(text.clone()), alias: None }),
        Payload::Map(_) => {
            let mut object = Object::open(payload, at, problems)?;
            let description = object.optional("description", shared_text);
            let alias = object.optional("alias", shared_text);
            object.close();
            if let Some(alias) = &alias {
                check_alias(alias, &at.key("alias"), problems);
            }
            Some(EnumMember { description, alias })
        }
        other => {
            wrong_type(at, problems, "null, a description or an object", other);
            None
        }
    }
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

/// The members of an enum, each as shortly as it can be said.
pub(super) fn enum_to_payload(members: &Enum) -> Payload {
    let one = |member: &EnumMember| match (&member.description, &member.alias) {
        (None, None) => Payload::Null,
        (Some(description), None) => Payload::Str(description.clone()),
        (description, Some(alias)) => {
            let mut object = Map::new();
            if let Some(description) = description {
                object.insert("description".into(), Payload::Str(description.clone()));
            }
            object.insert("alias".into(), Payload::Str(alias.clone()));
            Payload::map(object)
        }
    };
    Payload::map(members.members.iter().map(|(name, member)| (name.clone(), one(member))).collect())
}
