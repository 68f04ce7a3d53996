//! The executor: dataflow within one task. A node starts the moment its inputs are there, siblings
//! run concurrently, what computes at once is called in place. The first failure ends the run, unless
//! all that depends on it takes errors. Knows modules by trait and nothing of LMs.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use indexmap::IndexMap;
use tokio::time::Instant;

use super::journal::{EndedNode, EndedNodes, Journal, Unkept};
use super::node::Node;
use super::plan::{FeedFrom, Origin, PlannedNode};
use super::program::Program;
use crate::lm::Usage;
use crate::predict::{
    Ctx, NodeScope, PredictError, PredictErrorKind, RunEvent, RunListener, RunScope, Span, SpanId,
    SpanKind, SpanStatus, Tally,
};
use crate::strategy::Compute;
use crate::types::ConvertError;
use crate::value::{Failure, Fields, Payload};

/// How many nodes are started before others get their turn.
const TURN: usize = 32;

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

impl Outcome {
    /// Whether nothing has failed, and all that is left waits for values from outside.
    #[must_use]
    pub fn waits(&self) -> bool {
        self.outputs.as_ref().is_err_and(RunError::waits)
    }
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

impl RunError {
    fn waits(&self) -> bool {
        self.error.kind == PredictErrorKind::Waiting
    }
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
    /// Never started, because the run ended before, or because what it needs failed.
    Skipped,
    /// Stopped at work, because the run ended.
    Cancelled,
    /// Parked until a value comes from outside.
    Waiting,
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
            Self::Waiting => "waiting",
        }
    }
}

impl Program {
    /// Runs the graph once. Inputs are those that [`Program::admit_inputs`] gave. The outcome has a
    /// place for everything that can go wrong, so this never fails itself; dropping the future
    /// stops the run and its LM requests.
    pub async fn execute(&self, run: &Arc<RunScope>, inputs: Fields) -> Outcome {
        let mut execution = Execution::new(self, run, None, inputs);
        let failure = execution.drive().await.err();
        execution.finish(failure)
    }

    /// As [`Self::execute`], from where an earlier run of the same program and inputs came to. The
    /// nodes that have ended are not run again; what every other gives is handed to the journal.
    pub async fn execute_from(
        &self,
        run: &Arc<RunScope>,
        inputs: Fields,
        ended: EndedNodes,
        journal: &dyn Journal,
    ) -> Outcome {
        let mut execution = Execution::new(self, run, None, inputs);
        execution.journal = Some(journal);
        execution.take_over(ended);
        let failure = execution.drive().await.err();
        execution.finish(failure)
    }

    /// Runs the graph once as a part of a node of another: within that node's time, under its span
    /// and over its LM settings.
    pub(super) async fn execute_within(
        &self,
        ctx: &Ctx,
        inputs: Fields,
    ) -> Result<Fields, PredictError> {
        let mut execution = Execution::new(self, &ctx.run, Some(ctx), inputs);
        let outcome = execution.drive().await;
        execution.stop();
        outcome.map(|()| execution.outputs()).map_err(|failure| failure.error)
    }
}

/// What the executor waits for.
enum Done {
    /// A node has come to its end.
    Node(usize, Result<Fields, PredictError>),
    /// The journal has what a node gave, or cannot take it.
    Kept(usize, Result<(), Unkept>),
}

struct Execution<'p> {
    program: &'p Program,
    run: &'p Arc<RunScope>,
    /// The node that the graph is a part of.
    within: Option<&'p Ctx>,
    /// Who is told of its nodes; nobody is of those within a node.
    heard: Option<&'p dyn RunListener>,
    inputs: Payload,
    journal: Option<&'p dyn Journal>,
    nodes: Vec<Progress>,
    /// Nodes that wait for nothing any more, in the order in which that came to be.
    ready: VecDeque<usize>,
    /// How many nodes were started.
    started: usize,
    running: FuturesUnordered<BoxFuture<'p, Done>>,
}

