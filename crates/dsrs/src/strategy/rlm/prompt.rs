//! The three predictors of `rlm`: their fields and instructions.

use std::sync::Arc;

use super::{LLM_QUERY, LLM_QUERY_BATCHED, RlmLimits, SUBMIT};
use crate::problem::{At, Code, Problems};
use crate::sandbox::DIALECT;
use crate::signature::{FieldSchema, SignatureSchema};
use crate::strategy::programs::ProgramFunctions;
use crate::strategy::steps::TRAJECTORY;
use crate::types::{TypeIR, describe_definitions, describe_type};

pub(super) const VARIABLES: &str = "variables_info";
pub(super) const HISTORY: &str = "repl_history";
pub(super) const ITERATION: &str = "iteration";
pub(super) const REASONING: &str = "reasoning";
pub(super) const CODE: &str = "code";
pub(super) const PROMPT: &str = "prompt";
pub(super) const RESPONSE: &str = "response";

/// The schema of the predictor that writes programs.
pub(super) fn action(
    base: &SignatureSchema,
    functions: &ProgramFunctions,
    limits: &RlmLimits,
) -> SignatureSchema {
    SignatureSchema {
        instructions: instructions(base, functions, limits).into(),
        inputs: vec![
            field(VARIABLES, "the variables with the inputs: name, type, length, the beginning"),
            field(HISTORY, "the programs so far, each with its output"),
            field(ITERATION, "the number of this program, and how many there may be"),
        ],
        outputs: vec![
            field(REASONING, "what you know, what is missing, and what this program is for"),
            field(CODE, "the next program, without explanations"),
        ],
        defs: Arc::default(),
    }
}

/// The schema of the predictor that writes the outputs if no program has submitted them.
pub(super) fn extract(base: &SignatureSchema) -> SignatureSchema {
    let instructions = format!(
        "{}\n\nPrograms have read the inputs for this task; none has submitted the outputs, and there is no time for \
         another. Write the outputs from what `{HISTORY}` shows.",
        base.instructions.trim()
    );
    SignatureSchema {
        instructions: instructions.into(),
        inputs: vec![
            field(VARIABLES, "the inputs of the programs: name, type, length, the beginning"),
            field(HISTORY, "the programs, each with its output"),
        ],
        ..base.clone()
    }
}

/// The schema of the predictor that answers the prompts of programs.
pub(super) fn query() -> SignatureSchema {
    SignatureSchema {
        instructions: "Do what the prompt asks. A program reads the response: write the answer alone, without an \
                       introduction."
            .into(),
        inputs: vec![FieldSchema::of(PROMPT, TypeIR::Str)],
        outputs: vec![FieldSchema::of(RESPONSE, TypeIR::Str)],
        defs: Arc::default(),
    }
}

fn field(name: &'static str, description: &'static str) -> FieldSchema {
    FieldSchema { description: Some(description.into()), ..FieldSchema::of(name, TypeIR::Str) }
}

/// Refuses outputs with the name of a field of `extract`, or of the additional output.
pub(super) fn check_names(
    base: &SignatureSchema,
    with_trajectory: bool,
    at: &At<'_>,
    problems: &mut Problems,
) {
    let added = [VARIABLES, HISTORY, if with_trajectory { TRAJECTORY } else { VARIABLES }];
    let is = |field: &FieldSchema, name: &str| &*field.name == name || &**field.lm_name() == name;
    for field in base.outputs.iter().filter(|field| added.iter().any(|name| is(field, name))) {
        let detail =
            format!("`{}` is a field that rlm adds; rename the signature's own", field.name);
        problems.add(at, Code::DuplicateName, detail);
    }
}

fn instructions(
    base: &SignatureSchema,
    functions: &ProgramFunctions,
    limits: &RlmLimits,
) -> String {
    let names: Vec<&str> = base.outputs.iter().map(|field| &**field.lm_name()).collect();
    let arguments = names.iter().map(|name| format!("{name}=…")).collect::<Vec<_>>().join(", ");
    format!(
        "{task}\n\n\
         Do this with programs. The inputs may be too long to read at once, so they are not shown: they are variables in \
         Python. Write one program at a time. You see what it prints and the value of its last line, and then write the \
         next one, which finds the variables, functions and imports of those before it.\n\n\
         Besides Python, programs have these functions:\n\
         - `{LLM_QUERY}(prompt)`: a language model answers a prompt. It sees nothing but the prompt, so put the text that \
         it needs into it. Returns its answer as text.\n\
         - `{LLM_QUERY_BATCHED}(prompts)`: the same for a list of prompts at the same time, which is much faster. Returns \
         the list of answers; one that failed is a text that begins with `[ERROR]`.\n\
         {functions}\
         - `{SUBMIT}({arguments})`: ends the task with the outputs.\n\n\
         The outputs:\n{outputs}\n\n\
         First look at the inputs: print their beginnings and how they are built. Find places by Python; ask the model \
         about the meaning of texts. Compute values in variables and pass those to `{SUBMIT}` instead of typing them \
         again. Look at what you found before you submit it, in a program of its own. All programs together may send \
         {queries} prompts; output of more than {characters} characters is cut.\n\n{DIALECT}",
        task = base.instructions.trim(),
        functions = functions.described(),
        outputs = outputs(base),
        queries = limits.max_llm_calls,
        characters = limits.max_output_chars,
    )
}

/// The outputs with their types, a line for each, and the definitions of those types.
fn outputs(base: &SignatureSchema) -> String {
    let types: Vec<_> = base.outputs.iter().map(|field| base.type_of(field)).collect();
    let mut text = String::new();
    for (field, ty) in base.outputs.iter().zip(&types) {
        let description = field.description.as_deref().map(|text| format!(" // {}", text.trim()));
        let description = description.unwrap_or_default();
        text.push_str(&format!("- `{}`: {}{description}\n", field.lm_name(), describe_type(ty)));
    }
    let definitions = describe_definitions(&types);
    if !definitions.is_empty() {
        text.push_str(&format!("with\n{definitions}"));
    }
    text.trim_end().to_owned()
}
