//! The schema of a document in the OpenAPI document, which is JSON Schema. Types with names become definitions.

use std::collections::BTreeMap;

use facet::{Def, Facet, ScalarType, Shape, Type, UserType};
use serde_json::{Map, Value, json};

use super::members::{DocumentMember, members};
use super::word::{text_of, words_of};
use crate::rule::{self, Rule};

/// What a schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentForm {
    /// The body that creates a document: members with defaults may be absent or null.
    New,
    /// The body that changes a document: every member may be absent.
    Patch,
}

/// The definitions that schemas refer to, by name.
pub type SchemaDefinitions = BTreeMap<String, Value>;

/// The name of a type in the OpenAPI document.
#[must_use]
pub fn schema_name<T: Facet<'static>>() -> String {
    name_of(T::SHAPE)
}

/// The schema of a document, and the definitions that it refers to.
#[must_use]
pub fn schema_of<T: Facet<'static>>(form: DocumentForm) -> (Value, SchemaDefinitions) {
    let mut definitions = SchemaDefinitions::new();
    let mut schema = definition(T::SHAPE, form, &mut definitions);
    if form == DocumentForm::Patch {
        let of_document = text_of(T::SHAPE.doc);
        schema["description"] = json!(format!("{of_document} What is absent stays as it is."));
    }
    (schema, definitions)
}

fn name_of(shape: &'static Shape) -> String {
    let named = rule::of_shape(shape).find_map(|rule| match rule {
        Rule::Schema(name) => Some(name),
        _ => None,
    });
    named.unwrap_or(shape.type_identifier).to_owned()
}

fn definition(
    shape: &'static Shape,
    form: DocumentForm,
    definitions: &mut SchemaDefinitions,
) -> Value {
    let words = words_of(shape);
    if !words.is_empty() {
        return json!({"type": "string", "description": text_of(shape.doc), "enum": words});
    }
    let members = members(shape);
    let is_required = |member: &&DocumentMember| match form {
        DocumentForm::New => !member.is_optional,
        DocumentForm::Patch => false,
    };
    let required: Vec<&str> =
        members.iter().filter(is_required).map(|member| member.name).collect();
    let properties: Map<String, Value> = members
        .iter()
        .map(|member| (member.name.to_owned(), property(member, form, definitions)))
        .collect();
    let mut schema = json!({"type": "object", "description": text_of(shape.doc)});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["properties"] = Value::Object(properties);
    schema
}

fn property(
    member: &DocumentMember,
    form: DocumentForm,
    definitions: &mut SchemaDefinitions,
) -> Value {
    let mut schema = value_schema(member.shape, definitions);
    member.rules().for_each(|rule| rule.describe(&mut schema));
    let is_absent_by_null = match form {
        DocumentForm::New => member.is_optional,
        DocumentForm::Patch => true,
    };
    if is_absent_by_null || member.is_nullable() {
        schema = or_null(schema);
    }
    schema.insert("description".to_owned(), json!(text_of(member.doc)));
    Value::Object(schema)
}

fn or_null(mut schema: Map<String, Value>) -> Map<String, Value> {
    match schema.get("type").cloned() {
        Some(kind) => drop(schema.insert("type".to_owned(), json!([kind, "null"]))),
        None => {
            let choices = json!([Value::Object(schema), {"type": "null"}]);
            schema = Map::from_iter([("oneOf".to_owned(), choices)]);
        }
    }
    schema
}

fn value_schema(shape: &'static Shape, definitions: &mut SchemaDefinitions) -> Map<String, Value> {
    let plain = |kind: &str| Map::from_iter([("type".to_owned(), json!(kind))]);
    match (shape.scalar_type(), shape.def, shape.ty) {
        (Some(ScalarType::Bool), ..) => plain("boolean"),
        (Some(ScalarType::String), ..) => plain("string"),
        (Some(ScalarType::F32 | ScalarType::F64), ..) => {
            let mut schema = plain("number");
            schema.insert("format".to_owned(), json!("double"));
            schema
        }
        (Some(_), ..) => plain("integer"),
        (None, Def::Option(option), _) => value_schema(option.t(), definitions),
        (None, Def::List(list), _) => {
            let mut schema = plain("array");
            schema.insert("items".to_owned(), Value::Object(value_schema(list.t(), definitions)));
            schema
        }
        (None, _, Type::User(UserType::Enum(_) | UserType::Struct(_))) => {
            let name = name_of(shape);
            if !definitions.contains_key(&name) {
                // Before it is described, so that a type may contain itself.
                definitions.insert(name.clone(), Value::Null);
                let schema = definition(shape, DocumentForm::New, definitions);
                definitions.insert(name.clone(), schema);
            }
            let reference = format!("#/components/schemas/{name}");
            Map::from_iter([("$ref".to_owned(), json!(reference))])
        }
        _ => Map::new(),
    }
}
