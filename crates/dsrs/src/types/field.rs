//! A field without its name: a type with its attributes, and the canonical form of both. Class
//! members and fields of signatures share it. Knows nothing of signatures.

use std::sync::Arc;

use super::constraint::constraints_to_payload;
use super::{ClassField, TypeIR};
use crate::problem::{At, Code, Problems};
use crate::value::{Map, Payload};

/// A field without its name: its type and attributes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FieldOutline {
    pub(crate) field: ClassField,
    /// How it is written into a prompt; only for fields of signatures.
    pub(crate) format: Option<Arc<str>>,
    /// The language that a text is code of; only for fields of signatures.
    pub(crate) language: Option<Arc<str>>,
    /// Whether native reasoning may stand for it; only for fields of signatures.
    pub(crate) reasoning: bool,
}

impl FieldOutline {
    pub(crate) const fn of(ty: TypeIR) -> Self {
        Self { field: ClassField::of(ty), format: None, language: None, reasoning: false }
    }
}

/// Checks an alias: it must be one line of text.
pub(super) fn check_alias(alias: &str, at: &At<'_>, problems: &mut Problems) {
    let fits = !alias.trim().is_empty()
        && alias.chars().count() <= 200
        && !alias.chars().any(char::is_control);
    if !fits {
        let detail = "an alias must be one line of 1 to 200 characters";
        problems.add(at, Code::InvalidName, detail);
    }
}

/// The canonical form of a class member: only its type if it has no attributes.
pub(super) fn class_field_to_payload(field: &ClassField) -> Payload {
    let ty = Payload::from(field.ty.to_string());
    if *field == ClassField::of(field.ty.clone()) {
        return ty;
    }
    let mut members = Map::new();
    members.insert("type".into(), ty);
    write_attributes(&mut members, field);
    Payload::map(members)
}

/// Adds the attributes of a field to the object that represents it.
pub(crate) fn write_attributes(members: &mut Map, field: &ClassField) {
    let mut put = |name: &str, member: Option<Payload>| {
        if let Some(member) = member {
            members.insert(name.into(), member);
        }
    };
    put("description", field.description.clone().map(Payload::Str));
    put("alias", field.alias.clone().map(Payload::Str));
    put("default", field.default.clone());
    let constrained = !field.constraints.is_empty();
    put("constraints", constrained.then(|| constraints_to_payload(&field.constraints)));
    put("strict", field.strict.then_some(Payload::Bool(true)));
}
