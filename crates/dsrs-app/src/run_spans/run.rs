//! A run as spans: one for the run, and one for each span of its trace.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};
use dsrs::graph::Outcome;
use dsrs::predict::{PredictError, PredictErrorKind};
use dsrs::value::Fields;
use uuid::Uuid;
use uuid::fmt::Hyphenated;

use super::attributes::{gen_ai, inference, own};
use super::endpoints::ModelEndpoints;
use super::place::RunTrace;
use super::span::{Description, caller, moment};
use super::{contents, messages};
use crate::App;
use dsrs_store::run_label::RunLabels;
use dsrs_telemetry::{AttributeWriter, EncodedSpans, SpanPlace, SpanRole, SpanWriter};

/// A run that ended, or an attempt at one.
pub(crate) struct TracedRun<'a> {
    pub(crate) trace: &'a RunTrace,
    pub(crate) id: Uuid,
    /// What made it: `execution`, `background`, `batch`, `evaluation` or `optimization`.
    pub(crate) kind: &'static str,
    pub(crate) graph: &'a str,
    pub(crate) version: i32,
    pub(crate) state_version: i32,
    /// The id of the request.
    pub(crate) request: &'a str,
    pub(crate) start: DateTime<Utc>,
    pub(crate) took: Duration,
    /// How long it was queued before.
    pub(crate) queued: Option<Duration>,
    /// If contents are collected.
    pub(crate) inputs: Option<&'a Fields>,
    pub(crate) labels: &'a RunLabels,
    pub(crate) score: Option<ScoreEvent<'a>>,
}

/// A run with its outcome.
struct EndedTrace<'a> {
    run: &'a TracedRun<'a>,
    outcome: &'a Outcome,
}

/// The score of a run, by a metric.
pub(crate) struct ScoreEvent<'a> {
    pub(crate) metric: &'static str,
    pub(crate) value: f64,
    pub(crate) feedback: Option<&'a Arc<str>>,
}

impl App {
    /// Sends the spans of a run, if its trace is collected. Never waits.
    pub(crate) fn send_spans(&self, run: &TracedRun<'_>, outcome: &Outcome) {
        let Some(telemetry) = &self.telemetry else { return };
        if run.trace.context.is_sampled() {
            let ended = EndedTrace { run, outcome };
            let contents = telemetry.has_contents();
            let count = outcome.spans.len() + 1;
            telemetry.send(count, |spans| ended.encode(&self.model_endpoints, contents, spans));
        }
    }

    /// Whether spans have inputs and outputs.
    pub(crate) fn traces_contents(&self) -> bool {
        self.telemetry.as_ref().is_some_and(|telemetry| telemetry.has_contents())
    }
}

impl EndedTrace<'_> {
    fn encode(&self, endpoints: &ModelEndpoints, contents: bool, spans: &mut EncodedSpans) {
        let description = Description { endpoints, contents, labels: self.run.labels };
        let start = SystemTime::from(self.run.start);
        let end = moment(start, self.run.took);
        spans.add(&self.root_place(start, end), |out| self.describe(end, contents, out));
        for (at, span) in self.outcome.spans.iter().enumerate() {
            let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
            let parent = span.parent.map_or(0, |parent| parent.0);
            let begin = moment(start, span.started);
            let end = moment(begin, span.duration.unwrap_or_default());
            let place = SpanPlace {
                parent: Some(self.run.trace.context.span_id(parent)),
                ..self.place(number, begin, end)
            };
            spans.add(&place, |out| description.of(span, out));
        }
    }

    fn root_place(&self, start: SystemTime, end: SystemTime) -> SpanPlace<'_> {
        let parent = self.run.trace.parent.as_ref().map(|span| span.span_id);
        SpanPlace { parent, ..self.place(0, start, end) }
    }

    /// The place of a span of the run, without one above.
    fn place(&self, number: u32, start: SystemTime, end: SystemTime) -> SpanPlace<'_> {
        let context = &self.run.trace.context;
        SpanPlace {
            trace_id: context.trace_id(),
            span_id: context.span_id(number),
            state: context.state().map(|state| &**state),
            parent: None,
            has_remote_parent: false,
            start,
            end,
        }
    }

    /// The span of the run itself.
    fn describe(&self, end: SystemTime, with_contents: bool, out: &mut SpanWriter<'_>) {
        out.role(SpanRole::Internal);
        out.name(&["invoke_workflow ", self.run.graph]);
        if let Some(link) = &self.run.trace.link {
            out.link(link);
        }
        if let Some(score) = &self.run.score {
            out.event(gen_ai::EVALUATION, end, |to| score.describe(with_contents, to));
        }
        self.attributes(&mut out.attributes());
        if with_contents {
            self.contents(&mut out.attributes());
        }
        if let Some(error) = self.failure() {
            out.attributes().text(gen_ai::ERROR_TYPE, error.kind.code());
            // The words of a failure may quote an answer, and are contents.
            out.fail(if with_contents { &error.message } else { "" });
        }
    }

    fn attributes(&self, to: &mut AttributeWriter<'_>) {
        let (run, usage) = (self.run, &self.outcome.usage);
        to.text(gen_ai::OPERATION, "invoke_workflow");
        to.text(gen_ai::AGENT, run.graph);
        to.text(inference::KIND, "CHAIN");
        to.text(own::RUN, run.id.as_hyphenated().encode_lower(&mut [0; Hyphenated::LENGTH]));
        to.text(own::RUN_KIND, run.kind);
        to.text(own::STATUS, self.status_word());
        to.text(own::GRAPH, run.graph);
        to.integer(own::VERSION, run.version.into());
        to.integer(own::STATE_VERSION, run.state_version.into());
        to.text(own::REQUEST, run.request);
        to.count(own::LM_CALLS, usage.lm_calls);
        if let Some(cost) = usage.cost {
            to.number(own::RUN_COST, cost);
        }
        if let Some(queued) = run.queued {
            to.number(own::QUEUED, queued.as_secs_f64());
        }
        caller(run.labels, to);
        if let Some(metadata) = &run.labels.metadata {
            to.text(inference::METADATA, metadata);
        }
        let tags = run.labels.tags.as_deref().map(serde_json::from_str::<Vec<String>>);
        if let Some(Ok(tags)) = tags {
            to.texts(inference::TAGS, tags.iter().map(String::as_str));
        }
    }

    fn contents(&self, to: &mut AttributeWriter<'_>) {
        if let Some(inputs) = self.run.inputs {
            let json = contents::json(inputs);
            contents::input(to, &json);
            to.text(gen_ai::INPUT_MESSAGES, &messages::plain("user", &json));
        }
        if let Ok(outputs) = &self.outcome.outputs {
            let json = contents::json(outputs);
            contents::output(to, &json);
            to.text(gen_ai::OUTPUT_MESSAGES, &messages::plain("assistant", &json));
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
}

impl ScoreEvent<'_> {
    fn describe(&self, with_contents: bool, to: &mut AttributeWriter<'_>) {
        to.text(gen_ai::EVALUATION_NAME, self.metric);
        to.number(gen_ai::EVALUATION_SCORE, self.value);
        if let Some(feedback) = self.feedback.filter(|_| with_contents) {
            to.text(gen_ai::EVALUATION_EXPLANATION, feedback);
        }
    }
}
