//! Finds definitions without finite values, such as `class Node {next: Node}`, and aliases that are
//! defined only by themselves, such as `A = A | int`.

use std::collections::HashSet;

use super::{TypeDef, TypeDefs, TypeIR};

/// The names of definitions that have no finite value.
pub(super) fn without_value(defs: &TypeDefs) -> HashSet<&str> {
    let mut empty: HashSet<&str> = defs.0.keys().map(AsRef::as_ref).collect();
    loop {
        let before = empty.len();
        for (name, def) in defs.0.iter().rev() {
            if empty.contains(name.as_ref()) && definition_has_value(def, &empty) {
                empty.remove(name.as_ref());
            }
        }
        if empty.len() == before {
            return empty;
        }
    }
}

fn definition_has_value(def: &TypeDef, empty: &HashSet<&str>) -> bool {
    match def {
        TypeDef::Enum(members) => !members.members.is_empty(),
        TypeDef::Class(class) => class.fields.values().all(|field| has_value(&field.ty, empty)),
        TypeDef::Alias(ty) => has_value(ty, empty),
    }
}

fn has_value(ty: &TypeIR, empty: &HashSet<&str>) -> bool {
    match ty {
        TypeIR::Named(name) => !empty.contains(name.as_ref()),
        TypeIR::Union(members) => members.iter().any(|member| has_value(member, empty)),
        TypeIR::Tuple(members) => members.iter().all(|member| has_value(member, empty)),
        TypeIR::Class(class) => class.fields.values().all(|field| has_value(&field.ty, empty)),
        _ => true,
    }
}

/// Whether an alias refers to itself through nothing but unions and aliases.
pub(super) fn names_itself(name: &str, defs: &TypeDefs) -> bool {
    let mut seen = HashSet::new();
    let mut next = vec![name];
    while let Some(step) = next.pop() {
        let Some(TypeDef::Alias(ty)) = defs.get(step) else { continue };
        let members =
            if let TypeIR::Union(members) = ty { members } else { std::slice::from_ref(ty) };
        for member in members {
            if let TypeIR::Named(target) = member {
                if target.as_ref() == name {
                    return true;
                }
                if seen.insert(target.as_ref()) {
                    next.push(target);
                }
            }
        }
    }
    false
}
