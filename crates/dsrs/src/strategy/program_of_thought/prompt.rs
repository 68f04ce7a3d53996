//! The three predictors of `program_of_thought`: their fields and instructions, for signatures as data
//! and typed ones alike.

use std::sync::Arc;

use crate::problem::{At, Code, Problem, Problems};
use crate::sandbox::DIALECT;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::strategy::chain_of_thought::with_reasoning;
use crate::types::TypeIR;

pub(super) const CODE: &str = "generated_code";
pub(super) const PREVIOUS: &str = "previous_code";
pub(super) const ERROR: &str = "error";
pub(super) const FINAL: &str = "final_generated_code";
pub(super) const OUTPUT: &str = "code_output";

/// The schemas of the three predictors.
pub(super) struct Schemas {
    pub(super) generate: Arc<SignatureSchema>,
    pub(super) regenerate: Arc<SignatureSchema>,
    pub(super) output: Arc<SignatureSchema>,
}

impl Schemas {
    /// The schemas for a signature; `at` is its place.
    pub(super) fn of(base: &SignatureSchema, at: &At<'_>) -> Result<Self, Problems> {
        check_names(base, at)?;
        let reasoned = |schema| with_reasoning(&schema, at).map(Arc::new);
        Ok(Self {
            generate: reasoned(generate(base))?,
            regenerate: reasoned(regenerate(base))?,
            output: reasoned(output(base))?,
        })
    }
}

fn generate(base: &SignatureSchema) -> SignatureSchema {
    SignatureSchema {
        instructions: coding(base, "").into(),
        inputs: base.inputs.clone(),
        outputs: vec![text_field(CODE, "the complete program, without explanations")],
        defs: base.defs.clone(),
    }
}

fn regenerate(base: &SignatureSchema) -> SignatureSchema {
    let failed = format!(
        " The program in `{PREVIOUS}` failed with the message in `{ERROR}`: write a corrected program."
    );
    let mut inputs = base.inputs.clone();
    inputs.push(text_field(PREVIOUS, "the program that failed"));
    inputs.push(text_field(ERROR, "the error message of the failed program"));
    SignatureSchema { instructions: coding(base, &failed).into(), inputs, ..generate(base) }
}

fn output(base: &SignatureSchema) -> SignatureSchema {
    let mut schema = base.clone();
    schema.inputs.push(text_field(FINAL, "the program that was written and run for this task"));
    schema.inputs.push(text_field(
        OUTPUT,
        "the result of the program: what it printed and the value of its last line",
    ));
    schema.instructions = format!(
        "{}\n\nThe program in `{FINAL}` was written for this task and has been run. Base your answer \
         on its result in `{OUTPUT}`.",
        base.instructions.trim()
    )
    .into();
    schema
}

fn coding(base: &SignatureSchema, failed: &str) -> String {
    let names = |fields: &[FieldSchema]| {
        let names: Vec<_> = fields.iter().map(|field| format!("`{}`", field.name)).collect();
        names.join(", ")
    };
    let (inputs, outputs) = (names(&base.inputs), names(&base.outputs));
    format!(
        "{}\n\nDo not write {outputs} yet. First write a Python program that computes what is needed \
         to write {outputs}.{failed} The inputs {inputs} are available as variables of these \
         names.\n\n{DIALECT}",
        base.instructions.trim()
    )
}

fn text_field(name: &'static str, description: &'static str) -> FieldSchema {
    FieldSchema { description: Some(description.into()), ..FieldSchema::of(name, TypeIR::Str) }
}

/// Refuses fields of the signature with the name of an added field.
fn check_names(base: &SignatureSchema, at: &At<'_>) -> Result<(), Problems> {
    let is = |field: &FieldSchema, name: &str| &*field.name == name || &**field.lm_name() == name;
    let inputs = base
        .inputs
        .iter()
        .flat_map(|field| [CODE, PREVIOUS, ERROR, FINAL, OUTPUT].map(|name| (field, name)));
    let outputs = base.outputs.iter().flat_map(|field| [FINAL, OUTPUT].map(|name| (field, name)));
    let mut all = inputs.chain(outputs);
    let Some((field, _)) = all.find(|(field, name)| is(field, name)) else { return Ok(()) };
    let detail = format!(
        "`{}` is a field that program_of_thought adds; rename the signature's own",
        field.name
    );
    Err(Problem { pointer: at.pointer(), code: Code::DuplicateName, detail }.into())
}
