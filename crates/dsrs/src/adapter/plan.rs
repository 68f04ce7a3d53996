//! A schema prepared for many calls: what does not depend on the call is made once.

use std::sync::Arc;

use super::answer::{self, Misfit, MisfitKind, ParseError, ParsedOutput};
use super::checks::Checks;
use super::constrain::Constraints;
use super::outputs::Outputs;
use super::{partial_value, system, turn};
use crate::coerce::Leniencies;
use crate::lm::{ConstraintForm, DecodingConstraint, Message, Prefix};
use crate::reflect::ReflectError;
use crate::signature::SignatureSchema;
use crate::types::Type;
use crate::value::Fields;

/// A signature, ready to be asked.
#[derive(Clone, Debug)]
pub struct ChatPlan {
    schema: Arc<SignatureSchema>,
    closing: Arc<str>,
    pub(super) checks: Arc<Checks>,
    pub(super) outputs: Arc<Outputs>,
    /// The types of what there may be of each output while an answer arrives.
    pub(super) unfinished: Arc<[Option<Type>]>,
    constraints: Arc<Constraints>,
}

impl ChatPlan {
    /// Prepares a schema.
    #[must_use]
    pub fn new(schema: Arc<SignatureSchema>) -> Self {
        let closing = turn::closing(&schema).into();
        let checks = Arc::new(Checks::compile(&schema));
        let outputs = Arc::new(Outputs::of(&schema));
        let unfinished = outputs.iter().map(|output| partial_value::unfinished(&output.ty));
        let unfinished = unfinished.collect();
        Self { schema, closing, checks, outputs, unfinished, constraints: Arc::default() }
    }

    /// The schema.
    #[must_use]
    pub const fn schema(&self) -> &Arc<SignatureSchema> {
        &self.schema
    }

    /// What every call starts with: the system message, then a pair of messages for every demo,
    /// given as inputs and outputs.
    pub fn prefix<'d>(
        &self,
        instruction: &str,
        demos: impl IntoIterator<Item = (&'d Fields, &'d Fields)>,
    ) -> Arc<Prefix> {
        let mut messages = vec![self.system(instruction)];
        messages.extend(demos.into_iter().flat_map(|(input, output)| self.demo(input, output)));
        Prefix::of(messages)
    }

    /// The first message.
    pub fn system(&self, instruction: &str) -> Message {
        Message::system(system::build(&self.schema, instruction))
    }

    /// The pair of messages of a demo.
    pub fn demo(&self, input: &Fields, output: &Fields) -> [Message; 2] {
        [self.ask(input), Message::assistant(turn::output(&self.schema, output))]
    }

    /// The user message of a call.
    #[must_use]
    pub fn ask(&self, input: &Fields) -> Message {
        self.ask_with(input, &[])
    }

    /// The user message of a call that is given advice besides its inputs.
    #[must_use]
    pub fn ask_with(&self, input: &Fields, hints: &[&str]) -> Message {
        Message::user(turn::input(&self.schema, &self.closing, input, hints))
    }

    /// The user message that follows an answer which does not fit.
    #[must_use]
    pub fn ask_again(&self, error: &ParseError) -> Message {
        Message::user(turn::correction(&self.closing, error))
    }

    /// What an answer of at most so many tokens is held to by a server that can; `None` where the
    /// schema has no such constraint that is worth sending.
    #[must_use]
    pub fn constraint(
        &self,
        form: ConstraintForm,
        max_tokens: Option<u32>,
    ) -> Option<DecodingConstraint> {
        self.constraints.get(&self.schema, form, max_tokens)
    }

    /// Outputs that fit the schema and not their caller, as an answer that does not fit.
    #[must_use]
    pub fn refused(&self, parsed: ParsedOutput, error: &ReflectError) -> ParseError {
        let name = error.path.split(['.', '[']).next().unwrap_or_default();
        let field = self.schema.output(name);
        let path = error.path.strip_prefix(name).unwrap_or_default();
        let misfit = Misfit {
            field: field.map(|field| field.name.clone()),
            lm_name: field.map(|field| field.lm_name().clone()),
            path: path.strip_prefix('.').unwrap_or(path).to_owned(),
            kind: MisfitKind::Type,
            reason: error.reason.clone(),
        };
        ParseError { misfits: vec![misfit], report: parsed.report }
    }

    /// The outputs of an answer.
    ///
    /// # Errors
    /// Every output that does not fit or breaks an assert.
    pub fn parse(&self, text: &str) -> Result<ParsedOutput, ParseError> {
        self.parse_allowing(text, Leniencies::ALL)
    }

    /// The outputs of an answer, read by no other leniency than those allowed.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_allowing(
        &self,
        text: &str,
        allowed: Leniencies,
    ) -> Result<ParsedOutput, ParseError> {
        answer::parse(&self.outputs, &self.checks, text, allowed)
    }
}