struct Progress {
    waits_for: usize,
    span: Option<SpanId>,
    /// Counts for whoever listens to the run.
    tally: Option<Arc<Tally>>,
    /// The failure that stands in the place of its outputs: its own, or one that kept it from
    /// starting.
    failure: Option<Arc<Failure>>,
    outcome: NodeOutcome,
}

/// What came of gathering the inputs of a node.
enum Gathered {
    Inputs(Result<Fields, PredictError>),
    /// Something that it needs failed.
    Lost(Arc<Failure>),
}

impl<'p> Execution<'p> {
    fn new(
        program: &'p Program,
        run: &'p Arc<RunScope>,
        within: Option<&'p Ctx>,
        inputs: Fields,
    ) -> Self {
        let progress = |planned: &PlannedNode| Progress {
            waits_for: planned.waits_for,
            span: None,
            tally: None,
            failure: None,
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
            within,
            heard: run.listener.as_deref().filter(|_| within.is_none()),
            inputs: Payload::map(inputs),
            journal: None,
            nodes: program.plan.nodes.iter().map(progress).collect(),
            ready: VecDeque::new(),
            started: 0,
            running: FuturesUnordered::new(),
        }
    }

    /// Runs until every node is done or waits, or the first failure. The run's own deadline needs no
    /// timer: no node outlasts it.
    async fn drive(&mut self) -> Result<(), RunError> {
        let run = self.run;
        let mut cancelled = std::pin::pin!(run.cancelled.cancelled());
        let free = |(index, progress): (usize, &Progress)| {
            let pending = progress.outcome.status == NodeStatus::Pending;
            Some(index).filter(|_| pending && progress.waits_for == 0)
        };
        self.ready = self.nodes.iter().enumerate().filter_map(free).collect();
        loop {
            while let Some(index) = self.ready.pop_front() {
                self.start(index)?;
                self.started += 1;
                if self.started.is_multiple_of(TURN) {
                    self.check_the_run()?;
                    tokio::task::yield_now().await;
                }
            }
            let done = tokio::select! {
                biased;
                () = &mut cancelled => return Err(self.cancelled()),
                done = self.running.next() => done,
            };
            match done {
                None => return self.waiting().map_or(Ok(()), Err),
                Some(Done::Node(index, result)) => self.settle(index, result)?,
                Some(Done::Kept(index, Ok(()))) => self.release(index),
                Some(Done::Kept(index, Err(why))) => return Err(self.unkept(index, &why)),
            }
        }
    }

    /// Takes over how nodes have ended before.
    fn take_over(&mut self, mut ended: EndedNodes) {
        let program = self.program;
        for (index, planned) in program.plan.nodes.iter().enumerate() {
            let Some(outcome) = ended.remove(&planned.name) else { continue };
            self.nodes[index].outcome = outcome;
            for &follower in &planned.followers {
                self.nodes[follower].waits_for -= 1;
            }
        }
    }

    /// What is called in place waits for nobody, so that nobody noticed that the run is over.
    fn check_the_run(&self) -> Result<(), RunError> {
        if self.run.cancelled.is_cancelled() {
            return Err(self.cancelled());
        }
        if self.is_late() {
            return Err(RunError { node: None, error: out_of_time() });
        }
        Ok(())
    }

    /// Whether the time of the run is over, or of the node that the graph is a part of.
    fn is_late(&self) -> bool {
        let bound = self.within.map_or(self.run.deadline, |ctx| ctx.node.deadline);
        Instant::now() >= bound
    }

