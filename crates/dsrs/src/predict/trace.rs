//! The trace of a run: spans for nodes, predictors and LM calls, with times relative to the run's
//! start. Whoever owns a wall clock turns them into dates. Knows nothing of how it is shown.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

pub use crate::adapter::CheckOutcome;
use crate::lm::{ConstraintForm, Message, Prefix, ToolCall, Usage};
use crate::value::{Fields, Payload};

/// Names a span within its run, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpanId(pub u32);

/// What a span stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// A node of a graph.
    Node,
    /// One of several tries of a strategy at the same inputs.
    Attempt,
    /// The work on one element of several.
    Element,
    /// A call of a predictor: one or more LM calls.
    Predictor,
    /// One LM request.
    Lm,
    /// Vectors of texts from an embedding model.
    Embedding,
    /// A tool.
    Tool,
}

impl SpanKind {
    /// Whether it stands for requests to a model, whose usage makes up that of the run.
    #[must_use]
    pub const fn is_paid(self) -> bool {
        matches!(self, Self::Lm | Self::Embedding)
    }
}

/// How a span stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanStatus {
    /// Still going on.
    Running,
    /// Done.
    Succeeded,
    /// Failed; `error` says why.
    Failed,
    /// Stopped before its end.
    Cancelled,
    /// Parked until a value comes from outside.
    Waiting,
}

/// How a request to a model that is to be constrained was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constrained {
    /// The server was told what to hold the answer to, in this form.
    To(ConstraintForm),
    /// It was not, because the server has refused that.
    Refused,
}

impl Constrained {
    /// The word for it in traces.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::To(form) => form.as_str(),
            Self::Refused => "refused",
        }
    }
}

/// One thing that happened. Absent members do not apply.
#[derive(Clone, Debug)]
pub struct Span {
    /// What it stands for.
    pub kind: SpanKind,
    /// The span it belongs to.
    pub parent: Option<SpanId>,
    /// The node it belongs to.
    pub node: Arc<str>,
    /// The predictor's path within the node.
    pub predictor: Option<Arc<str>>,
    /// The tool's name.
    pub tool: Option<Arc<str>>,
    /// How it stands.
    pub status: SpanStatus,
    /// When it started, counted from the run's start.
    pub started: Duration,
    /// How long it took; `None` while it runs.
    pub duration: Option<Duration>,
    /// What went in.
    pub inputs: Option<Fields>,
    /// What came out.
    pub outputs: Option<Fields>,
    /// What was said to the LM: the shared prefix, then this call's turns.
    pub messages: Option<(Arc<Prefix>, Vec<Message>)>,
    /// What the LM answered, to the letter.
    pub raw: Option<Arc<str>>,
    /// The calls of tools that it asked for beside its text.
    pub tool_calls: Vec<ToolCall>,
    /// The model that answered.
    pub model: Option<Arc<str>>,
    /// Which try this is, counted from 1: of an LM request over retries and asking again, of an
    /// attempt within its strategy; of an element, which one it is.
    pub attempt: Option<u32>,
    /// Whether the answer is one that was kept of the same request.
    pub cached: bool,
    /// How long a request stood in line before it was sent, if it had to.
    pub queued: Option<Duration>,
    /// How good an attempt was found to be.
    pub reward: Option<f64>,
    /// How the answer was constrained, where the model is to be.
    pub constraint: Option<Constrained>,
    /// What it used.
    pub usage: Option<Usage>,
    /// The leniencies of the parser, as JSON data.
    pub parse_report: Option<Payload>,
    /// The outcomes of checks.
    pub checks: Vec<CheckOutcome>,
    /// Why it failed.
    pub error: Option<Arc<str>>,
}

impl Span {
    fn new(kind: SpanKind, node: &Arc<str>, parent: Option<SpanId>) -> Self {
        Self {
            kind,
            parent,
            node: node.clone(),
            predictor: None,
            tool: None,
            status: SpanStatus::Running,
            started: Duration::ZERO,
            duration: None,
            inputs: None,
            outputs: None,
            messages: None,
            raw: None,
            tool_calls: Vec::new(),
            model: None,
            attempt: None,
            cached: false,
            queued: None,
            reward: None,
            constraint: None,
            usage: None,
            parse_report: None,
            checks: Vec::new(),
            error: None,
        }
    }
}

