//! The executor: dataflow within one task. A node starts the moment its inputs are there, siblings
//! run concurrently, the first failure ends the run. Knows modules by trait and nothing of LMs.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use indexmap::IndexMap;
use tokio::time::Instant;

use super::plan::{FeedFrom, Origin, PlannedNode};
use super::program::Program;
use crate::lm::Usage;
use crate::predict::{
    Ctx, NodeScope, PredictError, PredictErrorKind, RunScope, Span, SpanId, SpanKind, SpanStatus,
};
use crate::value::{Fields, Payload};

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    /// The graph's outputs, or the failure that ended the run.
    pub outputs: Result<Fields, RunError>,
    /// Every node by name, in the graph's order.
    pub nodes: IndexMap<Arc<str>, NodeOutcome>,
    /// The sum over all LM calls.
    pub usage: Usage,
    /// Everything that happened, in the order in which it started.
    pub spans: Vec<Span>,
}

/// The failure that ended a run.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{error}")]
pub struct RunError {
    /// The node that failed; `None` when the run as a whole was stopped before any node started.
    pub node: Option<Arc<str>>,
    /// Why.
    #[source]
    pub error: PredictError,
}

/// How a node ended.
#[derive(Clone, Debug)]
pub struct NodeOutcome {
    /// How it stands.
    pub status: NodeStatus,
    /// When it started, counted from the run's start.
    pub started: Option<Duration>,
    /// How long it took.
    pub duration: Option<Duration>,
    /// What it gave.
    pub outputs: Option<Payload>,
    /// Why it failed.
    pub error: Option<PredictError>,
}

/// Where a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeStatus {
    /// Not started.
    Pending,
    /// At work.
    Running,
    /// Done.
    Succeeded,
    /// Failed.
    Failed,
    /// Never started, because the run ended before.
    Skipped,
    /// Stopped at work, because the run ended.
    Cancelled,
}

impl NodeStatus {
    /// As clients see it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
        }
    }
}

impl Program {
    /// Runs the graph once. Inputs are those that [`Program::admit_inputs`] gave. The outcome has a
    /// place for everything that can go wrong, so this never fails itself; dropping the future
    /// stops the run and its LM requests.
    pub async fn execute(&self, run: &Arc<RunScope>, inputs: Fields) -> Outcome {
        let mut execution = Execution::new(self, run, inputs);
        let failure = execution.drive().await.err();
        execution.finish(failure)
    }
}

type Finished = (usize, Result<Fields, PredictError>);

struct Execution<'p> {
    program: &'p Program,
    run: &'p Arc<RunScope>,
    inputs: Payload,
    nodes: Vec<Progress>,
    running: FuturesUnordered<BoxFuture<'p, Finished>>,
}

struct Progress {
    waits_for: usize,
    span: Option<SpanId>,
    outcome: NodeOutcome,
}

impl<'p> Execution<'p> {
    fn new(program: &'p Program, run: &'p Arc<RunScope>, inputs: Fields) -> Self {
        let progress = |planned: &PlannedNode| Progress {
            waits_for: planned.waits_for,
            span: None,
            outcome: NodeOutcome {
                status: NodeStatus::Pending,
                started: None,
                duration: None,
                outputs: None,
                error: None,
            },
        };
        Self {
            program,
            run,
            inputs: Payload::map(inputs),
            nodes: program.plan.nodes.iter().map(progress).collect(),
            running: FuturesUnordered::new(),
        }
    }

    /// Runs until every node is done or the first failure. The run's own deadline needs no timer:
    /// no node outlasts it.
    async fn drive(&mut self) -> Result<(), RunError> {
        let run = self.run;
        let mut cancelled = std::pin::pin!(run.cancelled.cancelled());
        for index in 0..self.nodes.len() {
            if self.nodes[index].waits_for == 0 {
                self.start(index)?;
            }
        }
        loop {
            let finished = tokio::select! {
                biased;
                () = &mut cancelled => return Err(self.cancelled()),
                finished = self.running.next() => finished,
            };
            let Some((index, result)) = finished else { return Ok(()) };
            self.settle(index, result)?;
        }
    }

    fn start(&mut self, index: usize) -> Result<(), RunError> {
        let planned = &self.program.plan.nodes[index];
        let gathered = self.gather(planned);
        let trace = &self.run.trace;
        let span = trace.open(SpanKind::Node, &planned.name, None, |span| {
            span.inputs = gathered.as_ref().ok().cloned();
        });
        let progress = &mut self.nodes[index];
        progress.span = Some(span);
        progress.outcome.status = NodeStatus::Running;
        progress.outcome.started = Some(trace.elapsed());
        match gathered {
            Ok(inputs) => {
                self.running.push(Box::pin(call(index, planned, self.run, span, inputs)));
                Ok(())
            }
            Err(error) => self.settle(index, Err(error)),
        }
    }

    /// The inputs of a node, each converted to exactly the type that the node takes.
    fn gather(&self, planned: &PlannedNode) -> Result<Fields, PredictError> {
        let mut inputs = Fields::with_capacity(planned.feeds.len());
        for feed in &planned.feeds {
            let value = match &feed.from {
                FeedFrom::Constant(value) => value.clone(),
                FeedFrom::Edge(origin, conversion) => {
                    let selected = self.select(origin);
                    conversion.apply(&selected).map_err(|error| {
                        let kind = PredictErrorKind::InvalidValue { field: feed.field.clone() };
                        let message = format!("input `{}`: {error}", feed.field);
                        PredictError::new(kind, message)
                    })?
                }
            };
            inputs.insert(feed.field.clone(), value);
        }
        Ok(inputs)
    }

