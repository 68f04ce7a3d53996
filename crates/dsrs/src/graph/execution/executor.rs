//! The executor: dataflow within one task. A node starts as soon as its inputs are available, siblings
//! run concurrently, and ops are computed in place. The first failure ends the run, unless every node
//! that depends on it accepts errors. Knows modules by trait; knows nothing of LMs.

mod conclude;
mod inputs;

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::Instant;

use self::conclude::{fill_span, status_of};
use self::inputs::NodeInputs;
use super::journal::{CompletedNodes, Journal, JournalError};
use super::node_call::{NodeCall, out_of_time, took_too_long};
use super::outcome::{NodeOutcome, NodeStatus, Outcome, RunError};
use super::output_size::within_room;
use super::shared_work::SharedWork;
use crate::graph::plan::PlannedNode;
use crate::graph::program::Program;
use crate::lm::Usage;
use crate::predict::{
    CallTally, Ctx, PredictError, PredictErrorKind, RunEvent, RunListener, RunScope, SpanId,
    SpanKind,
};
use crate::strategy::Compute;
use crate::time_limit::TimeLimit;
use crate::value::{Failure, Fields, Payload, SizeBudget};

/// The number of nodes to start before yielding to other tasks.
const TURN: usize = 32;

/// After a computation of this length, other tasks get their turn at once.
const LONG: Duration = Duration::from_millis(1);

impl Program {
    /// Runs the graph once on inputs from [`Program::admit_inputs`]. Failures are part of the outcome.
    /// Dropping the future stops the run and its LM requests.
    pub async fn execute(&self, run: &Arc<RunScope>, inputs: Fields) -> Outcome {
        Execution::new(self, run, None, inputs).run().await
    }

    /// Like [`Self::execute`], but continues an earlier run of the same program and inputs. Completed
    /// nodes do not run again; the journal records every other node as it completes.
    pub async fn execute_from(
        &self,
        run: &Arc<RunScope>,
        inputs: Fields,
        ended: CompletedNodes,
        journal: &dyn Journal,
    ) -> Outcome {
        let mut execution = Execution::new(self, run, None, inputs);
        execution.journal = Some(journal);
        execution.take_over(ended);
        execution.run().await
    }

    /// Like [`Self::execute`], but shares the outputs of called nodes with other runs of this program:
    /// of equal nodes with equal inputs, only one is called.
    pub async fn execute_sharing(
        &self,
        run: &Arc<RunScope>,
        inputs: Fields,
        shared: &SharedWork,
    ) -> Outcome {
        let mut execution = Execution::new(self, run, None, inputs);
        execution.shared = Some(shared);
        execution.run().await
    }

    /// Runs the graph as a node of another graph: within the time of that node, below its span, and on
    /// top of its LM settings.
    pub(in crate::graph) async fn execute_within(
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
enum ExecutorEvent {
    /// A node completed.
    Node(usize, Result<Fields, PredictError>),
    /// The journal recorded a node, or failed to.
    Recorded(usize, Result<(), JournalError>),
}

struct Execution<'p> {
    program: &'p Program,
    run: &'p Arc<RunScope>,
    /// The node that contains this graph.
    within: Option<&'p Ctx>,
    /// Receives the events of nodes; `None` for a graph within a node.
    listener: Option<&'p dyn RunListener>,
    inputs: Payload,
    journal: Option<&'p dyn Journal>,
    /// Work that is shared with other runs.
    shared: Option<&'p SharedWork>,
    nodes: Vec<NodeProgress>,
    /// Nodes whose inputs are available, in that order.
    ready: VecDeque<usize>,
    /// The remaining size for outputs of nodes.
    room: SizeBudget,
    /// The number of started nodes.
    started: usize,
    /// Whether the last node computed for long.
    computed_long: bool,
    running: FuturesUnordered<BoxFuture<'p, ExecutorEvent>>,
}

struct NodeProgress {
    waits_for: usize,
    span: Option<SpanId>,
    /// Usage counters for the listener of the run.
    tally: Option<Arc<CallTally>>,
    /// The failure that replaces its outputs: its own, or the one that prevented it from starting.
    failure: Option<Arc<Failure>>,
    outcome: NodeOutcome,
}

impl<'p> Execution<'p> {
    fn new(
        program: &'p Program,
        run: &'p Arc<RunScope>,
        within: Option<&'p Ctx>,
        inputs: Fields,
    ) -> Self {
        let progress = |planned: &PlannedNode| NodeProgress {
            waits_for: planned.waits_for,
            span: None,
            tally: None,
            failure: None,
            outcome: NodeOutcome::pending(),
        };
        Self {
            program,
            run,
            within,
            listener: run.listener.as_deref().filter(|_| within.is_none()),
            inputs: Payload::map(inputs),
            journal: None,
            shared: None,
            nodes: program.plan.nodes.iter().map(progress).collect(),
            ready: VecDeque::new(),
            room: SizeBudget::default(),
            started: 0,
            computed_long: false,
            running: FuturesUnordered::new(),
        }
    }

