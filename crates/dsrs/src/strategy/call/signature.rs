//! The signature of a call: its inputs are the arguments of the tool that the config does not fix, its only output is the
//! result. Written with JSON Schemas, as the tool describes itself.

use std::sync::Arc;

use super::schema::reduced;
use super::{CallConfig, RESULT};
use crate::lm::ToolSpec;
use crate::predict::Tool;
use crate::problem::{At, Code, Problems};
use crate::read::{listed, nearest};
use crate::signature::read_signature;
use crate::types::TypeScope;
use crate::value::{Map, Payload};

/// The signature of the calls of a tool.
///
/// # Errors
/// Arguments that the tool does not have, and an output whose type is not known.
pub(super) fn own_signature(
    config: &CallConfig,
    tool: &dyn Tool,
    at: &At<'_>,
) -> Result<Payload, Problems> {
    let spec = tool.spec();
    let mut problems = Problems::new();
    check_fixed(config, spec, &at.key("arguments"), &mut problems);
    let output = output(config, tool);
    if output.is_none() {
        let detail = "the type of what `select` finds is not known; name it";
        problems.add(&at.key("output"), Code::MissingField, detail);
    }
    let Some(output) = output.filter(|_| problems.is_empty()) else { return Err(problems) };
    let mut signature = Map::new();
    signature.insert("instructions".into(), Payload::Str(spec.description.clone()));
    signature.insert("input_schema".into(), inputs(config, spec));
    signature.extend([output]);
    Ok(Payload::map(signature))
}

fn parameters(spec: &ToolSpec) -> Payload {
    Payload::from_json(spec.parameters.get()).unwrap_or_default()
}

fn properties(schema: &Payload) -> Map {
    let members = schema.as_map().and_then(|members| members.get("properties")?.as_map());
    members.cloned().unwrap_or_default()
}

/// The names of the arguments that may be null.
pub(super) fn nullable(spec: &ToolSpec) -> Vec<Arc<str>> {
    let schema = reduced(&parameters(spec));
    let is_nullable = |schema: &Payload| {
        let text = schema.to_json();
        text.contains("\"null\"") || schema.as_map().is_none_or(Map::is_empty)
    };
    let found = properties(&schema).into_iter().filter(|(_, schema)| is_nullable(schema));
    found.map(|(name, _)| name).collect()
}

fn check_fixed(config: &CallConfig, spec: &ToolSpec, at: &At<'_>, problems: &mut Problems) {
    let schema = parameters(spec);
    let known = properties(&schema);
    let is_open = schema.as_map().is_none_or(|members| {
        members.get("additionalProperties").is_some_and(|more| *more != Payload::Bool(false))
    });
    for name in config.fixed().keys().filter(|name| !is_open && !known.contains_key(*name)) {
        let hint = nearest(name, known.keys().map(|known| &**known))
            .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let names = listed(known.keys().map(|known| &**known));
        let detail = format!("`{}` has no argument `{name}`{hint}; it has {names}", spec.name);
        problems.add(&at.key(name), Code::UnknownField, detail);
    }
}

/// The arguments as inputs. What a type cannot express becomes `any`: the call itself is checked by the whole schema.
fn inputs(config: &CallConfig, spec: &ToolSpec) -> Payload {
    let fixed = config.fixed();
    let schema = reduced(&parameters(spec));
    let member = |name: &str| schema.as_map().and_then(|members| members.get(name)).cloned();
    let definitions = member("$defs");
    let mut fields = properties(&schema);
    fields.retain(|name, _| !fixed.contains_key(name));
    for field in fields.values_mut().filter(|field| !is_type(field, definitions.as_ref())) {
        *field = of_any(field);
    }
    let mut required = member("required").and_then(|names| Some(names.as_list()?.to_vec()));
    let required = required.get_or_insert_default();
    required.retain(|name| name.as_str().is_some_and(|name| fields.contains_key(name)));
    object(fields, std::mem::take(required), definitions)
}

/// The schema of an object.
fn object(fields: Map, required: Vec<Payload>, definitions: Option<Payload>) -> Payload {
    let mut members = Map::from_iter([
        ("type".into(), "object".into()),
        ("properties".into(), Payload::map(fields)),
        ("required".into(), Payload::list(required)),
    ]);
    members.extend(definitions.map(|definitions| ("$defs".into(), definitions)));
    Payload::map(members)
}

/// Whether a schema, with the definitions beside it, is a type.
fn is_type(schema: &Payload, definitions: Option<&Payload>) -> bool {
    let signature = Map::from_iter([output_schema(schema.clone(), definitions.cloned())]);
    let (mut scope, mut problems) = (TypeScope::new(), Problems::new());
    read_signature(&signature.into(), &mut scope, &At::Root, &mut problems).is_some()
}

fn of_any(schema: &Payload) -> Payload {
    let description = schema.as_map().and_then(|members| members.get("description"));
    let description = description.map(|text| ("description".into(), text.clone()));
    Payload::map(description.into_iter().collect())
}

/// The output as a member of the signature; `None` if its type is not known.
fn output(config: &CallConfig, tool: &dyn Tool) -> Option<(Arc<str>, Payload)> {
    match (&config.output, tool.result_schema()) {
        (Some(output), _) => Some(output_field(output.clone())),
        (None, _) if config.select.is_some() => None,
        (None, Some(schema)) => Some(result_of(&schema)),
        (None, None) => Some(output_field("str".into())),
    }
}

/// The output for the schema of results; `any` if it is no type.
fn result_of(schema: &Payload) -> (Arc<str>, Payload) {
    let mut schema = reduced(schema);
    let definitions = match &mut schema {
        Payload::Map(members) => Arc::make_mut(members).shift_remove("$defs"),
        _ => None,
    };
    match is_type(&schema, definitions.as_ref()) {
        true => output_schema(schema, definitions),
        false => output_field("any".into()),
    }
}

fn output_schema(schema: Payload, definitions: Option<Payload>) -> (Arc<str>, Payload) {
    let fields = Map::from_iter([(RESULT.into(), schema)]);
    ("output_schema".into(), object(fields, vec![RESULT.into()], definitions))
}

fn output_field(ty: Payload) -> (Arc<str>, Payload) {
    let field = Map::from_iter([("name".into(), RESULT.into()), ("type".into(), ty)]);
    ("outputs".into(), Payload::list(vec![field.into()]))
}
