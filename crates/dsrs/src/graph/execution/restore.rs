//! Restoring values from a record, which stores errors as plain data. Knows nothing of storage.

use std::sync::Arc;

use crate::problem::{At, Problems};
use crate::types::{ClassField, Type, TypeIR, TypeShape, admit, resolve};
use crate::value::{Failure, Map, Payload};

/// Restores a value of a type from its plain data. Works like the boundary, but also accepts errors,
/// which a record may contain and a caller may not send.
pub(in crate::graph) fn restore(value: &Payload, ir: &TypeIR, whole: &Type) -> Option<Payload> {
    let own = Type::new(ir.clone(), whole.defs.clone());
    let mut problems = Problems::new();
    if let Some(plain) =
        admit(value, &own, &At::Root, &mut problems).filter(|_| problems.is_empty())
    {
        return Some(plain);
    }
    match (resolve(ir, &whole.defs).shape, value) {
        (TypeShape::Error, _) => error(value),
        (TypeShape::Union(members), _) => {
            members.iter().find_map(|member| restore(value, member.ir, whole))
        }
        (TypeShape::List(element), Payload::List(values)) => {
            let values = values.iter().map(|value| restore(value, element, whole));
            values.collect::<Option<Vec<_>>>().map(Payload::list)
        }
        (TypeShape::Dict(of), Payload::Map(values)) => {
            let value = |(name, value): (&Arc<str>, &Payload)| {
                Some((name.clone(), restore(value, of, whole)?))
            };
            values.iter().map(value).collect::<Option<Map>>().map(Payload::map)
        }
        (TypeShape::Class(class), Payload::Map(values)) => {
            let member = |(name, field): (&Arc<str>, &ClassField)| {
                Some((name.clone(), restore(values.get(name)?, &field.ty, whole)?))
            };
            class.fields.iter().map(member).collect::<Option<Map>>().map(Payload::map)
        }
        _ => None,
    }
}

fn error(value: &Payload) -> Option<Payload> {
    let members = value.as_map()?;
    let text = |name: &str| members.get(name).and_then(Payload::as_str);
    let mut failure = Failure::new(text("code")?, text("message")?);
    failure.node = text("node").map(Arc::from);
    Some(Payload::Error(Arc::new(failure)))
}
