//! The request that a schedule starts, as a form has it: fields by the kind of work, or its JSON. What fields would lose
//! stays JSON.

use std::sync::Arc;

use dsrs::graph::Program;
use serde_json::{Map, Value, json};

use crate::form::Form;
use crate::parts::schema_entry::{entered, json_or_text, number_or_text};
use crate::parts::schema_fill::{FilledField, filled};
use crate::parts::value_fill::filled_value;
use crate::run_form::request::{fields, inputs};
use crate::visitor::Visitor;
use crate::{evaluation, optimization};
use dsrs::document::parse_word;
use dsrs_api::schedule::ScheduleTarget;
use dsrs_app::AppError;
use dsrs_http::ApiProblem;
use dsrs_store::graph::GraphRef;

/// The place of the request in the body of a schedule, and the field with its JSON.
pub(super) const REQUEST: &str = "/request";

/// The place of the inputs of a run, which the fields of inputs are within.
pub(super) const INPUTS: &str = "/request/inputs";

/// The field with what was stored when the form was opened, so that only what a person changed is sent.
pub(super) const OPENED: &str = "opened";

/// The field that chooses between fields and JSON.
pub(super) const WAY: &str = "/request#";

/// What [`WAY`] is for JSON.
pub(super) const JSON: &str = "json";

/// The field with the items of a batch.
pub(super) const ITEMS: &str = "/request/items";

/// What a schedule starts, as a form has it.
pub(super) struct StartedWork {
    /// The form, with the request in the way that was chosen.
    pub(super) form: Form,
    pub(super) target: ScheduleTarget,
    /// The program whose inputs are the fields of a run.
    pub(super) program: Option<Arc<Program>>,
    /// Whether the request stays JSON because fields would lose a part of it.
    pub(super) is_beyond_fields: bool,
}

impl StartedWork {
    pub(super) async fn read(visitor: &Visitor, form: Form) -> Result<Self, ApiProblem> {
        let target = parse_word(form.text("/target")).unwrap_or_default();
        let program = match target {
            ScheduleTarget::Run => program(visitor, form.given("/graph")).await?,
            _ => None,
        };
        let form = if target == ScheduleTarget::Optimization { with_budget(form) } else { form };
        let mut work = Self { form, target, program, is_beyond_fields: false };
        work.follow_choice();
        Ok(work)
    }

    /// Whether the request is entered as JSON.
    pub(super) fn is_json(&self) -> bool {
        self.form.text(WAY) == JSON
    }

    /// Fields become JSON, and JSON becomes fields, when a person has chosen the other way.
    fn follow_choice(&mut self) {
        let text = self.form.given(REQUEST).map(str::to_owned);
        match (self.is_json(), text) {
            (true, None) => {
                let written = serde_json::to_string_pretty(&self.of_fields(&self.form));
                let field = (REQUEST.to_owned(), written.unwrap_or_default());
                self.form = self.form.replaced(REQUEST, vec![field]);
            }
            (false, Some(text)) => match self.as_fields(&text) {
                Some(form) => self.form = form,
                None => {
                    self.form = self.form.replaced(WAY, vec![(WAY.to_owned(), JSON.to_owned())]);
                    self.is_beyond_fields = true;
                }
            },
            _ => {}
        }
    }

    /// The form with fields instead of JSON, if they have all of it.
    fn as_fields(&self, text: &str) -> Option<Form> {
        let request = json_or_text(text);
        let has_inputs = request["inputs"].as_object().is_some_and(|inputs| !inputs.is_empty());
        // Without the program there are no fields for inputs.
        if self.target == ScheduleTarget::Run && self.program.is_none() && has_inputs {
            return None;
        }
        let form = self.form.replaced(REQUEST, self.fields_of(&request));
        self.is_same(&self.of_fields(&form), &request).then_some(form)
    }

    /// The request.
    pub(super) fn value(&self) -> Value {
        match self.is_json() {
            false => self.of_fields(&self.form),
            true => json_or_text(self.form.text(REQUEST)),
        }
    }

    /// The text of the request where it was written as JSON, so that the API reads what was written.
    pub(super) fn written(&self) -> Option<String> {
        let is_batch = self.target == ScheduleTarget::Batch;
        match (self.is_json(), self.form.given(ITEMS)) {
            (true, _) => Some(self.form.text(REQUEST).to_owned()),
            (false, Some(text)) if is_batch => {
                let options = with_options(json!({}), &batch_options(), &self.form).to_string();
                let rest = options.trim_start_matches('{');
                let comma = if rest == "}" { "" } else { "," };
                Some(format!("{{\"items\":{}{comma}{rest}", written_items(text)))
            }
            _ => None,
        }
    }

