//! The record of a run that came as far as it could in one go: one that someone waited for, or an
//! item of a batch.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use dsrs::graph::Outcome;
use dsrs::predict::PredictErrorKind;
use uuid::Uuid;

use crate::app::RunFailure;
use crate::app::run::documents::{fields_json, nodes_json, trace_json, usage_json};
use crate::store::graph::GraphPin;
use crate::store::run::{RunRow, RunStatus};

/// Which versions of a graph a run runs.
#[derive(Clone, Debug)]
pub(crate) struct RunVersions {
    pub(crate) graph: Uuid,
    pub(crate) name: String,
    pub(crate) version: i32,
    pub(crate) state_version: i32,
}

impl RunVersions {
    pub(crate) fn pinned(pin: &GraphPin) -> Self {
        Self {
            graph: pin.id,
            name: pin.name.clone(),
            version: pin.version,
            state_version: pin.state_version,
        }
    }
}

/// A run that came as far as it could, beside its outcome.
pub(crate) struct RunRecordBuilder<'a> {
    pub(crate) id: Uuid,
    pub(crate) of: RunVersions,
    pub(crate) actor: &'a str,
    pub(crate) start: DateTime<Utc>,
    pub(crate) took: Duration,
    /// As JSON text.
    pub(crate) inputs: String,
    /// Whether anybody sees its trace.
    pub(crate) traced: bool,
}

impl RunRecordBuilder<'_> {
    /// Its record; the failure is the outcome's, if it has one.
    pub(crate) fn row(self, outcome: &Outcome, failure: Option<&RunFailure>) -> RunRow {
        let took_micros = i64::try_from(self.took.as_micros()).unwrap_or(i64::MAX);
        let ended = Some(took_micros).filter(|_| !outcome.waits());
        let trace =
            if self.traced { trace_json(&outcome.spans, self.start) } else { String::new() };
        RunRow {
            id: self.id,
            graph_id: self.of.graph,
            graph_name: self.of.name,
            graph_version: self.of.version,
            state_version: self.of.state_version,
            status: status(outcome),
            created_at: self.start,
            started_at: Some(self.start),
            finished_at: ended.map(|micros| self.start + TimeDelta::microseconds(micros)),
            duration_ms: ended.map(|micros| micros / 1000),
            inputs: self.inputs,
            outputs: outcome.outputs.as_ref().ok().map(fields_json),
            error: failure.map(RunFailure::to_json),
            usage: usage_json(&outcome.usage),
            nodes: nodes_json(&outcome.nodes, self.start),
            trace,
            created_by: self.actor.to_owned(),
        }
    }
}

/// How a run with this outcome stands.
pub(crate) fn status(outcome: &Outcome) -> RunStatus {
    match &outcome.outputs {
        Ok(_) => RunStatus::Succeeded,
        Err(_) if outcome.waits() => RunStatus::Waiting,
        Err(failure) if failure.error.kind == PredictErrorKind::Cancelled => RunStatus::Cancelled,
        Err(_) => RunStatus::Failed,
    }
}
