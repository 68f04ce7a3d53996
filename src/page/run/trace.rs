//! The trace of a run: its spans, as a tree. Knows no view.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::page::run::list::RunUsage;

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

/// One step of a run.
#[derive(Debug, Deserialize)]
pub(super) struct TraceSpan {
    pub(super) id: u32,
    #[serde(default)]
    pub(super) parent_id: Option<u32>,
    pub(super) kind: String,
    pub(super) name: String,
    #[serde(default)]
    pub(super) node: String,
    #[serde(default)]
    pub(super) predictor: Option<String>,
    pub(super) status: String,
    pub(super) started_at: DateTime<Utc>,
    #[serde(default)]
    pub(super) duration_ms: Option<i64>,
    #[serde(default)]
    pub(super) inputs: Option<Map<String, Value>>,
    #[serde(default)]
    pub(super) outputs: Option<Map<String, Value>>,
    #[serde(default)]
    pub(super) messages: Option<Vec<SpanMessage>>,
    #[serde(default)]
    pub(super) raw: Option<String>,
    #[serde(default)]
    pub(super) tool_calls: Option<Value>,
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) attempt: Option<u32>,
    #[serde(default)]
    pub(super) cached: Option<bool>,
    #[serde(default)]
    pub(super) queued_ms: Option<i64>,
    #[serde(default)]
    pub(super) reward: Option<f64>,
    #[serde(default)]
    pub(super) usage: Option<RunUsage>,
    #[serde(default)]
    pub(super) parse_report: Option<Box<RawValue>>,
    #[serde(default)]
    pub(super) checks: Option<Vec<SpanCheck>>,
    #[serde(default)]
    pub(super) error: Option<Value>,
}

/// The spans of a run, and which contain which.
#[derive(Debug)]
pub(super) struct TraceTree {
    pub(super) spans: Vec<TraceSpan>,
    /// The position of each span, by its id.
    positions: HashMap<u32, usize>,
    /// The positions of the spans that a span contains, by its id.
    children: HashMap<u32, Vec<usize>>,
    /// The positions of the spans that no other contains.
    pub(super) roots: Vec<usize>,
}

#[derive(Deserialize)]
struct StoredTrace {
    spans: Vec<TraceSpan>,
}

impl TraceTree {
    /// Reads the stored text.
    pub(super) fn read(text: &str) -> Self {
        let spans = serde_json::from_str(text)
            .map_or_else(|_| Vec::new(), |stored: StoredTrace| stored.spans);
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
    pub(super) fn span(&self, id: u32) -> Option<(usize, &TraceSpan)> {
        let at = *self.positions.get(&id)?;
        Some((at, self.spans.get(at)?))
    }

    /// The positions of the spans within a span.
    pub(super) fn children(&self, span: &TraceSpan) -> &[usize] {
        self.children.get(&span.id).map_or(&[], Vec::as_slice)
    }
}

impl TraceSpan {
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
        match self.error.as_ref()? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(
                other
                    .get("detail")
                    .and_then(Value::as_str)
                    .map_or_else(|| other.to_string(), str::to_owned),
            ),
        }
    }
}
