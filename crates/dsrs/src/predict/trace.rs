//! The trace of a run: spans of nodes, predictors and LM calls, with times relative to the start of
//! the run. Does not know wall clocks or how traces are shown.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::PredictError;
pub use crate::adapter::CheckOutcome;
use crate::lm::{
    ConstraintForm, LmParams, Message, OmittedParams, Prefix, ReplyReasoning, ToolCall, Usage,
};
use crate::value::{Fields, Payload};

/// The spans from which on a run repeats nothing: loops within loops would make more than a record can hold.
pub const MOST_SPANS: usize = 100_000;

/// The id of a span within its run, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpanId(pub u32);

/// The kind of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// A node of a graph.
    Node,
    /// One of several attempts of a strategy at the same inputs.
    Attempt,
    /// The work on one of several elements.
    Element,
    /// One round of a `loop`.
    Round,
    /// A call of a predictor: one or more LM requests.
    Predictor,
    /// One LM request.
    Lm,
    /// A request for embeddings.
    Embedding,
    /// A call of a tool.
    Tool,
}

impl SpanKind {
    /// Whether it is a request to a model; their usage is the usage of the run.
    #[must_use]
    pub const fn is_paid(self) -> bool {
        matches!(self, Self::Lm | Self::Embedding)
    }
}

/// The status of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanStatus {
    /// Running.
    Running,
    /// Succeeded.
    Succeeded,
    /// Failed; `error` says why.
    Failed,
    /// Cancelled before its end.
    Cancelled,
    /// Parked until a value arrives from outside.
    Waiting,
}

/// Whether a request to a model with constrained decoding was constrained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintStatus {
    /// The request was constrained, in this form.
    Applied(ConstraintForm),
    /// It was not: the server has refused constraints.
    Refused,
}

impl ConstraintStatus {
    /// The name in traces.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Applied(form) => form.as_str(),
            Self::Refused => "refused",
        }
    }
}

/// One span. Members that do not apply are `None` or empty.
#[derive(Clone, Debug)]
pub struct Span {
    /// The kind of span.
    pub kind: SpanKind,
    /// The parent span.
    pub parent: Option<SpanId>,
    /// The node that it belongs to.
    pub node: Arc<str>,
    /// The predictor's path within the node.
    pub predictor: Option<Arc<str>>,
    /// The tool's name.
    pub tool: Option<Arc<str>>,
    /// The status.
    pub status: SpanStatus,
    /// When it started, relative to the start of the run.
    pub started: Duration,
    /// How long it took. `None` while it runs.
    pub duration: Option<Duration>,
    /// The inputs.
    pub inputs: Option<Fields>,
    /// The outputs.
    pub outputs: Option<Fields>,
    /// The messages sent to the LM: the shared prefix, then the turns of this call.
    pub messages: Option<(Arc<Prefix>, Vec<Message>)>,
    /// The reply of the LM, verbatim.
    pub raw: Option<Arc<str>>,
    /// The tool calls in the reply.
    pub tool_calls: Vec<ToolCall>,
    /// What the model wrote before its reply.
    pub reasoning: Option<Arc<ReplyReasoning>>,
    /// The settings of the request.
    pub params: Option<Arc<LmParams>>,
    /// The settings that were not sent, because the endpoint refuses them.
    pub omitted: OmittedParams,
    /// The alias of the model.
    pub alias: Option<Arc<str>>,
    /// The model that was asked.
    pub requested: Option<Arc<str>>,
    /// The model that answered.
    pub model: Option<Arc<str>>,
    /// The provider's id of the answer.
    pub response_id: Option<Arc<str>>,
    /// Why the answer ended.
    pub finish_reason: Option<Arc<str>>,
    /// When the first text of a streamed answer arrived, after the start of the span.
    pub first_token: Option<Duration>,
    /// A number from 1: of an LM request over all retries, of an attempt within its strategy, or of
    /// an element.
    pub attempt: Option<u32>,
    /// Whether the reply came from a cache or from recorded replies.
    pub cached: bool,
    /// How long the request queued before it was sent, if it had to.
    pub queued: Option<Duration>,
    /// The reward of an attempt.
    pub reward: Option<f64>,
    /// How the request was constrained, if its model supports that.
    pub constraint: Option<ConstraintStatus>,
    /// The usage.
    pub usage: Option<Usage>,
    /// The leniencies of the parser, as JSON.
    pub parse_report: Option<Payload>,
    /// The outcomes of checks.
    pub checks: Vec<CheckOutcome>,
    /// Why it failed.
    pub error: Option<Arc<str>>,
    /// The kind of that failure.
    pub error_kind: Option<&'static str>,
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
            reasoning: None,
            params: None,
            omitted: OmittedParams::default(),
            alias: None,
            requested: None,
            model: None,
            response_id: None,
            finish_reason: None,
            first_token: None,
            attempt: None,
            cached: false,
            queued: None,
            reward: None,
            constraint: None,
            usage: None,
            parse_report: None,
            checks: Vec::new(),
            error: None,
            error_kind: None,
        }
    }
}

