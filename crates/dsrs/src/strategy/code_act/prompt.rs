//! The two predictors of `code_act`: their fields and instructions.

use super::CodeActLimits;
use crate::problem::{At, Code, Problems};
use crate::sandbox::DIALECT;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::strategy::programs::ProgramFunctions;
use crate::strategy::steps::TRAJECTORY;
use crate::types::TypeIR;

pub(super) const CODE: &str = "generated_code";
pub(super) const FINISHED: &str = "finished";

/// The schema of the predictor that writes programs.
pub(super) fn action(
    base: &SignatureSchema,
    functions: &ProgramFunctions,
    limits: &CodeActLimits,
) -> SignatureSchema {
    let mut inputs = base.inputs.clone();
    inputs.push(trajectory());
    SignatureSchema {
        instructions: instructions(base, functions, limits).into(),
        inputs,
        outputs: vec![
            field(CODE, TypeIR::Str, "the next program, without explanations"),
            field(
                FINISHED,
                TypeIR::Bool,
                "whether this program prints all that is still missing for the outputs",
            ),
        ],
        defs: base.defs.clone(),
    }
}

/// The schema of the predictor that writes the outputs, without its reasoning.
pub(super) fn extract(base: &SignatureSchema) -> SignatureSchema {
    let mut schema = base.clone();
    schema.inputs.push(trajectory());
    schema
}

fn trajectory() -> FieldSchema {
    field(TRAJECTORY, TypeIR::Str, "the programs so far, each with its output")
}

fn field(name: &'static str, ty: TypeIR, description: &'static str) -> FieldSchema {
    FieldSchema { description: Some(description.into()), ..FieldSchema::of(name, ty) }
}

/// Refuses fields of the signature with the name of an added field. `with_reasoning` checks the outputs of `extract`.
pub(super) fn check_names(base: &SignatureSchema, at: &At<'_>, problems: &mut Problems) {
    let is = |field: &FieldSchema, name: &str| &*field.name == name || &**field.lm_name() == name;
    let inputs = base
        .inputs
        .iter()
        .filter(|field| [TRAJECTORY, CODE, FINISHED].iter().any(|n| is(field, n)));
    let outputs = base.outputs.iter().filter(|field| is(field, TRAJECTORY));
    for field in inputs.chain(outputs) {
        let detail =
            format!("`{}` is a field that code_act adds; rename the signature's own", field.name);
        problems.add(at, Code::DuplicateName, detail);
    }
}

fn instructions(
    base: &SignatureSchema,
    functions: &ProgramFunctions,
    limits: &CodeActLimits,
) -> String {
    let names = |fields: &[FieldSchema], name: fn(&FieldSchema) -> &str| {
        let names: Vec<_> = fields.iter().map(|field| format!("`{}`", name(field))).collect();
        names.join(", ")
    };
    let outputs = names(&base.outputs, |field| field.lm_name());
    let described = functions.described();
    let functions = match described.is_empty() {
        true => String::new(),
        false => format!("Besides Python, programs have these functions:\n{described}\n"),
    };
    format!(
        "{task}\n\n\
         Do not write {outputs} yet. Work toward {outputs} with Python programs, one at a time. The inputs {inputs} are \
         variables of these names. `{TRAJECTORY}` contains the programs so far, with what they printed and the values of \
         their last lines; the next program finds their variables, functions and imports. Write it in `{CODE}`. Set \
         `{FINISHED}` to true once it prints all that is still missing for {outputs}, or if nothing is missing.\n\n\
         {functions}Output of more than {characters} characters is cut.\n\n{DIALECT}",
        task = base.instructions.trim(),
        inputs = names(&base.inputs, |field| &field.name),
        characters = limits.max_output_chars,
    )
}