    fn start(&mut self, index: usize) -> Result<(), RunError> {
        let program = self.program;
        let planned = &program.plan.nodes[index];
        let gathered = match self.gather(planned) {
            Gathered::Inputs(gathered) => gathered,
            Gathered::Lost(failure) => {
                self.skip(index, failure);
                return Ok(());
            }
        };
        let node = &program.graph().nodes[index];
        match (gathered, node.module.compute()) {
            (Ok(inputs), Some(compute)) => self.compute(index, compute, inputs),
            (Ok(inputs), None) => {
                let span = self.open(index, Some(inputs.clone()));
                let tally = self.nodes[index].tally.clone();
                let (run, within, name) = (self.run, self.within, &planned.name);
                let call = Call { run, within, name, node, span, tally };
                self.running
                    .push(Box::pin(async move { Done::Node(index, call.make(inputs).await) }));
                Ok(())
            }
            (Err(error), _) => {
                self.open(index, None);
                self.settle(index, Err(error))
            }
        }
    }

    /// Begins a node in the record and in the trace.
    fn open(&mut self, index: usize, inputs: Option<Fields>) -> SpanId {
        let planned = &self.program.plan.nodes[index];
        let trace = &self.run.trace;
        let parent = self.within.and_then(|ctx| ctx.parent);
        let mut started = Duration::ZERO;
        let span = trace.open(SpanKind::Node, &self.label(planned), parent, |span| {
            started = span.started;
            span.inputs = inputs;
        });
        let progress = &mut self.nodes[index];
        progress.span = Some(span);
        progress.outcome.status = NodeStatus::Running;
        progress.outcome.started = Some(started);
        progress.tally = self.heard.map(|_| Tally::below(None));
        self.tell(|| RunEvent::NodeStarted { node: &planned.name });
        span
    }

    /// Calls a node in place that waits for nothing. What is over at once is written down once.
    fn compute(&mut self, index: usize, compute: &Compute, inputs: Fields) -> Result<(), RunError> {
        let planned = &self.program.plan.nodes[index];
        let trace = &self.run.trace;
        self.tell(|| RunEvent::NodeStarted { node: &planned.name });
        let started = trace.elapsed();
        let result = compute(&inputs);
        let duration = trace.elapsed().saturating_sub(started);
        let parent = self.within.and_then(|ctx| ctx.parent);
        trace.record(SpanKind::Node, &self.label(planned), parent, |span| {
            (span.started, span.duration) = (started, Some(duration));
            span.inputs = Some(inputs);
            span.status = status_of(&result);
            tell_end(span, &result);
        });
        self.nodes[index].outcome.started = Some(started);
        self.conclude(index, result, duration)
    }

    /// Leaves out a node that something needed by it kept from starting; what is behind it has that
    /// failure in the place of its outputs.
    fn skip(&mut self, index: usize, failure: Arc<Failure>) {
        let progress = &mut self.nodes[index];
        progress.outcome.status = NodeStatus::Skipped;
        progress.failure = Some(failure);
        self.release(index);
    }

    /// What the trace calls a node.
    fn label(&self, planned: &PlannedNode) -> Arc<str> {
        match self.within {
            None => planned.name.clone(),
            Some(ctx) => format!("{}.{}", ctx.node.node, planned.name).into(),
        }
    }

    /// The inputs of a node, each converted to exactly the type that the node takes. Of several
    /// failures that it does not take, the first by the order of inputs stands for all.
    fn gather(&self, planned: &PlannedNode) -> Gathered {
        let mut inputs = Fields::with_capacity(planned.feeds.len());
        let mut lost: Vec<&Arc<Failure>> = Vec::new();
        for feed in &planned.feeds {
            let value = match &feed.from {
                FeedFrom::Constant(value) => value.clone(),
                FeedFrom::Edge(origin, conversion) => match self.failure_of(origin) {
                    Some(failure) if feed.takes_error => Payload::Error(failure.clone()),
                    Some(failure) => {
                        lost.push(failure);
                        continue;
                    }
                    None => match conversion.apply(&self.select(origin)) {
                        Ok(value) => value,
                        Err(error) => return Gathered::Inputs(Err(unfit(&feed.field, &error))),
                    },
                },
            };
            inputs.insert(feed.field.clone(), value);
        }
        match lost.as_slice() {
            [] => Gathered::Inputs(Ok(inputs)),
            [only] => Gathered::Lost(Arc::clone(only)),
            [first, ..] => {
                let all = Failure::joined(lost.iter().map(|failure| (***failure).clone()));
                Gathered::Lost(all.map_or_else(|| Arc::clone(first), Arc::new))
            }
        }
    }