    /// Runs to the end. What its nodes compute ends at the deadline of the run, or when that is
    /// cancelled.
    async fn run(mut self) -> Outcome {
        let limit = TimeLimit::new(self.run.deadline, &self.run.cancelled);
        let failure = limit.within(pin!(self.drive())).await.err();
        self.finish(failure)
    }

    /// Runs until every node completes or waits, or until the first failure. The deadline of the run
    /// needs no timer, because it bounds the time of each node.
    async fn drive(&mut self) -> Result<(), RunError> {
        let run = self.run;
        let mut cancelled = std::pin::pin!(run.cancelled.cancelled());
        let free = |(index, progress): (usize, &NodeProgress)| {
            let pending = progress.outcome.status == NodeStatus::Pending;
            Some(index).filter(|_| pending && progress.waits_for == 0)
        };
        self.ready = self.nodes.iter().enumerate().filter_map(free).collect();
        loop {
            while let Some(index) = self.ready.pop_front() {
                self.start(index)?;
                self.started += 1;
                if self.started.is_multiple_of(TURN) || std::mem::take(&mut self.computed_long) {
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
                Some(ExecutorEvent::Node(index, result)) => self.settle(index, result)?,
                Some(ExecutorEvent::Recorded(index, Ok(()))) => self.release(index),
                Some(ExecutorEvent::Recorded(index, Err(why))) => {
                    return Err(self.journal_failure(index, &why));
                }
            }
        }
    }

    /// Takes over the outcomes of completed nodes.
    fn take_over(&mut self, mut ended: CompletedNodes) {
        let program = self.program;
        for (index, planned) in program.plan.nodes.iter().enumerate() {
            let Some(mut outcome) = ended.remove(&planned.name) else { continue };
            let progress = &mut self.nodes[index];
            if let (NodeStatus::Failed, Some(Payload::Error(failure))) =
                (outcome.status, &outcome.outputs)
            {
                progress.failure = Some(failure.clone());
                outcome.outputs = None;
            }
            progress.outcome = outcome;
            for &follower in &planned.followers {
                let follows = &mut self.nodes[follower];
                follows.waits_for = follows.waits_for.saturating_sub(1);
            }
        }
    }

    /// Checks whether the run is cancelled or late. Nodes that compute in place never wait, so nothing
    /// else would notice.
    fn check_the_run(&self) -> Result<(), RunError> {
        if self.run.cancelled.is_cancelled() {
            return Err(self.cancelled());
        }
        if self.is_late() {
            return Err(RunError { node: None, error: out_of_time() });
        }
        Ok(())
    }

    /// Whether the time of the run, or of the node that contains this graph, is over.
    fn is_late(&self) -> bool {
        let bound = self.within.map_or(self.run.deadline, |ctx| ctx.node.deadline);
        Instant::now() >= bound
    }

    fn start(&mut self, index: usize) -> Result<(), RunError> {
        let program = self.program;
        let planned = &program.plan.nodes[index];
        let gathered = match self.gather(planned) {
            NodeInputs::Ready(gathered) => gathered,
            NodeInputs::SourceFailed(failure) => {
                self.skip(index, failure);
                return Ok(());
            }
        };
        let node = &program.graph().nodes[index];
        let gathered =
            gathered.and_then(|inputs| node.checks().admit_inputs(&inputs).map(|()| inputs));
        match (gathered, node.module.compute()) {
            (Ok(inputs), Some(compute)) => self.compute(index, compute, inputs),
            (Ok(inputs), None) => {
                let span = self.open(index, Some(inputs.clone()));
                let tally = self.nodes[index].tally.clone();
                let (run, within, name) = (self.run, self.within, &planned.name);
                let shared = self.shared.and_then(|shared| shared.part(index));
                let call = NodeCall { run, within, name, node, span, tally, shared };
                self.running.push(Box::pin(async move {
                    ExecutorEvent::Node(index, call.make(inputs).await)
                }));
                Ok(())
            }
            (Err(error), _) => {
                // A condition may have ended because the run has to.
                self.check_the_run()?;
                self.open(index, None);
                self.settle(index, Err(error))
            }
        }
    }

    /// Starts a node in the record and in the trace.
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
        progress.tally = self.listener.map(|_| CallTally::below(None));
        self.emit(|| RunEvent::NodeStarted { node: &planned.name });
        span
    }

