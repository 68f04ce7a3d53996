//! Reads a field: a type, or an object of a type and its attributes. Class members and the fields
//! of signatures are both read here. Knows nothing of signatures.

use super::constraint::read_constraints;
use super::field::FieldOutline;
use super::judge::report_broken;
use super::schema::looks_like_schema;
use super::scope::DefaultOwner;
use super::{TypeIR, TypeScope};
use crate::problem::{At, Problems};
use crate::read::{Object, boolean, shared_text};
use crate::value::Payload;

/// Where a field is read, which decides what it may have.
#[derive(Clone, Debug)]
pub(crate) struct FieldContext<'h> {
    /// The type if the document has none; `None` if it must have one.
    pub(crate) absent: Option<TypeIR>,
    /// A name for definitions that the type of the field adds.
    pub(crate) hint: &'h str,
    /// Whether it may have a prompt format.
    pub(crate) format: bool,
}

/// Reads a field: a type or a field object.
pub(crate) fn read_outline(
    payload: &Payload,
    expect: &FieldContext<'_>,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<FieldOutline> {
    if !is_field_object(payload) {
        return scope.read_described(payload, expect.hint, at, problems);
    }
    let mut object = Object::open(payload, at, problems)?;
    let outline = read_members(&mut object, expect, scope);
    object.close();
    outline
}

/// Whether a payload is a field object (`{"type": "str", …}`) and not a JSON Schema.
fn is_field_object(payload: &Payload) -> bool {
    payload.as_map().is_some_and(|map| !looks_like_schema(map))
}

/// Reads the members of a field object except `name`. The caller closes the object.
pub(crate) fn read_members(
    object: &mut Object<'_, '_, '_>,
    expect: &FieldContext<'_>,
    scope: &mut TypeScope,
) -> Option<FieldOutline> {
    let read_type = |payload: &Payload, at: &At<'_>, problems: &mut Problems| {
        scope.read_described(payload, expect.hint, at, problems)
    };
    let outline = match &expect.absent {
        Some(ty) if !object.has("type") => Some(FieldOutline::of(ty.clone())),
        _ => object.required("type", read_type),
    };
    let description = object.optional("description", shared_text);
    let alias = object.optional("alias", shared_text);
    let default = object.raw("default").cloned();
    let constraints = object.optional("constraints", read_constraints);
    let strict = object.optional("strict", boolean);
    let format = if expect.format { object.optional("format", shared_text) } else { None };
    let language = if expect.format { object.optional("language", shared_text) } else { None };
    let reasoning = if expect.format { object.optional("reasoning", boolean) } else { None };
    let mut outline = outline?;
    outline.format = format.or(outline.format);
    outline.language = language.or(outline.language);
    outline.reasoning = reasoning.unwrap_or(outline.reasoning);
    let field = &mut outline.field;
    field.description = description.or(field.description.take());
    field.alias = alias.or(field.alias.take());
    field.constraints.extend(constraints.unwrap_or_default());
    field.strict = strict.unwrap_or(field.strict);
    if let Some(default) = default {
        let at = object.at().key("default");
        let owner = if expect.format { DefaultOwner::Field } else { DefaultOwner::Definition };
        let default = scope.fit_default(&default, &field.ty, owner, &at, object.problems());
        if let Some(default) = &default {
            report_broken(&field.constraints, "default", default, &at, object.problems());
        }
        field.default = default;
    }
    Some(outline)
}