    /// The failure that stands where a source should have its value.
    fn failure_of(&self, origin: &Origin) -> Option<&Arc<Failure>> {
        origin.node.and_then(|index| self.nodes[index].failure.as_ref())
    }

    fn select(&self, origin: &Origin) -> Payload {
        let from = match origin.node {
            None => Some(&self.inputs),
            Some(index) => self.nodes[index].outcome.outputs.as_ref(),
        };
        from.map(|outputs| origin.selection.get(outputs)).unwrap_or_default()
    }

    /// Takes the result of a node that was at work.
    fn settle(
        &mut self,
        index: usize,
        result: Result<Fields, PredictError>,
    ) -> Result<(), RunError> {
        if result.as_ref().is_err_and(|error| self.may_park(error)) {
            self.park(index);
            return Ok(());
        }
        let progress = &self.nodes[index];
        let started = progress.outcome.started.unwrap_or_default();
        let trace = &self.run.trace;
        let duration = trace.elapsed().saturating_sub(started);
        if let Some(span) = progress.span {
            trace.close(span, status_of(&result), |span| tell_end(span, &result));
            if result.is_err() {
                // What was at work below it when its time was over.
                trace.cancel(span);
            }
        }
        self.conclude(index, result, duration)
    }

    /// Notes how a node ended; those that waited for it alone wait for nothing any more once the
    /// journal has it, where there is one.
    fn conclude(
        &mut self,
        index: usize,
        result: Result<Fields, PredictError>,
        duration: Duration,
    ) -> Result<(), RunError> {
        let planned = &self.program.plan.nodes[index];
        let progress = &mut self.nodes[index];
        if let Some(listener) = self.heard {
            let usage = progress.tally.as_ref().map(|tally| tally.sum().usage);
            listener.hear(ended_event(&planned.name, &result, usage.unwrap_or_default(), duration));
        }
        let outcome = &mut progress.outcome;
        outcome.duration = Some(duration);
        match result {
            Ok(outputs) => {
                outcome.status = NodeStatus::Succeeded;
                outcome.outputs = Some(Payload::map(outputs));
            }
            Err(error) => {
                outcome.status = NodeStatus::Failed;
                outcome.error = Some(error.clone());
                if !planned.absorbed || self.is_over(&error) {
                    return Err(RunError { node: Some(planned.name.clone()), error });
                }
                let failure = Failure::new(error.kind.code(), error.message.as_str());
                self.nodes[index].failure = Some(Arc::new(failure.at(self.label(planned))));
            }
        }
        match self.journal.filter(|_| self.is_worth_keeping(index)) {
            None => self.release(index),
            Some(journal) => {
                let kept = journal.keep(self.ended_node(index));
                self.running.push(Box::pin(async move { Done::Kept(index, kept.await) }));
            }
        }
        Ok(())
    }

    /// Whether a node's end is kept for a later run: what is computed in place is as soon computed
    /// again, and a failure that another node took may be none the next time.
    fn is_worth_keeping(&self, index: usize) -> bool {
        self.nodes[index].outcome.status == NodeStatus::Succeeded
            && self.program.graph().nodes[index].module.compute().is_none()
    }

    fn ended_node(&self, index: usize) -> EndedNode {
        let progress = &self.nodes[index];
        EndedNode {
            name: self.program.plan.nodes[index].name.clone(),
            outcome: progress.outcome.clone(),
            spans: progress.span.map(|span| self.run.trace.below(span)).unwrap_or_default(),
        }
    }

