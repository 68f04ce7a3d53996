//! The members of enums, read and written, and the check that an LM sees no two members under one
//! name. Knows nothing of definitions.

use std::sync::Arc;

use indexmap::IndexMap;

use super::field::check_alias;
use super::{ClassField, Enum, EnumMember};
use crate::problem::{At, Code, Problems};
use crate::read::{Object, members, shared_text, wrong_type};
use crate::value::{Map, Payload};

/// Reports members of a class that an LM would see under the same name.
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
            let detail = format!(
                "`{name}` and `{other}` would both appear to the LM as `{seen}`; change an alias"
            );
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
        problems.add(at, Code::InvalidType, "an enum needs at least one member");
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

/// The members of an enum, each in its shortest form.
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
