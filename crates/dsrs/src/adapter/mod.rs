//! The chat prompt of a signature: schema and values to messages, the text of an answer to values.
//! The only prompt format of the engine. Never calls an LM and does not know graphs.
//!
//! Each value follows a header line `[[ ## name ## ]]`; an answer ends with the header `completed`.
//! Texts are written verbatim, without escaping, even if they contain a line that looks like a
//! header: only answers are parsed, an escape would confuse the LM, and whatever it copied would
//! come back changed.

mod answer;
mod assignment;
mod checks;
mod constrain;
mod continuation;
mod cut;
mod degraded_header;
mod field_texts;
mod field_value;
mod header;
mod headerless;
mod nested_object;
mod notation;
mod object_outputs;
mod object_texts;
mod outputs;
mod partial;
mod partial_value;
mod plan;
mod problem;
mod reasoning;
mod section_text;
mod sections;
mod single;
mod system;
mod trajectory;
mod turn;
mod value_start;
mod whole_answer;
mod write;

use indexmap::IndexMap;

use crate::coerce::Leniencies;
use crate::signature::SignatureSchema;
use crate::types::Type;
use crate::value::Fields;
use outputs::Outputs;

pub use answer::{ParsedOutput, ParsedValue};
pub use checks::{BrokenInput, CheckOutcome};
pub(crate) use checks::{BrokenOutput, Checks};
pub use partial::{AnswerEvent, PartialAnswer};
pub use plan::ChatPlan;
pub use problem::{OutputProblem, OutputProblemKind, ParseError};
pub(crate) use write::formatted;

/// The building blocks of the chat prompt, for authors of strategies. A predictor that makes many
/// calls prepares a [`ChatPlan`] once instead.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChatAdapter;

impl ChatAdapter {
    /// The system message: inputs, outputs, layout and task.
    #[must_use]
    pub fn build_system(schema: &SignatureSchema, instruction_override: Option<&str>) -> String {
        system::build(schema, instruction_override.unwrap_or(&schema.instructions))
    }

    /// A user message: every input under its header, then what to write.
    #[must_use]
    pub fn format_input(schema: &SignatureSchema, input: &Fields) -> String {
        turn::input(schema, &turn::closing(schema), input, &[])
    }

    /// The inputs alone, as a text for comparing calls: a line `name: value` for each input, with
    /// the value as in the prompt. Null values and the rest of the prompt are left out.
    ///
    /// ```
    /// # use dsrs::{adapter::ChatAdapter, signature::SignatureSchema, value::Payload};
    /// # #[derive(dsrs::Signature)]
    /// # struct QA { #[input] question: String, #[input] near: Option<String>, #[output] answer: String }
    /// # let schema = SignatureSchema::of::<QA>();
    /// let input = Payload::from_json(r#"{"question": "How far?", "near": null}"#).unwrap();
    /// let text = ChatAdapter::inputs_text(&schema, input.as_map().unwrap());
    /// assert_eq!(text, "question: How far?");
    /// ```
    #[must_use]
    pub fn inputs_text(schema: &SignatureSchema, input: &Fields) -> String {
        turn::inputs_text(schema, input)
    }

    /// An assistant message: every output under its header, then the end mark.
    #[must_use]
    pub fn format_output(schema: &SignatureSchema, output: &Fields) -> String {
        turn::output(schema, output)
    }

    /// The steps before an answer as the text of an input: labelled texts for each step. The first
    /// `left_out` steps are not shown.
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

    /// The same with a note about the first `left_out` steps in place of the line that counts them.
    #[must_use]
    pub(crate) fn format_steps_after<L: AsRef<str>, T: AsRef<str>>(
        note: &str,
        left_out: usize,
        steps: impl IntoIterator<Item = impl IntoIterator<Item = (L, T)>>,
    ) -> String {
        trajectory::write_after(note, left_out, steps)
    }

    /// The sections of an answer, verbatim, by the names in their headers. Only the first section
    /// of a name counts. Text before the first header and after the end mark is left out.
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

    /// Reads a text as one value, without any layout.
    ///
    /// # Errors
    /// The place where it does not fit the type, or every failed assert inside of the type.
    pub fn parse_value(
        ty: &Type,
        text: &str,
        allowed: Leniencies,
    ) -> Result<ParsedValue, ParseError> {
        single::parse(ty, text, allowed)
    }

    /// The outputs of an answer, with only the given leniencies.
    ///
    /// # Errors
    /// Like [`Self::parse_output`].
    pub fn parse_output_allowing(
        schema: &SignatureSchema,
        text: &str,
        allowed: Leniencies,
    ) -> Result<ParsedOutput, ParseError> {
        let (outputs, checks) = (Outputs::of(schema), checks::Checks::of_outputs(schema));
        answer::parse(&outputs, &checks, text, allowed)
    }
}
