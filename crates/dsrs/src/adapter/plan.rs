//! A schema prepared for many calls: everything that does not depend on a call is built once. Does
//! not call LMs.

use std::sync::Arc;

use super::answer::{self, ParsedOutput};
use super::checks::{BrokenInput, CheckOutcome, Checks};
use super::constrain::Constraints;
use super::outputs::Outputs;
use super::problem::{OutputProblem, OutputProblemKind, ParseError};
use super::value_start::value_start;
use super::{continuation, cut, partial_value, system, turn};
use crate::coerce::{Leniencies, split_first_step};
use crate::lm::{ConstraintForm, DecodingConstraint, Message, Prefix};
use crate::reflect::ReflectError;
use crate::signature::SignatureSchema;
use crate::types::Type;
use crate::value::{Fields, Payload};

/// The prompt and the parser of a signature.
#[derive(Clone, Debug)]
pub struct ChatPlan {
    schema: Arc<SignatureSchema>,
    closing: Arc<str>,
    pub(super) checks: Arc<Checks>,
    /// The constraints of the inputs; `None` if they have none.
    input_checks: Option<Arc<Checks>>,
    pub(super) outputs: Arc<Outputs>,
    /// The types of partial values while an answer arrives.
    pub(super) unfinished: Arc<[Option<Type>]>,
    constraints: Arc<Constraints>,
}

impl ChatPlan {
    /// Prepares a schema.
    #[must_use]
    pub fn new(schema: Arc<SignatureSchema>) -> Self {
        let closing = turn::closing(&schema).into();
        let checks = Arc::new(Checks::of_outputs(&schema));
        let inputs = Checks::of(&schema.inputs, &schema.defs);
        let input_checks = (!inputs.is_empty()).then(|| Arc::new(inputs));
        let outputs = Arc::new(Outputs::of(&schema));
        let unfinished = outputs.iter().map(|output| partial_value::unfinished(&output.ty));
        let unfinished = unfinished.collect();
        let constraints = Arc::default();
        Self { schema, closing, checks, input_checks, outputs, unfinished, constraints }
    }

