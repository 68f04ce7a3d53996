//! The request that a schedule starts, as a form has it: fields by the kind of work, or its JSON. What fields would lose
//! stays JSON.

use std::sync::Arc;

use dsrs::graph::Program;
use serde_json::{Map, Value, json};

use crate::app::ScheduleTarget;
use crate::page::form::Form;
use crate::page::parts::schema_entry::entered;
use crate::page::parts::schema_fill::{FilledField, filled};
use crate::page::parts::value_fill::filled_value;
use crate::page::run_form::request::{fields, inputs};
use crate::page::visitor::Visitor;
use crate::page::{evaluation, optimization};
use crate::store::graph::GraphRef;

/// The place of the request in the body of a schedule, and the field with its JSON.
pub(super) const REQUEST: &str = "/request";

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
    /// Reads a form.
    pub(super) async fn read(visitor: &Visitor, form: Form) -> Self {
        let target = ScheduleTarget::parse(form.text("/target")).unwrap_or(ScheduleTarget::Run);
        let program = match target {
            ScheduleTarget::Run => program(visitor, form.given("/graph")).await,
            _ => None,
        };
        let form = if target == ScheduleTarget::Optimization { with_budget(form) } else { form };
        let mut work = Self { form, target, program, is_beyond_fields: false };
        work.follow_choice();
        work
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
        let request: Value = serde_json::from_str(text).ok()?;
        let form = self.form.replaced(REQUEST, self.fields_of(&request));
        is_same(&self.of_fields(&form), &request).then_some(form)
    }

    /// The request.
    pub(super) fn value(&self) -> Value {
        match self.is_json() {
            false => self.of_fields(&self.form),
            true => {
                let text = self.form.text(REQUEST);
                serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
            }
        }
    }

    fn of_fields(&self, form: &Form) -> Value {
        match self.target {
            ScheduleTarget::Run => {
                let program = self.program.as_deref();
                let inputs = program.map(|program| inputs(program, form, REQUEST));
                with_options(json!({ "inputs": inputs.unwrap_or_default() }), &run_options(), form)
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

/// The program of a graph, if there is one.
async fn program(visitor: &Visitor, graph: Option<&str>) -> Option<Arc<Program>> {
    let Visitor { app, scope, .. } = visitor;
    let row = app.graph_get(scope, &GraphRef::parse(graph?), None).await.ok()?;
    app.program_of(scope, &row).await.ok()
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
    if let Ok(list @ Value::Array(_)) = serde_json::from_str(text) {
        return list;
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_str(line).unwrap_or_else(|_| Value::from(line))).collect()
}

fn lines(items: &Value) -> String {
    let lines: Vec<String> =
        items.as_array().into_iter().flatten().map(ToString::to_string).collect();
    lines.join("\n")
}

/// Whether two requests mean the same: an input that is null is like one that is absent.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    let comparable = |request: &Value| {
        let mut request = request.clone();
        if let Some(inputs) = request.get_mut("inputs").and_then(Value::as_object_mut) {
            let given = inputs.iter().filter(|(_, value)| !value.is_null());
            *inputs = given.map(|(name, value)| (name.clone(), value.clone())).collect();
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
    fn an_input_that_is_null_is_like_one_that_is_absent() {
        assert!(is_same(&json!({"inputs": {"a": 1, "b": null}}), &json!({"inputs": {"a": 1}})));
        assert!(!is_same(&json!({"inputs": {"a": 1}, "b": null}), &json!({"inputs": {"a": 1}})));
    }
}
