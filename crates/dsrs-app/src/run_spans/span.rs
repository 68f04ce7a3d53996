//! One span of a trace in the words of OpenTelemetry. Does not know the run around it.

use std::iter;
use std::time::{Duration, SystemTime};

use dsrs::predict::{Span, SpanKind, SpanStatus};
use dsrs::value::Payload;

use super::attributes::{gen_ai, inference, own};
use super::endpoints::ModelEndpoints;
use super::{contents, messages, request_params};
use dsrs_store::run_label::RunLabels;
use dsrs_telemetry::{AttributeWriter, SpanRole, SpanWriter};

/// What decides how spans are described.
#[derive(Clone, Copy)]
pub(super) struct Description<'a> {
    pub(super) endpoints: &'a ModelEndpoints,
    /// Whether inputs, outputs and messages are added.
    pub(super) contents: bool,
    /// The session and the user, which every span has.
    pub(super) labels: &'a RunLabels,
}

impl Description<'_> {
    pub(super) fn of(&self, span: &Span, out: &mut SpanWriter<'_>) {
        let to = &mut out.attributes();
        caller(self.labels, to);
        to.text(own::NODE, &span.node);
        to.text(inference::NODE, &span.node);
        if let Some(path) = &span.predictor {
            to.pieces(own::PREDICTOR, &predictor_path(&span.node, path));
        }
        if let Some(attempt) = span.attempt {
            to.count(own::ATTEMPT, attempt.into());
        }
        if let Some(report) = &span.parse_report {
            repairs(report, to);
        }
        match span.kind {
            SpanKind::Lm => self.chat(span, out),
            SpanKind::Embedding => self.embeddings(span, out),
            SpanKind::Tool => self.tool(span, out),
            _ => self.step(span, out),
        }
        status(span, self.contents, out);
    }

    fn chat(&self, span: &Span, out: &mut SpanWriter<'_>) {
        let model = span.requested.as_ref().or(span.model.as_ref());
        // A stored reply leaves the process as little as any other step.
        out.role(if span.cached { SpanRole::Internal } else { SpanRole::Client });
        operation("chat", model.map(|model| &**model), out);
        let to = &mut out.attributes();
        to.text(inference::KIND, "LLM");
        self.endpoint(span, to);
        request_params::describe(span, to);
        answer(span, to);
        if self.contents {
            if let Some(input) = messages::input(span) {
                contents::input(to, &input);
                to.text(gen_ai::INPUT_MESSAGES, &input);
            }
            if let Some(output) = messages::output(span) {
                contents::output(to, &output);
                to.text(gen_ai::OUTPUT_MESSAGES, &output);
            }
        }
    }

    fn embeddings(&self, span: &Span, out: &mut SpanWriter<'_>) {
        let model = span.model.as_deref();
        out.role(SpanRole::Client);
        operation("embeddings", model, out);
        let to = &mut out.attributes();
        to.text(inference::KIND, "EMBEDDING");
        if let Some(model) = model {
            to.text(inference::EMBEDDING_MODEL, model);
        }
        self.endpoint(span, to);
        usage(span, to);
    }

    fn tool(&self, span: &Span, out: &mut SpanWriter<'_>) {
        let tool = span.tool.as_deref().unwrap_or_default();
        out.role(SpanRole::Internal);
        out.name(&["execute_tool ", tool]);
        let to = &mut out.attributes();
        to.text(gen_ai::OPERATION, "execute_tool");
        to.text(gen_ai::TOOL_NAME, tool);
        to.text(gen_ai::TOOL_TYPE, "function");
        to.text(inference::KIND, "TOOL");
        to.text(inference::TOOL, tool);
        if self.contents {
            contents::step(to, span.inputs.as_ref(), span.outputs.as_ref());
            if let Some(inputs) = &span.inputs {
                to.text(gen_ai::TOOL_ARGUMENTS, &contents::json(inputs));
            }
            if let Some(outputs) = &span.outputs {
                to.text(gen_ai::TOOL_RESULT, &contents::json(outputs));
            }
        }
    }

    /// A step that the conventions have no name for.
    fn step(&self, span: &Span, out: &mut SpanWriter<'_>) {
        out.role(SpanRole::Internal);
        step_name(span, out);
        let to = &mut out.attributes();
        to.text(inference::KIND, "CHAIN");
        if let Some(reward) = span.reward {
            to.number(own::REWARD, reward);
        }
        if self.contents {
            contents::step(to, span.inputs.as_ref(), span.outputs.as_ref());
        }
    }

    /// Who answers, and under which alias.
    fn endpoint(&self, span: &Span, to: &mut AttributeWriter<'_>) {
        let endpoint = span.alias.as_deref().and_then(|alias| self.endpoints.get(alias));
        let provider = endpoint.map_or("openai", |endpoint| endpoint.provider);
        to.text(gen_ai::PROVIDER, provider);
        to.text(inference::PROVIDER, provider);
        if let Some(alias) = &span.alias {
            to.text(own::ALIAS, alias);
        }
        if let Some(endpoint) = endpoint.filter(|endpoint| !endpoint.address.is_empty()) {
            to.text(gen_ai::SERVER_ADDRESS, &endpoint.address);
            if let Some(port) = endpoint.port {
                to.count(gen_ai::SERVER_PORT, port.into());
            }
        }
    }
}