    /// The schema.
    #[must_use]
    pub const fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    /// The messages that every call starts with: the system message, then two messages for every
    /// demo of inputs and outputs.
    pub fn prefix<'d>(
        &self,
        instruction: &str,
        demos: impl IntoIterator<Item = (&'d Fields, &'d Fields)>,
    ) -> Arc<Prefix> {
        let mut messages = vec![self.system(instruction)];
        messages.extend(demos.into_iter().flat_map(|(input, output)| self.demo(input, output)));
        Prefix::of(messages)
    }

    /// The system message.
    pub fn system(&self, instruction: &str) -> Message {
        Message::system(system::build(&self.schema, instruction))
    }

    /// The two messages of a demo.
    pub fn demo(&self, input: &Fields, output: &Fields) -> [Message; 2] {
        [self.user_message(input), Message::assistant(turn::output(&self.schema, output))]
    }

    /// The user message of a call.
    #[must_use]
    pub fn user_message(&self, input: &Fields) -> Message {
        self.user_message_with_hints(input, &[])
    }

    /// The user message of a call with hints.
    #[must_use]
    pub fn user_message_with_hints(&self, input: &Fields, hints: &[&str]) -> Message {
        Message::user(turn::input(&self.schema, &self.closing, input, hints))
    }

    /// The system message for an LM that answers by tool calls instead of outputs in a layout. The input `hidden` is left
    /// out; `examples` are texts of single steps.
    #[must_use]
    pub fn system_for_calls(&self, hidden: &str, instruction: &str, examples: &[&str]) -> Message {
        Message::system(system::build_for_calls(&self.schema, hidden, instruction, examples))
    }

    /// The user message for an LM that answers by tool calls: the given inputs, hints, and a note at the end.
    #[must_use]
    pub fn user_message_for_calls(&self, input: &Fields, hints: &[&str], note: &str) -> Message {
        let text = turn::input(&self.schema, note, input, hints);
        Message::user(text.trim_end())
    }

    /// The user message after an answer that does not fit.
    #[must_use]
    pub fn correction(&self, error: &ParseError) -> Message {
        Message::user(turn::correction(&self.closing, error))
    }

    /// The decoding constraint for an answer of at most `max_tokens`. `None` if the schema has none
    /// that is worth sending.
    #[must_use]
    pub fn constraint(
        &self,
        form: ConstraintForm,
        max_tokens: Option<u32>,
    ) -> Option<DecodingConstraint> {
        self.constraints.get(&self.schema, form, max_tokens)
    }

    /// The outcomes of the checks of inputs.
    ///
    /// # Errors
    /// The first assert that an input breaks.
    pub fn judge_inputs(&self, inputs: &Fields) -> Result<Vec<CheckOutcome>, BrokenInput> {
        self.input_checks.as_ref().map_or_else(|| Ok(Vec::new()), |one| one.judge_inputs(inputs))
    }

    /// The error for outputs that fit the schema and not the type of the caller.
    #[must_use]
    pub fn rejection(&self, parsed: ParsedOutput, error: &ReflectError) -> ParseError {
        let (name, path) = split_first_step(&error.path);
        let field = self.schema.output(name);
        let problem = OutputProblem {
            field: field.map(|field| field.name.clone()),
            lm_name: field.map(|field| field.lm_name().clone()),
            path: path.to_owned(),
            kind: OutputProblemKind::Type,
            reason: error.reason.clone(),
        };
        ParseError { problems: vec![problem], report: parsed.report }
    }

    /// The outputs of an answer.
    ///
    /// # Errors
    /// Every output that does not fit or breaks an assert.
    pub fn parse(&self, text: &str) -> Result<ParsedOutput, ParseError> {
        self.parse_allowing(text, Leniencies::ALL)
    }

    /// The outputs of an answer with the native reasoning of its model in the outputs that stand for it and were left out.
    ///
    /// # Errors
    /// Every such output if there is no native reasoning, unless it may be null.
    pub fn with_reasoning(
        &self,
        mut parsed: ParsedOutput,
        reasoning: Option<&str>,
    ) -> Result<ParsedOutput, ParseError> {
        let mut problems = Vec::new();
        for output in self.outputs.iter().filter(|output| output.is_reasoning) {
            match (parsed.fields.get_mut(&output.name), reasoning) {
                (Some(value @ Payload::Null), Some(text)) => *value = Payload::from(text),
                (Some(Payload::Null), None) if output.required => {
                    let kind = OutputProblemKind::Missing;
                    let reason = "is missing, and the model reports no reasoning".to_owned();
                    problems.push(OutputProblem::of(output, kind, String::new(), reason));
                }
                _ => {}
            }
        }
        if problems.is_empty() {
            return Ok(parsed);
        }
        Err(ParseError { problems, report: parsed.report })
    }

    /// The output that the end of a cut answer leaves unfinished or unwritten. `None` if every output is whole.
    #[must_use]
    pub fn cut_output(&self, text: &str) -> Option<Arc<str>> {
        cut::cut_output(&self.outputs, text)
    }

    /// The position in an answer at which the value of an output begins.
    #[must_use]
    pub fn value_start(&self, text: &str, output: &str) -> Option<usize> {
        value_start(&self.outputs, text, output)
    }

    /// The user message after a cut answer, which asks for the rest of it.
    #[must_use]
    pub fn continuation(&self) -> Message {
        continuation::request()
    }

    /// A cut answer and its rest as one answer. What the rest repeats is left out.
    #[must_use]
    pub fn join(&self, text: &str, rest: &str) -> String {
        continuation::join(&self.outputs, text, rest)
    }

    /// The outputs of an answer, with only the given leniencies.
    ///
    /// # Errors
    /// Like [`Self::parse`].
    pub fn parse_allowing(
        &self,
        text: &str,
        allowed: Leniencies,
    ) -> Result<ParsedOutput, ParseError> {
        answer::parse(&self.outputs, &self.checks, text, allowed)
    }
}
