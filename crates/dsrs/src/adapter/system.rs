//! The system message: inputs, outputs, layout and task. It is short: small models lose long rules,
//! and large ones do not need them.

use std::fmt::Write as _;

use super::header::COMPLETED;
use super::notation;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::types::{ConstraintKind, TypeIR};

pub(super) fn build(schema: &SignatureSchema, instruction: &str) -> String {
    let mut text = String::with_capacity(512 + instruction.len());
    if !schema.inputs.is_empty() {
        text.push_str("You get these inputs:\n");
        fields(&mut text, schema, &schema.inputs);
        text.push('\n');
    }
    text.push_str("You write these outputs:\n");
    fields(&mut text, schema, &schema.outputs);
    definitions(&mut text, schema);
    layout(&mut text, schema);
    let _ = write!(text, "\nYour task:\n{}", instruction.trim());
    text
}

/// The system message for an LM that answers by tool calls: it writes no outputs, so no layout is described. The input
/// `hidden` is left out.
pub(super) fn build_for_calls(
    schema: &SignatureSchema,
    hidden: &str,
    instruction: &str,
    examples: &[&str],
) -> String {
    let inputs = schema.inputs.iter().filter(|field| &*field.name != hidden);
    let shown = SignatureSchema {
        instructions: Default::default(),
        inputs: inputs.cloned().collect(),
        outputs: Vec::new(),
        defs: schema.defs.clone(),
    };
    let mut text = String::with_capacity(512 + instruction.len());
    if !shown.inputs.is_empty() {
        text.push_str("You get these inputs:\n");
        fields(&mut text, &shown, &shown.inputs);
        definitions(&mut text, &shown);
        text.push('\n');
    }
    let _ = write!(text, "Your task:\n{}", instruction.trim());
    for (number, example) in (1..).zip(examples) {
        let _ = write!(text, "\n\nExample {number} of a single step\n{}", example.trim_end());
    }
    text
}

fn fields(text: &mut String, schema: &SignatureSchema, fields: &[FieldSchema]) {
    for field in fields {
        let description = notation::describe_type(&schema.type_of(field));
        let _ = write!(text, "- `{}` ({description})", field.lm_name());
        if let Some(description) = &field.description {
            let _ = write!(text, ": {}", description.trim());
        }
        if let Some(language) = &field.language {
            let _ =
                write!(text, "; {language} code in a fence: ```{language} before it, ``` after it");
        }
        if field.reasoning {
            text.push_str("; leave it out if you have reasoned before your answer");
        }
        for constraint in &field.constraints {
            if constraint.kind == ConstraintKind::Assert {
                let _ = write!(text, "; must hold: `{}`", constraint.expression);
            }
        }
        text.push('\n');
    }
}

fn definitions(text: &mut String, schema: &SignatureSchema) {
    let all = schema.inputs.iter().chain(&schema.outputs);
    let types: Vec<_> = all.map(|field| schema.type_of(field)).collect();
    let description = notation::describe_definitions(&types);
    if !description.is_empty() {
        let _ = write!(text, "\nTypes:\n{}\n", description.trim_end());
    }
}

fn layout(text: &mut String, schema: &SignatureSchema) {
    text.push_str("\nAnswer in exactly this layout, each value under its header:\n\n");
    for field in &schema.outputs {
        let name = field.lm_name();
        let _ = write!(text, "[[ ## {name} ## ]]\n{{{name}}}\n\n");
    }
    let _ = writeln!(text, "[[ ## {COMPLETED} ## ]]");
    if schema.outputs.iter().any(|field| field.ty != TypeIR::Str) {
        text.push_str("\nWrite text as it is, and values of every other type as JSON.\n");
    }
}
