//! A schema that a client wants an answer to fit: whether the outputs of a graph fit it, and the outputs as it allows
//! them. Knows no route.

use std::sync::Arc;

use dsrs::graph::Program;
use dsrs::problem::{Problem, Problems};
use dsrs::read::ValueSchema;
use dsrs::signature::signature_to_schemas;
use dsrs::value::parse_json;
use serde_json::{Map, Value, json};

use crate::protocol::problem::ApiProblem;
use crate::protocol::status::ProblemCode;
use crate::routes::chat_refusal::refused;
use crate::routes::schema_cut::cut_to_schema;
use dsrs_app::{App, AppError, Invalid};

/// The most values and patterns of the schemas of a request: reading them takes time.
const MOST_VALUES: usize = 10_000;
const MOST_PATTERNS: usize = 50;

/// How many steps lead from the root of a schema to its members: references and alternatives.
const MOST_STEPS: usize = 8;

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
    /// The output that is the only member, and the name of that member.
    wrapped: Option<(String, String)>,
    /// What a strict schema demands of values beside their types.
    strict: Option<Arc<ValueSchema>>,
}

/// The counted parts of schemas.
#[derive(Default)]
pub(super) struct SchemaSize {
    values: usize,
    patterns: usize,
}

impl SchemaSize {
    pub(super) fn add(&mut self, schema: &Value) {
        self.values += 1;
        match schema {
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(members) => {
                self.patterns += usize::from(members.contains_key("pattern"));
                members.values().for_each(|member| self.add(member));
            }
            _ => {}
        }
    }

    /// Refuses schemas that take too long to read.
    pub(super) fn check(&self, pointer: &str) -> Result<(), ApiProblem> {
        match self.values > MOST_VALUES || self.patterns > MOST_PATTERNS {
            true => Err(refused(
                pointer,
                format!("more than {MOST_VALUES} values or {MOST_PATTERNS} patterns; use fewer"),
            )),
            false => Ok(()),
        }
    }
}

impl<'q> AnswerSchema<'q> {
    /// The schema in a member of `holder`, which has its `strict`, too.
    pub(super) fn read(
        holder: &'q Map<String, Value>,
        member: &str,
        place: String,
        around: &str,
    ) -> Result<Self, ApiProblem> {
        let pointer = format!("{around}/{member}");
        let is_strict = match holder.get("strict") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(strict)) => *strict,
            Some(_) => {
                return Err(refused(format!("{around}/strict"), "expected `true` or `false`"));
            }
        };
        match holder.get(member) {
            Some(schema) if schema.is_object() => Ok(Self { place, pointer, schema, is_strict }),
            Some(_) => Err(refused(pointer, "a schema is an object")),
            None => Err(refused(pointer, "it is missing: expected a schema")),
        }
    }

    /// The names of the members of an answer, where the root of the schema has them or leads to them.
    pub(super) fn members(&self) -> Vec<&'q str> {
        let mut found = Vec::new();
        let mut open = vec![(self.schema, MOST_STEPS)];
        while let Some((schema, steps)) = open.pop() {
            found.extend(schema["properties"].as_object().into_iter().flat_map(Map::keys));
            let Some(steps) = steps.checked_sub(1) else { continue };
            let target = schema["$ref"].as_str().and_then(|target| target.strip_prefix('#'));
            open.extend(
                target.and_then(|target| self.schema.pointer(target)).map(|to| (to, steps)),
            );
            for list in ["anyOf", "oneOf", "allOf"] {
                open.extend(schema[list].as_array().into_iter().flatten().map(|to| (to, steps)));
            }
        }
        found.into_iter().map(String::as_str).collect()
    }

    /// The schema, if it accepts all outputs of a program that it has. A strict one has to be a schema that values can
    /// be checked against.
    pub(super) fn check(&self, app: &App, program: &Program) -> Result<OutputSchema, ApiProblem> {
        self.check_as(app, program, None)
    }

    /// The same with an output as the only member, which has this name.
    pub(super) fn check_as(
        &self,
        app: &App,
        program: &Program,
        wrapped: Option<(&str, &str)>,
    ) -> Result<OutputSchema, ApiProblem> {
        let mut size = SchemaSize::default();
        size.add(self.schema);
        size.check(&self.pointer)?;
        if let Some((path, reason)) = self.mismatch(app, outputs_of(program, wrapped))? {
            let detail =
                format!("the outputs of the graph do not fit the schema: `{path}`: {reason}");
            return Err(refused(&self.place, detail));
        }
        let compile = || ValueSchema::with_formats(&self.schema.to_string()).map(Arc::new);
        let strict = self.is_strict.then(compile).transpose();
        let strict = strict.map_err(|reason| refused(&self.pointer, reason))?;
        let wrapped = wrapped.map(|(output, member)| (output.to_owned(), member.to_owned()));
        Ok(OutputSchema { schema: self.schema.clone(), wrapped, strict })
    }

    /// Where outputs do not fit, and why.
    fn mismatch(&self, app: &App, outputs: Value) -> Result<Option<(String, String)>, ApiProblem> {
        let request = json!({"from": outputs, "to": self.schema}).to_string();
        let request = parse_json(request.as_bytes())
            .map_err(|error| refused(&self.pointer, error.to_string()))?;
        let checked = app.type_assignable(&request).map_err(|error| moved(error, &self.pointer))?;
        Ok(checked.mismatch.map(|(path, reason)| (path.to_string(), reason.to_string())))
    }
}

/// The schema of the outputs of a program; of one output as the only member, if `wrapped` says so.
fn outputs_of(program: &Program, wrapped: Option<(&str, &str)>) -> Value {
    let schemas = signature_to_schemas(&program.signature()).to_json();
    let mut schemas: Value = serde_json::from_str(&schemas).unwrap_or_default();
    let mut outputs = schemas["output_schema"].take();
    if let Some((output, member)) = wrapped {
        let schema = outputs["properties"][output].take();
        outputs["properties"] = json!({ member: schema });
        outputs["required"] = json!([member]);
    }
    outputs
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
    /// The JSON of the outputs as the schema allows them.
    pub(super) fn render(&self, outputs: &Value) -> Result<String, ApiProblem> {
        let wrapped = self.wrapped.as_ref();
        let wrapped = wrapped.map(|(output, member)| json!({ member.as_str(): outputs[output] }));
        let outputs = wrapped.as_ref().unwrap_or(outputs);
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
    let describe = |(place, reason): &(String, String)| format!("`{place}`: {reason}");
    let misfits = found.iter().map(describe).collect::<Vec<_>>().join("; ");
    let detail = format!(
        "the answer of the model does not fit the strict schema: {misfits}; declare the bounds in the signature of the \
         graph, and the model is asked again"
    );
    ApiProblem::new(ProblemCode::ParseError, detail)
}