    /// The journal did not take what a node gave.
    fn unkept(&self, index: usize, why: &Unkept) -> RunError {
        let name = &self.program.plan.nodes[index].name;
        let message = format!("what node `{name}` gave could not be kept: {why}");
        RunError {
            node: Some(name.clone()),
            error: PredictError::new(PredictErrorKind::Cancelled, message),
        }
    }

    /// Whether a failure is that of the run as a whole, which no node takes.
    fn is_over(&self, error: &PredictError) -> bool {
        match error.kind {
            PredictErrorKind::Cancelled => true,
            PredictErrorKind::Timeout => self.is_late(),
            _ => false,
        }
    }

    /// Only the run itself can be parked, not a part of a node.
    fn may_park(&self, error: &PredictError) -> bool {
        error.kind == PredictErrorKind::Waiting && self.within.is_none()
    }

    fn park(&mut self, index: usize) {
        let progress = &mut self.nodes[index];
        progress.outcome.status = NodeStatus::Waiting;
        if let Some(span) = progress.span {
            self.run.trace.close(span, SpanStatus::Waiting, |_| {});
        }
    }

    /// What a run that has nothing left to do waits for, if anything.
    fn waiting(&self) -> Option<RunError> {
        let nodes = self.program.plan.nodes.iter().zip(&self.nodes);
        let mut waiting =
            nodes.filter(|(_, progress)| progress.outcome.status == NodeStatus::Waiting);
        let node = waiting.next()?.0.name.clone();
        let message = format!("the run waits for the value of `{node}`");
        let error = PredictError::new(PredictErrorKind::Waiting, message);
        Some(RunError { node: Some(node), error })
    }

    /// A node is done: those that waited for it alone wait for nothing any more.
    fn release(&mut self, index: usize) {
        let program = self.program;
        for &follower in &program.plan.nodes[index].followers {
            self.nodes[follower].waits_for -= 1;
            if self.nodes[follower].waits_for == 0 {
                self.ready.push_back(follower);
            }
        }
    }

    fn tell<'e>(&self, event: impl FnOnce() -> RunEvent<'e>) {
        if let Some(listener) = self.heard {
            listener.hear(event());
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
        let label = self.within.map(|ctx| &ctx.node.node).or(node.as_ref());
        let predictor = label.and_then(|node| self.run.trace.predictor_at_work(node));
        RunError { node, error: PredictError { predictor, ..error } }
    }

    /// Stops what still runs.
    fn stop(&mut self) {
        self.running.clear();
        let running = |progress: &&Progress| progress.outcome.status == NodeStatus::Running;
        for span in self.nodes.iter().filter(running).filter_map(|progress| progress.span) {
            self.run.trace.cancel(span);
        }
    }

    fn outputs(&self) -> Fields {
        let outputs = self.program.plan.outputs.iter();
        outputs.map(|(name, origin)| (name.clone(), self.select(origin))).collect()
    }

    /// Stops what still runs and puts the outcome together.
    fn finish(mut self, failure: Option<RunError>) -> Outcome {
        self.stop();
        let parked = failure.as_ref().is_some_and(RunError::waits);
        let outputs = match failure {
            Some(failure) => Err(failure),
            None => Ok(self.outputs()),
        };
        let elapsed = self.run.trace.elapsed();
        let spans = self.run.trace.take();
        let mut usage = Usage::default();
        for found in spans.iter().filter(|span| span.kind == SpanKind::Lm) {
            usage += found.usage.unwrap_or_default();
        }
        let names = self.program.plan.nodes.iter().map(|planned| planned.name.clone());
        let settled = |progress: Progress| match parked {
            true => progress.outcome,
            false => ended(progress.outcome, elapsed),
        };
        let nodes = names.zip(self.nodes.into_iter().map(settled)).collect();
        Outcome { outputs, nodes, usage, spans }
    }
}

