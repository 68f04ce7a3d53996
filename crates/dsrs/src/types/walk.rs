//! Walks types and the definitions that they refer to.

use std::sync::Arc;

use super::{TypeDef, TypeDefs, TypeIR};

/// The names that types refer to, directly or through definitions, in the order of first mention.
pub(crate) fn reachable<'t>(
    types: impl IntoIterator<Item = &'t TypeIR>,
    defs: &'t TypeDefs,
) -> Vec<&'t Arc<str>> {
    let mut names: Vec<&'t Arc<str>> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let mut mention = |ir: &'t TypeIR, names: &mut Vec<&'t Arc<str>>| {
        each_name(ir, &mut |name| {
            if seen.insert(name.as_ref()) {
                names.push(name);
            }
        });
    };
    types.into_iter().for_each(|ir| mention(ir, &mut names));
    let mut next = 0;
    while next < names.len() {
        match defs.get(names[next]) {
            Some(TypeDef::Class(class)) => {
                class.fields.values().for_each(|field| mention(&field.ty, &mut names));
            }
            Some(TypeDef::Alias(ir)) => mention(ir, &mut names),
            Some(TypeDef::Enum(_)) | None => {}
        }
        next += 1;
    }
    names
}

fn each_name<'t>(ir: &'t TypeIR, found: &mut impl FnMut(&'t Arc<str>)) {
    each_part(ir, &mut |part| {
        if let TypeIR::Named(name) = part {
            found(name);
        }
        true
    });
}

/// Calls `visit` for a type and all types inside it, without following names, until a call returns
/// false. Returns whether all calls returned true.
pub(crate) fn each_part<'t>(ir: &'t TypeIR, visit: &mut impl FnMut(&'t TypeIR) -> bool) -> bool {
    let mut todo = vec![ir];
    while let Some(next) = todo.pop() {
        if !visit(next) {
            return false;
        }
        match next {
            TypeIR::List(inner) | TypeIR::Dict(inner) => todo.push(inner),
            TypeIR::Tuple(parts) | TypeIR::Union(parts) => todo.extend(parts.iter().rev()),
            TypeIR::Class(class) => todo.extend(class.fields.values().rev().map(|f| &f.ty)),
            _ => {}
        }
    }
    true
}
