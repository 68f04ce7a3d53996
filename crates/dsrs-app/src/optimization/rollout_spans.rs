//! The rollouts of an optimization as spans: each is a run in a trace of its own, with its score. May not know optimizers.

use std::sync::Arc;

use dsrs::lm::TraceContext;
use dsrs::optimize::{Example, ExampleRun, Rollout, RolloutObserver};
use uuid::Uuid;

use crate::job::attempt::JobAttempt;
use crate::run_spans::{RunTrace, ScoreEvent, TracedRun};
use crate::{App, RequestId};
use dsrs_store::optimization::OptimizationRow;
use dsrs_store::run_label::RunLabels;

/// Sends the spans of rollouts.
pub(crate) struct RolloutSpans {
    app: Arc<App>,
    request_id: RequestId,
    metric: &'static str,
    graph: String,
    version: i32,
    state_version: i32,
}

impl RolloutSpans {
    /// The observer of the rollouts of an attempt. `None` if spans are sent nowhere.
    pub(crate) fn observer(
        attempt: &JobAttempt,
        row: &OptimizationRow,
        metric: &'static str,
    ) -> Option<Arc<dyn RolloutObserver>> {
        attempt.app.telemetry.as_ref()?;
        Some(Arc::new(Self {
            app: attempt.app.clone(),
            request_id: attempt.request.request_id.clone(),
            metric,
            graph: row.graph_name.clone(),
            version: row.graph_version,
            state_version: row.state_version,
        }))
    }
}

impl RolloutObserver for RolloutSpans {
    fn begin(&self) -> Option<Arc<TraceContext>> {
        Some(self.app.trace_of_job(&self.request_id, Uuid::now_v7())?.context)
    }

    fn end(
        &self,
        context: Arc<TraceContext>,
        example: &Example,
        ran: &ExampleRun,
        rollout: Option<&Rollout>,
    ) {
        let trace = RunTrace::linked(context, &self.request_id);
        let scored = rollout.filter(|rollout| rollout.error.is_none());
        let run = TracedRun {
            trace: &trace,
            id: Uuid::from_bytes(trace.context.trace_id()),
            kind: "optimization",
            graph: &self.graph,
            version: self.version,
            state_version: self.state_version,
            request: &self.request_id,
            start: ran.start.into(),
            took: ran.took,
            queued: None,
            inputs: self.app.traces_contents().then_some(&example.inputs),
            labels: &RunLabels::default(),
            score: scored.map(|rollout| ScoreEvent {
                metric: self.metric,
                value: rollout.value(),
                feedback: rollout.score.feedback.as_ref(),
            }),
        };
        self.app.send_spans(&run, &ran.outcome);
    }
}
