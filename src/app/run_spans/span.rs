//! One span of a trace as a span of OpenTelemetry. Does not know the run around it.

use std::time::{Duration, SystemTime};

use dsrs::predict::{Span, SpanKind, SpanStatus};
use dsrs::value::Payload;
use opentelemetry::trace::{SpanKind as OtelKind, Status};
use opentelemetry::{Array, KeyValue, StringValue, Value};

use super::attributes::{gen_ai, inference, own};
use super::endpoints::ModelEndpoints;
use super::{contents, messages};

/// What decides how spans are described.
#[derive(Clone, Copy)]
pub(super) struct Description<'a> {
    pub(super) endpoints: &'a ModelEndpoints,
    /// Whether inputs, outputs and messages are added.
    pub(super) contents: bool,
    /// What every span has.
    pub(super) labels: &'a [KeyValue],
}

/// A described span.
pub(super) struct Described {
    pub(super) name: String,
    pub(super) kind: OtelKind,
    pub(super) attributes: Vec<KeyValue>,
    pub(super) status: Status,
}

impl Description<'_> {
    pub(super) fn of(&self, span: &Span) -> Described {
        let mut attributes = Vec::with_capacity(24);
        attributes.extend_from_slice(self.labels);
        attributes.push(KeyValue::new(own::NODE, text(&span.node)));
        attributes.push(KeyValue::new(inference::NODE, text(&span.node)));
        if let Some(path) = &span.predictor {
            attributes.push(KeyValue::new(own::PREDICTOR, predictor_path(&span.node, path)));
        }
        if let Some(attempt) = span.attempt {
            attributes.push(KeyValue::new(own::ATTEMPT, i64::from(attempt)));
        }
        let repairs = repairs(span.parse_report.as_ref());
        if !repairs.is_empty() {
            attributes.push(KeyValue::new(own::REPAIRS, Value::Array(Array::String(repairs))));
        }
        let (name, kind) = match span.kind {
            SpanKind::Lm => self.chat(span, &mut attributes),
            SpanKind::Embedding => self.embeddings(span, &mut attributes),
            SpanKind::Tool => self.tool(span, &mut attributes),
            _ => self.step(span, &mut attributes),
        };
        let status = status(span, self.contents, &mut attributes);
        Described { name, kind, attributes, status }
    }

    fn chat(&self, span: &Span, attributes: &mut Vec<KeyValue>) -> (String, OtelKind) {
        let model = span.requested.as_ref().or(span.model.as_ref());
        let name = operation("chat", model.map(|model| &**model), attributes);
        attributes.push(KeyValue::new(inference::KIND, "LLM"));
        self.endpoint(span, attributes);
        answer(span, attributes);
        if self.contents {
            if let Some(input) = messages::input(span) {
                contents::input(attributes, input.clone());
                attributes.push(KeyValue::new(gen_ai::INPUT_MESSAGES, input));
            }
            if let Some(output) = messages::output(span) {
                contents::output(attributes, output.clone());
                attributes.push(KeyValue::new(gen_ai::OUTPUT_MESSAGES, output));
            }
        }
        // A stored reply leaves the process as little as any other step.
        (name, if span.cached { OtelKind::Internal } else { OtelKind::Client })
    }

    fn embeddings(&self, span: &Span, attributes: &mut Vec<KeyValue>) -> (String, OtelKind) {
        let model = span.model.as_deref();
        let name = operation("embeddings", model, attributes);
        attributes.push(KeyValue::new(inference::KIND, "EMBEDDING"));
        if let Some(model) = model {
            attributes.push(KeyValue::new(inference::EMBEDDING_MODEL, model.to_owned()));
        }
        self.endpoint(span, attributes);
        usage(span, attributes);
        (name, OtelKind::Client)
    }

    fn tool(&self, span: &Span, attributes: &mut Vec<KeyValue>) -> (String, OtelKind) {
        let tool = span.tool.as_deref().unwrap_or_default();
        attributes.push(KeyValue::new(gen_ai::OPERATION, "execute_tool"));
        attributes.push(KeyValue::new(gen_ai::TOOL_NAME, tool.to_owned()));
        attributes.push(KeyValue::new(gen_ai::TOOL_TYPE, "function"));
        attributes.push(KeyValue::new(inference::KIND, "TOOL"));
        attributes.push(KeyValue::new(inference::TOOL, tool.to_owned()));
        if self.contents {
            contents::step(attributes, span.inputs.as_ref(), span.outputs.as_ref());
            if let Some(inputs) = &span.inputs {
                attributes.push(KeyValue::new(gen_ai::TOOL_ARGUMENTS, contents::json(inputs)));
            }
            if let Some(outputs) = &span.outputs {
                attributes.push(KeyValue::new(gen_ai::TOOL_RESULT, contents::json(outputs)));
            }
        }
        (format!("execute_tool {tool}"), OtelKind::Internal)
    }

    /// A step that the conventions have no name for.
    fn step(&self, span: &Span, attributes: &mut Vec<KeyValue>) -> (String, OtelKind) {
        attributes.push(KeyValue::new(inference::KIND, "CHAIN"));
        if let Some(reward) = span.reward {
            attributes.push(KeyValue::new(own::REWARD, reward));
        }
        if self.contents {
            contents::step(attributes, span.inputs.as_ref(), span.outputs.as_ref());
        }
        let number = span.attempt.map_or_else(String::new, |number| format!(" {number}"));
        let name = match span.kind {
            SpanKind::Attempt => format!("attempt{number}"),
            SpanKind::Element => format!("element{number}"),
            SpanKind::Predictor => {
                let path = span.predictor.as_deref().unwrap_or_default();
                format!("predict {}", predictor_path(&span.node, path))
            }
            _ => format!("node {}", span.node),
        };
        (name, OtelKind::Internal)
    }

    /// Who answers, and under which alias.
    fn endpoint(&self, span: &Span, attributes: &mut Vec<KeyValue>) {
        let endpoint = span.alias.as_deref().and_then(|alias| self.endpoints.get(alias));
        let provider = endpoint.map_or("openai", |endpoint| endpoint.provider);
        attributes.push(KeyValue::new(gen_ai::PROVIDER, provider));
        attributes.push(KeyValue::new(inference::PROVIDER, provider));
        if let Some(alias) = &span.alias {
            attributes.push(KeyValue::new(own::ALIAS, text(alias)));
        }
        if let Some(endpoint) = endpoint.filter(|endpoint| !endpoint.address.is_empty()) {
            attributes.push(KeyValue::new(gen_ai::SERVER_ADDRESS, endpoint.address.clone()));
            if let Some(port) = endpoint.port {
                attributes.push(KeyValue::new(gen_ai::SERVER_PORT, i64::from(port)));
            }
        }
    }
}

