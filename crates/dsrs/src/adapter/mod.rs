//! The chat prompt of a signature: schema and values to messages, an answer's text to values. The
//! one prompt format of the engine; never calls an LM and knows nothing of graphs.
//!
//! A value stands under a header line `[[ ## name ## ]]`; an answer ends with the header
//! `completed`. Texts are written verbatim, without escaping, even when they hold a line that looks
//! like a header: only answers are ever parsed, an escape would reach the LM as noise, and what it
//! copies would come back changed.

mod answer;
mod checks;
mod constrain;
mod header;
mod headless;
mod members;
mod notation;
mod notes;
mod outputs;
mod partial;
mod partial_value;
mod plan;
mod reading;
mod reasoning;
mod sections;
mod settle;
mod single;
mod stretch;
mod system;
mod trajectory;
mod turn;
mod unwrapped;
mod worn;
mod write;

use indexmap::IndexMap;

use crate::coerce::Leniencies;
use crate::signature::SignatureSchema;
use crate::types::Type;
use crate::value::Fields;
use outputs::Outputs;

pub use answer::{Misfit, MisfitKind, ParseError, ParsedOutput, ParsedValue};
pub use checks::CheckOutcome;
pub use partial::{AnswerEvent, PartialAnswer};
pub use plan::ChatPlan;
pub(crate) use write::formatted;

/// The building blocks of the chat prompt, for authors of strategies. A predictor that calls often
/// prepares a [`ChatPlan`] once instead.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChatAdapter;

impl ChatAdapter {
    /// The system message: what comes in, what must go out and in which layout, what to do.
    #[must_use]
    pub fn build_system(schema: &SignatureSchema, instruction_override: Option<&str>) -> String {
        system::build(schema, instruction_override.unwrap_or(&schema.instructions))
    }

    /// A user message: every input under its header, and what to write.
    #[must_use]
    pub fn format_input(schema: &SignatureSchema, input: &Fields) -> String {
        turn::input(schema, &turn::closing(schema), input, &[])
    }

    /// The inputs alone, as a text to tell by how alike two calls are: a line `name: value` for each,
    /// a value as the prompt has it. What is null is left out, and so is the rest of the prompt.
    ///
    /// ```
    /// # use dsrs::{adapter::ChatAdapter, signature::SignatureSchema, value::Payload};
    /// # #[derive(dsrs::Signature)]
    /// # struct QA { #[input] question: String, #[input] near: Option<String>, #[output] answer: String }
    /// # let schema = SignatureSchema::of::<QA>();
    /// let input = Payload::from_json(r#"{"question": "How far?", "near": null}"#).unwrap();
    /// let text = ChatAdapter::inputs_alone(&schema, input.as_map().unwrap());
    /// assert_eq!(text, "question: How far?");
    /// ```
    #[must_use]
    pub fn inputs_alone(schema: &SignatureSchema, input: &Fields) -> String {
        turn::inputs_alone(schema, input)
    }

    /// An assistant message: every output under its header, and the end mark.
    #[must_use]
    pub fn format_output(schema: &SignatureSchema, output: &Fields) -> String {
        turn::output(schema, output)
    }

    /// What was done on the way to an answer, as the text of an input: steps of labelled texts, of
    /// which the first `left_out` are not shown.
    ///
    /// ```
    /// use dsrs::adapter::ChatAdapter;
    /// let steps = [[("thought", "look it up")], [("thought", "done")]];
    /// let text = ChatAdapter::format_trajectory(0, steps);
    /// assert_eq!(text, "Step 1\nthought: look it up\n\nStep 2\nthought: done");
    /// ```
    #[must_use]
    pub fn format_trajectory<L: AsRef<str>, T: AsRef<str>>(
        left_out: usize,
        steps: impl IntoIterator<Item = impl IntoIterator<Item = (L, T)>>,
    ) -> String {
        trajectory::write(left_out, steps)
    }

    /// The sections of an answer by the names in their headers, as they stand there. The first of
    /// a name counts; what stands before the first header or after the end mark is left out.
    #[must_use]
    pub fn parse_sections(text: &str) -> IndexMap<String, String> {
        sections::by_header(text)
    }

    /// The outputs of an answer, of their types and in the schema's order.
    ///
    /// # Errors
    /// Every output that does not fit or breaks an assert.
    pub fn parse_output(schema: &SignatureSchema, text: &str) -> Result<ParsedOutput, ParseError> {
        Self::parse_output_allowing(schema, text, Leniencies::ALL)
    }

    /// A text as one value, with no layout around it.
    ///
    /// # Errors
    /// Where it does not fit the type, or every assert inside of the type that does not hold.
    pub fn parse_value(
        ty: &Type,
        text: &str,
        allowed: Leniencies,
    ) -> Result<ParsedValue, ParseError> {
        single::parse(ty, text, allowed)
    }

    /// The outputs of an answer, read by no other leniency than those allowed.
    ///
    /// # Errors
    /// As [`Self::parse_output`].
    pub fn parse_output_allowing(
        schema: &SignatureSchema,
        text: &str,
        allowed: Leniencies,
    ) -> Result<ParsedOutput, ParseError> {
        let (outputs, checks) = (Outputs::of(schema), checks::Checks::compile(schema));
        answer::parse(&outputs, &checks, text, allowed)
    }
}
