//! Writes types as JSON Schema. Reading the schema returns the same type: attributes without a
//! keyword in JSON Schema are written as `x-dsrs-*` members.

use std::sync::Arc;

use indexmap::IndexSet;

use crate::types::constraint::constraints_to_payload;
use crate::types::enum_members::enum_to_payload;
use crate::types::{Class, ClassField, Enum, EnumMember, Literal, Type, TypeDef, TypeIR};
use crate::value::{Map, Payload};

/// The JSON Schema of a complete type, with all definitions that it refers to in `$defs`.
///
/// ```
/// use dsrs::types::{Type, parse_type_expr, to_json_schema};
/// let ty = Type::new(parse_type_expr("list[\"low\" | \"high\"]?").unwrap(), Default::default());
/// assert_eq!(
///     to_json_schema(&ty).to_json(),
///     r#"{"anyOf":[{"type":"array","items":{"enum":["low","high"]}},{"type":"null"}]}"#
/// );
/// ```
#[must_use]
pub fn to_json_schema(ty: &Type) -> Payload {
    let mut root = type_to_schema(&ty.ir);
    let mut reached = IndexSet::new();
    collect(&ty.ir, &mut reached);
    let mut defs = Map::new();
    let mut next = 0;
    while let Some(name) = reached.get_index(next).cloned() {
        next += 1;
        if let Some(def) = ty.defs.get(&name) {
            collect_from(def, &mut reached);
            defs.insert(name, definition_to_schema(def));
        }
    }
    if !defs.is_empty() {
        root.insert("$defs".into(), Payload::map(defs));
    }
    Payload::map(root)
}

/// The JSON Schema of an alias. Its references are the names of the definitions of the graph.
pub(in crate::types) fn alias_to_schema(ty: &TypeIR) -> Payload {
    Payload::map(alias_members(ty))
}

fn collect(ty: &TypeIR, reached: &mut IndexSet<Arc<str>>) {
    match ty {
        TypeIR::Named(name) => {
            reached.insert(name.clone());
        }
        TypeIR::List(inner) | TypeIR::Dict(inner) => collect(inner, reached),
        TypeIR::Tuple(members) | TypeIR::Union(members) => {
            members.iter().for_each(|member| collect(member, reached));
        }
        TypeIR::Class(class) => class.fields.values().for_each(|field| collect(&field.ty, reached)),
        _ => {}
    }
}

fn collect_from(def: &TypeDef, reached: &mut IndexSet<Arc<str>>) {
    match def {
        TypeDef::Class(class) => {
            class.fields.values().for_each(|field| collect(&field.ty, reached))
        }
        TypeDef::Alias(ty) => collect(ty, reached),
        TypeDef::Enum(_) => {}
    }
}

fn member(name: &str, value: impl Into<Payload>) -> Map {
    Map::from_iter([(Arc::from(name), value.into())])
}

fn type_to_schema(ty: &TypeIR) -> Map {
    match ty {
        TypeIR::Str => member("type", "string"),
        TypeIR::Int => member("type", "integer"),
        TypeIR::Float => member("type", "number"),
        TypeIR::Bool => member("type", "boolean"),
        TypeIR::Null => member("type", "null"),
        TypeIR::Any => Map::new(),
        TypeIR::Bytes => with(member("type", "string"), "contentEncoding", "base64"),
        TypeIR::Error => member("x-dsrs-type", "error"),
        TypeIR::Literal(literal) => member("const", literal_to_payload(literal)),
        TypeIR::List(element) => array("items", Payload::map(type_to_schema(element))),
        TypeIR::Dict(value) => {
            let value = Payload::map(type_to_schema(value));
            with(member("type", "object"), "additionalProperties", value)
        }
        TypeIR::Tuple(members) => {
            let items = with(array("prefixItems", schemas(members)), "items", false);
            let length = i64::try_from(members.len()).unwrap_or(i64::MAX);
            with(with(items, "minItems", length), "maxItems", length)
        }
        TypeIR::Union(members) => match fixed_values(members) {
            Some(values) => member("enum", values),
            None => member("anyOf", schemas(members)),
        },
        TypeIR::Class(class) => class_to_schema(class),
        TypeIR::Named(name) => member("$ref", format!("#/$defs/{name}")),
    }
}

