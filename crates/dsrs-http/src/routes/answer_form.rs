//! The form of an answer in OpenAI's API: what a request asks for, whether the outputs of a graph fit it, and the text that
//! they become. Knows no route.

use std::sync::Arc;

use dsrs::graph::Program;
use serde_json::{Map, Value};

use crate::protocol::problem::ApiProblem;
use crate::routes::answer_schema::{AnswerSchema, OutputSchema};
use crate::routes::answer_tool::AnswerTools;
use crate::routes::chat_refusal::{refused, shown};
use dsrs_app::{App, ChatModel};

/// The form that a request asks for.
pub(super) enum AnswerForm<'q> {
    /// The text of the output.
    Text,
    /// The JSON of all outputs.
    Json,
    /// JSON that fits a schema.
    Schema(AnswerSchema<'q>),
    /// A call of one of these tools.
    Call(AnswerTools<'q>),
}

/// The form of an answer that the outputs of a graph can have.
#[derive(Clone)]
pub(super) enum OutputForm {
    Text,
    /// The JSON of all outputs.
    Json,
    /// The JSON of the outputs that this schema has.
    Schema(OutputSchema),
    /// The arguments of a call of the tool with this name.
    Call(Arc<str>, OutputSchema),
}

impl<'q> AnswerForm<'q> {
    /// The form at a place of a request. `steps` lead from it to the schema.
    pub(super) fn of(
        place: &'static str,
        format: Option<&'q Map<String, Value>>,
        steps: &[&str],
    ) -> Result<Self, ApiProblem> {
        let Some(format) = format else { return Ok(Self::Text) };
        match format.get("type") {
            None => Ok(Self::Text),
            Some(Value::String(kind)) => match kind.as_str() {
                "text" => Ok(Self::Text),
                "json_object" => Ok(Self::Json),
                "json_schema" => Self::with_schema(place, format, steps),
                other => Err(refused(
                    place,
                    format!("the type `{}` is unknown; use `json_schema`", shown(other)),
                )),
            },
            Some(_) => {
                Err(refused(format!("{place}/type"), "expected a text such as `json_schema`"))
            }
        }
    }

    fn with_schema(
        place: &'static str,
        format: &'q Map<String, Value>,
        steps: &[&str],
    ) -> Result<Self, ApiProblem> {
        let (last, before) = steps.split_last().unwrap_or((&"", &[]));
        let (mut holder, mut around) = (format, place.to_owned());
        for step in before {
            around = format!("{around}/{step}");
            holder = match holder.get(*step) {
                Some(Value::Object(found)) => found,
                _ => {
                    let pointer = format!("{place}/{}", steps.join("/"));
                    return Err(refused(pointer, "it is missing: `json_schema` needs a schema"));
                }
            };
        }
        Ok(Self::Schema(AnswerSchema::read(holder, last, place.to_owned(), &around)?))
    }

    /// The form of the outputs of a program. A schema has to accept all of them that it has.
    /// `output` is the one that is the answer.
    pub(super) fn check(
        &self,
        app: &App,
        program: &Program,
        output: &str,
    ) -> Result<OutputForm, ApiProblem> {
        match self {
            Self::Text => Ok(OutputForm::Text),
            Self::Json => Ok(OutputForm::Json),
            Self::Schema(schema) => Ok(OutputForm::Schema(schema.check(app, program)?)),
            Self::Call(tools) => {
                let (name, schema) = tools.choose(app, program, output)?;
                Ok(OutputForm::Call(name.into(), schema))
            }
        }
    }
}

impl OutputForm {
    /// Whether the answer is the text of one output.
    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::Text)
    }

    /// The tool that the answer calls.
    pub(super) fn called(&self) -> Option<&str> {
        match self {
            Self::Call(name, _) => Some(name),
            _ => None,
        }
    }

    /// The text of the outputs of a run.
    pub(super) fn render(&self, model: &ChatModel, outputs: &Value) -> Result<String, ApiProblem> {
        match (self, outputs) {
            (Self::Text, Value::Object(outputs)) => Ok(model.answer(outputs)),
            (Self::Schema(schema) | Self::Call(_, schema), outputs) => schema.render(outputs),
            (_, outputs) => Ok(outputs.to_string()),
        }
    }
}
