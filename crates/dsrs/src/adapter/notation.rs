//! Describes the types of fields to an LM: like `types`, with two changes that small models follow
//! better: lists are called lists, and a short enum is written out where it is used instead of by
//! name.

use crate::types::{self, Enum, Type, TypeDef, TypeIR};
use crate::value::Payload;

/// The longest enum that is written out in place.
const INLINE: usize = 80;

/// The type of a field.
pub(super) fn describe_type(ty: &Type) -> String {
    match &ty.ir {
        TypeIR::List(element) => {
            let element = describe_type(&Type::new(element.as_ref().clone(), ty.defs.clone()));
            if element.contains(" | ") {
                format!("list of ({element})")
            } else {
                format!("list of {element}")
            }
        }
        TypeIR::Union(members) => match members.as_ref() {
            [list @ TypeIR::List(_), TypeIR::Null] => {
                format!("{}, or null", describe_type(&Type::new(list.clone(), ty.defs.clone())))
            }
            [single, TypeIR::Null] => {
                format!("{} | null", describe_type(&Type::new(single.clone(), ty.defs.clone())))
            }
            _ => types::describe_type(ty),
        },
        _ => inline_enum(ty).unwrap_or_else(|| types::describe_type(ty)),
    }
}

/// The definitions that fields use, without the enums that are written out in place.
pub(super) fn describe_definitions(fields: &[Type]) -> String {
    let named: Vec<Type> =
        fields.iter().filter(|ty| !is_complete_inline(&core(ty))).cloned().collect();
    types::describe_definitions(&named)
}

/// A type without the lists and the null around it.
fn core(ty: &Type) -> Type {
    match &ty.ir {
        TypeIR::List(element) => core(&Type::new(element.as_ref().clone(), ty.defs.clone())),
        TypeIR::Union(members) => match members.as_ref() {
            [single, TypeIR::Null] => core(&Type::new(single.clone(), ty.defs.clone())),
            _ => ty.clone(),
        },
        _ => ty.clone(),
    }
}

/// The members of an enum that is short enough to be written out in place.
fn inline_enum(ty: &Type) -> Option<String> {
    let members = members(ty)?.members.iter();
    let description = members.map(|(name, member)| {
        Payload::Str(member.alias.as_ref().unwrap_or(name).clone()).to_json()
    });
    let description = description.collect::<Vec<_>>().join(" | ");
    (description.len() <= INLINE).then_some(description)
}

/// Whether the description in place is complete.
fn is_complete_inline(ty: &Type) -> bool {
    let plain = members(ty).is_some_and(|found| {
        found.description.is_none() && found.members.values().all(|m| m.description.is_none())
    });
    plain && inline_enum(ty).is_some()
}

fn members(ty: &Type) -> Option<&Enum> {
    let TypeIR::Named(name) = &ty.ir else { return None };
    match ty.defs.get(name) {
        Some(TypeDef::Enum(found)) => Some(found),
        _ => None,
    }
}
