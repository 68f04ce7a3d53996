//! A schema prepared for many calls: what does not depend on the call is made once.

use std::sync::Arc;

use super::answer::{self, ParseError, ParsedOutput};
use super::checks::Checks;
use super::{system, turn};
use crate::coerce::Leniencies;
use crate::lm::{Message, Prefix};
use crate::signature::SignatureSchema;
use crate::value::Fields;

/// A signature, ready to be asked.
#[derive(Clone, Debug)]
pub struct ChatPlan {
    schema: Arc<SignatureSchema>,
    closing: Arc<str>,
    checks: Arc<Checks>,
}

impl ChatPlan {
    /// Prepares a schema.
    #[must_use]
    pub fn new(schema: Arc<SignatureSchema>) -> Self {
        let closing = turn::closing(&schema).into();
        let checks = Arc::new(Checks::compile(&schema));
        Self { schema, closing, checks }
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
        let mut messages = vec![Message::system(system::build(&self.schema, instruction))];
        for (input, output) in demos {
            messages.push(self.ask(input));
            messages.push(Message::assistant(turn::output(&self.schema, output)));
        }
        Prefix::of(messages)
    }

    /// The user message of a call.
    #[must_use]
    pub fn ask(&self, input: &Fields) -> Message {
        Message::user(turn::input(&self.schema, &self.closing, input))
    }

    /// The user message that follows an answer which does not fit.
    #[must_use]
    pub fn ask_again(&self, error: &ParseError) -> Message {
        Message::user(turn::correction(&self.closing, error))
    }

    /// The outputs of an answer.
    ///
    /// # Errors
    /// Every output that does not fit or breaks an assert.
    pub fn parse(&self, text: &str) -> Result<ParsedOutput, ParseError> {
        answer::parse(&self.schema, &self.checks, text, Leniencies::ALL)
    }
}
