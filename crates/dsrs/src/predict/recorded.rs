//! What is left of a trace once its run is over: who called whom, with what, for what price. It is
//! read from a record or taken from the spans of a run; what nobody asks of it then is left out.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Span, SpanKind, SpanStatus};
use crate::lm::Usage;
use crate::value::Fields;

/// One thing that happened.
#[derive(Clone, Debug)]
pub struct RecordedSpan {
    /// Names it within its run.
    pub id: u32,
    /// The span that it belongs to; one that started before it.
    pub parent: Option<u32>,
    /// What it stands for.
    pub kind: SpanKind,
    /// The node that it belongs to, as the trace calls it.
    pub node: Arc<str>,
    /// The predictor's path in the graph.
    pub predictor: Option<Arc<str>>,
    /// How it ended.
    pub status: SpanStatus,
    /// Which of several attempts or elements it is, counted from 1.
    pub number: Option<u32>,
    /// The model that answered.
    pub model: Option<Arc<str>>,
    /// What it used.
    pub usage: Option<Usage>,
    /// What went in.
    pub inputs: Option<Fields>,
    /// What came out.
    pub outputs: Option<Fields>,
}

/// The spans of a run, and which belong to which.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    spans: Vec<RecordedSpan>,
    positions: HashMap<u32, usize>,
    children: HashMap<u32, Vec<u32>>,
    roots: Vec<u32>,
}

impl Recording {
    /// Spans, in the order in which they started.
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

    /// The spans of a run of this process.
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

    /// The span of an id.
    #[must_use]
    pub fn span(&self, id: u32) -> Option<&RecordedSpan> {
        self.positions.get(&id).and_then(|position| self.spans.get(*position))
    }

    /// The spans that belong to one, or to none.
    pub fn children(&self, parent: Option<u32>) -> impl Iterator<Item = &RecordedSpan> {
        let ids = match parent {
            Some(parent) => self.children.get(&parent).map_or(&[][..], Vec::as_slice),
            None => &self.roots,
        };
        ids.iter().filter_map(|id| self.span(*id))
    }

    /// Everything that happened below a span.
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