    /// Computes a node in place. Its span is recorded once, after the fact.
    fn compute(&mut self, index: usize, compute: &Compute, inputs: Fields) -> Result<(), RunError> {
        let planned = &self.program.plan.nodes[index];
        let trace = &self.run.trace;
        self.emit(|| RunEvent::NodeStarted { node: &planned.name });
        let started = trace.elapsed();
        let checks = self.program.graph().nodes[index].checks();
        let result =
            compute(&inputs).and_then(|outputs| checks.admit_outputs(&outputs).map(|()| outputs));
        let duration = trace.elapsed().saturating_sub(started);
        if result.is_err() {
            // It may have ended because the run has to.
            self.check_the_run()?;
        }
        let timeout = self.program.graph().nodes[index].settings().timeout;
        let result = match result {
            // A late result does not count.
            Ok(_) if duration > timeout => Err(took_too_long(&planned.name, timeout)),
            result => within_room(&mut self.room, result),
        };
        let parent = self.within.and_then(|ctx| ctx.parent);
        trace.record(SpanKind::Node, &self.label(planned), parent, |span| {
            (span.started, span.duration) = (started, Some(duration));
            span.inputs = Some(inputs);
            span.status = status_of(&result);
            fill_span(span, &result);
        });
        self.nodes[index].outcome.started = Some(started);
        self.computed_long = duration >= LONG;
        self.conclude(index, result, duration)
    }

    /// Skips a node because one of its sources failed. The failure propagates to its followers.
    fn skip(&mut self, index: usize, failure: Arc<Failure>) {
        let progress = &mut self.nodes[index];
        progress.outcome.status = NodeStatus::Skipped;
        progress.failure = Some(failure);
        self.release(index);
    }

    /// The name of a node in the trace.
    fn label(&self, planned: &PlannedNode) -> Arc<str> {
        match self.within {
            None => planned.name.clone(),
            Some(ctx) => format!("{}.{}", ctx.node.node, planned.name).into(),
        }
    }

    fn emit<'e>(&self, event: impl FnOnce() -> RunEvent<'e>) {
        if let Some(listener) = self.listener {
            listener.receive(event());
        }
    }

    /// The error of a cancelled run, with the first running node and its predictor.
    fn cancelled(&self) -> RunError {
        let nodes = self.program.plan.nodes.iter().zip(&self.nodes);
        let node = nodes
            .filter(|(_, progress)| progress.outcome.status == NodeStatus::Running)
            .map(|(planned, _)| planned.name.clone())
            .next();
        let error = PredictError::new(PredictErrorKind::Cancelled, "the run was cancelled");
        let label = self.within.map(|ctx| &ctx.node.node).or(node.as_ref());
        let predictor = label.and_then(|node| self.run.trace.running_predictor(node));
        RunError { node, error: PredictError { predictor, ..error } }
    }

    /// Stops the running nodes.
    fn stop(&mut self) {
        self.running.clear();
        let running = |progress: &&NodeProgress| progress.outcome.status == NodeStatus::Running;
        for span in self.nodes.iter().filter(running).filter_map(|progress| progress.span) {
            self.run.trace.cancel(span);
        }
    }

    fn outputs(&self) -> Fields {
        let outputs = self.program.plan.outputs.iter();
        outputs.map(|(name, origin)| (name.clone(), self.select(origin))).collect()
    }

    /// Stops the running nodes and assembles the outcome.
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
        for found in spans.iter().filter(|span| span.kind.is_paid()) {
            usage += found.usage.unwrap_or_default();
        }
        let names = self.program.plan.nodes.iter().map(|planned| planned.name.clone());
        let settled = |progress: NodeProgress| match parked {
            true => progress.outcome,
            false => progress.outcome.at_the_end(elapsed),
        };
        let nodes = names.zip(self.nodes.into_iter().map(settled)).collect();
        Outcome { outputs, nodes, usage, spans }
    }
}
