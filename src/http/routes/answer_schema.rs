//! A schema that a client wants an answer to fit: whether the outputs of a graph fit it, and the outputs as it allows
//! them. Knows no route.

use std::sync::Arc;

use dsrs::graph::Program;
use dsrs::problem::{Problem, Problems};
use dsrs::read::ValueSchema;
use dsrs::signature::signature_to_schemas;
use dsrs::value::parse_json;
use serde_json::{Map, Value, json};

use crate::app::{App, AppError, Invalid};
use crate::http::protocol::problem::ApiProblem;
use crate::http::protocol::status::ProblemCode;
use crate::http::routes::chat_refusal::refused;
use crate::http::routes::schema_cut::cut_to_schema;

/// The most violations that one answer names.
const MOST_VIOLATIONS: usize = 5;

/// A schema in a request.
pub(super) struct AnswerSchema<'q> {
    /// Where the request has what the schema belongs to, as a JSON Pointer.
    pub(super) place: String,
    /// Where the request has the schema.
    pub(super) pointer: String,
    pub(super) schema: &'q Value,
    /// Whether the answer has to keep bounds, patterns and formats.
    pub(super) is_strict: bool,
}

/// A schema that the outputs of a graph fit by their types.
#[derive(Clone)]
pub(super) struct OutputSchema {
    schema: Value,
    /// What a strict schema demands of values beside their types.
    strict: Option<Arc<ValueSchema>>,
}

impl AnswerSchema<'_> {
    /// The schema, if it accepts all outputs of a program that it has. A strict one has to be a schema that values can
    /// be checked against.
    pub(super) fn check(&self, app: &App, program: &Program) -> Result<OutputSchema, ApiProblem> {
        if let Some((path, reason)) = self.mismatch(app, program)? {
            let detail =
                format!("the outputs of the graph do not fit the schema: `{path}`: {reason}");
            return Err(refused(&self.place, detail));
        }
        let compile = || ValueSchema::with_formats(&self.schema.to_string()).map(Arc::new);
        let strict = self.is_strict.then(compile).transpose();
        let strict = strict.map_err(|reason| refused(&self.pointer, reason))?;
        Ok(OutputSchema { schema: self.schema.clone(), strict })
    }

    /// Where the outputs of a program do not fit, and why.
    fn mismatch(
        &self,
        app: &App,
        program: &Program,
    ) -> Result<Option<(String, String)>, ApiProblem> {
        let outputs = signature_to_schemas(&program.signature()).to_json();
        let outputs: Value = serde_json::from_str(&outputs).unwrap_or_default();
        let request = json!({"from": outputs["output_schema"], "to": self.schema}).to_string();
        let request = parse_json(request.as_bytes())
            .map_err(|error| refused(&self.pointer, error.to_string()))?;
        let checked = app.type_assignable(&request).map_err(|error| moved(error, &self.pointer))?;
        Ok(checked.mismatch.map(|(path, reason)| (path.to_string(), reason.to_string())))
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

impl OutputSchema {
    /// Whether the schema has a member of this name.
    pub(super) fn has_member(&self, name: &str) -> bool {
        self.schema["properties"]
            .as_object()
            .is_some_and(|members: &Map<_, _>| members.contains_key(name))
    }

    /// The JSON of the outputs as the schema allows them.
    pub(super) fn render(&self, outputs: &Value) -> Result<String, ApiProblem> {
        let cut = cut_to_schema(outputs, &self.schema).ok_or_else(|| {
            refused("", "the schema has too many alternatives for these outputs; use fewer")
        })?;
        let text = cut.to_string();
        let strict = self.strict.as_ref();
        let violations = strict.map(|schema| schema.problems_in(&text, MOST_VIOLATIONS));
        match violations.unwrap_or_default().as_slice() {
            [] => Ok(text),
            found => Err(violation(found)),
        }
    }
}

/// What a model wrote beyond the bounds of a strict schema.
fn violation(found: &[(String, String)]) -> ApiProblem {
    let said = |(place, reason): &(String, String)| format!("`{place}`: {reason}");
    let said = found.iter().map(said).collect::<Vec<_>>().join("; ");
    let detail = format!(
        "the answer of the model does not fit the strict schema: {said}; declare the bounds in the signature of the \
         graph, and the model is asked again"
    );
    ApiProblem::new(ProblemCode::ParseError, detail)
}
