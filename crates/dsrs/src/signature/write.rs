//! Writes the canonical notation of signatures and fields. Reading it returns the same.

use super::{FieldSchema, SignatureSchema};
use crate::types::{Class, ClassField, Type, TypeIR, to_json_schema, write_attributes};
use crate::value::{Map, Payload};

/// The canonical notation: instructions, inputs and outputs. The definitions of types are not
/// included; they are the `types` of the graph.
#[must_use]
pub fn signature_to_payload(signature: &SignatureSchema) -> Payload {
    let fields = |fields: &[FieldSchema]| {
        Payload::list(fields.iter().map(|field| field_to_payload(field, true)).collect())
    };
    let mut members = Map::new();
    members.insert("instructions".into(), Payload::Str(signature.instructions.clone()));
    members.insert("inputs".into(), fields(&signature.inputs));
    members.insert("outputs".into(), fields(&signature.outputs));
    Payload::map(members)
}

/// The notation as JSON Schemas, which includes the definitions of types.
#[must_use]
pub fn signature_to_schemas(signature: &SignatureSchema) -> Payload {
    let mut members = Map::new();
    members.insert("instructions".into(), Payload::Str(signature.instructions.clone()));
    for (name, fields) in
        [("input_schema", &signature.inputs), ("output_schema", &signature.outputs)]
    {
        let class_fields = fields.iter().map(|field| (field.name.clone(), class_field(field)));
        let class = Class { description: None, fields: class_fields.collect() };
        let ty = Type::new(TypeIR::Class(class.into()), signature.defs.clone());
        members.insert(name.into(), to_json_schema(&ty));
    }
    Payload::map(members)
}

fn class_field(field: &FieldSchema) -> ClassField {
    ClassField {
        ty: field.ty.clone(),
        description: field.description.clone(),
        alias: field.alias.clone(),
        default: field.default.clone(),
        constraints: field.constraints.clone(),
        strict: field.strict,
    }
}

/// The canonical notation of a field. Without its name, a field without attributes is only its type.
#[must_use]
pub fn field_to_payload(field: &FieldSchema, with_name: bool) -> Payload {
    let mut members = Map::new();
    if with_name {
        members.insert("name".into(), Payload::Str(field.name.clone()));
    }
    let ty = Payload::from(field.ty.to_string());
    members.insert("type".into(), ty.clone());
    write_attributes(&mut members, &class_field(field));
    if let Some(format) = field.format {
        members.insert("format".into(), format.as_str().into());
    }
    if let Some(language) = &field.language {
        members.insert("language".into(), Payload::Str(language.clone()));
    }
    if field.reasoning {
        members.insert("reasoning".into(), true.into());
    }
    if !with_name && members.len() == 1 { ty } else { Payload::map(members) }
}
