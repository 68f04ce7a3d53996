//! A run as spans: one for the run, and one for each span of its trace.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};
use dsrs::graph::Outcome;
use dsrs::predict::{PredictError, PredictErrorKind};
use dsrs::value::Fields;
use opentelemetry::trace::{
    Event, Link, SpanContext, SpanId, SpanKind as OtelKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{Array, InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use uuid::Uuid;

use super::attributes::{gen_ai, inference, own};
use super::endpoints::ModelEndpoints;
use super::place::RunTrace;
use super::span::{Described, Description, moment};
use super::{contents, messages};
use crate::app::App;
use crate::store::run_label::RunLabels;
use crate::telemetry::RemoteSpan;

/// A run that ended, or an attempt at one.
pub(crate) struct TracedRun {
    pub(crate) trace: RunTrace,
    pub(crate) id: Uuid,
    /// What made it: `execution`, `background`, `batch` or `evaluation`.
    pub(crate) kind: &'static str,
    pub(crate) graph: String,
    pub(crate) version: i32,
    pub(crate) state_version: i32,
    /// The id of the request.
    pub(crate) request: Box<str>,
    pub(crate) start: DateTime<Utc>,
    pub(crate) took: Duration,
    /// How long it was queued before.
    pub(crate) queued: Option<Duration>,
    /// If contents are collected.
    pub(crate) inputs: Option<Fields>,
    pub(crate) labels: RunLabels,
    pub(crate) score: Option<ScoreEvent>,
}

/// A run with its outcome.
struct EndedTrace {
    run: TracedRun,
    outcome: Outcome,
}

/// The score of a run, by a metric.
pub(crate) struct ScoreEvent {
    pub(crate) metric: &'static str,
    pub(crate) value: f64,
    pub(crate) feedback: Option<Arc<str>>,
}

impl App {
    /// Sends the spans of a run, if its trace is collected. Never waits.
    pub(crate) fn send_spans(&self, run: TracedRun, outcome: Outcome) {
        let Some(telemetry) = &self.telemetry else { return };
        if !run.trace.context.is_sampled() {
            return;
        }
        let (endpoints, contents) = (self.model_endpoints.clone(), telemetry.has_contents());
        let ended = EndedTrace { run, outcome };
        telemetry
            .send(ended.outcome.spans.len() + 1, move || ended.into_spans(&endpoints, contents));
    }

    /// Whether spans have inputs and outputs.
    pub(crate) fn traces_contents(&self) -> bool {
        self.telemetry.as_ref().is_some_and(|telemetry| telemetry.has_contents())
    }
}

impl EndedTrace {
    fn into_spans(self, endpoints: &ModelEndpoints, contents: bool) -> Vec<SpanData> {
        let labels = self.label_attributes();
        let description = Description { endpoints, contents, labels: &labels };
        let start = SystemTime::from(self.run.start);
        let mut made = Vec::with_capacity(self.outcome.spans.len() + 1);
        made.push(self.root(start, contents));
        for (at, span) in self.outcome.spans.iter().enumerate() {
            let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
            let parent = span.parent.map_or(0, |parent| parent.0);
            let Described { name, kind, attributes, status } = description.of(span);
            let begun = moment(start, span.started);
            made.push(SpanData {
                parent_span_id: SpanId::from_bytes(self.run.trace.context.span_id(parent)),
                start_time: begun,
                end_time: moment(begun, span.duration.unwrap_or_default()),
                attributes,
                status,
                ..self.run.trace.blank(number, name, kind)
            });
        }
        made
    }

    fn root(&self, start: SystemTime, contents: bool) -> SpanData {
        let end = moment(start, self.run.took);
        let parent = self.run.trace.parent.as_ref();
        let mut links = SpanLinks::default();
        links
            .links
            .extend(self.run.trace.link.as_ref().map(|link| Link::with_context(context(link))));
        let mut events = SpanEvents::default();
        events.events.extend(self.run.score.as_ref().map(|score| score.event(end, contents)));
        let name = format!("invoke_workflow {}", self.run.graph);
        SpanData {
            parent_span_id: parent.map_or(SpanId::INVALID, |span| SpanId::from_bytes(span.span_id)),
            parent_span_is_remote: false,
            start_time: start,
            end_time: end,
            attributes: self.attributes(contents),
            status: self.status(contents),
            links,
            events,
            ..self.run.trace.blank(0, name, OtelKind::Internal)
        }
    }

    fn attributes(&self, with_contents: bool) -> Vec<KeyValue> {
        let usage = &self.outcome.usage;
        let mut attributes = vec![
            KeyValue::new(gen_ai::OPERATION, "invoke_workflow"),
            KeyValue::new(gen_ai::WORKFLOW, self.run.graph.clone()),
            KeyValue::new(inference::KIND, "CHAIN"),
            KeyValue::new(own::RUN, self.run.id.to_string()),
            KeyValue::new(own::RUN_KIND, self.run.kind),
            KeyValue::new(own::STATUS, self.status_word()),
            KeyValue::new(own::GRAPH, self.run.graph.clone()),
            KeyValue::new(own::VERSION, i64::from(self.run.version)),
            KeyValue::new(own::STATE_VERSION, i64::from(self.run.state_version)),
            KeyValue::new(own::REQUEST, self.run.request.to_string()),
            KeyValue::new(own::LM_CALLS, i64::try_from(usage.lm_calls).unwrap_or(i64::MAX)),
        ];
        if let Some(cost) = usage.cost {
            attributes.push(KeyValue::new(own::RUN_COST, cost));
        }
        if let Some(queued) = self.run.queued {
            attributes.push(KeyValue::new(own::QUEUED, queued.as_secs_f64()));
        }
        if let Some(error) = self.failure() {
            attributes.push(KeyValue::new(gen_ai::ERROR_TYPE, error.kind.code()));
        }
        attributes.extend(self.label_attributes());
        if let Some(metadata) = &self.run.labels.metadata {
            attributes.push(KeyValue::new(inference::METADATA, metadata.clone()));
        }
        let tags = self.run.labels.tags.as_deref().map(serde_json::from_str::<Vec<String>>);
        if let Some(Ok(tags)) = tags {
            let tags = tags.into_iter().map(Into::into).collect();
            attributes.push(KeyValue::new(inference::TAGS, Value::Array(Array::String(tags))));
        }
        if with_contents {
            self.contents(&mut attributes);
        }
        attributes
    }

    /// The session and the user, which every span names.
    fn label_attributes(&self) -> Vec<KeyValue> {
        let labels = &self.run.labels;
        let named = [
            (gen_ai::CONVERSATION, &labels.session_id),
            (inference::SESSION, &labels.session_id),
            (inference::USER, &labels.user_id),
        ];
        let given = named.into_iter().filter_map(|(name, id)| Some((name, id.as_ref()?)));
        given.map(|(name, id)| KeyValue::new(name, id.clone())).collect()
    }

    fn contents(&self, attributes: &mut Vec<KeyValue>) {
        if let Some(inputs) = &self.run.inputs {
            let json = contents::json(inputs);
            attributes.push(KeyValue::new(gen_ai::INPUT_MESSAGES, messages::plain("user", &json)));
            contents::input(attributes, json);
        }
        if let Ok(outputs) = &self.outcome.outputs {
            let json = contents::json(outputs);
            let message = messages::plain("assistant", &json);
            attributes.push(KeyValue::new(gen_ai::OUTPUT_MESSAGES, message));
            contents::output(attributes, json);
        }
    }

    /// Why it failed, if it did.
    fn failure(&self) -> Option<&PredictError> {
        let failed = self.outcome.outputs.as_ref().err().filter(|_| !self.outcome.waits());
        failed.map(|failure| &failure.error)
    }

    fn status_word(&self) -> &'static str {
        match self.failure() {
            None if self.outcome.waits() => "waiting",
            None => "succeeded",
            Some(error) if error.kind == PredictErrorKind::Cancelled => "cancelled",
            Some(_) => "failed",
        }
    }

    /// The words of a failure may quote an answer, and are contents.
    fn status(&self, contents: bool) -> Status {
        let Some(error) = self.failure() else { return Status::Unset };
        Status::error(if contents { error.message.clone() } else { String::new() })
    }
}

impl RunTrace {
    /// A span of the run without times and attributes.
    fn blank(&self, number: u32, name: String, span_kind: OtelKind) -> SpanData {
        let context = &self.context;
        let remote = RemoteSpan {
            trace_id: context.trace_id(),
            span_id: context.span_id(number),
            sampled: context.is_sampled(),
            state: context.state().cloned(),
        };
        blank(&remote, name, span_kind)
    }
}

/// A span without a parent, times and attributes.
pub(super) fn blank(own: &RemoteSpan, name: String, span_kind: OtelKind) -> SpanData {
    SpanData {
        span_context: context(own),
        parent_span_id: SpanId::INVALID,
        parent_span_is_remote: false,
        span_kind,
        name: name.into(),
        start_time: SystemTime::UNIX_EPOCH,
        end_time: SystemTime::UNIX_EPOCH,
        attributes: Vec::new(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: Status::Unset,
        instrumentation_scope: scope(),
    }
}

fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("dsrs-server").with_version(env!("CARGO_PKG_VERSION")).build()
}

fn context(span: &RemoteSpan) -> SpanContext {
    let state: Option<TraceState> = span.state.as_ref().and_then(|state| state.parse().ok());
    let flags = if span.sampled { TraceFlags::SAMPLED } else { TraceFlags::NOT_SAMPLED };
    let (trace, own) = (TraceId::from_bytes(span.trace_id), SpanId::from_bytes(span.span_id));
    SpanContext::new(trace, own, flags, false, state.unwrap_or_default())
}

impl ScoreEvent {
    fn event(&self, at: SystemTime, contents: bool) -> Event {
        let mut attributes = vec![
            KeyValue::new(gen_ai::EVALUATION_NAME, self.metric),
            KeyValue::new(gen_ai::EVALUATION_SCORE, self.value),
        ];
        if let Some(feedback) = self.feedback.as_ref().filter(|_| contents) {
            attributes.push(KeyValue::new(gen_ai::EVALUATION_EXPLANATION, feedback.clone()));
        }
        Event::new(gen_ai::EVALUATION, at, attributes, 0)
    }
}