impl Span {
    /// Records why it failed.
    pub(crate) fn fail(&mut self, error: &PredictError) {
        self.error = Some(error.message.as_str().into());
        self.error_kind = Some(error.kind.code());
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

    /// Changes a span without closing it.
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

    /// Adds a span that is over; `fill` sets everything, including its times.
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

    /// Whether it has as many spans as a run may have.
    pub(super) fn is_full(&self) -> bool {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner).len() >= MOST_SPANS
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

    /// Cancels a span and all running spans below it.
    pub fn cancel(&self, id: SpanId) {
        let now = self.elapsed();
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stopped = HashSet::new();
        for (index, span) in spans.iter_mut().enumerate().skip(id.0 as usize - 1) {
            let own = SpanId(u32::try_from(index + 1).unwrap_or(u32::MAX));
            // A span starts after its parent, so one pass finds all of them.
            if own != id && !span.parent.is_some_and(|parent| stopped.contains(&parent)) {
                continue;
            }
            stopped.insert(own);
            if span.status == SpanStatus::Running {
                span.status = SpanStatus::Cancelled;
                span.duration = Some(now.saturating_sub(span.started));
            }
        }
    }

    /// A span and all spans below it, as a separate trace: the span comes first and has no parent.
    #[must_use]
    pub fn below(&self, id: SpanId) -> Vec<Span> {
        let spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        let mut places: HashMap<SpanId, SpanId> = HashMap::new();
        let mut found: Vec<Span> = Vec::new();
        for (index, span) in spans.iter().enumerate().skip(id.0 as usize - 1) {
            let own = SpanId(u32::try_from(index + 1).unwrap_or(u32::MAX));
            // A span starts after its parent, so one pass finds all of them.
            let parent = span.parent.and_then(|parent| places.get(&parent).copied());
            if own != id && parent.is_none() {
                continue;
            }
            found.push(Span { parent, ..span.clone() });
            places.insert(own, SpanId(u32::try_from(found.len()).unwrap_or(u32::MAX)));
        }
        found
    }

    /// The running predictor of a node: the last one that started and has not ended.
    #[must_use]
    pub fn running_predictor(&self, node: &str) -> Option<Arc<str>> {
        let spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        let running = |span: &&Span| span.status == SpanStatus::Running && &*span.node == node;
        spans.iter().rev().filter(running).find_map(|span| span.predictor.clone())
    }

    /// The spans so far. They stay in the trace.
    ///
    /// ```
    /// use dsrs::predict::{SpanKind, Trace};
    ///
    /// let trace = Trace::new();
    /// trace.open(SpanKind::Predictor, &"answer".into(), None, |_| {});
    /// assert_eq!((trace.spans().len(), trace.spans().len()), (1, 1));
    /// ```
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the spans, which leaves the trace empty; cancels those that are still running.
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