fn with(mut map: Map, name: &str, value: impl Into<Payload>) -> Map {
    map.insert(Arc::from(name), value.into());
    map
}

fn array(name: &str, value: impl Into<Payload>) -> Map {
    with(member("type", "array"), name, value)
}

fn schemas(members: &[TypeIR]) -> Vec<Payload> {
    members.iter().map(|member| Payload::map(type_to_schema(member))).collect()
}

fn literal_to_payload(literal: &Literal) -> Payload {
    match literal {
        Literal::Str(text) => Payload::Str(text.clone()),
        Literal::Int(number) => Payload::Int(*number),
        Literal::Bool(flag) => Payload::Bool(*flag),
    }
}

/// The values of a union that has only literals and null.
fn fixed_values(members: &[TypeIR]) -> Option<Vec<Payload>> {
    let value = |member: &TypeIR| match member {
        TypeIR::Literal(literal) => Some(literal_to_payload(literal)),
        TypeIR::Null => Some(Payload::Null),
        _ => None,
    };
    members.iter().map(value).collect()
}

fn definition_to_schema(def: &TypeDef) -> Payload {
    Payload::map(match def {
        TypeDef::Class(class) => class_to_schema(class),
        TypeDef::Enum(members) => enum_to_schema(members),
        TypeDef::Alias(ty) => alias_members(ty),
    })
}

/// Like [`type_to_schema`], but a union of strings is distinguished from an enum.
fn alias_members(ty: &TypeIR) -> Map {
    match ty {
        TypeIR::Union(members) if !members.contains(&TypeIR::Null) => {
            member("anyOf", schemas(members))
        }
        other => type_to_schema(other),
    }
}

fn enum_to_schema(members: &Enum) -> Map {
    let names: Vec<Payload> = members.members.keys().cloned().map(Payload::Str).collect();
    let mut schema = with(member("type", "string"), "enum", names);
    if let Some(description) = &members.description {
        schema.insert("description".into(), Payload::Str(description.clone()));
    }
    if members.members.values().any(|member| *member != EnumMember::default()) {
        schema.insert("x-dsrs-enum".into(), enum_to_payload(members));
    }
    schema
}

fn class_to_schema(class: &Class) -> Map {
    let mut schema = member("type", "object");
    if let Some(description) = &class.description {
        schema.insert("description".into(), Payload::Str(description.clone()));
    }
    let fields = class.fields.iter();
    let properties: Map =
        fields.map(|(name, field)| (name.clone(), Payload::map(field_to_schema(field)))).collect();
    schema.insert("properties".into(), Payload::map(properties));
    let required: Vec<Payload> = class
        .fields
        .iter()
        .filter(|(_, field)| field.default.is_none() && !is_optional(&field.ty))
        .map(|(name, _)| Payload::Str(name.clone()))
        .collect();
    if !required.is_empty() {
        schema.insert("required".into(), Payload::list(required));
    }
    with(schema, "additionalProperties", false)
}

fn is_optional(ty: &TypeIR) -> bool {
    match ty {
        TypeIR::Union(members) => members.contains(&TypeIR::Null),
        other => *other == TypeIR::Null,
    }
}

fn field_to_schema(field: &ClassField) -> Map {
    let mut schema = type_to_schema(&field.ty);
    let mut put = |name: &str, value: Option<Payload>| {
        if let Some(value) = value {
            schema.insert(Arc::from(name), value);
        }
    };
    put("description", field.description.clone().map(Payload::Str));
    put("default", field.default.clone());
    put("x-dsrs-alias", field.alias.clone().map(Payload::Str));
    let constrained = !field.constraints.is_empty();
    put("x-dsrs-constraints", constrained.then(|| constraints_to_payload(&field.constraints)));
    put("x-dsrs-strict", field.strict.then_some(Payload::Bool(true)));
    schema
}
