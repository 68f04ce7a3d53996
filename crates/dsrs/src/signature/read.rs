//! Reads the three notations of a signature into one draft. Knows nothing of prompts.

use std::sync::Arc;

use super::field::{from_outline, read_named_field};
use super::field_names::FieldNames;
use super::text::{self, TextField};
use super::{FieldSchema, SignatureSchema};
use crate::problem::{At, Code, Problems};
use crate::read::{Object, list, shared_text, wrong_type};
use crate::types::{TypeDefs, TypeScope, read_object_fields};
use crate::value::Payload;

/// How many fields a signature may have.
const FIELD_LIMIT: usize = 1000;

/// A signature before all definitions of its graph are known.
#[derive(Clone, Debug, PartialEq)]
pub struct SignatureDraft {
    /// The instruction for the LM; never empty.
    pub instructions: Arc<str>,
    /// Inputs, in order.
    pub inputs: Vec<FieldSchema>,
    /// Outputs, in order; at least one.
    pub outputs: Vec<FieldSchema>,
}

impl SignatureDraft {
    /// The signature over the complete definitions.
    #[must_use]
    pub fn finish(self, defs: Arc<TypeDefs>) -> SignatureSchema {
        let Self { instructions, inputs, outputs } = self;
        SignatureSchema { instructions, inputs, outputs, defs }
    }
}

/// Reads a signature in any of its three notations. Adds the definitions of its types to the scope.
pub fn read_signature(
    payload: &Payload,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<SignatureDraft> {
    let before = problems.len();
    let draft = match payload {
        Payload::Str(text) => read_text(text, scope, at, problems),
        Payload::Map(map)
            if map.contains_key("input_schema") || map.contains_key("output_schema") =>
        {
            read_schemas(payload, scope, at, problems)
        }
        Payload::Map(_) => read_fields(payload, scope, at, problems),
        other => {
            wrong_type(at, problems, "a signature string or object", other);
            None
        }
    };
    if let Some(draft) = &draft {
        let count = draft.inputs.len() + draft.outputs.len();
        if count > FIELD_LIMIT {
            let detail = format!("{count} fields; a signature has at most {FIELD_LIMIT}");
            problems.add(at, Code::TooLarge, detail);
        }
    }
    draft.filter(|_| problems.len() == before)
}

fn read_text(
    spelling: &str,
    scope: &TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<SignatureDraft> {
    let parsed = match text::parse(spelling) {
        Ok(parsed) => parsed,
        Err(text::TextError { code, error }) => {
            problems.add(at, code, error.to_string());
            return None;
        }
    };
    scope.check_names(&parsed.names, at, problems);
    let mut names = FieldNames::default();
    let mut take = |fields: Vec<TextField>| -> Vec<FieldSchema> {
        let made = fields.into_iter().map(|TextField { name, column, ty }| {
            let field = FieldSchema::of(name, ty);
            names.add(&field, Some(column), at, problems);
            field
        });
        made.collect()
    };
    let inputs = take(parsed.inputs);
    let outputs = take(parsed.outputs);
    if outputs.is_empty() {
        let column = spelling.chars().count() + 1;
        let detail = format!("column {column}: expected an output after `->`, found the end");
        problems.add(at, Code::InvalidSignature, detail);
    }
    Some(draft(None, inputs, outputs))
}

fn read_fields(
    payload: &Payload,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<SignatureDraft> {
    let mut object = Object::open(payload, at, problems)?;
    let mut names = FieldNames::default();
    let instructions = object.optional("instructions", shared_text);
    let inputs =
        object.optional("inputs", |payload: &Payload, at: &At<'_>, problems: &mut Problems| {
            read_field_list(payload, scope, &mut names, at, problems)
        });
    let outputs =
        object.required("outputs", |payload: &Payload, at: &At<'_>, problems: &mut Problems| {
            if payload.as_list().is_some_and(<[Payload]>::is_empty) {
                problems.add(at, Code::InvalidSignature, "a signature needs at least one output");
            }
            read_field_list(payload, scope, &mut names, at, problems)
        });
    object.close();
    Some(draft(instructions, inputs.unwrap_or_default(), outputs?))
}

fn read_field_list(
    payload: &Payload,
    scope: &mut TypeScope,
    names: &mut FieldNames,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Vec<FieldSchema>> {
    list(payload, at, problems, |payload, at, problems| {
        let field = read_named_field(payload, scope, at, problems)?;
        let place = if field.alias.is_some() { "alias" } else { "name" };
        names.add(&field, None, &at.key(place), problems);
        Some(field)
    })
}

fn read_schemas(
    payload: &Payload,
    scope: &mut TypeScope,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<SignatureDraft> {
    let has = |name| payload.as_map().is_some_and(|members| members.contains_key(name));
    let mut object = Object::open(payload, at, problems)?;
    let mut names = FieldNames::default();
    let instructions = object.optional("instructions", shared_text);
    let inputs = match has("inputs") {
        true => {
            object.optional("inputs", |payload: &Payload, at: &At<'_>, problems: &mut Problems| {
                read_field_list(payload, scope, &mut names, at, problems).map(SchemaSide::of)
            })
        }
        false => object.optional(
            "input_schema",
            |payload: &Payload, at: &At<'_>, problems: &mut Problems| {
                read_schema(payload, scope, &mut names, at, problems)
            },
        ),
    };
    let outputs = match has("outputs") {
        true => {
            object.required("outputs", |payload: &Payload, at: &At<'_>, problems: &mut Problems| {
                read_field_list(payload, scope, &mut names, at, problems).map(SchemaSide::of)
            })
        }
        false => object.required(
            "output_schema",
            |payload: &Payload, at: &At<'_>, problems: &mut Problems| {
                read_schema(payload, scope, &mut names, at, problems)
            },
        ),
    };
    object.close();
    let inputs = inputs.unwrap_or_default();
    let outputs = outputs?;
    if outputs.fields.is_empty() {
        let place = at.key(if has("outputs") { "outputs" } else { "output_schema" });
        problems.add(&place, Code::InvalidSignature, "a signature needs at least one output");
    }
    let descriptions = [inputs.description, outputs.description];
    let instructions = choose_instructions(instructions, descriptions, at, problems);
    Some(draft(instructions, inputs.fields, outputs.fields))
}

