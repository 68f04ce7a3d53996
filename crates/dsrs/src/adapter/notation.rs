//! How the types of fields are told to an LM: as `types` tells them, with two spellings of our own
//! that small models follow better: lists say that they are lists, and a short enum
//! shows its members where it is used instead of a name to look up.

use crate::types::{self, Enum, Type, TypeDef, TypeIR};
use crate::value::Payload;

/// The longest enum that is told in place.
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

/// The definitions that fields name, without the enums that are told in place.
pub(super) fn describe_definitions(fields: &[Type]) -> String {
    let named: Vec<Type> =
        fields.iter().filter(|ty| !is_told_in_place(&core(ty))).cloned().collect();
    types::describe_definitions(&named)
}

/// What is left of a type without the lists and the null around it.
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

/// The members of an enum that is short enough to be told in place.
fn inline_enum(ty: &Type) -> Option<String> {
    let members = members(ty)?.members.iter();
    let told = members.map(|(name, member)| {
        Payload::Str(member.alias.as_ref().unwrap_or(name).clone()).to_json()
    });
    let told = told.collect::<Vec<_>>().join(" | ");
    (told.len() <= INLINE).then_some(told)
}

/// Whether all that there is to say of a type is said where it is used.
fn is_told_in_place(ty: &Type) -> bool {
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
