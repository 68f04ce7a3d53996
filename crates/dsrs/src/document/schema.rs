//! The schema of a document: JSON Schema, which OpenAPI documents contain, too.

use std::collections::BTreeMap;

use facet::{Def, Facet, ScalarType, Shape, Type, UserType};

use super::keywords::describe;
use super::members::{DocumentMember, members};
use super::rule::{self, Rule};
use super::word::{text_of, words_of};
use crate::value::{Map, Payload};

/// What a schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentForm {
    /// The body that creates a document: members with defaults may be absent or null.
    New,
    /// The body that changes a document: every member may be absent.
    Patch,
}

/// The definitions that schemas refer to, by name.
pub type SchemaDefinitions = BTreeMap<String, Payload>;

/// The name of a type in the OpenAPI document.
#[must_use]
pub fn schema_name<T: Facet<'static>>() -> String {
    name_of(T::SHAPE)
}

/// The schema of a document, and the definitions that it refers to.
#[must_use]
pub fn schema_of<T: Facet<'static>>(form: DocumentForm) -> (Payload, SchemaDefinitions) {
    let mut definitions = SchemaDefinitions::new();
    let mut schema = definition(T::SHAPE, form, &mut definitions);
    if form == DocumentForm::Patch {
        let of_document = text_of(T::SHAPE.doc);
        let description = format!("{of_document} What is absent stays as it is.");
        schema.insert("description".into(), description.into());
    }
    (Payload::map(schema), definitions)
}

fn name_of(shape: &'static Shape) -> String {
    let named = rule::of_shape(shape).find_map(Rule::schema);
    named.unwrap_or(shape.type_identifier).to_owned()
}

fn definition(
    shape: &'static Shape,
    form: DocumentForm,
    definitions: &mut SchemaDefinitions,
) -> Map {
    let description = text_of(shape.doc).into();
    if let Some(schema) = word_schema(shape) {
        return [("type", "string".into()), ("description", description), ("enum", schema)]
            .map(|(name, value): (&str, Payload)| (name.into(), value))
            .into_iter()
            .collect();
    }
    let members = members(shape);
    let is_required = |member: &&DocumentMember| form == DocumentForm::New && !member.is_optional;
    let properties: Map = members
        .iter()
        .map(|member| (member.name.into(), property(member, form, definitions)))
        .collect();
    let mut schema = plain("object");
    schema.insert("description".into(), description);
    required(members.iter().filter(is_required), &mut schema);
    schema.insert("properties".into(), Payload::map(properties));
    schema.insert("additionalProperties".into(), Payload::Bool(false));
    rule::of_shape(shape).for_each(|rule| describe(rule, &mut schema));
    schema
}

/// The words of an enum. `None` for other types.
pub(super) fn word_schema(shape: &'static Shape) -> Option<Payload> {
    let words = words_of(shape);
    (!words.is_empty()).then(|| Payload::list(words.into_iter().map(Payload::from).collect()))
}

/// Adds the names of required members, if there are any.
pub(super) fn required<'m>(members: impl Iterator<Item = &'m DocumentMember>, schema: &mut Map) {
    let names: Vec<Payload> = members.map(|member| member.name.into()).collect();
    if !names.is_empty() {
        schema.insert("required".into(), Payload::list(names));
    }
}

fn property(
    member: &DocumentMember,
    form: DocumentForm,
    definitions: &mut SchemaDefinitions,
) -> Payload {
    let named = member.rules().find_map(Rule::schema);
    let mut schema = value_schema(member.shape, named, definitions);
    member.rules().for_each(|rule| describe(rule, &mut schema));
    let is_absent_by_null = match form {
        DocumentForm::New => member.is_optional,
        DocumentForm::Patch => true,
    };
    if is_absent_by_null || member.is_nullable() {
        schema = or_null(schema);
    }
    schema.insert("description".into(), text_of(member.doc).into());
    Payload::map(schema)
}

/// A schema that accepts null, too.
pub(super) fn or_null(mut schema: Map) -> Map {
    if let Some(Payload::List(words)) = schema.get("enum").cloned() {
        let words = words.iter().cloned().chain([Payload::Null]).collect();
        schema.insert("enum".into(), Payload::list(words));
    }
    match schema.get("type").cloned() {
        _ if schema.is_empty() => schema,
        Some(kind) => {
            schema.insert("type".into(), Payload::list(vec![kind, "null".into()]));
            schema
        }
        None => {
            let choices = vec![Payload::map(schema), Payload::map(plain("null"))];
            Map::from_iter([("oneOf".into(), Payload::list(choices))])
        }
    }
}

/// The schema of a JSON type.
pub(super) fn plain(kind: &str) -> Map {
    Map::from_iter([("type".into(), kind.into())])
}

/// The schema of a value. `named` is the schema of values whose Rust type is [`Payload`].
fn value_schema(
    shape: &'static Shape,
    named: Option<&'static str>,
    definitions: &mut SchemaDefinitions,
) -> Map {
    match (shape.scalar_type(), shape.def, shape.ty) {
        (Some(scalar), ..) => scalar_schema(scalar),
        _ if shape.id == Payload::SHAPE.id => named.map_or_else(Map::new, reference_to),
        (None, Def::Option(option), _) => value_schema(option.t(), named, definitions),
        (None, Def::List(list), _) => {
            let mut schema = plain("array");
            let items = value_schema(list.t(), named, definitions);
            schema.insert("items".into(), Payload::map(items));
            schema
        }
        (None, Def::Map(map), _) => {
            let mut schema = plain("object");
            let values = value_schema(map.v(), named, definitions);
            if !values.is_empty() {
                schema.insert("additionalProperties".into(), Payload::map(values));
                schema.insert("propertyNames".into(), Payload::map(plain("string")));
            }
            schema
        }
        (None, _, Type::User(UserType::Enum(_) | UserType::Struct(_))) => {
            reference(shape, definitions)
        }
        _ => Map::new(),
    }
}

fn scalar_schema(scalar: ScalarType) -> Map {
    use ScalarType as S;
    let mut schema = plain(scalar_kind(scalar));
    let format = match scalar {
        S::F32 | S::F64 => Some("double"),
        S::I32 | S::U32 => Some("int32"),
        S::I64 | S::U64 => Some("int64"),
        _ => None,
    };
    schema.extend(format.map(|format| ("format".into(), format.into())));
    if matches!(scalar, S::U8 | S::U16 | S::U32 | S::U64 | S::USize) {
        schema.insert("minimum".into(), Payload::Int(0));
    }
    schema
}

/// The JSON type of a scalar.
pub(super) const fn scalar_kind(scalar: ScalarType) -> &'static str {
    match scalar {
        ScalarType::Bool => "boolean",
        ScalarType::String => "string",
        ScalarType::F32 | ScalarType::F64 => "number",
        _ => "integer",
    }
}

fn reference(shape: &'static Shape, definitions: &mut SchemaDefinitions) -> Map {
    let name = name_of(shape);
    if !definitions.contains_key(&name) {
        // Before it is described, so that a type may contain itself.
        definitions.insert(name.clone(), Payload::Null);
        let schema = definition(shape, DocumentForm::New, definitions);
        definitions.insert(name.clone(), Payload::map(schema));
    }
    reference_to(&name)
}

fn reference_to(name: &str) -> Map {
    let reference = format!("#/components/schemas/{name}");
    Map::from_iter([("$ref".into(), reference.into())])
}
