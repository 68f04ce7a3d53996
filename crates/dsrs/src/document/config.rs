//! Configs of strategies, optimizers and metrics, described by the struct of their settings: its fields are the members
//! of the config, its documentation is what clients read, and its defaults are those of the schema. Knows no strategy.

use facet::{Def, Facet, Shape, Type, UserType};

use super::members::{DocumentMember, members};
use super::read::read_members;
use super::rule::describe;
use super::schema::{plain, required, scalar_kind, word_schema};
use super::word::text_of;
use crate::problem::{At, Code, Problems};
use crate::reflect::{defaults, from_payload};
use crate::value::{Map, Payload};

/// The JSON Schema of a config with the settings of a `T`. It refuses members that `T` has not. Fields of the type
/// [`Payload`] accept any value, unless a caller adds to their schema.
///
/// ```
/// use dsrs::{document::config_schema, facet::Facet};
///
/// #[derive(Facet)]
/// #[facet(crate = dsrs::facet)]
/// struct Retries {
///     /// The most attempts.
///     #[facet(default = 3, dsrs::minimum(1))]
///     attempts: usize,
/// }
///
/// assert_eq!(
///     config_schema::<Retries>().to_json(),
///     r#"{"type":"object","properties":{"attempts":{"type":"integer","minimum":1,"default":3,"description":"The most attempts."}},"additionalProperties":false}"#
/// );
/// ```
#[must_use]
pub fn config_schema<T: Facet<'static>>() -> Payload {
    // A type without finite value cannot be read from a config either: the tests of its owner find it.
    let defaults = defaults::<T>().unwrap_or_default();
    Payload::map(object_schema(T::SHAPE, &defaults))
}

/// The settings of a config. Members that are null count as absent.
///
/// # Errors
/// `invalid_config` with all problems, if the schema of the settings does not accept the config.
pub fn read_config<T: Facet<'static>>(config: &Payload, at: &At<'_>) -> Result<T, Problems> {
    let mut problems = Problems::new();
    let read = read_members(T::SHAPE, config, true, at, &mut problems);
    let members = problems.or(read)?.map(|read| read.members).unwrap_or_default();
    from_payload(&Payload::map(members)).map_err(|error| {
        let mut problems = Problems::new();
        problems.add(at, Code::InvalidConfig, error.to_string());
        problems
    })
}

fn object_schema(shape: &'static Shape, defaults: &Map) -> Map {
    let members = members(shape);
    let property = |member: &DocumentMember| {
        let schema = property(member, defaults.get(member.name));
        (member.name.into(), Payload::map(schema))
    };
    let mut schema = plain("object");
    let properties = members.iter().map(property).collect();
    schema.insert("properties".into(), Payload::map(properties));
    required(members.iter().filter(|member| !member.is_optional), &mut schema);
    schema.insert("additionalProperties".into(), Payload::Bool(false));
    schema
}

fn property(member: &DocumentMember, default: Option<&Payload>) -> Map {
    let mut schema = value_schema(member.shape);
    member.rules().for_each(|rule| describe(rule, &mut schema));
    if let Some(default) = default.filter(|default| !default.is_null()) {
        schema.insert("default".into(), default.clone());
    }
    let description = text_of(member.doc);
    if !description.is_empty() {
        schema.insert("description".into(), description.into());
    }
    schema
}

fn value_schema(shape: &'static Shape) -> Map {
    match (shape.scalar_type(), shape.def, shape.ty) {
        (Some(scalar), ..) => plain(scalar_kind(scalar)),
        (None, Def::Option(option), _) => value_schema(option.t()),
        (None, Def::List(list), _) => {
            let mut schema = plain("array");
            schema.insert("items".into(), Payload::map(value_schema(list.t())));
            schema
        }
        (None, Def::Map(map), _) => {
            let mut schema = plain("object");
            let values = value_schema(map.v());
            schema.insert("additionalProperties".into(), Payload::map(values));
            schema
        }
        _ if shape.id == Payload::SHAPE.id => Map::new(),
        (None, _, Type::User(UserType::Enum(_))) => {
            let words = word_schema(shape).unwrap_or_default();
            Map::from_iter([("type".into(), "string".into()), ("enum".into(), words)])
        }
        (None, _, Type::User(UserType::Struct(_))) => object_schema(shape, &Map::new()),
        _ => Map::new(),
    }
}