fn step_name(span: &Span, out: &mut SpanWriter<'_>) {
    let number = || span.attempt.map_or_else(String::new, |number| format!(" {number}"));
    match span.kind {
        SpanKind::Attempt => out.name(&["attempt", &number()]),
        SpanKind::Element => out.name(&["element", &number()]),
        SpanKind::Round => out.name(&["round", &number()]),
        SpanKind::Predictor => {
            let path = span.predictor.as_deref().unwrap_or_default();
            let [node, dot, within] = predictor_path(&span.node, path);
            out.name(&["predict ", node, dot, within]);
        }
        _ => out.name(&["node ", &span.node]),
    }
}

/// Of whom the caller says that the run is for.
pub(super) fn caller(labels: &RunLabels, to: &mut AttributeWriter<'_>) {
    if let Some(session) = &labels.session_id {
        to.text(gen_ai::CONVERSATION, session);
        to.text(inference::SESSION, session);
    }
    if let Some(user) = &labels.user_id {
        to.text(inference::USER, user);
    }
}

/// The name of a span, with the attributes that it consists of.
fn operation(operation: &'static str, model: Option<&str>, out: &mut SpanWriter<'_>) {
    out.attributes().text(gen_ai::OPERATION, operation);
    let Some(model) = model else { return out.name(&[operation]) };
    out.name(&[operation, " ", model]);
    let to = &mut out.attributes();
    to.text(gen_ai::REQUEST_MODEL, model);
    to.text(inference::MODEL, model);
}

/// What is known of the answer of a model besides its text.
fn answer(span: &Span, to: &mut AttributeWriter<'_>) {
    if span.usage.is_some()
        && let Some(model) = &span.model
    {
        to.text(gen_ai::RESPONSE_MODEL, model);
    }
    if let Some(id) = &span.response_id {
        to.text(gen_ai::RESPONSE_ID, id);
    }
    if let Some(reason) = &span.finish_reason {
        to.texts(gen_ai::FINISH_REASONS, iter::once(&**reason));
    }
    if let Some(first) = span.first_token {
        to.flag(gen_ai::REQUEST_STREAM, true);
        to.number(gen_ai::FIRST_CHUNK, first.as_secs_f64());
    }
    if span.cached {
        to.flag(own::STORED, true);
    }
    if let Some(queued) = span.queued {
        to.number(own::QUEUED, queued.as_secs_f64());
    }
    if let Some(constraint) = span.constraint {
        to.text(own::CONSTRAINT, constraint.as_str());
    }
    usage(span, to);
}

fn usage(span: &Span, to: &mut AttributeWriter<'_>) {
    let Some(usage) = &span.usage else { return };
    let (input, output) = (usage.input_tokens, usage.output_tokens);
    for (name, tokens) in [
        (gen_ai::INPUT_TOKENS, input),
        (inference::PROMPT, input),
        (inference::TOTAL, input.saturating_add(output)),
    ] {
        to.count(name, tokens);
    }
    // Embeddings have no output.
    if span.kind == SpanKind::Lm {
        to.count(gen_ai::OUTPUT_TOKENS, output);
        to.count(inference::COMPLETION, output);
    }
    for (names, tokens) in [
        ([gen_ai::CACHE_READ, inference::CACHE_READ], usage.cached_tokens),
        ([gen_ai::CACHE_WRITE, inference::CACHE_WRITE], usage.cache_write_tokens),
        ([gen_ai::REASONING, inference::REASONING], usage.reasoning_tokens),
    ] {
        if tokens > 0 {
            for name in names {
                to.count(name, tokens);
            }
        }
    }
    if let Some(cost) = usage.cost {
        to.number(own::COST, cost);
    }
}

/// The status, with the kind of the error. Its words may quote an answer, and are contents.
fn status(span: &Span, contents: bool, out: &mut SpanWriter<'_>) {
    let kind = match span.status {
        SpanStatus::Failed => span.error_kind.unwrap_or("_OTHER"),
        SpanStatus::Cancelled => "cancelled",
        // An answer that is not used.
        _ if span.error.is_some() => span.error_kind.unwrap_or("parse_error"),
        SpanStatus::Waiting => return out.attributes().text(own::STATUS, "waiting"),
        _ => return,
    };
    out.attributes().text(gen_ai::ERROR_TYPE, kind);
    out.fail(span.error.as_deref().filter(|_| contents).unwrap_or_default());
}

/// The kinds of the leniencies in a report.
fn repairs(report: &Payload, to: &mut AttributeWriter<'_>) {
    let entries = report.as_list().unwrap_or_default();
    let kinds = entries.iter().filter_map(|entry| entry.as_map()?.get("kind")?.as_str());
    if kinds.clone().next().is_some() {
        to.texts(own::REPAIRS, kinds);
    }
}

/// The path of a predictor in the graph, in pieces.
fn predictor_path<'a>(node: &'a str, within: &'a str) -> [&'a str; 3] {
    [node, if within.is_empty() { "" } else { "." }, within]
}

/// The moment after some time of a run.
pub(super) fn moment(start: SystemTime, after: Duration) -> SystemTime {
    start.checked_add(after).unwrap_or(start)
}
