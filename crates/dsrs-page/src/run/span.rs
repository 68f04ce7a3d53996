//! What a span shows when it is opened: prompt, raw answer with the repairs of the parser, values, tokens and cost.
//! Everything in it is written by strangers or by models.

use maud::{Markup, html};
use serde_json::{Map, Value};

use crate::parts::badge::{Tone, badge};
use crate::parts::figure::{cost, count};
use crate::parts::json::json_value;
use crate::parts::marked_text::{Repair, marked_text, repair_list, repairs};
use crate::parts::time::duration;
use crate::run::list::RunUsage;
use crate::run::trace::{SpanMessage, TraceSpan};

/// The content of a span.
pub(super) fn details(span: &TraceSpan<'_>) -> Markup {
    let report = span.parse_report.as_ref().map(|report| repairs(report.get())).unwrap_or_default();
    html! {
        @if let Some(failure) = span.failure() { p.refusal { (failure) } }
        (facts(span))
        @if let Some(messages) = span.messages() { (prompt(&messages)) }
        @if let Some(reasoning) = span.reasoning() { details.part { summary { "Reasoning of the model" } div.text.long tabindex="0" { (reasoning) } } }
        @if let Some(raw) = span.raw() { (answer(&raw, &report)) }
        @else if !report.is_empty() { details.part { summary { "Repairs of the parser " (badge(Tone::Warn, &report.len().to_string())) } (repair_list(&report)) } }
        @if let Some(calls) = span.tool_calls() { details.part { summary { "Tool calls" } pre.json { (json_value(&calls)) } } }
        @if span.kind != "lm" { (values("Inputs", span.inputs().as_ref())) (values("Outputs", span.outputs().as_ref())) }
        @for check in span.checks() {
            p.small { (badge(if check.passed { Tone::Good } else { Tone::Bad }, if check.passed { "holds" } else { "fails" })) " " code { (check.field) } " " (check.label) }
        }
    }
}

fn facts(span: &TraceSpan<'_>) -> Markup {
    html! {
        p.facts-line.small.muted {
            @if let Some(model) = &span.model { span { "model " b { (model) } } }
            @if let Some(predictor) = span.predictor.as_ref().filter(|_| span.kind == "lm") { span { "predictor " code { (predictor) } } }
            @if let Some(ms) = span.queued_ms { span { "waited " b { (duration(ms as f64)) } } }
            @if let Some(reason) = span.early_end() { span title="Why the answer ended, in the words of the provider" { "ended by " b { (reason) } } }
            @if let Some(omitted) = span.omitted_settings() { span title="The endpoint refuses these settings" { "not sent " b { (omitted.join(", ")) } } }
            @if let Some(reward) = span.reward { span { "reward " b { (format!("{reward:.3}")) } } }
            @if let Some(usage) = span.usage() { (spent(&usage)) }
        }
    }
}

/// Tokens and cost.
pub(super) fn spent(usage: &RunUsage) -> Markup {
    html! {
        @if usage.lm_calls > 1 { span { b { (count(usage.lm_calls)) } " calls" } }
        span { b { (count(usage.input_tokens)) } " tokens in" @if usage.cached_tokens > 0 { " (" (count(usage.cached_tokens)) " cached)" } }
        span { b { (count(usage.output_tokens)) } " tokens out" @if usage.reasoning_tokens > 0 { " (" (count(usage.reasoning_tokens)) " reasoning)" } }
        @if let Some(spent) = usage.cost { span { b { (cost(spent)) } } }
    }
}

fn prompt(messages: &[SpanMessage]) -> Markup {
    html! {
        details.part {
            summary { "Prompt " span.muted { (messages.len()) " messages" } }
            @for message in messages {
                div.message {
                    p.role { (message.role) }
                    div.text.mono { (content(&message.content)) }
                    @if let Some(calls) = &message.tool_calls { pre.json { (json_value(calls)) } }
                }
            }
        }
    }
}

fn content(content: &Value) -> Markup {
    match content {
        Value::String(text) => html! { (text) },
        Value::Null => html! {},
        other => html! { (json_value(other)) },
    }
}

/// The unchanged answer of a model, with its repairs.
pub(super) fn answer(raw: &str, report: &[Repair]) -> Markup {
    html! {
        details.part {
            summary { "Answer of the model" @if !report.is_empty() { " " (badge(Tone::Warn, &format!("{} repairs", report.len()))) } }
            (marked_text(raw, report))
            @if !report.is_empty() { (repair_list(report)) }
        }
    }
}

fn values(title: &str, values: Option<&Map<String, Value>>) -> Markup {
    html! {
        @if let Some(values) = values.filter(|values| !values.is_empty()) {
            details.part { summary { (title) " " span.muted { (names(values)) } } (fields(values)) }
        }
    }
}

fn names(values: &Map<String, Value>) -> String {
    values.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Values by name: texts as texts, the rest as JSON.
pub(super) fn fields(values: &Map<String, Value>) -> Markup {
    html! {
        dl.values {
            @for (name, value) in values {
                dt { (name) }
                dd { (shown(value)) }
            }
        }
    }
}

/// A longer value scrolls in a frame of its own.
const LONG: usize = 1_500;

/// A value: a text as a text, the rest as JSON.
pub(super) fn shown(value: &Value) -> Markup {
    let text = match value {
        Value::String(text) => html! { (text) },
        other => html! { code.json { (json_value(other)) } },
    };
    let size = value.as_str().map_or_else(|| value.to_string().len(), str::len);
    html! {
        // What scrolls is reached by keyboard.
        div.text.long[size > LONG] tabindex=[(size > LONG).then_some("0")] { (text) }
    }
}
