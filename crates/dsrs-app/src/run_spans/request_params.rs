//! The settings of a request to a model as attributes: those that were sent. Knows no answer.

use dsrs::lm::{ConstraintForm, ExtraBody, LmParams};
use dsrs::predict::{ConstraintStatus, Span};
use dsrs::value::Payload;

use super::attributes::gen_ai;
use dsrs_telemetry::AttributeWriter;

/// Adds the settings of the request of a span.
pub(super) fn describe(span: &Span, to: &mut AttributeWriter<'_>) {
    if let Some(output) = output_type(span) {
        to.text(gen_ai::OUTPUT_TYPE, output);
    }
    let Some(params) = &span.params else { return };
    let sent = |name: &str| span.omitted.names().all(|omitted| omitted != name);
    sampling(params, sent, to);
    if let Some(most) = params.max_tokens {
        to.count(gen_ai::MAX_TOKENS, most.into());
    }
    if let Some(stop) = params.stop.as_deref().filter(|_| sent("stop")) {
        to.texts(gen_ai::STOP, stop.iter().map(|text| &**text));
    }
    if let Some(extra) = params.extra_body.as_ref().filter(|_| sent("extra_body")) {
        extras(extra, to);
    }
}

/// What the request asks for, if it asks for a form at all.
const fn output_type(span: &Span) -> Option<&'static str> {
    match span.constraint {
        Some(ConstraintStatus::Applied(ConstraintForm::JsonSchema)) => Some("json"),
        // The layout of a prompt, which is no JSON.
        Some(ConstraintStatus::Applied(ConstraintForm::Gbnf)) => Some("text"),
        Some(ConstraintStatus::Refused) | None => None,
    }
}

fn sampling(params: &LmParams, sent: impl Fn(&str) -> bool, to: &mut AttributeWriter<'_>) {
    for (name, key, number) in [
        ("temperature", gen_ai::TEMPERATURE, params.temperature),
        ("top_p", gen_ai::TOP_P, params.top_p),
    ] {
        if let Some(number) = number.filter(|_| sent(name)) {
            to.number(key, number);
        }
    }
    if let Some(seed) = params.seed.filter(|_| sent("seed")) {
        to.integer(gen_ai::SEED, seed);
    }
}

/// Settings that have no name of their own here, by the names that most endpoints have for them.
fn extras(extra: &ExtraBody, to: &mut AttributeWriter<'_>) {
    for (name, value) in extra.iter() {
        match (name, value) {
            ("top_k", Payload::Int(count)) => to.integer(gen_ai::TOP_K, *count),
            ("frequency_penalty", number) => penalty(gen_ai::FREQUENCY_PENALTY, number, to),
            ("presence_penalty", number) => penalty(gen_ai::PRESENCE_PENALTY, number, to),
            _ => {}
        }
    }
}

fn penalty(key: &'static str, number: &Payload, to: &mut AttributeWriter<'_>) {
    match number {
        Payload::Int(whole) => to.number(key, *whole as f64),
        Payload::Float(number) => to.number(key, *number),
        _ => {}
    }
}
