//! What becomes of a node that has come to an end, and of those behind it: done, failed, failed for
//! one who takes that, kept by the journal, parked.

use std::sync::Arc;
use std::time::Duration;

use super::{Execution, ExecutorEvent};
use crate::graph::execution::journal::{CompletedNode, JournalError};
use crate::graph::execution::outcome::{NodeStatus, RunError};
use crate::graph::execution::output_size::weighed;
use crate::lm::Usage;
use crate::predict::{PredictError, PredictErrorKind, RunEvent, Span, SpanStatus};
use crate::value::{Failure, Fields, Payload};

impl Execution<'_> {
    /// Takes the result of a node that was at work.
    pub(super) fn settle(
        &mut self,
        index: usize,
        result: Result<Fields, PredictError>,
    ) -> Result<(), RunError> {
        if result.as_ref().is_err_and(|error| self.may_park(error)) {
            self.park(index);
            return Ok(());
        }
        let result = weighed(&mut self.room, result);
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
    pub(super) fn conclude(
        &mut self,
        index: usize,
        result: Result<Fields, PredictError>,
        duration: Duration,
    ) -> Result<(), RunError> {
        let planned = &self.program.plan.nodes[index];
        let progress = &mut self.nodes[index];
        if let Some(listener) = self.heard {
            let usage = progress.tally.as_ref().map(|tally| tally.sum().usage);
            listener.receive(ended_event(
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
        match self.journal.filter(|_| self.is_worth_keeping(index)) {
            None => self.release(index),
            Some(journal) => {
                let kept = journal.record(self.completed_node(index));
                self.running
                    .push(Box::pin(async move { ExecutorEvent::Recorded(index, kept.await) }));
            }
        }
        Ok(())
    }

    /// Whether a node's end is kept for a later attempt: what is computed in place is as soon computed
    /// again. A failure that another node took is kept, since what was made of it is.
    fn is_worth_keeping(&self, index: usize) -> bool {
        self.program.graph().nodes[index].module.compute().is_none()
    }

    fn completed_node(&self, index: usize) -> CompletedNode {
        let progress = &self.nodes[index];
        CompletedNode {
            name: self.program.plan.nodes[index].name.clone(),
            outcome: progress.outcome.clone(),
            spans: progress.span.map(|span| self.run.trace.below(span)).unwrap_or_default(),
        }
    }

    /// The journal did not take what a node gave.
    pub(super) fn journal_failure(&self, index: usize, why: &JournalError) -> RunError {
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
            PredictErrorKind::Cancelled | PredictErrorKind::Waiting => true,
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
    pub(super) fn waiting(&self) -> Option<RunError> {
        let nodes = self.program.plan.nodes.iter().zip(&self.nodes);
        let mut waiting =
            nodes.filter(|(_, progress)| progress.outcome.status == NodeStatus::Waiting);
        let node = waiting.next()?.0.name.clone();
        let message = format!("the run waits for the value of `{node}`");
        let error = PredictError::new(PredictErrorKind::Waiting, message);
        Some(RunError { node: Some(node), error })
    }

    /// A node is done: those that waited for it alone wait for nothing any more. What is computed
    /// in place is computed again by a later attempt; nodes behind it that ended in an earlier one
    /// have ended.
    pub(super) fn release(&mut self, index: usize) {
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

/// How a span stands whose node gave this.
pub(super) const fn status_of(result: &Result<Fields, PredictError>) -> SpanStatus {
    match result {
        Ok(_) => SpanStatus::Succeeded,
        Err(_) => SpanStatus::Failed,
    }
}

/// Tells a span what its node gave, or why it did not.
pub(super) fn tell_end(span: &mut Span, result: &Result<Fields, PredictError>) {
    match result {
        Ok(outputs) => span.outputs = Some(outputs.clone()),
        Err(error) => span.error = Some(Arc::from(error.message.as_str())),
    }
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