/// The name of a span, with the attributes that it consists of.
fn operation(
    operation: &'static str,
    model: Option<&str>,
    attributes: &mut Vec<KeyValue>,
) -> String {
    attributes.push(KeyValue::new(gen_ai::OPERATION, operation));
    let Some(model) = model else { return operation.to_owned() };
    attributes.push(KeyValue::new(gen_ai::REQUEST_MODEL, model.to_owned()));
    attributes.push(KeyValue::new(inference::MODEL, model.to_owned()));
    format!("{operation} {model}")
}

/// What is known of the answer of a model besides its text.
fn answer(span: &Span, attributes: &mut Vec<KeyValue>) {
    if span.usage.is_some()
        && let Some(model) = &span.model
    {
        attributes.push(KeyValue::new(gen_ai::RESPONSE_MODEL, text(model)));
    }
    if let Some(id) = &span.response_id {
        attributes.push(KeyValue::new(gen_ai::RESPONSE_ID, text(id)));
    }
    if let Some(reason) = &span.finish_reason {
        let reasons = Value::Array(Array::String(vec![text(reason)]));
        attributes.push(KeyValue::new(gen_ai::FINISH_REASONS, reasons));
    }
    if let Some(first) = span.first_token {
        attributes.push(KeyValue::new(gen_ai::REQUEST_STREAM, true));
        attributes.push(KeyValue::new(gen_ai::FIRST_CHUNK, first.as_secs_f64()));
    }
    if span.cached {
        attributes.push(KeyValue::new(own::STORED, true));
    }
    if let Some(queued) = span.queued {
        attributes.push(KeyValue::new(own::QUEUED, queued.as_secs_f64()));
    }
    if let Some(constraint) = span.constraint {
        attributes.push(KeyValue::new(own::CONSTRAINT, constraint.as_str()));
    }
    usage(span, attributes);
}

fn usage(span: &Span, attributes: &mut Vec<KeyValue>) {
    let Some(usage) = &span.usage else { return };
    let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    let (input, output) = (count(usage.input_tokens), count(usage.output_tokens));
    for (name, tokens) in [
        (gen_ai::INPUT_TOKENS, input),
        (inference::PROMPT, input),
        (inference::TOTAL, input.saturating_add(output)),
    ] {
        attributes.push(KeyValue::new(name, tokens));
    }
    // Embeddings have no output.
    if span.kind == SpanKind::Lm {
        attributes.push(KeyValue::new(gen_ai::OUTPUT_TOKENS, output));
        attributes.push(KeyValue::new(inference::COMPLETION, output));
    }
    for (names, tokens) in [
        ([gen_ai::CACHE_READ, inference::CACHE_READ], usage.cached_tokens),
        ([gen_ai::CACHE_WRITE, inference::CACHE_WRITE], usage.cache_write_tokens),
        ([gen_ai::REASONING, inference::REASONING], usage.reasoning_tokens),
    ] {
        if tokens > 0 {
            attributes.extend(names.map(|name| KeyValue::new(name, count(tokens))));
        }
    }
    if let Some(cost) = usage.cost {
        attributes.push(KeyValue::new(own::COST, cost));
    }
}

/// The status, with the kind of the error. Its words may quote an answer, and are contents.
fn status(span: &Span, contents: bool, attributes: &mut Vec<KeyValue>) -> Status {
    let kind = match span.status {
        SpanStatus::Failed => span.error_kind.unwrap_or("_OTHER"),
        SpanStatus::Cancelled => "cancelled",
        // An answer that does not fit.
        _ if span.error.is_some() => "parse_error",
        SpanStatus::Waiting => {
            attributes.push(KeyValue::new(own::STATUS, "waiting"));
            return Status::Unset;
        }
        _ => return Status::Unset,
    };
    attributes.push(KeyValue::new(gen_ai::ERROR_TYPE, kind));
    let words = span.error.as_ref().filter(|_| contents);
    Status::error(words.map_or_else(String::new, |words| words.to_string()))
}

/// The kinds of the leniencies in a report.
fn repairs(report: Option<&Payload>) -> Vec<StringValue> {
    let entries = report.and_then(Payload::as_list).unwrap_or_default();
    let kind = |entry: &Payload| Some(entry.as_map()?.get("kind")?.as_str()?.to_owned().into());
    entries.iter().filter_map(kind).collect()
}

fn text(text: &std::sync::Arc<str>) -> StringValue {
    text.clone().into()
}

/// The path of a predictor in the graph.
fn predictor_path(node: &str, within: &str) -> String {
    if within.is_empty() { node.to_owned() } else { format!("{node}.{within}") }
}

/// The moment after some time of a run.
pub(super) fn moment(start: SystemTime, after: Duration) -> SystemTime {
    start.checked_add(after).unwrap_or(start)
}
