//! The outputs that a program submits, from the arguments of its call. What does not fit is reported to the program. Knows
//! no sandbox.

use super::SUBMIT;
use crate::sandbox::HostCall;
use crate::signature::SignatureSchema;
use crate::strategy::submission::{is_named, read_outputs};
use crate::value::{Fields, Payload};

/// The outputs of a call, or everything that does not fit.
pub(super) fn read(schema: &SignatureSchema, call: HostCall) -> Result<Fields, String> {
    let values = named(schema, call)?;
    read_outputs(schema, values).map_err(|wrong| format!("{SUBMIT}() was not accepted. {wrong}"))
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

/// Whether a dict has all outputs and nothing else.
fn are_outputs(schema: &SignatureSchema, members: &Fields) -> bool {
    members.len() == schema.outputs.len()
        && schema.outputs.iter().all(|field| members.keys().any(|name| is_named(field, name)))
}
