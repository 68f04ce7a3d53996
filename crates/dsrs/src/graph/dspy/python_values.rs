//! Values as pydantic writes them to a file, and as the types of a graph have them. A class that was made of a JSON
//! Schema has the aliases of its members, a file their names in Python; bytes are the text that they encode.

use std::sync::Arc;

use crate::types::{Class, ResolvedType, Type, TypeDefs, TypeIR, TypeShape, resolve};
use crate::value::{Map, Payload};

/// A value of a file as its type has it. What does not fit the type stays as it is.
pub(super) fn from_python(value: &Payload, ty: &Type) -> Payload {
    of_type(value, &ty.ir, &ty.defs)
}

fn of_type(value: &Payload, ir: &TypeIR, defs: &TypeDefs) -> Payload {
    of_node(value, &resolve(ir, defs), defs)
}

fn of_node(value: &Payload, node: &ResolvedType<'_>, defs: &TypeDefs) -> Payload {
    match (&node.shape, value) {
        (TypeShape::Bytes, Payload::Str(text)) => Payload::Bytes(text.as_bytes().into()),
        (TypeShape::List(element), Payload::List(list)) => {
            Payload::list(list.iter().map(|value| of_type(value, element, defs)).collect())
        }
        (TypeShape::Tuple(types), Payload::List(list)) if types.len() == list.len() => {
            let parts = list.iter().zip(types.iter());
            Payload::list(parts.map(|(value, ir)| of_type(value, ir, defs)).collect())
        }
        (TypeShape::Dict(element), Payload::Map(map)) => {
            let part = |(name, value): (&Arc<str>, &Payload)| {
                (name.clone(), of_type(value, element, defs))
            };
            Payload::map(map.iter().map(part).collect())
        }
        (TypeShape::Class(class), Payload::Map(map)) => of_class(map, class, defs),
        (TypeShape::Union(members), _) => {
            let member = members.iter().find(|member| may_be(value, member));
            member.map_or_else(|| value.clone(), |member| of_node(value, member, defs))
        }
        _ => value.clone(),
    }
}

fn of_class(map: &Map, class: &Class, defs: &TypeDefs) -> Payload {
    let mut members = Map::with_capacity(map.len());
    for (name, value) in map {
        let own = member(name, map, class);
        let value = class
            .fields
            .get(own)
            .map_or_else(|| value.clone(), |field| of_type(value, &field.ty, defs));
        // Of two names for one member, the second is unknown.
        let name = if members.contains_key(own) { name } else { own };
        members.insert(name.clone(), value);
    }
    Payload::map(members)
}

/// The member of a class that a name in Python means: the one of this name, or else the only one whose name has the same
/// letters, such as `userName` for `user_name`. The name itself if there is none.
fn member<'n>(name: &'n Arc<str>, map: &Map, class: &'n Class) -> &'n Arc<str> {
    if class.fields.contains_key(name) {
        return name;
    }
    let same = |known: &&Arc<str>| !map.contains_key(*known) && letters(known).eq(letters(name));
    let mut found = class.fields.keys().filter(same);
    match (found.next(), found.next()) {
        (Some(only), None) => only,
        _ => name,
    }
}

fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|sign| sign.is_alphanumeric()).flat_map(char::to_lowercase)
}

/// Whether a value may be one of a member of a union: of its kind, and for a class with its members alone.
fn may_be(value: &Payload, node: &ResolvedType<'_>) -> bool {
    match (&node.shape, value) {
        (TypeShape::Class(class), Payload::Map(map)) => {
            map.keys().all(|name| class.fields.contains_key(member(name, map, class)))
        }
        (TypeShape::Dict(_), Payload::Map(_)) | (TypeShape::List(_), Payload::List(_)) => true,
        (TypeShape::Tuple(types), Payload::List(list)) => types.len() == list.len(),
        (TypeShape::Bytes | TypeShape::Str, Payload::Str(_)) => true,
        _ => false,
    }
}

/// A value as a file has it: bytes as the text that they encode.
pub(super) fn to_python(value: &Payload) -> Payload {
    match value {
        Payload::Bytes(bytes) => {
            std::str::from_utf8(bytes).map_or_else(|_| value.clone(), Payload::from)
        }
        Payload::List(list) => Payload::list(list.iter().map(to_python).collect()),
        Payload::Map(map) => {
            Payload::map(map.iter().map(|(name, value)| (name.clone(), to_python(value))).collect())
        }
        _ => value.clone(),
    }
}

/// Whether a value as a file has it has bytes: those that encode no text.
pub(super) fn has_bytes(value: &Payload) -> bool {
    match value {
        Payload::Bytes(_) => true,
        Payload::List(list) => list.iter().any(has_bytes),
        Payload::Map(map) => map.values().any(has_bytes),
        _ => false,
    }
}