const fn status_of(result: &Result<Fields, PredictError>) -> SpanStatus {
    match result {
        Ok(_) => SpanStatus::Succeeded,
        Err(_) => SpanStatus::Failed,
    }
}

/// Tells a span what its node gave, or why it did not.
fn tell_end(span: &mut Span, result: &Result<Fields, PredictError>) {
    match result {
        Ok(outputs) => span.outputs = Some(outputs.clone()),
        Err(error) => span.error = Some(Arc::from(error.message.as_str())),
    }
}

/// An input that cannot be what its node takes.
fn unfit(field: &Arc<str>, error: &ConvertError) -> PredictError {
    let kind = PredictErrorKind::InvalidValue { field: field.clone() };
    PredictError::new(kind, format!("input `{field}`: {error}"))
}

fn out_of_time() -> PredictError {
    PredictError::new(PredictErrorKind::Timeout, "the run took longer than its timeout_ms")
}

/// What a listener is told of a node that has ended.
fn ended_event<'e>(
    node: &'e Arc<str>,
    result: &'e Result<Fields, PredictError>,
    usage: Usage,
    duration: Duration,
) -> RunEvent<'e> {
    match result {
        Ok(outputs) => RunEvent::NodeCompleted { node, outputs, usage, duration },
        Err(error) => RunEvent::NodeFailed { node, error, duration },
    }
}

fn ended(mut outcome: NodeOutcome, elapsed: Duration) -> NodeOutcome {
    match outcome.status {
        NodeStatus::Pending => outcome.status = NodeStatus::Skipped,
        NodeStatus::Running | NodeStatus::Waiting => {
            outcome.status = NodeStatus::Cancelled;
            outcome.duration = outcome.started.map(|started| elapsed.saturating_sub(started));
        }
        _ => {}
    }
    outcome
}

/// The call of one node's module.
struct Call<'p> {
    run: &'p Arc<RunScope>,
    within: Option<&'p Ctx>,
    name: &'p Arc<str>,
    node: &'p Node,
    span: SpanId,
    tally: Option<Arc<Tally>>,
}

impl Call<'_> {
    /// Calls the module within the node's time.
    async fn make(self, inputs: Fields) -> Result<Fields, PredictError> {
        let timeout = self.node.settings().timeout;
        let own = Instant::now() + timeout;
        let bound = self.within.map_or(self.run.deadline, |ctx| ctx.node.deadline);
        let ctx = self.ctx(own.min(bound));
        let called = self.node.module.forward(&ctx, inputs);
        tokio::time::timeout_at(ctx.node.deadline, called).await.unwrap_or_else(|_| {
            let error = if own <= bound {
                let limit = timeout.as_millis();
                let message = format!("node `{}` took longer than its {limit} ms", self.name);
                PredictError::new(PredictErrorKind::Timeout, message)
            } else {
                out_of_time()
            };
            let predictor = self.run.trace.predictor_at_work(&ctx.node.node);
            Err(PredictError { predictor, ..error })
        })
    }

    /// The node's own context. Predictors of a graph that is a part of a node belong to that node:
    /// their paths lead through the graph.
    fn ctx(&self, deadline: Instant) -> Ctx {
        let settings = self.node.settings();
        let scope = NodeScope {
            node: self.within.map_or(self.name, |ctx| &ctx.node.node).clone(),
            lm: self
                .within
                .map_or_else(|| settings.lm.clone(), |ctx| settings.lm.over(&ctx.node.lm)),
            retries: settings.retries,
            parse_retries: settings.parse_retries,
            deadline,
        };
        match self.within {
            None => Ctx {
                tally: self.tally.clone(),
                ..Ctx::of(self.run.clone(), Arc::new(scope), Some(self.span))
            },
            Some(outer) => Ctx { node: Arc::new(scope), parent: Some(self.span), ..outer.clone() },
        }
    }
}
