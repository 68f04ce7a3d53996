//! How the types of fields are told to an LM: as `types` tells them, with two spellings of our own
//! that small models follow better: lists say that they are lists, and a plain enum shows its
//! members where it is used instead of a name to look up.

use crate::types::{self, Enum, Type, TypeDef, TypeIR};
use crate::value::Payload;

/// The longest enum that is told in place.
const INLINE: usize = 80;

/// The type of a field.
pub(super) fn tell(ty: &Type) -> String {
    match &ty.ir {
        TypeIR::List(element) => {
            let element = tell(&Type::new(element.as_ref().clone(), ty.defs.clone()));
            if element.contains(" | ") {
                format!("list of ({element})")
            } else {
                format!("list of {element}")
            }
        }
        TypeIR::Union(members) => match members.as_ref() {
            [list @ TypeIR::List(_), TypeIR::Null] => {
                format!("{}, or null", tell(&Type::new(list.clone(), ty.defs.clone())))
            }
            [single, TypeIR::Null] => {
                format!("{} | null", tell(&Type::new(single.clone(), ty.defs.clone())))
            }
            _ => types::tell(ty),
        },
        _ => inline_enum(ty).unwrap_or_else(|| types::tell(ty)),
    }
}

/// The definitions that fields name, without the enums that are told in place.
pub(super) fn tell_defs(fields: &[Type]) -> String {
    let named: Vec<Type> =
        fields.iter().filter(|ty| inline_enum(&core(ty)).is_none()).cloned().collect();
    types::tell_defs(&named)
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

fn inline_enum(ty: &Type) -> Option<String> {
    let TypeIR::Named(name) = &ty.ir else { return None };
    let Some(TypeDef::Enum(Enum { description: None, members })) = ty.defs.get(name) else {
        return None;
    };
    let told = members.iter().map(|(name, member)| {
        let seen = Payload::Str(member.alias.as_ref().unwrap_or(name).clone()).to_json();
        member.description.is_none().then_some(seen)
    });
    let told = told.collect::<Option<Vec<_>>>()?.join(" | ");
    (told.len() <= INLINE).then_some(told)
}
