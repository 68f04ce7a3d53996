//! The type that a selection has in values of a type. Knows nothing of nodes.

use super::brief::brief;
use super::resolve::{ResolvedType, TypeShape, resolve};
use super::{Type, TypeIR};
use crate::read::nearest;
use crate::value::{Selection, SelectionStep, is_identifier, key_step};

/// A type does not have the selected part.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct SelectError {
    /// The selection up to and including the failing step.
    pub path: String,
    /// The type that lacks the step.
    pub within: TypeIR,
    /// The reason, as a sentence that names the step and the type.
    pub reason: String,
}

impl Selection {
    /// The type of the selected part in values of a type; optional if the part may be absent.
    ///
    /// # Errors
    /// The first step that the type does not have.
    pub fn type_in(&self, ty: &Type) -> Result<Type, SelectError> {
        let mut ir = ty.ir.clone();
        for (position, step) in self.steps().iter().enumerate() {
            ir = step_in(step, &ir, ty).map_err(|why| SelectError {
                path: Self::new(self.steps()[..=position].to_vec()).to_string(),
                reason: why,
                within: ir.clone(),
            })?;
        }
        Ok(Type::new(ir, ty.defs.clone()))
    }
}

fn step_in(step: &SelectionStep, ir: &TypeIR, ty: &Type) -> Result<TypeIR, String> {
    let node = resolve(ir, &ty.defs);
    let TypeShape::Union(members) = &node.shape else { return step_in_one(step, &node) };
    let mut parts = Vec::with_capacity(members.len());
    let mut nullable = false;
    for member in members.iter() {
        if matches!(member.shape, TypeShape::Null) {
            nullable = true;
        } else {
            let part = step_in_one(step, member);
            parts.push(part.map_err(|why| format!("{why} (a member of {})", brief(ir)))?);
        }
    }
    Ok(TypeIR::union(parts.into_iter().chain(nullable.then_some(TypeIR::Null))))
}

fn step_in_one(step: &SelectionStep, node: &ResolvedType<'_>) -> Result<TypeIR, String> {
    match (&node.shape, step) {
        (TypeShape::Class(class), SelectionStep::Field(name)) => match class.fields.get(name) {
            Some(field) => Ok(field.ty.clone()),
            None => {
                let near = nearest(name, class.fields.keys().map(AsRef::as_ref))
                    .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                Err(format!("{} has no field `{name}`{near}", brief(node.ir)))
            }
        },
        (TypeShape::Tuple(types), SelectionStep::Index(index)) => {
            types.get(*index).cloned().ok_or_else(|| {
                format!("{} has no element [{index}]: it has {}", brief(node.ir), types.len())
            })
        }
        (TypeShape::List(element), SelectionStep::Index(_)) => Ok((*element).clone().optional()),
        (TypeShape::Dict(value), SelectionStep::Key(_)) => Ok((*value).clone().optional()),
        (shape, step) => {
            let ir = brief(node.ir);
            let step = Selection::new(vec![step.clone()]);
            Err(format!("{ir} has no `{step}`: {}", hint(shape, &step)))
        }
    }
}

fn hint(shape: &TypeShape<'_>, selection: &Selection) -> String {
    match (shape, selection.steps()) {
        (TypeShape::Class(_), [SelectionStep::Key(name)]) if is_identifier(name) => {
            format!("a class has fields; write `.{name}`")
        }
        (TypeShape::Class(_), _) => "a class has fields, as in `.name`".to_owned(),
        (TypeShape::Dict(_), [SelectionStep::Field(name)]) => {
            format!("a dict has keys; write `{}`", key_step(name))
        }
        (TypeShape::Dict(_), _) => "a dict has keys, as in `['name']`".to_owned(),
        (TypeShape::List(_) | TypeShape::Tuple(_), _) => "it has elements, as in `[0]`".to_owned(),
        (TypeShape::Any, _) => {
            "its type is not known; give it a type with a coerce node".to_owned()
        }
        (TypeShape::Error, _) => "handle the error first".to_owned(),
        (TypeShape::Null, _) => "it is always null".to_owned(),
        (TypeShape::Unknown(_), _) => "the type is not defined".to_owned(),
        _ => "it has no parts".to_owned(),
    }
}
