//! One item of a batch: a run, from its inputs to its result and its record. May not know jobs beyond
//! the guard that stops them.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use dsrs::graph::{Outcome, Program, SharedWork};
use dsrs::lm::Usage;
use dsrs::predict::RunScope;
use dsrs::value::{Fields, Payload};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::clock::now;
use crate::job::active::{ActiveGuard, StopReason};
use crate::run::documents::{fields_json, usage_json};
use crate::run::ending::EndedRun;
use crate::run::execute::admit;
use crate::run::record::{RunRecordBuilder, RunVersions};
use crate::run_spans::{RunTrace, TracedRun};
use crate::{App, RequestId, RunFailure};
use dsrs_config::Record;
use dsrs_store::Scope;
use dsrs_store::batch::BatchResultRow;
use dsrs_store::batch_work::BatchItemResult;
use dsrs_store::job::Job;
use dsrs_store::run::RunStatus;
use dsrs_store::run_label::RunLabels;

/// The work on the items of one batch.
pub struct BatchWork {
    pub(crate) app: Arc<App>,
    pub(crate) scope: Scope,
    pub(crate) id: Uuid,
    /// How many items it has.
    pub(crate) total: i32,
    /// Whether workers of other servers may help.
    pub(crate) is_divided: bool,
    /// The job: the batch, or a part of it.
    pub(crate) job: Job,
    pub(crate) program: Arc<Program>,
    pub(crate) versions: RunVersions,
    /// The work that the runs share, if they do.
    pub(crate) shared: Option<SharedWork>,
    /// The time limit of one item.
    pub(crate) timeout: Duration,
    pub(crate) labels: RunLabels,
    /// The id of the request that started the batch.
    pub(crate) request_id: RequestId,
    /// Stops the running items.
    pub(crate) cancel: CancellationToken,
}

impl BatchWork {
    /// Runs an item. `None` if it was interrupted because the server stops.
    pub(crate) async fn run(
        &self,
        guard: &ActiveGuard,
        position: i32,
        inputs: &Payload,
    ) -> Option<BatchItemResult> {
        let inputs = match admit(&self.program, inputs) {
            Ok(inputs) => inputs,
            Err(error) => {
                tracing::error!(position, %error, "an accepted item cannot be run");
                return Some(self.failed(position));
            }
        };
        let mut scope = RunScope::new(self.app.models.clone(), Instant::now() + self.timeout);
        scope.indexes = Some(self.app.indexes.of_workspace(&self.scope));
        scope.id = Some(item_id(self.id, position));
        scope.observer = Some(self.app.metrics.graph(&self.versions.name));
        scope.cancelled = self.cancel.child_token();
        let (id, start) = (Uuid::now_v7(), now());
        let trace = self.app.trace_of_job(&self.request_id, id);
        scope.trace_context = trace.as_ref().map(|trace| trace.context.clone());
        let scope = Arc::new(scope);
        let traced_inputs = self.app.traces_contents().then(|| inputs.clone());
        let running = self.app.metrics.run_started();
        let written = fields_json(&inputs);
        let outcome = match &self.shared {
            Some(shared) => self.program.execute_sharing(&scope, inputs, shared).await,
            None => self.program.execute(&scope, inputs).await,
        };
        let took = scope.trace.elapsed();
        let failure =
            outcome.outputs.as_ref().err().map(|e| RunFailure::of(id, &self.request_id, e));
        let recorded = self.app.recorder.mode() != Record::Off;
        let ended = RunRecordBuilder {
            id,
            versions: self.versions.clone(),
            actor: &self.scope.actor,
            start,
            took,
            inputs: written,
            with_trace: recorded,
            is_stored: recorded,
            labels: self.labels.clone(),
        };
        let run = ended.build(&outcome, failure.as_ref());
        drop(running);
        let graph = &self.versions.name;
        let ended = EndedRun { id, graph, request: &self.request_id, took };
        self.app.report_run(&ended, &outcome);
        if let Some(trace) = &trace {
            self.send_spans(trace, id, (start, took), traced_inputs.as_ref(), &outcome);
        }
        if run.status == RunStatus::Cancelled && guard.stopped() != Some(StopReason::Cancelled) {
            return None;
        }
        let result = BatchResultRow {
            position,
            status: Some(run.status),
            run_id: recorded.then_some(id),
            outputs: run.outputs.clone(),
            error: run.error.clone(),
            usage: Some(run.usage.clone()),
        };
        Some(BatchItemResult { result, run: recorded.then_some(run) })
    }

    fn send_spans(
        &self,
        trace: &RunTrace,
        id: Uuid,
        (start, took): (DateTime<Utc>, Duration),
        inputs: Option<&Fields>,
        outcome: &Outcome,
    ) {
        let run = TracedRun {
            trace,
            id,
            kind: "batch",
            graph: &self.versions.name,
            version: self.versions.version,
            state_version: self.versions.state_version,
            request: &self.request_id,
            start,
            took,
            queued: None,
            inputs,
            labels: &self.labels,
            score: None,
        };
        self.app.send_spans(&run, outcome);
    }

    /// The result of an item that could not be run at all.
    pub(crate) fn failed(&self, position: i32) -> BatchItemResult {
        let detail = "the item could not be run; the log has the cause";
        let failure = RunFailure::of_run(Uuid::now_v7(), &self.request_id, "internal", detail);
        let result = BatchResultRow {
            position,
            status: Some(RunStatus::Failed),
            run_id: None,
            outputs: None,
            error: Some(failure.to_json()),
            usage: Some(usage_json(&Usage::default())),
        };
        BatchItemResult { result, run: None }
    }
}

/// What an item is recognized by when it is run again elsewhere: the batch and the position.
fn item_id(batch: Uuid, position: i32) -> [u8; 16] {
    let mut id = batch.into_bytes();
    for (byte, part) in id.iter_mut().rev().zip(position.to_le_bytes()) {
        *byte ^= part;
    }
    id
}
