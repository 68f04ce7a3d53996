//! The names of a type: members of enums, by name or alias, and literal texts. The names of a union
//! are matched together, so that two of them can tie.

use super::LeafResult;
use crate::coerce::Leniencies;
use crate::coerce::name::{self, Name, NameError};
use crate::types::{Literal, ResolvedType, TypeShape};
use crate::value::Payload;

/// All spellings of the names of a type: first the ones shown to the LM, then the names themselves.
fn of<'n>(shape: &TypeShape<'n>) -> impl Iterator<Item = Name<'n>> + use<'n> {
    let literal = match shape {
        TypeShape::Literal(Literal::Str(text)) => {
            Some(Name { name: text, shown_name: text, spelling: text })
        }
        _ => None,
    };
    let known = if let TypeShape::Enum(known) = shape { Some(*known) } else { None };
    let members = known.into_iter().flat_map(|known| &known.members);
    let shown_name = members.clone().map(|(name, member)| {
        let shown_name = member.alias.as_ref().unwrap_or(name);
        Name { name, shown_name, spelling: shown_name }
    });
    let own = members.filter_map(|(name, member)| {
        let shown_name = member.alias.as_ref()?;
        Some(Name { name, shown_name, spelling: name })
    });
    literal.into_iter().chain(shown_name).chain(own)
}

/// Whether a type consists of names.
pub(super) const fn has_names(shape: &TypeShape<'_>) -> bool {
    matches!(shape, TypeShape::Enum(_) | TypeShape::Literal(Literal::Str(_)))
}

/// How many spellings of names a text is compared with to find what it means.
pub(super) fn count(shape: &TypeShape<'_>) -> usize {
    match shape {
        TypeShape::Enum(known) => known.members.len().saturating_mul(2),
        _ => 1,
    }
}

/// The member with exactly this name or alias. A list may name every member of a large enum: no member is
/// searched for.
pub(super) fn exact(text: &str, shape: &TypeShape<'_>) -> Option<Payload> {
    let found = match shape {
        TypeShape::Enum(known) => {
            let own = known.members.get_key_value(text).map(|(name, _)| name);
            // What the LM is shown wins: a member without an alias is shown by its name.
            known.by_alias(text).or(own)
        }
        other => name::exact(text, of(other)),
    };
    found.map(|name| Payload::Str(name.clone()))
}

/// The name of any of these types that a text means.
pub(super) fn near(text: &str, nodes: &[ResolvedType<'_>], allowed: Leniencies) -> LeafResult {
    let names: Vec<Name<'_>> = nodes.iter().flat_map(|node| of(&node.shape)).collect();
    match name::near(text, &names, allowed) {
        Ok((name, kind)) => Ok((Payload::Str(name.clone()), Leniencies::NONE.with(kind))),
        Err(NameError::None) => Err("".into()),
        Err(NameError::Tie(shown_name)) => {
            let shown_name: Vec<String> =
                shown_name.iter().map(|name| format!("`{name}`")).collect();
            Err(format!("could be {}", shown_name.join(" or ")).into())
        }
    }
}
