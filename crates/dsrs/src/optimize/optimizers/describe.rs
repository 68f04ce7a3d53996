//! Text blocks for the prompts of optimizers: predictors with their inputs and outputs, field values,
//! failures. Long values are truncated. Knows programs; knows no particular prompt.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::optimize::RolloutFailure;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{TypeIR, brief};
use crate::value::{Fields, Payload};

/// The maximum number of characters of one value in a prompt.
const LONGEST: usize = 2_000;

/// A predictor by its path and its schema.
pub(super) type TunablePredictor = (Arc<str>, Arc<SignatureSchema>);

/// The predictors of a program, one per line.
pub(super) fn parts(parts: &[TunablePredictor]) -> String {
    let lines: Vec<String> = parts.iter().map(|(path, schema)| part(path, schema)).collect();
    lines.join("\n")
}

/// One predictor on one line: its path, inputs and outputs.
pub(super) fn part(path: &str, schema: &SignatureSchema) -> String {
    format!("{path}: inputs {}; outputs {}", named(&schema.inputs), named(&schema.outputs))
}

fn named(fields: &[FieldSchema]) -> String {
    let named: Vec<String> =
        fields.iter().map(|field| format!("`{}` ({})", field.name, brief(&field.ty))).collect();
    if named.is_empty() { "none".to_owned() } else { named.join(", ") }
}

/// Appends fields under a title.
pub(super) fn add_fields(text: &mut String, title: &str, fields: &Fields) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{title}:");
    for (name, value) in fields {
        let _ = writeln!(text, "  {name}: {}", value_of(value).replace('\n', "\n    "));
    }
}

/// Appends the reason why a rollout failed.
pub(super) fn add_failure(text: &mut String, failed: &RolloutFailure) {
    let _ = match &failed.node {
        Some(node) => {
            writeln!(text, "the program failed at `{node}` ({}):", failed.code)
        }
        None => writeln!(text, "the outputs could not be scored ({}):", failed.code),
    };
    let _ = writeln!(text, "  {}", cut(&failed.message).replace('\n', "\n  "));
}

fn value_of(value: &Payload) -> String {
    match value {
        Payload::Str(text) => cut(text),
        other => cut(&other.to_json()),
    }
}

/// Truncates a text to [`LONGEST`] characters.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A described field of a proposal signature.
pub(super) fn field(name: &str, ty: TypeIR, description: &str) -> FieldSchema {
    FieldSchema { description: Some(description.into()), ..FieldSchema::of(name, ty) }
}

/// Text inputs of a proposal signature.
pub(super) fn texts<const N: usize>(inputs: [(&str, String); N]) -> Fields {
    inputs.into_iter().map(|(name, text)| (name.into(), Payload::Str(text.into()))).collect()
}
