//! Configs of strategies, optimizers and metrics, described by the struct of their settings: its fields are the members
//! of the config, its documentation is what clients read, and its defaults are those of the schema. Knows no strategy.

use facet::{Def, Facet, Shape, Type, UserType, Variant};

use super::keywords::{describe, plain_number};
use super::members::{DocumentMember, members};
use super::read::read_members;
use super::rule::{self, Rule};
use super::schema::{or_null, plain, required, scalar_kind, word_schema};
use super::word::text_of;
use crate::problem::{At, Code, Problems};
use crate::reflect::{ReflectError, example, from_payload, to_payload};
use crate::value::{Map, Payload};

/// The JSON Schema of a config with the settings of a `T`. It refuses members that `T` has not. Fields of the type
/// [`Payload`] accept any value, unless `dsrs::object`, `dsrs::keywords` or `dsrs::value_schema` says more.
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
    // Without an example there are no defaults; null does not compile, and the tests of its owner find it.
    example::<T>().map(|example| object_schema(T::SHAPE, &example).into()).unwrap_or_default()
}

/// The settings of a config. Members that are null count as absent.
///
/// # Errors
/// `invalid_config` with all problems, if the schema of the settings does not accept the config.
pub fn read_config<T: Facet<'static>>(config: &Payload, at: &At<'_>) -> Result<T, Problems> {
    let mut problems = Problems::new();
    match read_settings(config, at, &mut problems) {
        Some(settings) => problems.or(settings),
        None => Err(problems),
    }
}

/// As [`read_config`], with the problems added to others. Settings in spite of problems are there to be checked further,
/// so that all problems are reported at once; members that cannot be read are absent from them.
pub fn read_settings<T: Facet<'static>>(
    config: &Payload,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<T> {
    let read = read_members(T::SHAPE, config, true, at, problems)?;
    let settings = read.is_complete.then(|| from_payload(&Payload::map(read.members)))?;
    settings.map_err(|error| problems.add(at, Code::InvalidConfig, error.to_string())).ok()
}

/// The config of settings, which [`read_config`] reads back. Settings that are null are no members of it.
///
/// # Errors
/// If a setting cannot be represented as data.
pub fn config_of<T: Facet<'static>>(settings: &T) -> Result<Payload, ReflectError> {
    let mut members = to_payload(settings)?.as_map().cloned().unwrap_or_default();
    members.retain(|_, value| !value.is_null());
    Ok(Payload::map(members))
}

/// The settings of an empty config, for `impl Default` of settings that all have a default or may be null.
///
/// # Panics
/// If a setting is required. Types of settings are constants of the program, so the tests of their owners find it.
#[must_use]
pub fn default_settings<T: Facet<'static>>() -> T {
    from_payload(&Payload::map(Map::new()))
        .unwrap_or_else(|error| unreachable!("`{}` has a required setting: {error}", T::SHAPE))
}

/// The schema of a struct, of which `example` is a value with the defaults.
fn object_schema(shape: &'static Shape, example: &Payload) -> Map {
    let members = members(shape);
    let property = |member: &DocumentMember| {
        let value = example.as_map().and_then(|values| values.get(member.name));
        let schema = property(member, value.unwrap_or(&Payload::Null));
        (member.name.into(), Payload::map(schema))
    };
    let mut schema = plain("object");
    let properties = members.iter().map(property).collect();
    schema.insert("properties".into(), Payload::map(properties));
    required(members.iter().filter(|member| !member.is_optional), &mut schema);
    schema.insert("additionalProperties".into(), Payload::Bool(false));
    rule::of_shape(shape).for_each(|rule| describe(rule, &mut schema));
    schema
}

fn property(member: &DocumentMember, example: &Payload) -> Map {
    let mut schema = value_schema(member.shape, example);
    member.rules().for_each(|rule| describe(rule, &mut schema));
    if member.rules().any(|rule| matches!(rule, Rule::Nullable(_))) {
        schema = or_null(schema);
    }
    if member.has_default && !example.is_null() {
        let default = match example {
            Payload::Float(number) => plain_number(*number),
            default => default.clone(),
        };
        schema.insert("default".into(), default);
    }
    let description = text_of(member.doc);
    if !description.is_empty() {
        schema.insert("description".into(), description.into());
    }
    schema
}

