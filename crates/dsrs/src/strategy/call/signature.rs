//! The signature of a call: its inputs are the arguments of the tool that the config does not fix, its only output is the
//! result. Written with JSON Schemas, as the tool describes itself.

use std::sync::Arc;

use super::arguments::{check_fixed, is_required, member, parameters, properties};
use super::result::ResultPath;
use super::schema::reduced;
use super::{CallConfig, OUTPUT, RESULT, TOOL};
use crate::lm::ToolSpec;
use crate::predict::Tool;
use crate::problem::{At, Code, Problems};
use crate::signature::read_signature;
use crate::types::TypeScope;
use crate::value::{Map, Payload, is_identifier};

/// How many readings of definitions it may take to find the arguments that are no types.
const READINGS: usize = 2_000;

/// The signature of the calls of a tool. `at` is the place of the config.
///
/// # Errors
/// Arguments that the tool does not have or that do not fit it, and an output whose type is not known.
pub(super) fn own_signature(
    config: &CallConfig,
    tool: &dyn Tool,
    at: &At<'_>,
) -> Result<Payload, Problems> {
    let (spec, mut problems) = (tool.spec(), Problems::new());
    check_fixed(&config.fixed(), spec, &at.key("arguments"), &mut problems);
    let inputs = inputs(config, spec, &at.key(TOOL), &mut problems);
    let name = match properties(&inputs).contains_key(RESULT) {
        true => OUTPUT,
        false => RESULT,
    };
    let output = output(config, tool, name);
    if output.is_none() {
        let detail = "the type of what `select` finds is not known; name it";
        problems.add(&at.key("output"), Code::MissingField, detail);
    }
    let Some(output) = output.filter(|_| problems.is_empty()) else { return Err(problems) };
    let mut signature = Map::new();
    signature.insert("instructions".into(), Payload::Str(spec.description.clone()));
    signature.insert("input_schema".into(), inputs);
    signature.extend([output]);
    Ok(Payload::map(signature))
}

/// The arguments as inputs. What a type cannot express becomes `any`: the call itself is checked by the whole schema. An
/// optional argument that cannot be the name of an input is left out.
fn inputs(config: &CallConfig, spec: &ToolSpec, at: &At<'_>, problems: &mut Problems) -> Payload {
    let (fixed, schema) = (config.fixed(), reduced(&parameters(spec)));
    let mut fields = properties(&schema);
    fields.retain(|name, _| !fixed.contains_key(name));
    let unnameable: Vec<_> = fields.keys().filter(|name| !is_identifier(name)).cloned().collect();
    for name in &unnameable {
        fields.shift_remove(name);
        if is_required(&schema, name) {
            let detail =
                format!("the argument `{name}` cannot be an input; name its value in `arguments`");
            problems.add(at, Code::InvalidName, detail);
        }
    }
    let required = fields.keys().filter(|name| is_required(&schema, name));
    let required: Vec<Payload> = required.cloned().map(Payload::Str).collect();
    let mut definitions = member(&schema, "$defs").cloned();
    let whole = object(fields.clone(), required.clone(), definitions.clone());
    if is_side(whole.clone()) {
        return whole;
    }
    let count = definitions.as_ref().and_then(Payload::as_map).map_or(0, Map::len);
    let may_look = fields.len().saturating_mul(count + 1) <= READINGS;
    if !may_look || !is_type(&Payload::map(Map::new()), definitions.as_ref()) {
        definitions = None;
    }
    for (name, field) in &mut fields {
        if !may_look || !is_type(field, definitions.as_ref()) {
            *field = any(field, required.iter().any(|known| known.as_str() == Some(name)));
        }
    }
    object(fields, required, definitions)
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
    let fields = Map::from_iter([(RESULT.into(), schema.clone())]);
    is_side(object(fields, vec![RESULT.into()], definitions.cloned()))
}

/// Whether the schema of an object is a side of a signature.
fn is_side(schema: Payload) -> bool {
    let signature = Map::from_iter([("output_schema".into(), schema)]);
    let (mut scope, mut problems) = (TypeScope::new(), Problems::new());
    read_signature(&signature.into(), &mut scope, &At::Root, &mut problems).is_some()
}

/// An argument of any type, with its description.
fn any(schema: &Payload, is_required: bool) -> Payload {
    let description = member(schema, "description");
    let description = description.map(|text| ("description".into(), text.clone()));
    let default = (!is_required).then(|| ("default".into(), Payload::Null));
    Payload::map(description.into_iter().chain(default).collect())
}

/// The output as a member of the signature; `None` if its type is not known.
fn output(config: &CallConfig, tool: &dyn Tool, name: &str) -> Option<(Arc<str>, Payload)> {
    match (&config.output, tool.result_schema()) {
        (Some(output), _) => Some(output_field(name, output.clone())),
        (None, Some(schema)) => selected(config, &schema).map(|schema| result_of(name, &schema)),
        (None, None) if config.select.is_some() => None,
        (None, None) => Some(output_field(name, "str".into())),
    }
}

/// The schema of the part of the results that is the output, with the definitions of all; `None` if it is not described.
fn selected(config: &CallConfig, schema: &Payload) -> Option<Payload> {
    let Some(select) = &config.select else { return Some(schema.clone()) };
    let part = ResultPath::parse(select).ok()?.schema(schema)?;
    let mut part = part.as_map()?.clone();
    part.extend(member(schema, "$defs").map(|definitions| ("$defs".into(), definitions.clone())));
    Some(Payload::map(part))
}

/// The output for the schema of results; `any` if it is no type.
fn result_of(name: &str, schema: &Payload) -> (Arc<str>, Payload) {
    let mut schema = reduced(schema);
    let definitions = match &mut schema {
        Payload::Map(members) => Arc::make_mut(members).shift_remove("$defs"),
        _ => None,
    };
    if !is_type(&schema, definitions.as_ref()) {
        return output_field(name, "any".into());
    }
    let fields = Map::from_iter([(name.into(), schema)]);
    ("output_schema".into(), object(fields, vec![name.into()], definitions))
}

fn output_field(name: &str, ty: Payload) -> (Arc<str>, Payload) {
    let field = Map::from_iter([("name".into(), name.into()), ("type".into(), ty)]);
    ("outputs".into(), Payload::list(vec![field.into()]))
}
