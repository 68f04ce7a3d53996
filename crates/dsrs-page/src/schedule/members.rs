//! A schedule as the fields of its form, and the form as the body of a request of the API. Knows no HTML.

use serde_json::{Map, Value, json};

use crate::form::{Form, with_line_feeds};
use crate::parts::revision::{REVISION, spelling};
use crate::parts::schema_fill::FilledField;
use crate::schedule::request::{OPENED, REQUEST, StartedWork, WAY};
use dsrs_http::{ApiProblem, Document, ProblemCode, read_document};
use dsrs_store::schedule::{ScheduleColumns, ScheduleRow};

/// The members that are texts.
const TEXTS: [&str; 8] =
    ["name", "description", "cron", "time_zone", "overlap", "catch_up", "graph", "target"];

/// The field that creates a schedule paused.
pub(super) const PAUSED: &str = "paused";

/// The fields of a schedule that is stored.
pub(super) fn fields_of(row: &ScheduleRow) -> Vec<FilledField> {
    let settings = &row.settings;
    let texts = [
        &settings.name,
        &settings.description,
        &settings.cron,
        &settings.time_zone,
        &settings.overlap,
        &settings.catch_up,
        &settings.graph_name,
        &settings.target,
    ];
    let named = TEXTS.iter().zip(texts);
    let mut fields: Vec<FilledField> =
        named.map(|(name, text)| (format!("/{name}"), text.clone())).collect();
    // As fields, if they have all of it.
    fields.push((REQUEST.to_owned(), pretty(&settings.request)));
    fields.push((WAY.to_owned(), "fields".to_owned()));
    fields.push((OPENED.to_owned(), opened(settings).to_string()));
    fields.push((REVISION.to_owned(), spelling((row.id, row.revision))));
    fields
}

fn opened(settings: &ScheduleColumns) -> Value {
    json!({
        "name": settings.name, "description": settings.description, "cron": settings.cron,
        "time_zone": settings.time_zone, "overlap": settings.overlap, "catch_up": settings.catch_up,
        "graph": settings.graph_name, "target": settings.target,
        "request": serde_json::from_str::<Value>(&settings.request).unwrap_or_default()
    })
}

fn pretty(text: &str) -> String {
    let value = serde_json::from_str::<Value>(text).ok();
    value.and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or(text.to_owned())
}

/// The body of `POST /v1/schedules`: what is empty is left out.
pub(super) fn new_body(work: &StartedWork) -> Map<String, Value> {
    let mut body = members(work);
    body.retain(|_, value| value.as_str() != Some(""));
    if work.form.given(PAUSED).is_some() {
        body.insert("enabled".to_owned(), json!(false));
    }
    body
}

/// The body of `PATCH /v1/schedules/{id}`: what a person changed since the form was opened.
pub(super) fn changed_body(work: &StartedWork) -> Map<String, Value> {
    let opened: Value = serde_json::from_str(work.form.text(OPENED)).unwrap_or_default();
    let mut body = members(work);
    body.retain(|name, value| match opened.get(name) {
        Some(before) if name == "request" => work.is_changed_from(before),
        // As a form has it: without white space around it, with LF as line ends.
        Some(Value::String(before)) => value.as_str() != Some(with_line_feeds(before).trim()),
        before => before != Some(value),
    });
    body
}

fn members(work: &StartedWork) -> Map<String, Value> {
    let text = |name: &str| json!(work.form.text(&format!("/{name}")).trim());
    let mut body: Map<String, Value> =
        TEXTS.iter().map(|name| ((*name).to_owned(), text(name))).collect();
    body.insert("request".to_owned(), work.value());
    body
}

/// The body as the API reads it. A request that was written as JSON is sent as it was written; what is no JSON is sent
/// as a text, which is refused together with everything else that is wrong.
pub(super) fn document(
    work: &StartedWork,
    mut body: Map<String, Value>,
) -> Result<Document, ApiProblem> {
    let written = work.written().filter(|_| body.contains_key("request"));
    let Some(written) = written.filter(|_| syntax_problem(work).is_none()) else {
        return read_document(Value::Object(body).to_string().as_bytes());
    };
    body.remove("request");
    let mut text = Value::Object(body).to_string();
    text.pop();
    let comma = if text.len() > 1 { "," } else { "" };
    read_document(format!("{text}{comma}\"request\":{written}}}").as_bytes())
}

/// Why a request that was written as JSON is none.
fn syntax_problem(work: &StartedWork) -> Option<ApiProblem> {
    let written = work.is_json().then(|| work.form.text(REQUEST))?;
    read_document(written.as_bytes()).err()
}

/// A refusal that says of a request that is no JSON where it breaks, and of a name that it is taken.
pub(super) fn explained(work: &StartedWork, refusal: ApiProblem) -> ApiProblem {
    if refusal.code() == ProblemCode::AlreadyExists {
        return refusal.at_member("/name");
    }
    let Some(syntax) = syntax_problem(work) else { return refusal };
    refusal.with(|view| {
        if view.errors.len() == 1 {
            view.detail = format!("{REQUEST}: {}", syntax.detail()).into();
        }
        for item in view.errors.iter_mut().filter(|item| item.pointer == REQUEST) {
            item.detail = syntax.detail().to_owned().into();
        }
    })
}

/// The fields of a new schedule, with what an address names filled in.
pub(super) fn new_form(named: Vec<(String, String)>) -> Form {
    let named = named.into_iter().map(|(name, value)| match name.starts_with('/') {
        true => (name, value),
        false => (format!("/{name}"), value),
    });
    let defaults = [("/time_zone", "UTC"), ("/overlap", "skip"), ("/catch_up", "none")];
    let defaults = defaults.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Form::of(named.chain(defaults).collect())
}
