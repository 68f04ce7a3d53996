//! A webhook as the fields of its form, and the form as the body of a request of the API. Knows no HTML.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::form::Form;
use crate::parts::revision::{REVISION, spelling};
use crate::parts::schema_entry::number_or_text;
use crate::parts::schema_fill::FilledField;
use dsrs_api::webhook::WebhookEvent;
use dsrs_store::webhook::WebhookRow;

/// The field with what was stored when the form was opened, so that only what a person changed is sent.
pub(super) const OPENED: &str = "opened";

/// The field with the events.
pub(super) const EVENTS: &str = "/events";

/// The fields of a webhook that is stored.
pub(super) fn fields_of(row: &WebhookRow) -> Vec<FilledField> {
    let settings = &row.settings;
    let below = settings.score_below.map(|below| below.to_string()).unwrap_or_default();
    let texts = [
        ("/name", settings.name.clone()),
        ("/url", settings.url.clone()),
        ("/description", settings.description.clone()),
        ("/graph", settings.graph_name.clone().unwrap_or_default()),
        ("/score/metric", settings.score_metric.clone().unwrap_or_default()),
        ("/score/below", below),
    ];
    let events = settings.events.iter().map(|event| (EVENTS, event.clone()));
    let fields = texts.into_iter().chain(events);
    let mut fields: Vec<FilledField> = fields.map(|(name, text)| (name.to_owned(), text)).collect();
    let opened = Value::Object(members(&Form::of(fields.clone())));
    fields.push((OPENED.to_owned(), opened.to_string()));
    fields.push((REVISION.to_owned(), spelling((row.id, row.revision))));
    fields
}

/// The body of `POST /v1/webhooks`: what is empty is left out.
pub(super) fn new_body(form: &Form) -> Map<String, Value> {
    let mut body = members(form);
    body.retain(|_, value| !value.is_null() && value.as_str() != Some(""));
    body
}

/// The body of `PATCH /v1/webhooks/{id}`: what a person changed since the form was opened.
pub(super) fn changed_body(form: &Form) -> Map<String, Value> {
    let opened: Value = serde_json::from_str(form.text(OPENED)).unwrap_or_default();
    let mut body = members(form);
    body.retain(|name, value| match opened.get(name) {
        // A browser sends events in the order of the form.
        Some(before) if name == "events" => words(before) != words(value),
        before => before != Some(value),
    });
    body
}

fn words(events: &Value) -> BTreeSet<&str> {
    events.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn members(form: &Form) -> Map<String, Value> {
    let text = |name: &str| form.text(name).trim();
    let events: Vec<&str> = form.all(EVENTS).collect();
    let graph = Some(text("/graph")).filter(|name| !name.is_empty());
    let members = [
        ("name", json!(text("/name"))),
        ("url", json!(text("/url"))),
        ("description", json!(text("/description"))),
        ("score", score(form).filter(|_| has_score(form)).unwrap_or_default()),
        ("events", json!(events)),
        ("graph", json!(graph)),
    ];
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Whether the event is chosen that has a threshold.
fn has_score(form: &Form) -> bool {
    form.all(EVENTS).any(|event| event == WebhookEvent::ScoreBelow.as_str())
}

/// The threshold, if a part of it was entered.
fn score(form: &Form) -> Option<Value> {
    let mut found = Map::new();
    if let Some(metric) = form.given("/score/metric") {
        found.insert("metric".to_owned(), json!(metric.trim()));
    }
    if let Some(below) = form.given("/score/below") {
        found.insert("below".to_owned(), number_or_text(below.trim()));
    }
    (!found.is_empty()).then_some(Value::Object(found))
}
