//! The names that a type knows: members of enums, by name or alias, and literal texts. Those of a
//! union are looked for together, so that two of them can tie.

use super::leaf::Read;
use crate::coerce::Leniencies;
use crate::coerce::name::{self, Name, NameError};
use crate::types::{Literal, ResolvedType, TypeShape};
use crate::value::Payload;

/// The spellings of all names of a type: what the LM was told, then the name itself.
fn of<'n>(shape: &TypeShape<'n>) -> impl Iterator<Item = Name<'n>> + use<'n> {
    let literal = match shape {
        TypeShape::Literal(Literal::Str(text)) => {
            Some(Name { name: text, told: text, spelling: text })
        }
        _ => None,
    };
    let known = if let TypeShape::Enum(known) = shape { Some(*known) } else { None };
    let members = known.into_iter().flat_map(|known| &known.members);
    let told = members.clone().map(|(name, member)| {
        let told = member.alias.as_ref().unwrap_or(name);
        Name { name, told, spelling: told }
    });
    let own = members.filter_map(|(name, member)| {
        let told = member.alias.as_ref()?;
        Some(Name { name, told, spelling: name })
    });
    literal.into_iter().chain(told).chain(own)
}

/// Whether a type is nothing but names.
pub(super) const fn has_names(shape: &TypeShape<'_>) -> bool {
    matches!(shape, TypeShape::Enum(_) | TypeShape::Literal(Literal::Str(_)))
}

/// The member that a text names exactly.
pub(super) fn exact(text: &str, shape: &TypeShape<'_>) -> Option<Payload> {
    name::exact(text, of(shape)).map(|name| Payload::Str(name.clone()))
}

/// The name of any of these types that a text means.
pub(super) fn near(text: &str, nodes: &[ResolvedType<'_>], allowed: Leniencies) -> Read {
    let names: Vec<Name<'_>> = nodes.iter().flat_map(|node| of(&node.shape)).collect();
    match name::near(text, &names, allowed) {
        Ok((name, kind)) => Ok((Payload::Str(name.clone()), Leniencies::NONE.with(kind))),
        Err(NameError::None) => Err("".into()),
        Err(NameError::Tie(told)) => {
            let told: Vec<String> = told.iter().map(|name| format!("`{name}`")).collect();
            Err(format!("could be {}", told.join(" or ")).into())
        }
    }
}