/// The instructions, or a description that serves as instructions. Reports a description that would
/// be lost.
fn choose_instructions(
    instructions: Option<Arc<str>>,
    descriptions: [Option<Arc<str>>; 2],
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<Arc<str>> {
    let sides = ["input_schema", "output_schema"].into_iter().zip(descriptions);
    let mut chosen = instructions;
    for (schema, description) in sides {
        let Some(description) = description else { continue };
        if chosen.is_some() {
            let detail = "the signature already has instructions; merge this description into them";
            problems.add(&at.key(schema).key("description"), Code::InvalidSignature, detail);
        } else {
            chosen = Some(description);
        }
    }
    chosen
}

#[derive(Default)]
struct SchemaSide {
    description: Option<Arc<str>>,
    fields: Vec<FieldSchema>,
}

impl SchemaSide {
    /// A side that is a list of fields.
    const fn of(fields: Vec<FieldSchema>) -> Self {
        Self { description: None, fields }
    }
}

fn read_schema(
    payload: &Payload,
    scope: &mut TypeScope,
    names: &mut FieldNames,
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<SchemaSide> {
    let (description, outlines) = read_object_fields(payload, scope, at, problems)?;
    let place = at.key("properties");
    let mut fields = Vec::new();
    for (name, outline) in outlines {
        let at = place.key(&name);
        let Some(field) = from_outline(name.clone(), outline, &at, problems) else { continue };
        names.add(&field, None, &at, problems);
        fields.push(field);
    }
    Some(SchemaSide { description, fields })
}

fn draft(
    instructions: Option<Arc<str>>,
    inputs: Vec<FieldSchema>,
    outputs: Vec<FieldSchema>,
) -> SignatureDraft {
    let instructions = instructions
        .filter(|text| !text.trim().is_empty())
        .unwrap_or_else(|| default_instructions(&inputs, &outputs));
    SignatureDraft { instructions, inputs, outputs }
}

/// The instruction of a signature that has none.
pub(super) fn default_instructions(inputs: &[FieldSchema], outputs: &[FieldSchema]) -> Arc<str> {
    let outputs = enumerate(outputs);
    if inputs.is_empty() {
        return format!("Write {outputs}.").into();
    }
    format!("Read {}, then write {outputs}.", enumerate(inputs)).into()
}

fn enumerate(fields: &[FieldSchema]) -> String {
    let names: Vec<String> = fields.iter().map(|field| format!("`{}`", field.lm_name())).collect();
    match names.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}