    /// Whether the request is not the one that was stored when the form was opened. As JSON every difference counts.
    pub(super) fn is_changed_from(&self, before: &Value) -> bool {
        match self.is_json() {
            true => self.value() != *before,
            false => !self.is_same(before, &self.value()),
        }
    }

    /// Whether two requests mean the same: an input that is null is like one that is absent, unless it has a default.
    fn is_same(&self, one: &Value, other: &Value) -> bool {
        let program = self.program.as_deref();
        let fields = program.map(|program| fields(program, REQUEST)).unwrap_or_default();
        let without_default: Vec<&str> =
            fields.iter().filter(|field| !field.has_default).map(|field| field.name).collect();
        is_same_but_for(&without_default, one, other)
    }

    /// The inputs. Without the program they stay as they are stored, or as they were typed.
    fn inputs_of(&self, form: &Form) -> Map<String, Value> {
        if let Some(program) = self.program.as_deref() {
            return inputs(program, form, REQUEST);
        }
        let opened: Value = serde_json::from_str(form.text(OPENED)).unwrap_or_default();
        if let Some(stored) = opened["request"]["inputs"].as_object() {
            return stored.clone();
        }
        let typed = form.iter().filter_map(|(name, text)| {
            let name = name.strip_prefix(INPUTS)?.strip_prefix('/')?;
            Some((name.to_owned(), number_or_text(text)))
        });
        typed.filter(|(name, _)| !name.contains('/')).collect()
    }

    fn of_fields(&self, form: &Form) -> Value {
        match self.target {
            ScheduleTarget::Run => {
                with_options(json!({ "inputs": self.inputs_of(form) }), &run_options(), form)
            }
            ScheduleTarget::Batch => {
                let items = form.given(ITEMS).map(items).unwrap_or_else(|| json!([]));
                with_options(json!({ "items": items }), &batch_options(), form)
            }
            ScheduleTarget::Evaluation => evaluation::request::body(form, REQUEST),
            ScheduleTarget::Optimization => optimization::request::body(form, REQUEST),
        }
    }

    fn fields_of(&self, request: &Value) -> Vec<FilledField> {
        match self.target {
            ScheduleTarget::Run => {
                let program = self.program.as_deref();
                let own = program.map(|program| fields(program, REQUEST)).unwrap_or_default();
                let inputs = own.iter().filter_map(|field| {
                    Some(filled_value(field, request["inputs"].get(field.name)?))
                });
                let inputs: Vec<FilledField> = inputs.flatten().collect();
                [inputs, filled(&run_options(), request, REQUEST)].concat()
            }
            ScheduleTarget::Batch => {
                let items = (ITEMS.to_owned(), lines(&request["items"]));
                [vec![items], filled(&batch_options(), request, REQUEST)].concat()
            }
            ScheduleTarget::Evaluation => evaluation::request::fields_of(request, REQUEST),
            ScheduleTarget::Optimization => optimization::request::fields_of(request, REQUEST),
        }
    }
}

