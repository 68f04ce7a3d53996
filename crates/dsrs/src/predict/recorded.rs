//! The parts of a trace that are needed after its run: who called what, with which values, at which
//! cost. Read from a stored record or taken from the spans of a run.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Span, SpanKind, SpanStatus};
use crate::lm::Usage;
use crate::value::Fields;

/// One recorded span.
#[derive(Clone, Debug)]
pub struct RecordedSpan {
    /// Its id within the run.
    pub id: u32,
    /// The parent span; it started earlier.
    pub parent: Option<u32>,
    /// The kind of span.
    pub kind: SpanKind,
    /// The node that it belongs to, as named in the trace.
    pub node: Arc<str>,
    /// The predictor's path in the graph.
    pub predictor: Option<Arc<str>>,
    /// How it ended.
    pub status: SpanStatus,
    /// The number of the attempt or element, from 1.
    pub number: Option<u32>,
    /// The model that answered.
    pub model: Option<Arc<str>>,
    /// The usage.
    pub usage: Option<Usage>,
    /// The inputs.
    pub inputs: Option<Fields>,
    /// The outputs.
    pub outputs: Option<Fields>,
}

/// The spans of a run and their children.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    spans: Vec<RecordedSpan>,
    positions: HashMap<u32, usize>,
    children: HashMap<u32, Vec<u32>>,
    roots: Vec<u32>,
}

impl Recording {
    /// A recording of spans in the order in which they started.
    #[must_use]
    pub fn new(spans: impl IntoIterator<Item = RecordedSpan>) -> Self {
        let mut recording = Self::default();
        for span in spans {
            let id = span.id;
            match span.parent.filter(|parent| recording.positions.contains_key(parent)) {
                Some(parent) => recording.children.entry(parent).or_default().push(id),
                None => recording.roots.push(id),
            }
            recording.positions.insert(id, recording.spans.len());
            recording.spans.push(span);
        }
        recording
    }

    /// A recording of a run of this process.
    #[must_use]
    pub fn of(spans: &[Span]) -> Self {
        Self::new((1..).zip(spans).map(|(id, span)| RecordedSpan {
            id,
            parent: span.parent.map(|parent| parent.0),
            kind: span.kind,
            node: span.node.clone(),
            predictor: span.predictor.as_deref().map(|within| in_graph(&span.node, within)),
            status: span.status,
            number: span.attempt,
            model: span.model.clone(),
            usage: span.usage,
            inputs: span.inputs.clone(),
            outputs: span.outputs.clone(),
        }))
    }

    /// The span with an id.
    #[must_use]
    pub fn span(&self, id: u32) -> Option<&RecordedSpan> {
        self.positions.get(&id).and_then(|position| self.spans.get(*position))
    }

    /// The children of a span, or the roots.
    pub fn children(&self, parent: Option<u32>) -> impl Iterator<Item = &RecordedSpan> {
        let ids = match parent {
            Some(parent) => self.children.get(&parent).map_or(&[][..], Vec::as_slice),
            None => &self.roots,
        };
        ids.iter().filter_map(|id| self.span(*id))
    }

    /// The ids of all spans below a span.
    #[must_use]
    pub fn below(&self, id: u32) -> Vec<u32> {
        let mut found: Vec<u32> = self.children.get(&id).cloned().unwrap_or_default();
        let mut next = 0;
        while let Some(id) = found.get(next).copied() {
            next += 1;
            found.extend(self.children.get(&id).into_iter().flatten());
        }
        found
    }
}

fn in_graph(node: &str, within: &str) -> Arc<str> {
    if within.is_empty() { node.into() } else { format!("{node}.{within}").into() }
}
