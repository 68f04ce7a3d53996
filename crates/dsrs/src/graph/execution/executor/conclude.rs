//! Concluding a node: record its outcome, propagate a failure, hand the node to the journal, park the
//! run, and release the followers.

use std::sync::Arc;
use std::time::Duration;

use super::{Execution, ExecutorEvent};
use crate::graph::execution::journal::{CompletedNode, JournalError};
use crate::graph::execution::outcome::{NodeStatus, RunError};
use crate::graph::execution::output_size::within_room;
use crate::lm::Usage;
use crate::predict::{NodePause, PredictError, PredictErrorKind, RunEvent, Span, SpanStatus};
use crate::value::{Failure, Fields, Payload};

impl Execution<'_> {
    /// Settles the result of a called node.
    pub(super) fn settle(
        &mut self,
        index: usize,
        result: Result<Fields, PredictError>,
    ) -> Result<(), RunError> {
        // Only a run can be parked, not a graph within a node.
        if let Err(PredictError { kind: PredictErrorKind::Waiting { pause }, .. }) = &result
            && self.within.is_none()
        {
            self.park(index, pause.clone());
            return Ok(());
        }
        let result = within_room(&mut self.room, result);
        let progress = &self.nodes[index];
        let started = progress.outcome.started.unwrap_or_default();
        let trace = &self.run.trace;
        let duration = trace.elapsed().saturating_sub(started);
        if let Some(span) = progress.span {
            trace.close(span, status_of(&result), |span| fill_span(span, &result));
            if result.is_err() {
                // Spans below it may still be open after a timeout.
                trace.cancel(span);
            }
        }
        self.conclude(index, result, duration)
    }

    /// Records the outcome of a node. Its followers are released once the journal, if there is one, has
    /// recorded it.
    pub(super) fn conclude(
        &mut self,
        index: usize,
        result: Result<Fields, PredictError>,
        duration: Duration,
    ) -> Result<(), RunError> {
        let planned = &self.program.plan.nodes[index];
        let progress = &mut self.nodes[index];
        if let Some(listener) = self.listener {
            let usage = progress.tally.as_ref().map(|tally| tally.sum().usage);
            listener.receive(end_event(
                &planned.name,
                &result,
                usage.unwrap_or_default(),
                duration,
            ));
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
        match self.journal.filter(|_| self.is_journaled(index)) {
            None => self.release(index),
            Some(journal) => {
                let recorded = journal.record(self.completed_node(index));
                self.running
                    .push(Box::pin(async move { ExecutorEvent::Recorded(index, recorded.await) }));
            }
        }
        Ok(())
    }

    /// Whether the journal records a node. Computing an op again is as cheap as restoring it. Absorbed
    /// failures are recorded too, because the outputs of their followers depend on them. The node with which
    /// the run ends is in the record of the run.
    fn is_journaled(&self, index: usize) -> bool {
        self.program.graph().nodes[index].module.compute().is_none() && self.has_unsettled_nodes()
    }

    fn has_unsettled_nodes(&self) -> bool {
        self.nodes.iter().any(|progress| {
            let status = progress.outcome.status;
            matches!(status, NodeStatus::Pending | NodeStatus::Running | NodeStatus::Waiting)
        })
    }

    fn completed_node(&self, index: usize) -> CompletedNode {
        let progress = &self.nodes[index];
        CompletedNode {
            name: self.program.plan.nodes[index].name.clone(),
            outcome: progress.outcome.clone(),
            spans: progress.span.map(|span| self.run.trace.below(span)).unwrap_or_default(),
        }
    }

    /// The error of a run whose journal failed.
    pub(super) fn journal_failure(&self, index: usize, why: &JournalError) -> RunError {
        let name = &self.program.plan.nodes[index].name;
        let message = format!("the outputs of node `{name}` could not be recorded: {why}");
        RunError {
            node: Some(name.clone()),
            error: PredictError::new(PredictErrorKind::Cancelled, message),
        }
    }

    /// Whether a failure ends the whole run, so that no node can absorb it.
    fn is_over(&self, error: &PredictError) -> bool {
        match error.kind {
            PredictErrorKind::Cancelled | PredictErrorKind::Waiting { .. } => true,
            PredictErrorKind::Timeout => self.is_late(),
            _ => false,
        }
    }

    /// Parks a node. The journal records what it has done before it paused, once.
    fn park(&mut self, index: usize, pause: Option<Arc<NodePause>>) {
        let progress = &mut self.nodes[index];
        progress.outcome.status = NodeStatus::Waiting;
        if let Some(span) = progress.span {
            self.run.trace.close(span, SpanStatus::Waiting, |_| {});
        }
        progress.outcome.pause = pause;
        if let Some(journal) = self.journal.filter(|_| self.is_new_pause(index)) {
            let recorded = journal.record(self.completed_node(index));
            self.running
                .push(Box::pin(async move { ExecutorEvent::Recorded(index, recorded.await) }));
        }
    }

    fn is_new_pause(&self, index: usize) -> bool {
        let earlier = self.run.paused.get(&self.program.plan.nodes[index].name);
        let pause = self.nodes[index].outcome.pause.as_ref();
        pause.is_some_and(|pause| earlier.is_none_or(|earlier| earlier.number < pause.number))
    }

    /// The signal that a run without runnable nodes waits for, if any.
    pub(super) fn waiting(&self) -> Option<RunError> {
        let nodes = self.program.plan.nodes.iter().zip(&self.nodes);
        let mut waiting =
            nodes.filter(|(_, progress)| progress.outcome.status == NodeStatus::Waiting);
        let node = waiting.next()?.0.name.clone();
        let message = format!("the run waits for the value of `{node}`");
        let error = PredictError::new(PredictErrorKind::Waiting { pause: None }, message);
        Some(RunError { node: Some(node), error })
    }

    /// Releases the followers of a node, unless it waits. A follower that is not pending completed in an earlier
    /// attempt; that happens after ops, which are computed again.
    pub(super) fn release(&mut self, index: usize) {
        if self.nodes[index].outcome.status == NodeStatus::Waiting {
            return;
        }
        let program = self.program;
        for &follower in &program.plan.nodes[index].followers {
            let follows = &mut self.nodes[follower];
            if follows.outcome.status != NodeStatus::Pending {
                continue;
            }
            follows.waits_for = follows.waits_for.saturating_sub(1);
            if follows.waits_for == 0 {
                self.ready.push_back(follower);
            }
        }
    }
}

/// The status of the span of a node with this result.
pub(super) const fn status_of(result: &Result<Fields, PredictError>) -> SpanStatus {
    match result {
        Ok(_) => SpanStatus::Succeeded,
        Err(_) => SpanStatus::Failed,
    }
}

/// Writes the result of a node into its span.
pub(super) fn fill_span(span: &mut Span, result: &Result<Fields, PredictError>) {
    match result {
        Ok(outputs) => span.outputs = Some(outputs.clone()),
        Err(error) => span.fail(error),
    }
}

/// The event of a completed or failed node.
fn end_event<'e>(
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