/// The program of a graph, if there is one that this server can build.
async fn program(
    visitor: &Visitor,
    graph: Option<&str>,
) -> Result<Option<Arc<Program>>, ApiProblem> {
    let Visitor { app, scope, .. } = visitor;
    let Some(graph) = graph else { return Ok(None) };
    let row = match app.graph_get(scope, &GraphRef::parse(graph), None).await {
        Ok(row) => row,
        Err(AppError::NotFound(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    match app.program_of(scope, &row).await {
        Ok(program) => Ok(Some(program)),
        // The form would lose what was typed, as if the graph had no inputs.
        Err(error @ AppError::Unavailable(_)) => Err(error.into()),
        Err(_) => Ok(None),
    }
}

/// A form that showed no fields of an optimization yet, with a budget: a limit that a person should see.
fn with_budget(form: Form) -> Form {
    let is_shown = |name: &str| name == REQUEST || name.starts_with("/request/trainset/");
    let has_fields = form.iter().any(|(name, _)| is_shown(name));
    match has_fields {
        true => form,
        false => {
            let budget = ("/request/budget/lm_calls".to_owned(), "500".to_owned());
            form.replaced("/request/budget", vec![budget])
        }
    }
}

fn with_options(mut body: Value, schema: &Value, form: &Form) -> Value {
    let options = entered(schema, form, REQUEST);
    if let (Value::Object(body), Some(Value::Object(options))) = (&mut body, options) {
        body.extend(options);
    }
    body
}

/// Items, one on each line, or as a list.
fn items(text: &str) -> Value {
    match json_or_text(text.trim()) {
        list @ Value::Array(_) => list,
        _ => item_lines(text).map(json_or_text).collect(),
    }
}

fn item_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// The same as the text of a list: what is JSON as it was written, so that the API names a key that is there twice.
fn written_items(text: &str) -> String {
    let is_json = |text: &str| serde_json::from_str::<Value>(text).is_ok();
    if text.trim_start().starts_with('[') && is_json(text) {
        return text.to_owned();
    }
    let item = |line: &str| if is_json(line) { line.to_owned() } else { json!(line).to_string() };
    format!("[{}]", item_lines(text).map(item).collect::<Vec<_>>().join(","))
}

fn lines(items: &Value) -> String {
    let lines: Vec<String> =
        items.as_array().into_iter().flatten().map(ToString::to_string).collect();
    lines.join("\n")
}

/// Whether two requests are equal but for these inputs, where null is like absence.
fn is_same_but_for(nullable: &[&str], one: &Value, other: &Value) -> bool {
    let comparable = |request: &Value| {
        let mut request = request.clone();
        if let Some(inputs) = request.get_mut("inputs").and_then(Value::as_object_mut) {
            inputs.retain(|name, value| !value.is_null() || !nullable.contains(&name.as_str()));
        }
        request
    };
    comparable(one) == comparable(other)
}

/// The members of a run beside its inputs.
pub(super) fn run_options() -> Value {
    options([])
}

/// The members of a batch beside its items.
pub(super) fn batch_options() -> Value {
    options([
        (
            "concurrency",
            json!({"type": "integer", "minimum": 1, "description": "items at a time; by default the limit of the server"}),
        ),
        (
            "dedupe",
            json!({"type": "boolean", "description": "whether identical nodes run only once for identical inputs"}),
        ),
    ])
}

fn options<const N: usize>(more: [(&str, Value); N]) -> Value {
    let known = [
        (
            "version",
            json!({"type": "integer", "minimum": 1, "description": "of the graph; by default the newest at the time"}),
        ),
        (
            "state_version",
            json!({"type": "integer", "minimum": 1, "description": "by default the active one at the time"}),
        ),
        (
            "timeout_ms",
            json!({"type": "integer", "minimum": 1, "description": "by default the limit of the server"}),
        ),
        (
            "tags",
            json!({"type": "array", "items": {"type": "string"}, "description": "by which runs are found"}),
        ),
        ("session_id", json!({"type": "string", "description": "the session that runs belong to"})),
        ("user_id", json!({"type": "string", "description": "the user on whose behalf they run"})),
        (
            "metadata",
            json!({"type": "object", "description": "at most 16 members: texts, numbers, true and false"}),
        ),
    ];
    let all = known.into_iter().chain(more).map(|(name, schema)| (name.to_owned(), schema));
    json!({"type": "object", "properties": all.collect::<Map<String, Value>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_lines_or_a_list() {
        let wanted = json!([{"a": 1}, {"a": 2}]);
        assert_eq!(items("{\"a\": 1}\r\n\n {\"a\": 2}"), wanted);
        assert_eq!(items("[{\"a\": 1}, {\"a\": 2}]"), wanted);
        assert_eq!(items(&lines(&wanted)), wanted);
        assert_eq!(items("nonsense"), json!(["nonsense"]));
    }

    #[test]
    fn an_input_that_is_null_is_like_one_that_is_absent_unless_it_has_a_default() {
        let is_same = |one, other| is_same_but_for(&["b"], &one, &other);
        assert!(is_same(json!({"inputs": {"a": 1, "b": null}}), json!({"inputs": {"a": 1}})));
        assert!(!is_same(json!({"inputs": {"a": 1, "c": null}}), json!({"inputs": {"a": 1}})));
        assert!(!is_same(json!({"inputs": {"a": 1}, "b": null}), json!({"inputs": {"a": 1}})));
    }

    #[test]
    fn items_are_sent_as_they_were_written() {
        assert_eq!(written_items("{\"a\": 1, \"a\": 2}\n\nno"), "[{\"a\": 1, \"a\": 2},\"no\"]");
        assert_eq!(written_items("[{}, {}]"), "[{}, {}]");
        assert_eq!(items("{\"a\": 1, \"a\": 2}"), json!(["{\"a\": 1, \"a\": 2}"]));
    }
}