/// The spans of one run, in the order in which they started.
pub struct Trace {
    origin: Instant,
    spans: Mutex<Vec<Span>>,
}

impl Trace {
    /// An empty trace that starts now.
    #[must_use]
    pub fn new() -> Self {
        Self { origin: Instant::now(), spans: Mutex::new(Vec::new()) }
    }

    /// The time since the run's start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.origin.elapsed()
    }

    /// Adds to a span without closing it.
    pub fn amend(&self, id: SpanId, fill: impl FnOnce(&mut Span)) {
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(span) = spans.get_mut(id.0 as usize - 1) {
            fill(span);
        }
    }

    /// Opens a span and lets `fill` complete it.
    pub fn open(
        &self,
        kind: SpanKind,
        node: &Arc<str>,
        parent: Option<SpanId>,
        fill: impl FnOnce(&mut Span),
    ) -> SpanId {
        let started = self.elapsed();
        self.record(kind, node, parent, |span| {
            span.started = started;
            fill(span);
        })
    }

    /// Adds a span of which `fill` says everything, its times too: of what is over already.
    pub fn record(
        &self,
        kind: SpanKind,
        node: &Arc<str>,
        parent: Option<SpanId>,
        fill: impl FnOnce(&mut Span),
    ) -> SpanId {
        let mut span = Span::new(kind, node, parent);
        fill(&mut span);
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        spans.push(span);
        SpanId(u32::try_from(spans.len()).unwrap_or(u32::MAX))
    }

    /// Closes a span with its status and lets `fill` complete it.
    pub fn close(&self, id: SpanId, status: SpanStatus, fill: impl FnOnce(&mut Span)) {
        let now = self.elapsed();
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(span) = spans.get_mut(id.0 as usize - 1) {
            span.status = status;
            span.duration = Some(now.saturating_sub(span.started));
            fill(span);
        }
    }

    /// Marks a span as cancelled that is no longer wanted, and all that still run below it.
    pub fn cancel(&self, id: SpanId) {
        let now = self.elapsed();
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stopped = Vec::new();
        for (index, span) in spans.iter_mut().enumerate().skip(id.0 as usize - 1) {
            let own = SpanId(u32::try_from(index + 1).unwrap_or(u32::MAX));
            // A span starts after the one it belongs to, so one pass finds them all.
            if own != id && !span.parent.is_some_and(|parent| stopped.contains(&parent)) {
                continue;
            }
            stopped.push(own);
            if span.status == SpanStatus::Running {
                span.status = SpanStatus::Cancelled;
                span.duration = Some(now.saturating_sub(span.started));
            }
        }
    }

    /// A span and all that belong below it, as a trace of their own: the span itself comes first and
    /// has no parent.
    #[must_use]
    pub fn below(&self, id: SpanId) -> Vec<Span> {
        let spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        let mut places: HashMap<SpanId, SpanId> = HashMap::new();
        let mut found: Vec<Span> = Vec::new();
        for (index, span) in spans.iter().enumerate().skip(id.0 as usize - 1) {
            let own = SpanId(u32::try_from(index + 1).unwrap_or(u32::MAX));
            // A span starts after the one it belongs to, so one pass finds them all.
            let parent = span.parent.and_then(|parent| places.get(&parent).copied());
            if own != id && parent.is_none() {
                continue;
            }
            found.push(Span { parent, ..span.clone() });
            places.insert(own, SpanId(u32::try_from(found.len()).unwrap_or(u32::MAX)));
        }
        found
    }

    /// The predictor of a node that is at work: the last one that began and has not ended.
    #[must_use]
    pub fn predictor_at_work(&self, node: &str) -> Option<Arc<str>> {
        let spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        let running = |span: &&Span| span.status == SpanStatus::Running && &*span.node == node;
        spans.iter().rev().filter(running).find_map(|span| span.predictor.clone())
    }

    /// Takes the spans out; those still open are marked cancelled.
    #[must_use]
    pub fn take(&self) -> Vec<Span> {
        let now = self.elapsed();
        let mut spans =
            std::mem::take(&mut *self.spans.lock().unwrap_or_else(PoisonError::into_inner));
        for span in spans.iter_mut().filter(|span| span.status == SpanStatus::Running) {
            span.status = SpanStatus::Cancelled;
            span.duration = Some(now.saturating_sub(span.started));
        }
        spans
    }
}

impl Default for Trace {
    fn default() -> Self {
        Self::new()
    }
}
