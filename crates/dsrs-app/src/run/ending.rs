//! What is reported of a run that has ended: the metrics, and for one that failed a warning with the reason.
//! The log has codes and names, never what was asked or answered.

use std::time::Duration;

use dsrs::graph::Outcome;
use dsrs::lm::LmError;
use dsrs::predict::PredictErrorKind;
use uuid::Uuid;

use crate::run::record::status;
use crate::{App, RequestId, RunTimes};

/// A run, for the report.
pub(crate) struct EndedRun<'a> {
    pub(crate) id: Uuid,
    /// The name of its graph.
    pub(crate) graph: &'a str,
    /// The request that started it.
    pub(crate) request: &'a RequestId,
    /// How long it took.
    pub(crate) took: Duration,
}

impl App {
    /// Reports a run that one attempt has executed.
    pub(crate) fn report_run(&self, run: &EndedRun<'_>, outcome: &Outcome) -> RunTimes {
        let times = RunTimes::of(&outcome.spans, run.took);
        let graph = self.metrics.graph(run.graph);
        graph.run_ended(status(outcome).as_str(), Some(run.took));
        graph.times(times);
        self.warn_of_failure(run, outcome, times);
        times
    }

    /// Logs why a run failed.
    pub(crate) fn warn_of_failure(
        &self,
        run: &EndedRun<'_>,
        outcome: &Outcome,
        RunTimes { models, .. }: RunTimes,
    ) {
        let Err(failure) = &outcome.outputs else { return };
        if outcome.waits() || failure.error.kind == PredictErrorKind::Cancelled {
            return;
        }
        let lm = failure.error.source.as_ref();
        let lm = lm.and_then(|source| source.downcast_ref::<LmError>());
        tracing::warn!(
            run = %run.id,
            request = &**run.request,
            graph = run.graph,
            code = failure.error.kind.code(),
            node = failure.node.as_deref(),
            predictor = failure.error.predictor.as_deref(),
            lm_error = lm.map(|error| error.kind.as_str()),
            lm_status = lm.and_then(|error| error.status),
            ms = run.took.as_millis() as u64,
            models_ms = models.as_millis() as u64,
            "a run failed"
        );
    }
}