fn value_schema(shape: &'static Shape, example: &Payload) -> Map {
    match (shape.scalar_type(), shape.def, shape.ty) {
        (Some(scalar), ..) => plain(scalar_kind(scalar)),
        (None, Def::Option(option), _) => value_schema(option.t(), example),
        (None, Def::List(list), _) => {
            let element = example.as_list().and_then(<[Payload]>::first);
            let items = value_schema(list.t(), element.unwrap_or(&Payload::Null));
            with("items", items, plain("array"))
        }
        (None, Def::Map(map), _) => {
            let values = value_schema(map.v(), &Payload::Null);
            with("additionalProperties", values, plain("object"))
        }
        _ if shape.id == Payload::SHAPE.id => Map::new(),
        (None, _, Type::User(UserType::Enum(found))) => match word_schema(shape) {
            Some(words) => {
                Map::from_iter([("type".into(), "string".into()), ("enum".into(), words)])
            }
            None => alternatives(found.variants),
        },
        (None, _, Type::User(UserType::Struct(_))) => object_schema(shape, example),
        _ => Map::new(),
    }
}

fn with(keyword: &str, inner: Map, mut schema: Map) -> Map {
    schema.insert(keyword.into(), Payload::map(inner));
    schema
}

/// Values are written as the field of their variant, without its name.
fn alternatives(variants: &'static [Variant]) -> Map {
    let fields = variants.iter().flat_map(|variant| variant.data.fields);
    let schemas =
        fields.map(|field| Payload::map(value_schema(field.shape(), &Payload::Null))).collect();
    Map::from_iter([("anyOf".into(), Payload::list(schemas))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Facet)]
    #[facet(rename_all = "snake_case")]
    #[repr(u8)]
    enum Effort {
        Light,
        Heavy,
    }

    #[derive(Debug, PartialEq, Facet)]
    #[repr(C)]
    enum Step {
        Name(String),
        Count(u8),
    }

    #[derive(Debug, PartialEq, Facet)]
    struct Search {
        /// The effort;
        /// none is some.
        #[facet(dsrs::nullable("light"))]
        effort: Option<Effort>,
        #[facet(default = 1.0, dsrs::above(0))]
        temperature: f64,
        #[facet(dsrs::items(1))]
        steps: Option<Vec<Step>>,
        #[facet(dsrs::object)]
        more: Option<Payload>,
    }

    #[derive(Debug, PartialEq, Facet)]
    #[facet(dsrs::keywords(r#"{"dependentRequired": {"value": ["search"]}}"#))]
    struct Outer {
        search: Option<Search>,
        #[facet(dsrs::value_schema(text_schema))]
        text: Option<Payload>,
        /// Null is a value, too.
        value: Option<Option<Payload>>,
    }

    fn text_schema() -> Payload {
        Payload::map(plain("string"))
    }

    #[test]
    fn structs_within_have_defaults_and_attributes_add_to_schemas() {
        let schema = config_schema::<Outer>().to_json();
        for wanted in [
            r#""temperature":{"type":"number","exclusiveMinimum":0,"default":1}"#,
            r#""text":{"type":"string"}"#,
            r#""value":{"description":"Null is a value, too."}"#,
            r#""additionalProperties":false,"dependentRequired":{"value":["search"]}}"#,
        ] {
            assert!(schema.contains(wanted), "{wanted} in {schema}");
        }
    }

    #[test]
    fn an_option_of_an_option_distinguishes_null() {
        let value = |text: &str| {
            let config = Payload::from_json(text).unwrap();
            read_config::<Outer>(&config, &At::Root).unwrap().value
        };
        assert_eq!(value("{}"), None);
        assert_eq!(value(r#"{"value": null}"#), Some(None));
        assert_eq!(value(r#"{"value": 1}"#), Some(Some(Payload::Int(1))));
    }

    fn read(text: &str) -> Result<Search, Problems> {
        read_config(&Payload::from_json(text).unwrap(), &At::Root)
    }

    #[test]
    fn a_schema_has_what_rules_and_variants_accept() {
        let schema = config_schema::<Search>().to_json();
        for wanted in [
            r#""effort":{"type":["string","null"],"enum":["light","heavy",null],"default":"light","description":"The effort; none is some."}"#,
            r#""temperature":{"type":"number","exclusiveMinimum":0,"default":1}"#,
            r#""steps":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"integer"}]},"minItems":1}"#,
            r#""more":{"type":"object"}"#,
        ] {
            assert!(schema.contains(wanted), "{wanted} in {schema}");
        }
    }

    #[test]
    fn the_config_of_settings_is_read_back() {
        let text = r#"{"effort":"heavy","temperature":0.5,"steps":["a",2]}"#;
        let settings = read(text).unwrap();
        assert_eq!(config_of(&settings).unwrap().to_json(), text);
        assert_eq!(read(r#"{"effort": null}"#).unwrap(), default_settings());
        let problems = read(r#"{"steps": [], "more": 1, "temperature": 0}"#).unwrap_err();
        let places: Vec<&str> = problems.iter().map(|problem| &*problem.pointer).collect();
        assert_eq!(places, ["/temperature", "/steps", "/more"]);
    }
}
