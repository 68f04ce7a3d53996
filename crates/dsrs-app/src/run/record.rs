//! The record of a run that was executed in one attempt: by a request, or as an item of a batch or an
//! evaluation. Knows no database.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use dsrs::graph::Outcome;
use dsrs::predict::PredictErrorKind;
use dsrs::value::Payload;
use uuid::Uuid;

use crate::run::documents::{
    fields_json, nodes_json, prefixes_of, run_usage, trace_json, usage_json,
};
use crate::run::merged_record::{waiting_nodes, with_waiting};
use crate::{AppError, RunFailure};
use dsrs_store::graph::ResolvedGraph;
use dsrs_store::run::{RunRow, RunStatus, RunStorage};
use dsrs_store::run_label::RunLabels;

/// The graph of a run, with the versions that the run uses.
#[derive(Clone, Debug)]
pub(crate) struct RunVersions {
    pub(crate) graph: Uuid,
    pub(crate) name: String,
    pub(crate) version: i32,
    pub(crate) state_version: i32,
}

impl RunVersions {
    pub(crate) fn pinned(pin: &ResolvedGraph) -> Self {
        Self {
            graph: pin.id,
            name: pin.name.clone(),
            version: pin.version,
            state_version: pin.state_version,
        }
    }
}

/// What the record of a run says besides the outcome.
pub(crate) struct RunRecordBuilder<'a> {
    pub(crate) id: Uuid,
    pub(crate) versions: RunVersions,
    pub(crate) actor: &'a str,
    pub(crate) start: DateTime<Utc>,
    pub(crate) took: Duration,
    /// JSON text.
    pub(crate) inputs: String,
    /// Whether the record has the trace.
    pub(crate) with_trace: bool,
    /// Whether the record is stored.
    pub(crate) is_stored: bool,
    pub(crate) labels: RunLabels,
}

impl RunRecordBuilder<'_> {
    /// Builds the record. `failure` is the one of the outcome, if it has one.
    pub(crate) fn build(self, outcome: &Outcome, failure: Option<&RunFailure>) -> RunRow {
        let took_micros = i64::try_from(self.took.as_micros()).unwrap_or(i64::MAX);
        let ended = Some(took_micros).filter(|_| !outcome.waits());
        let trace =
            if self.with_trace { trace_json(&outcome.spans, self.start) } else { String::new() };
        RunRow {
            id: self.id,
            graph_id: self.versions.graph,
            graph_name: self.versions.name,
            graph_version: self.versions.version,
            state_version: self.versions.state_version,
            status: status(outcome),
            created_at: self.start,
            started_at: Some(self.start),
            finished_at: ended.map(|micros| self.start + TimeDelta::microseconds(micros)),
            duration_ms: ended.map(|micros| micros / 1000),
            inputs: self.inputs,
            outputs: outcome.outputs.as_ref().ok().map(fields_json),
            error: failure.map(RunFailure::to_json),
            usage: usage_json(&outcome.usage),
            nodes: nodes(outcome, self.start),
            trace,
            created_by: self.actor.to_owned(),
            labels: self.labels,
            storage: if self.is_stored { storage(outcome) } else { RunStorage::default() },
        }
    }
}

fn nodes(outcome: &Outcome, start: DateTime<Utc>) -> String {
    let nodes = nodes_json(&outcome.nodes, start);
    match outcome.waits() {
        true => with_waiting(&nodes, &waiting_nodes(&outcome.nodes), &outcome.spans, start),
        false => nodes,
    }
}

/// What only the store needs to know of a run.
fn storage(outcome: &Outcome) -> RunStorage {
    let usage = run_usage(outcome.usage, &outcome.spans);
    RunStorage::with_prefixes(prefixes_of(&outcome.spans)).with_usage(usage)
}

/// The status of a run with this outcome.
pub(crate) fn status(outcome: &Outcome) -> RunStatus {
    match &outcome.outputs {
        Ok(_) => RunStatus::Succeeded,
        Err(_) if outcome.waits() => RunStatus::Waiting,
        Err(failure) if failure.error.kind == PredictErrorKind::Cancelled => RunStatus::Cancelled,
        Err(_) => RunStatus::Failed,
    }
}

/// The recorded inputs of a run.
pub(crate) fn recorded_inputs(run: &RunRow) -> Result<Payload, AppError> {
    Payload::from_record(&run.inputs)
        .map_err(|error| AppError::Internal(format!("stored inputs: {error}")))
}
