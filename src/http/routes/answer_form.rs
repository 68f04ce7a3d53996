//! The form of an answer in OpenAI's API: what a request asks for, whether the outputs of a graph fit it, and the text that
//! they become. Knows no route.

use std::sync::Arc;

use dsrs::graph::Program;
use dsrs::problem::{Problem, Problems};
use dsrs::signature::signature_to_schemas;
use dsrs::value::parse_json;
use serde_json::{Map, Value, json};

use crate::app::{App, AppError, ChatModel, Invalid};
use crate::http::protocol::problem::ApiProblem;
use crate::http::routes::chat_refusal::{refused, shown};
use crate::http::routes::schema_cut::cut_to_schema;

/// The form that a request asks for.
pub(super) enum AnswerForm<'q> {
    /// The text of the output.
    Text,
    /// The JSON of all outputs.
    Json,
    /// JSON that fits a schema.
    Schema {
        /// Where the request has the form, as a JSON Pointer.
        place: &'static str,
        /// Where the request has the schema.
        pointer: String,
        schema: &'q Value,
    },
}

/// The form of an answer that the outputs of a graph can have.
#[derive(Clone, Debug)]
pub(super) enum OutputForm {
    /// The text of the output.
    Text,
    /// The JSON of all outputs.
    Json,
    /// The JSON of the outputs that this schema has.
    Cut(Arc<Value>),
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
        let pointer = format!("{place}/{}", steps.join("/"));
        let (first, rest) = steps.split_first().unwrap_or((&"", &[]));
        let found = rest.iter().try_fold(format.get(*first), |found, step| Some(found?.get(*step)));
        match found.flatten() {
            Some(schema) if schema.is_object() => Ok(Self::Schema { place, pointer, schema }),
            Some(_) => Err(refused(pointer, "a schema is an object")),
            None => Err(refused(pointer, "it is missing: `json_schema` needs a schema")),
        }
    }

    /// The form of the outputs of a program. A schema has to accept all of them that it has.
    pub(super) fn check(&self, app: &App, program: &Program) -> Result<OutputForm, ApiProblem> {
        let (place, pointer, schema) = match self {
            Self::Text => return Ok(OutputForm::Text),
            Self::Json => return Ok(OutputForm::Json),
            Self::Schema { place, pointer, schema } => (*place, pointer, *schema),
        };
        let outputs = signature_to_schemas(&program.signature()).to_json();
        let outputs: Value = serde_json::from_str(&outputs).unwrap_or_default();
        let request = json!({"from": outputs["output_schema"], "to": schema}).to_string();
        let request =
            parse_json(request.as_bytes()).map_err(|error| refused(pointer, error.to_string()))?;
        let checked = app.type_assignable(&request).map_err(|error| moved(error, pointer))?;
        match checked.mismatch {
            None => Ok(OutputForm::Cut(Arc::new(schema.clone()))),
            Some((path, reason)) => Err(refused(
                place,
                format!("the outputs of the graph do not fit the schema: `{path}`: {reason}"),
            )),
        }
    }
}

/// The problems of a schema, at its place in the request.
fn moved(error: AppError, pointer: &str) -> ApiProblem {
    let AppError::Invalid { problems, .. } = error else { return error.into() };
    let mut found = Problems::new();
    found.extend(problems.iter().map(|problem| {
        let rest = problem.pointer.strip_prefix("/to").unwrap_or(&problem.pointer);
        Problem { pointer: format!("{pointer}{rest}"), ..problem.clone() }
    }));
    AppError::invalid(Invalid::Request, found).into()
}

impl OutputForm {
    /// Whether the answer is the text of one output.
    pub(super) fn is_text(&self) -> bool {
        matches!(self, Self::Text)
    }

    /// The text of the outputs of a run.
    pub(super) fn render(&self, model: &ChatModel, outputs: &Value) -> Result<String, ApiProblem> {
        match (self, outputs) {
            (Self::Text, Value::Object(outputs)) => Ok(model.answer(outputs)),
            (Self::Cut(schema), outputs) => {
                let cut = cut_to_schema(outputs, schema).ok_or_else(|| {
                    let detail =
                        "the schema has too many alternatives for these outputs; use fewer";
                    refused("", detail)
                })?;
                Ok(cut.to_string())
            }
            (_, outputs) => Ok(outputs.to_string()),
        }
    }
}
