//! The documents of a run as JSON text, rendered once for both the record and the answer: nodes,
//! usage, trace. Durations since the start of the run become dates here.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use dsrs::graph::NodeOutcome;
use dsrs::lm::{Prefix, Usage};
use dsrs::predict::{CheckOutcome, NodePause, PredictError, Span, SpanKind, SpanStatus};
use dsrs::value::{Fields, Payload};
use indexmap::IndexMap;
use serde::Serialize;

use dsrs_store::run_usage::{ModelUsage, SpentUsage};
pub(crate) use dsrs_store::run_usage::{usage_json, usage_of_json};

use crate::clock::timestamp;
use crate::json::JsonObject;
use crate::run::failure::predictor_path;

/// An empty trace.
pub(crate) const NO_TRACE: &str = r#"{"spans":[]}"#;

/// Whether the document of a node says that it waits for a signal.
pub(crate) fn is_waiting(node: &Payload) -> bool {
    node_status(node) == Some("waiting")
}

/// The status in the document of a node.
pub(crate) fn node_status(node: &Payload) -> Option<&str> {
    node.as_map()?.get("status")?.as_str()
}

/// `{name: {status, started_at, duration_ms, outputs, error}}`.
pub(crate) fn nodes_json(nodes: &IndexMap<Arc<str>, NodeOutcome>, start: DateTime<Utc>) -> String {
    let mut object = JsonObject::with_capacity(256 * nodes.len() + 2);
    for (name, node) in nodes {
        object.object(name, |object| write_node(object, name, node, start));
    }
    object.finish()
}

pub(crate) fn node_json(name: &str, node: &NodeOutcome, start: DateTime<Utc>) -> String {
    let mut object = JsonObject::new();
    write_node(&mut object, name, node, start);
    object.finish()
}

fn write_node(object: &mut JsonObject, name: &str, node: &NodeOutcome, start: DateTime<Utc>) {
    object.text("status", node.status.as_str());
    let started = node.started.map(|started| timestamp(at(start, started)));
    object.text_or_null("started_at", started.as_deref());
    object.shown_or_null("duration_ms", node.duration.map(|took| took.as_millis()));
    object.payload("outputs", node.outputs.as_ref().unwrap_or(&Payload::Null));
    let error = node.error.as_ref().map(|error| error_json(name, error));
    object.raw_or_null("error", error.as_deref());
    if let Some(pause) = &node.pause {
        write_pause(object, pause);
    }
}

/// What a node asks for, in its document: `pause` and `calls`.
fn write_pause(object: &mut JsonObject, pause: &NodePause) {
    object.shown("pause", pause.number);
    let calls = pause.calls.iter().map(|call| {
        let mut object = JsonObject::new();
        object.text("id", &call.id).text("tool", &call.tool);
        object.payload("arguments", &call.arguments);
        object.finish()
    });
    object.list("calls", calls);
}

/// `{detail, code, predictor?}`.
pub(crate) fn error_json(node: &str, error: &PredictError) -> String {
    let mut object = JsonObject::new();
    object.text("detail", &error.message).text("code", error.kind.code());
    if let Some(within) = &error.predictor {
        object.text("predictor", &predictor_path(node, within));
    }
    object.finish()
}

/// The usage in a value. A number that is missing is 0; a cost is unknown.
pub(crate) fn usage_of(written: &Payload) -> Usage {
    let member = |name: &str| written.as_map().and_then(|members| members.get(name));
    let count = |name: &str| match member(name) {
        Some(Payload::Int(count)) => u64::try_from(*count).unwrap_or_default(),
        _ => 0,
    };
    let cost = match member("cost") {
        Some(Payload::Float(cost)) => Some(*cost),
        Some(Payload::Int(cost)) => Some(*cost as f64),
        _ => None,
    };
    Usage {
        lm_calls: count("lm_calls"),
        input_tokens: count("input_tokens"),
        output_tokens: count("output_tokens"),
        reasoning_tokens: count("reasoning_tokens"),
        cached_tokens: count("cached_tokens"),
        cache_write_tokens: count("cache_write_tokens"),
        cost,
    }
}

/// Named values as an object.
pub(crate) fn fields_json(fields: &Fields) -> String {
    let mut object = JsonObject::with_capacity(64 * fields.len() + 2);
    for (name, value) in fields {
        object.payload(name, value);
    }
    object.finish()
}

/// The prefixes of the prompts of a trace, each once.
pub(crate) fn prefixes_of(spans: &[Span]) -> Vec<Arc<Prefix>> {
    let mut prefixes: Vec<Arc<Prefix>> = Vec::new();
    for (prefix, _) in spans.iter().filter_map(|span| span.messages.as_ref()) {
        if !prefixes.iter().any(|found| Arc::ptr_eq(found, prefix)) {
            prefixes.push(prefix.clone());
        }
    }
    prefixes
}

/// The usage of a run with these spans.
pub(crate) fn run_usage(whole: Usage, spans: &[Span]) -> SpentUsage {
    let requests = spans
        .iter()
        .filter_map(|span| Some((span.alias.as_deref().or(span.model.as_deref())?, span.usage?)));
    SpentUsage { whole, models: ModelUsage::sums(requests) }
}