    fn select(&self, origin: &Origin) -> Payload {
        let from = match origin.node {
            None => Some(&self.inputs),
            Some(index) => self.nodes[index].outcome.outputs.as_ref(),
        };
        from.map(|outputs| origin.selection.get(outputs)).unwrap_or_default()
    }

    /// Takes the result of a node and starts those that waited for it alone.
    fn settle(
        &mut self,
        index: usize,
        result: Result<Fields, PredictError>,
    ) -> Result<(), RunError> {
        let program = self.program;
        let planned = &program.plan.nodes[index];
        let progress = &mut self.nodes[index];
        let outcome = &mut progress.outcome;
        let started = outcome.started.unwrap_or_default();
        outcome.duration = Some(self.run.trace.elapsed().saturating_sub(started));
        match result {
            Ok(outputs) => {
                outcome.status = NodeStatus::Succeeded;
                outcome.outputs = Some(Payload::map(outputs.clone()));
                let span = progress.span;
                self.close(span, SpanStatus::Succeeded, |span| {
                    span.outputs = Some(outputs);
                });
            }
            Err(error) => {
                outcome.status = NodeStatus::Failed;
                outcome.error = Some(error.clone());
                let message: Arc<str> = Arc::from(error.message.as_str());
                let span = progress.span;
                self.close(span, SpanStatus::Failed, |span| {
                    span.error = Some(message);
                });
                return Err(RunError { node: Some(planned.name.clone()), error });
            }
        }
        for &follower in &planned.followers {
            self.nodes[follower].waits_for -= 1;
            if self.nodes[follower].waits_for == 0 {
                self.start(follower)?;
            }
        }
        Ok(())
    }

    fn close(&self, span: Option<SpanId>, status: SpanStatus, fill: impl FnOnce(&mut Span)) {
        if let Some(span) = span {
            self.run.trace.close(span, status, fill);
        }
    }

    /// The run as a whole was cancelled: names the first node at work, and its predictor.
    fn cancelled(&self) -> RunError {
        let nodes = self.program.plan.nodes.iter().zip(&self.nodes);
        let node = nodes
            .filter(|(_, progress)| progress.outcome.status == NodeStatus::Running)
            .map(|(planned, _)| planned.name.clone())
            .next();
        let error = PredictError::new(PredictErrorKind::Cancelled, "the run was cancelled");
        let predictor = node.as_deref().and_then(|node| self.run.trace.predictor_at_work(node));
        RunError { node, error: PredictError { predictor, ..error } }
    }

    /// Stops what still runs and puts the outcome together.
    fn finish(mut self, failure: Option<RunError>) -> Outcome {
        self.running.clear();
        let outputs = match failure {
            Some(failure) => Err(failure),
            None => {
                let outputs = self.program.plan.outputs.iter();
                Ok(outputs.map(|(name, origin)| (name.clone(), self.select(origin))).collect())
            }
        };
        let elapsed = self.run.trace.elapsed();
        let spans = self.run.trace.take();
        let mut usage = Usage::default();
        for found in spans.iter().filter(|span| span.kind == SpanKind::Lm) {
            usage += found.usage.unwrap_or_default();
        }
        let names = self.program.plan.nodes.iter().map(|planned| planned.name.clone());
        let nodes = names.zip(self.nodes.into_iter().map(|p| ended(p.outcome, elapsed))).collect();
        Outcome { outputs, nodes, usage, spans }
    }
}

fn ended(mut outcome: NodeOutcome, elapsed: Duration) -> NodeOutcome {
    match outcome.status {
        NodeStatus::Pending => outcome.status = NodeStatus::Skipped,
        NodeStatus::Running => {
            outcome.status = NodeStatus::Cancelled;
            outcome.duration = outcome.started.map(|started| elapsed.saturating_sub(started));
        }
        _ => {}
    }
    outcome
}

/// Calls a node's module within the node's time.
async fn call(
    index: usize,
    planned: &PlannedNode,
    run: &Arc<RunScope>,
    span: SpanId,
    inputs: Fields,
) -> Finished {
    let settings = planned.node.settings();
    let own = Instant::now() + settings.timeout;
    let deadline = own.min(run.deadline);
    let scope = NodeScope {
        node: planned.name.clone(),
        lm: settings.lm.clone(),
        retries: settings.retries,
        parse_retries: settings.parse_retries,
        deadline,
    };
    let ctx = Ctx::of(run.clone(), Arc::new(scope), Some(span));
    let called = planned.node.module.forward(&ctx, inputs);
    let result = tokio::time::timeout_at(deadline, called).await.unwrap_or_else(|_| {
        let message = if own <= run.deadline {
            let millis = settings.timeout.as_millis();
            format!("node `{}` took longer than its {millis} ms", planned.name)
        } else {
            "the run took longer than its timeout_ms".to_owned()
        };
        let predictor = run.trace.predictor_at_work(&planned.name);
        Err(PredictError { predictor, ..PredictError::new(PredictErrorKind::Timeout, message) })
    });
    (index, result)
}
