//! The trace of a run: its spans, as a tree. Knows no view.

use std::borrow::Cow;
use std::collections::HashMap;

use chrono::{DateTime, Utc};
use dsrs::lm::AnswerEnd;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::run::list::RunUsage;

/// A message of a conversation.
#[derive(Debug, Deserialize)]
pub(super) struct SpanMessage {
    pub(super) role: String,
    #[serde(default)]
    pub(super) content: Value,
    #[serde(default)]
    pub(super) tool_calls: Option<Value>,
}

/// The outcome of a check.
#[derive(Debug, Deserialize)]
pub(super) struct SpanCheck {
    pub(super) field: String,
    pub(super) label: String,
    pub(super) passed: bool,
}

/// One step of a run. What only an opened span shows stays a text until then: a run may have thousands.
#[derive(Debug, Deserialize)]
pub(super) struct TraceSpan<'t> {
    pub(super) id: u32,
    #[serde(default)]
    pub(super) parent_id: Option<u32>,
    #[serde(borrow)]
    pub(super) kind: Cow<'t, str>,
    #[serde(borrow)]
    pub(super) name: Cow<'t, str>,
    #[serde(borrow, default)]
    pub(super) node: Cow<'t, str>,
    #[serde(borrow, default)]
    pub(super) predictor: Option<Cow<'t, str>>,
    #[serde(borrow)]
    pub(super) status: Cow<'t, str>,
    pub(super) started_at: DateTime<Utc>,
    #[serde(default)]
    pub(super) duration_ms: Option<i64>,
    #[serde(borrow, default)]
    inputs: Option<&'t RawValue>,
    #[serde(borrow, default)]
    outputs: Option<&'t RawValue>,
    #[serde(borrow, default)]
    messages: Option<&'t RawValue>,
    #[serde(borrow, default)]
    raw: Option<&'t RawValue>,
    #[serde(borrow, default)]
    reasoning: Option<&'t RawValue>,
    #[serde(borrow, default)]
    omitted_settings: Option<&'t RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<&'t RawValue>,
    #[serde(borrow, default)]
    pub(super) model: Option<Cow<'t, str>>,
    #[serde(borrow, default)]
    finish_reason: Option<Cow<'t, str>>,
    #[serde(default)]
    pub(super) attempt: Option<u32>,
    #[serde(default)]
    pub(super) cached: Option<bool>,
    #[serde(default)]
    pub(super) queued_ms: Option<i64>,
    #[serde(default)]
    pub(super) reward: Option<f64>,
    #[serde(borrow, default)]
    usage: Option<&'t RawValue>,
    #[serde(borrow, default)]
    pub(super) parse_report: Option<&'t RawValue>,
    #[serde(borrow, default)]
    checks: Option<&'t RawValue>,
    #[serde(borrow, default)]
    error: Option<&'t RawValue>,
}

/// The spans of a run, and which contain which.
#[derive(Debug)]
pub(super) struct TraceTree<'t> {
    pub(super) spans: Vec<TraceSpan<'t>>,
    /// The position of each span, by its id.
    positions: HashMap<u32, usize>,
    /// The positions of the spans that a span contains, by its id.
    children: HashMap<u32, Vec<usize>>,
    /// The positions of the spans that no other contains.
    pub(super) roots: Vec<usize>,
}

#[derive(Deserialize)]
struct StoredTrace<'t> {
    #[serde(borrow)]
    spans: Vec<TraceSpan<'t>>,
}

impl<'t> TraceTree<'t> {
    /// Reads the stored text.
    pub(super) fn read(text: &'t str) -> Self {
        let spans = serde_json::from_str(text)
            .map_or_else(|_| Vec::new(), |stored: StoredTrace<'t>| stored.spans);
        let positions: HashMap<u32, usize> =
            spans.iter().enumerate().map(|(at, span)| (span.id, at)).collect();
        let (mut children, mut roots) = (HashMap::<u32, Vec<usize>>::new(), Vec::new());
        for (at, span) in spans.iter().enumerate() {
            match span
                .parent_id
                .filter(|parent| positions.get(parent).is_some_and(|parent| *parent < at))
            {
                Some(parent) => children.entry(parent).or_default().push(at),
                None => roots.push(at),
            }
        }
        Self { spans, positions, children, roots }
    }

    /// A span and its position.
    pub(super) fn span(&self, id: u32) -> Option<(usize, &TraceSpan<'t>)> {
        let at = *self.positions.get(&id)?;
        Some((at, self.spans.get(at)?))
    }

    /// The positions of the spans within a span.
    pub(super) fn children(&self, span: &TraceSpan<'_>) -> &[usize] {
        self.children.get(&span.id).map_or(&[], Vec::as_slice)
    }
}

/// A part of a span, read.
fn part<'t, T: Deserialize<'t>>(stored: Option<&'t RawValue>) -> Option<T> {
    serde_json::from_str::<Option<T>>(stored?.get()).ok()?
}

impl TraceSpan<'_> {
    /// What it received.
    pub(super) fn inputs(&self) -> Option<Map<String, Value>> {
        part(self.inputs)
    }

    /// What it returned.
    pub(super) fn outputs(&self) -> Option<Map<String, Value>> {
        part(self.outputs)
    }

    /// The conversation that it sent to a model.
    pub(super) fn messages(&self) -> Option<Vec<SpanMessage>> {
        part(self.messages)
    }

    /// The unchanged answer of the model.
    pub(super) fn raw(&self) -> Option<String> {
        part(self.raw)
    }

    /// What the model wrote before its answer.
    pub(super) fn reasoning(&self) -> Option<String> {
        part(self.reasoning)
    }

    /// The settings that its endpoint refuses.
    pub(super) fn omitted_settings(&self) -> Option<Vec<String>> {
        part(self.omitted_settings)
    }

    /// Why its answer ended, unless it simply was complete.
    pub(super) fn early_end(&self) -> Option<&str> {
        let reason = self.finish_reason.as_deref()?;
        (AnswerEnd::of_reason(reason) != AnswerEnd::Finished).then_some(reason)
    }

    /// The calls of tools that the model asked for.
    pub(super) fn tool_calls(&self) -> Option<Value> {
        part(self.tool_calls)
    }

    /// What it cost.
    pub(super) fn usage(&self) -> Option<RunUsage> {
        part(self.usage)
    }

    /// The outcomes of its checks.
    pub(super) fn checks(&self) -> Vec<SpanCheck> {
        part(self.checks).unwrap_or_default()
    }

    /// When it ended, if it has.
    pub(super) fn ended_ms(&self, start: DateTime<Utc>) -> i64 {
        self.started_ms(start) + self.duration_ms.unwrap_or(0)
    }

    /// When it started, in milliseconds after a time.
    pub(super) fn started_ms(&self, start: DateTime<Utc>) -> i64 {
        (self.started_at - start).num_milliseconds().max(0)
    }

    /// Why it failed.
    pub(super) fn failure(&self) -> Option<String> {
        match part(self.error)? {
            Value::String(text) => Some(text),
            other => Some(
                other
                    .get("detail")
                    .and_then(Value::as_str)
                    .map_or_else(|| other.to_string(), str::to_owned),
            ),
        }
    }
}
