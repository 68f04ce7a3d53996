//! The two predictors of `react`: their fields and instructions, for signatures as data and typed ones
//! alike.

use std::fmt::Write as _;
use std::sync::Arc;

use super::FINISH;
use super::ending::{Submission, output_names};
use super::reply::{MORE, THOUGHT, TOOL_ARGS, TOOL_NAME, demo_text};
use crate::predict::{StepLayout, ToolDispatcher};
use crate::problem::{At, Code, Problem, Problems};
use crate::signature::{FieldSchema, SignatureSchema};
use crate::strategy::steps::TRAJECTORY;
use crate::strategy::tools::described_arguments;
use crate::types::{Class, ClassField, TypeIR};

/// The prompt of `action` for a signature: its tools and how the steps end.
pub(super) struct ActionPrompt<'t> {
    pub(super) base: &'t SignatureSchema,
    pub(super) toolbox: &'t ToolDispatcher,
    pub(super) submission: Option<&'t Submission>,
    /// Whether the steps are turns of the conversation.
    pub(super) turns: bool,
}

impl ActionPrompt<'_> {
    /// The schema: the inputs and the steps so far, to a thought and the calls that follow from it.
    pub(super) fn schema(&self) -> SignatureSchema {
        let mut inputs = self.base.inputs.clone();
        inputs.push(trajectory());
        let args = || TypeIR::dict(TypeIR::Any).optional();
        let members = [("name", TypeIR::Str), ("args", args())];
        let fields = members.map(|(name, ty)| (Arc::from(name), ClassField::of(ty)));
        let call = TypeIR::Class(Arc::new(Class { description: None, fields: fields.into() }));
        let more = TypeIR::list(call).optional();
        SignatureSchema {
            instructions: self.instructions().into(),
            inputs,
            outputs: vec![
                field(THOUGHT, TypeIR::Str, "what you know, what is missing and what to do next"),
                field(TOOL_NAME, TypeIR::Str, "the name of exactly one tool"),
                field(TOOL_ARGS, args(), "the arguments of that tool, as a JSON object"),
                field(
                    MORE,
                    more,
                    "further tool calls to make at the same time; null if there are none",
                ),
            ],
            defs: self.base.defs.clone(),
        }
    }

    /// What models need to know beside the instruction that do not call tools natively, if steps are turns.
    pub(super) fn layout(&self) -> Option<StepLayout> {
        let guide = format!("{}\n\n{}", self.in_text(), self.tools());
        self.turns.then(|| StepLayout { input: TRAJECTORY, guide: guide.into(), demo: demo_text })
    }

    fn instructions(&self) -> String {
        let outputs = output_names(self.base);
        let task = self.base.instructions.trim();
        if self.turns {
            let end = self.end();
            return format!(
                "{task}\n\nWork toward {outputs} step by step, by calling tools. Make calls that do not \
                 depend on each other's results in the same step; you see all results in the next one. \
                 {end}"
            );
        }
        format!(
            "{task}\n\nWork toward {outputs} step by step, using tools. {} {}\n\n{}",
            self.in_text(),
            self.end(),
            self.tools()
        )
    }

    /// How a step is written as text.
    fn in_text(&self) -> String {
        format!(
            "`{TRAJECTORY}` contains the steps so \
             far, with the results of their tool calls. In this step, write your reasoning in \
             `{THOUGHT}`, the name of one tool in `{TOOL_NAME}` and its arguments in `{TOOL_ARGS}`. Use \
             `{MORE}` for further calls that do not depend on each other's results. You will see all \
             results in `{TRAJECTORY}` in the next step."
        )
    }

    /// How the steps end.
    fn end(&self) -> String {
        let outputs = output_names(self.base);
        match self.submission {
            None => format!(
                "Do not write {outputs} yet: once you have enough \
                 information for that, call `{FINISH}`."
            ),
            Some(submission) => format!(
                "Once you have enough information, call `{}` with {outputs} as its arguments.",
                submission.spec.name
            ),
        }
    }

    fn tools(&self) -> String {
        let mut text = String::from("Tools:\n");
        let submit = self.submission.map(|submission| &submission.spec);
        for tool in self.toolbox.specs().chain(submit) {
            let _ = writeln!(text, "- `{}`: {}", tool.name, tool.description.trim());
            let _ = writeln!(text, "  Arguments: {}", described_arguments(tool));
        }
        if submit.is_none() {
            let outputs = output_names(self.base);
            let _ = write!(
                text,
                "- `{FINISH}`: Ends the steps. Call it once you have enough information to write {outputs}.\n  \
                 Arguments: {{}}"
            );
        }
        text.truncate(text.trim_end().len());
        text
    }
}

/// The schema of `extract`, without its reasoning: the inputs and the steps, to the outputs.
pub(super) fn extract(base: &SignatureSchema) -> SignatureSchema {
    let mut schema = base.clone();
    schema.inputs.push(trajectory());
    schema
}

/// Refuses fields of the signature with the name of an added field. `with_reasoning` checks the
/// outputs of `extract`.
pub(super) fn check_names(base: &SignatureSchema, at: &At<'_>) -> Result<(), Problems> {
    let added = [TRAJECTORY, THOUGHT, TOOL_NAME, TOOL_ARGS, MORE];
    let taken =
        |field: &&FieldSchema, name: &str| &*field.name == name || &**field.lm_name() == name;
    let inputs = base.inputs.iter().flat_map(|field| added.map(|name| (field, name)));
    let outputs = base.outputs.iter().map(|field| (field, TRAJECTORY));
    let found = inputs.chain(outputs).find(|(field, name)| taken(field, name));
    let Some((field, _)) = found else { return Ok(()) };
    let detail = format!("`{}` is a field that react adds; rename the signature's own", field.name);
    Err(Problem { pointer: at.pointer(), code: Code::DuplicateName, detail }.into())
}

/// Refuses an input of the signature with the name of a field that a further predictor adds.
pub(super) fn check_name(base: &SignatureSchema, name: &str, at: &At<'_>, problems: &mut Problems) {
    let is_taken = |field: &&FieldSchema| &*field.name == name || &**field.lm_name() == name;
    if let Some(field) = base.inputs.iter().find(is_taken) {
        let name = &field.name;
        let detail = format!("`{name}` is a field that react adds; rename the signature's own");
        problems.add(at, Code::DuplicateName, detail);
    }
}

fn trajectory() -> FieldSchema {
    field(TRAJECTORY, TypeIR::Str, "the steps so far: thoughts, tool calls and their results")
}

fn field(name: &'static str, ty: TypeIR, description: &'static str) -> FieldSchema {
    FieldSchema { description: Some(description.into()), ..FieldSchema::of(name, ty) }
}