/// `{spans: [...]}`, without members that do not apply.
pub(crate) fn trace_json(spans: &[Span], start: DateTime<Utc>) -> String {
    let mut object = JsonObject::with_capacity(1024 * spans.len() + 16);
    object.list("spans", spans.iter().enumerate().map(|(at, span)| span_json(at + 1, span, start)));
    object.finish()
}

fn span_json(id: usize, span: &Span, start: DateTime<Utc>) -> String {
    let mut object = JsonObject::with_capacity(1024);
    object.shown("id", id);
    if let Some(parent) = span.parent {
        object.shown("parent_id", parent.0);
    }
    let predictor = span.predictor.as_deref().map(|path| predictor_path(&span.node, path));
    object.text("kind", kind(span.kind)).text("name", name(span, predictor.as_deref()));
    object.text("node", &span.node);
    if let Some(predictor) = &predictor {
        object.text("predictor", predictor);
    }
    object.text("status", status(span.status));
    object.text("started_at", &timestamp(at(start, span.started)));
    if let Some(duration) = span.duration {
        object.shown("duration_ms", duration.as_millis());
    }
    span_data(&mut object, span);
    object.finish()
}

fn span_data(object: &mut JsonObject, span: &Span) {
    if let Some(inputs) = &span.inputs {
        object.raw("inputs", &fields_json(inputs));
    }
    if let Some(outputs) = &span.outputs {
        object.raw("outputs", &fields_json(outputs));
    }
    if let Some((prefix, turns)) = &span.messages {
        let start = (!prefix.is_empty()).then(|| prefix.json().to_owned());
        object.list("messages", start.into_iter().chain(turns.iter().map(json)));
    }
    for (name, text) in [("raw", &span.raw), ("alias", &span.alias), ("model", &span.model)] {
        if let Some(text) = text {
            object.text(name, text);
        }
    }
    if !span.tool_calls.is_empty() {
        object.list("tool_calls", span.tool_calls.iter().map(json));
    }
    if let Some(reasoning) = span.reasoning.as_ref().map(|reasoning| reasoning.text()) {
        object.text("reasoning", &reasoning);
    }
    if !span.omitted.is_empty() {
        object.list("omitted_settings", span.omitted.names().map(|name| json(&name)));
    }
    if let Some(reason) = &span.finish_reason {
        object.text("finish_reason", reason);
    }
    if let Some(attempt) = span.attempt {
        object.shown("attempt", attempt);
    }
    if span.cached {
        object.shown("cached", true);
    }
    if let Some(queued) = span.queued {
        object.shown("queued_ms", queued.as_millis());
    }
    if let Some(reward) = span.reward {
        object.shown("reward", reward);
    }
    if let Some(constraint) = span.constraint {
        object.text("constraint", constraint.as_str());
    }
    if let Some(usage) = &span.usage {
        object.raw("usage", &usage_json(usage));
    }
    if let Some(report) = &span.parse_report {
        object.raw("parse_report", &report.to_json());
    }
    if !span.checks.is_empty() {
        object.list("checks", span.checks.iter().map(check_json));
    }
    if let Some(error) = &span.error {
        object.text("error", error);
    }
}

fn check_json(check: &CheckOutcome) -> String {
    let mut object = JsonObject::new();
    object.text("field", &check.field).text("label", &check.label).shown("passed", check.passed);
    object.finish()
}

const fn kind(kind: SpanKind) -> &'static str {
    match kind {
        SpanKind::Node => "node",
        SpanKind::Attempt => "attempt",
        SpanKind::Element => "element",
        SpanKind::Round => "round",
        SpanKind::Predictor => "predictor",
        SpanKind::Lm => "lm",
        SpanKind::Embedding => "embedding",
        SpanKind::Tool => "tool",
    }
}

const fn status(status: SpanStatus) -> &'static str {
    match status {
        SpanStatus::Running => "running",
        SpanStatus::Succeeded => "succeeded",
        SpanStatus::Failed => "failed",
        SpanStatus::Cancelled => "cancelled",
        SpanStatus::Waiting => "waiting",
    }
}

fn name<'s>(span: &'s Span, predictor: Option<&'s str>) -> &'s str {
    match span.kind {
        SpanKind::Lm => span.model.as_deref().unwrap_or("lm"),
        SpanKind::Embedding => span.model.as_deref().unwrap_or("embedding"),
        SpanKind::Tool => span.tool.as_deref().unwrap_or("tool"),
        SpanKind::Attempt => "attempt",
        SpanKind::Element => "element",
        SpanKind::Round => "round",
        SpanKind::Node | SpanKind::Predictor => predictor.unwrap_or(&span.node),
    }
}

fn at(start: DateTime<Utc>, after: std::time::Duration) -> DateTime<Utc> {
    start + TimeDelta::microseconds(i64::try_from(after.as_micros()).unwrap_or(0))
}

fn json(value: &impl Serialize) -> String {
    // Plain data, which always has a JSON form.
    serde_json::to_string(value).unwrap_or_default()
}
