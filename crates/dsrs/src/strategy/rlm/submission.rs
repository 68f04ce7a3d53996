//! The outputs that a program submits: checked like those of an answer, so that the program sees what does not fit. Knows no
//! sandbox.

use super::SUBMIT;
use crate::coerce::{Leniencies, ParseReport, coerce};
use crate::predict::result_text;
use crate::problem::{At, Problems};
use crate::sandbox::HostCall;
use crate::signature::{FieldSchema, SignatureSchema, admit_inputs};
use crate::types::{Type, TypeIR, admit};
use crate::value::{Fields, Payload};

/// The outputs of a call, or everything that does not fit.
pub(super) fn read(schema: &SignatureSchema, call: HostCall) -> Result<Fields, String> {
    let mut values = named(schema, call)?;
    for field in &schema.outputs {
        if let Some(value) = values.get_mut(&field.name) {
            *value = converted(value, &schema.type_of(field));
        }
    }
    let mut problems = Problems::new();
    let outputs = schema.outputs.iter();
    let admitted =
        admit_inputs(outputs, &schema.defs, &Payload::map(values), &At::Root, &mut problems);
    admitted.ok_or_else(|| described(&problems))
}

fn described(problems: &Problems) -> String {
    let each = problems.iter().map(|problem| {
        let place = problem.pointer.trim_start_matches('/');
        format!("`{place}`: {}", problem.detail)
    });
    format!("{SUBMIT}() was not accepted. {}", each.collect::<Vec<_>>().join("; "))
}

/// The arguments by the names of the outputs: positional ones in the order of the outputs, and one dict with all of them.
fn named(schema: &SignatureSchema, call: HostCall) -> Result<Fields, String> {
    let HostCall { args, named, .. } = call;
    let (positional, given) = match (args.as_slice(), named.is_empty()) {
        ([Payload::Map(members)], true) if are_outputs(schema, members) => {
            (Vec::new(), Fields::clone(members))
        }
        _ => (args, named),
    };
    if positional.len() > schema.outputs.len() {
        let (most, found) = (schema.outputs.len(), positional.len());
        return Err(format!("{SUBMIT}() takes {most} outputs, and {found} were passed"));
    }
    let names = schema.outputs.iter().map(|field| field.name.clone());
    let mut all: Fields = names.zip(positional).collect();
    for (name, value) in given {
        let known = schema.outputs.iter().find(|field| is_named(field, &name));
        let name = known.map_or(name, |field| field.name.clone());
        if all.insert(name.clone(), value).is_some() {
            return Err(format!("{SUBMIT}() got two values for `{name}`"));
        }
    }
    Ok(all)
}

fn is_named(field: &FieldSchema, name: &str) -> bool {
    &*field.name == name || &**field.lm_name() == name
}

/// Whether a dict has all outputs and nothing else.
fn are_outputs(schema: &SignatureSchema, members: &Fields) -> bool {
    members.len() == schema.outputs.len()
        && schema.outputs.iter().all(|field| members.keys().any(|name| is_named(field, name)))
}

/// The value as its type if a text or an alias of the type stands for it; otherwise the value, whose check says what is
/// wrong.
fn converted(value: &Payload, ty: &Type) -> Payload {
    if admit(value, ty, &At::Root, &mut Problems::new()).is_some() {
        return value.clone();
    }
    let is_scalar = matches!(value, Payload::Bool(_) | Payload::Int(_) | Payload::Float(_));
    let has_text = match value {
        Payload::Str(_) => true,
        Payload::Float(number) => number.fract() == 0.0 || ty.ir == TypeIR::Str,
        _ => ty.has_aliases() || (is_scalar && ty.ir == TypeIR::Str),
    };
    let read = || coerce(&result_text(value), ty, Leniencies::ALL, &mut ParseReport::default());
    has_text.then(read).and_then(Result::ok).unwrap_or_else(|| value.clone())
}
