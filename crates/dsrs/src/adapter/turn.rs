//! User and assistant messages: values under headers, and the line that says what to write.

use std::fmt::Write as _;

use super::header::COMPLETED;
use super::notation;
use super::problem::{OutputProblemKind, ParseError};
use super::write;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{TypeIR, absent_value};
use crate::value::{Fields, Payload};

/// Longer types are described in the system message only.
const INLINE_TYPE_LIMIT: usize = 60;

/// The name of the hint section.
const HINT: &str = "hint";

/// The text for an output that a demo leaves out.
const LEFT_OUT: &str = "(left out in this example)";

/// The closing line, which says what to write. Built once per schema.
pub(super) fn closing(schema: &SignatureSchema) -> String {
    let mut text = String::from("Now write ");
    for field in &schema.outputs {
        let _ = write!(text, "`[[ ## {} ## ]]`", field.lm_name());
        if field.ty != TypeIR::Str {
            let description = notation::describe_type(&schema.type_of(field));
            if description.len() <= INLINE_TYPE_LIMIT {
                let _ = write!(text, " ({description})");
            }
        }
        text.push_str(", then ");
    }
    let _ = write!(text, "`[[ ## {COMPLETED} ## ]]`.");
    text
}

/// All given inputs, then hints, then the closing line.
pub(super) fn input(
    schema: &SignatureSchema,
    closing: &str,
    input: &Fields,
    hints: &[&str],
) -> String {
    let mut text = String::with_capacity(64 * schema.inputs.len() + closing.len() + texts(input));
    for field in &schema.inputs {
        if let Some(value) = input.get(&field.name) {
            header(&mut text, field);
            write::input(&mut text, schema, field, value);
            text.push_str("\n\n");
        }
    }
    if !hints.is_empty() {
        advice(&mut text, schema, hints);
    }
    text.push_str(closing);
    text
}

/// The inputs alone, at least a line for each. A missing input counts as its default; null is left
/// out.
pub(super) fn inputs_text(schema: &SignatureSchema, input: &Fields) -> String {
    let mut text = String::with_capacity(64 * schema.inputs.len() + texts(input));
    for field in &schema.inputs {
        let absent = || absent_value(&field.ty, &schema.defs, field.default.as_ref());
        let value = input.get(&field.name).cloned().or_else(absent).filter(|v| !v.is_null());
        let Some(value) = value else { continue };
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = write!(text, "{}: ", field.name);
        write::input(&mut text, schema, field, &value);
    }
    text
}

/// Hints under a header whose name no field has.
fn advice(text: &mut String, schema: &SignatureSchema, hints: &[&str]) {
    let mut name = HINT.to_owned();
    let fields = schema.inputs.iter().chain(&schema.outputs);
    while fields.clone().any(|field| **field.lm_name() == *name) {
        name.push('_');
    }
    let _ = write!(text, "[[ ## {name} ## ]]\nEarlier attempts fell short. For this one:\n");
    for hint in hints {
        let _ = writeln!(text, "{hint}");
    }
    text.push('\n');
}

/// Every output, then the end mark. A missing output is marked as left out, so that the layout
/// stays complete.
pub(super) fn output(schema: &SignatureSchema, output: &Fields) -> String {
    let mut text = String::with_capacity(64 * (schema.outputs.len() + 1) + texts(output));
    for field in &schema.outputs {
        header(&mut text, field);
        match output.get(&field.name) {
            Some(value) => write::output(&mut text, schema, field, value),
            None => text.push_str(LEFT_OUT),
        }
        text.push_str("\n\n");
    }
    let _ = write!(text, "[[ ## {COMPLETED} ## ]]");
    text
}

/// The problems of an answer in terms that the LM knows, and what to write.
pub(super) fn correction(closing: &str, error: &ParseError) -> String {
    let mut text = String::from("Your answer does not fit:\n");
    for problem in &error.problems {
        match (&problem.lm_name, &problem.kind) {
            (Some(name), OutputProblemKind::Missing) => {
                let _ = writeln!(text, "- the section `[[ ## {name} ## ]]` is missing");
            }
            (Some(name), _) => {
                let _ = writeln!(text, "- `{name}`: {}", problem.message());
            }
            (None, _) => {
                let _ = writeln!(text, "- {}", problem.message());
            }
        }
    }
    let _ = write!(text, "\nWrite the whole answer again. {closing}");
    text
}

fn header(text: &mut String, field: &FieldSchema) {
    text.push_str("[[ ## ");
    text.push_str(field.lm_name());
    text.push_str(" ## ]]\n");
}

fn texts(fields: &Fields) -> usize {
    fields.values().filter_map(Payload::as_str).map(str::len).sum()
}
