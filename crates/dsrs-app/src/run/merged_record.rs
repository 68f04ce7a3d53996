//! The record of a background run, merged from its parts: the record before the first attempt, the
//! checkpoints of all attempts, and the output of the last attempt.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use dsrs::graph::{CompletedNode, CompletedNodes, NodeOutcome, NodeStatus, Program};
use dsrs::lm::{Prefix, Usage};
use dsrs::predict::{NodeContinuation, Span, SpanKind};
use dsrs::value::{Map, Payload};
use indexmap::IndexMap;
use uuid::Uuid;

use crate::json::JsonObject;
use crate::run::documents::{
    NO_TRACE, fields_json, is_waiting, node_json, node_status, prefixes_of, trace_json, usage_json,
    usage_of_json,
};
use crate::run::pause::{
    answers_row_name, continuations, is_pause_row, pause_of, with_continuation,
};
use crate::{AppError, RunFailure};
use dsrs_store::background_run::{self, StoredRun};
use dsrs_store::run::{RunRow, RunStatus, RunStorage};
use dsrs_store::run_progress::{NodeRow, RecordedCheckpoints};
use dsrs_store::{Db, Scope};

/// A run that has not ended, as it is stored.
pub(crate) struct UnfinishedRun {
    /// Its record as of when it was last queued.
    pub(crate) run: RunRow,
    /// The checkpoints since then.
    pub(crate) ended: Vec<NodeRow>,
    /// The id of its newest event; 0 if it has none.
    pub(crate) newest_event: i64,
}

/// What an attempt adds to the record.
#[derive(Clone)]
pub(crate) struct AttemptOutput {
    /// The documents of the nodes that it ran, by name.
    pub(crate) nodes: HashMap<Arc<str>, String>,
    pub(crate) usage: Usage,
    pub(crate) trace: String,
    /// The prefixes of the prompts in the trace.
    pub(crate) prefixes: Vec<Arc<Prefix>>,
    /// The names of the checkpoints of its pauses.
    pub(crate) pauses: Vec<String>,
}

impl AttemptOutput {
    /// Nothing: no node ran.
    pub(crate) fn none() -> Self {
        Self {
            nodes: HashMap::new(),
            usage: Usage::default(),
            trace: NO_TRACE.to_owned(),
            prefixes: Vec::new(),
            pauses: Vec::new(),
        }
    }

    /// Whether its usage and trace include those of a checkpoint.
    fn includes(&self, row: &NodeRow) -> bool {
        self.nodes.contains_key(row.node.as_str()) || self.pauses.contains(&row.node)
    }
}

impl From<StoredRun> for UnfinishedRun {
    fn from(StoredRun { run, nodes, newest_event }: StoredRun) -> Self {
        Self { run, ended: nodes, newest_event }
    }
}

impl UnfinishedRun {
    pub(crate) async fn read(scope: &Scope, db: &Db, id: Uuid) -> Result<Self, AppError> {
        Ok(background_run::get(scope, db, id).await?.into())
    }

    /// The completed nodes, for the program to continue from.
    pub(crate) fn ended_nodes(&self, program: &Program) -> CompletedNodes {
        let restored = |row: &NodeRow| {
            let found = restored(row, program);
            if found.is_none() {
                tracing::error!(node = row.node, "cannot read a checkpoint");
            }
            Some((Arc::from(row.node.as_str()), found?))
        };
        self.ended.iter().filter(|row| !is_pause_row(row)).filter_map(restored).collect()
    }

    /// What the nodes that have paused continue from.
    pub(crate) fn continuations(&self) -> HashMap<Arc<str>, Arc<NodeContinuation>> {
        continuations(&self.ended)
    }

    /// Whether a node waits for a value that has not arrived.
    pub(crate) fn awaits(&self, name: &str, node: &Payload) -> bool {
        is_waiting(node) && !is_answered(&self.ended, name, node)
    }

    /// Whether a node has a checkpoint.
    pub(crate) fn has(&self, node: &str) -> bool {
        self.ended.iter().any(|row| row.node == node)
    }

    /// The checkpoints, as the record will include them.
    pub(crate) fn checkpoints(&self) -> RecordedCheckpoints {
        let mut spent = Usage::default();
        self.ended.iter().for_each(|row| spent += usage_of_json(&row.usage));
        RecordedCheckpoints { count: i64::try_from(self.ended.len()).unwrap_or(i64::MAX), spent }
    }

    /// What earlier attempts spent.
    pub(crate) fn spent(&self) -> Usage {
        let mut spent = usage_of_json(&self.run.usage);
        spent += self.checkpoints().spent;
        spent
    }

    /// The same without the cost and the trace of checkpoints that `added` includes.
    pub(crate) fn without_cost_of(mut self, added: &AttemptOutput) -> Self {
        for row in self.ended.iter_mut().filter(|row| added.includes(row)) {
            row.usage = usage_json(&Usage::default());
            row.trace = NO_TRACE.to_owned();
        }
        self
    }

    /// The record of a run in progress.
    pub(crate) fn current(self) -> RunRow {
        self.merge(AttemptOutput::none(), None)
    }

    /// The record of the run when it ends at `at`.
    pub(crate) fn finished(
        self,
        added: AttemptOutput,
        ended: Result<String, (RunStatus, RunFailure)>,
        at: DateTime<Utc>,
    ) -> RunRow {
        let run = self.merge(added, Some("skipped"));
        let started = run.started_at.unwrap_or(at);
        let (status, outputs, error) = match ended {
            Ok(outputs) => (RunStatus::Succeeded, Some(outputs), None),
            Err((status, failure)) => (status, None, Some(failure.to_json())),
        };
        RunRow {
            status,
            started_at: Some(started),
            finished_at: Some(at),
            duration_ms: Some((at - started).num_milliseconds()),
            outputs,
            error,
            ..run
        }
    }

    /// Merges everything. `not_started` is the status of nodes that have not started.
    fn merge(self, added: AttemptOutput, not_started: Option<&str>) -> RunRow {
        let Self { run, ended, .. } = self;
        let usages = ended.iter().map(|row| row.usage.as_str()).chain([run.usage.as_str()]);
        let mut usage = added.usage;
        usages.for_each(|earlier| usage += usage_of_json(earlier));
        let traces = ended.iter().map(|row| row.trace.as_str());
        let trace =
            concatenate(std::iter::once(run.trace.as_str()).chain(traces).chain([&*added.trace]));
        let checkpoints: HashMap<&str, &str> =
            ended.iter().map(|row| (row.node.as_str(), row.outcome.as_str())).collect();
        let paused = continuations(if not_started.is_some() { &ended } else { &[] });
        let mut nodes = JsonObject::with_capacity(run.nodes.len());
        for (name, before) in members(&run.nodes) {
            // A checkpoint takes precedence: a signal may have set the value since the attempt.
            let node = match (checkpoints.get(&*name), added.nodes.get(&name)) {
                (Some(checkpoint), _) => (*checkpoint).to_owned(),
                (None, own) => {
                    let document = own.cloned().unwrap_or_else(|| {
                        let is_answered = is_answered(&ended, &name, &before);
                        let before =
                            if is_answered { with_status(before, "running") } else { before };
                        with_final_status(before, not_started).to_json()
                    });
                    match paused.get(&name) {
                        Some(continuation) if !is_complete(&document) => {
                            with_continuation(&document, continuation)
                        }
                        _ => document,
                    }
                }
            };
            nodes.raw(&name, &node);
        }
        RunRow {
            usage: usage_json(&usage),
            trace,
            nodes: nodes.finish(),
            storage: RunStorage::with_prefixes(added.prefixes),
            ..run
        }
    }
}

/// Whether the document of a node has outputs.
fn is_complete(node: &str) -> bool {
    Payload::from_record(node).is_ok_and(|node| outputs_of(&node).is_some())
}

/// Whether the calls that a node waits for are answered.
fn is_answered(ended: &[NodeRow], name: &str, node: &Payload) -> bool {
    let Some(number) = pause_of(node) else { return false };
    let answers = answers_row_name(name, number);
    ended.iter().any(|row| row.node == answers)
}

/// The document of a node that no longer waits.
fn with_status(node: Payload, status: &str) -> Payload {
    let mut members = node.as_map().cloned().unwrap_or_default();
    members.insert("status".into(), status.into());
    members.shift_remove("pause");
    members.shift_remove("calls");
    Payload::map(members)
}

/// The outcome of a node, from its checkpoint.
fn restored(row: &NodeRow, program: &Program) -> Option<NodeOutcome> {
    let document = Payload::from_record(&row.outcome).ok()?;
    if let Some(outputs) = outputs_of(&document) {
        return program.restore_completed_node(&row.node, &outputs);
    }
    let error = document.as_map()?.get("error")?.as_map()?;
    let text = |name: &str| error.get(name).and_then(Payload::as_str);
    program.restore_failed_node(&row.node, text("code")?, text("detail")?)
}

/// The checkpoint of a node.
pub(crate) fn node_row(node: &CompletedNode, start: DateTime<Utc>) -> NodeRow {
    NodeRow {
        node: node.name.to_string(),
        outcome: node_json(&node.name, &node.outcome, start),
        usage: usage_json(&usage_of_spans(&node.spans)),
        trace: trace_json(&node.spans, start),
        prefixes: prefixes_of(&node.spans),
    }
}

/// The nodes of an outcome that ran in this attempt.
pub(crate) fn own_nodes(
    nodes: &IndexMap<Arc<str>, NodeOutcome>,
    start: DateTime<Utc>,
) -> HashMap<Arc<str>, String> {
    let own = nodes.iter().filter(|(_, node)| node.started.is_some());
    own.map(|(name, node)| (name.clone(), node_json(name, node, start))).collect()
}

/// The nodes of an outcome that wait for signals.
pub(crate) fn waiting_nodes(
    nodes: &IndexMap<Arc<str>, NodeOutcome>,
) -> Vec<(&Arc<str>, &NodeOutcome)> {
    nodes.iter().filter(|(_, node)| node.status == NodeStatus::Waiting).collect()
}

/// The name of the checkpoint that the value for a waiting node becomes.
pub(crate) fn value_row_name(name: &str, outcome: &NodeOutcome) -> String {
    match &outcome.pause {
        Some(pause) => answers_row_name(name, pause.number),
        None => name.to_owned(),
    }
}

/// The recorded nodes of a run with those that wait marked so. A node that waited before keeps its
/// start time.
pub(crate) fn with_waiting(
    recorded: &str,
    waiting: &[(&Arc<str>, &NodeOutcome)],
    spans: &[Span],
    start: DateTime<Utc>,
) -> String {
    let mut nodes = JsonObject::with_capacity(recorded.len());
    for (name, before) in members(recorded) {
        let waits = waiting.iter().find(|(waiting, _)| **waiting == name);
        // A node that paused again asks for something else.
        let is_written =
            is_waiting(&before) && before.as_map().is_some_and(|node| node.contains_key("inputs"));
        match waits.filter(|(_, outcome)| outcome.pause.is_some() || !is_written) {
            Some((_, outcome)) => nodes.raw(&name, &waiting_json(&name, outcome, spans, start)),
            None => nodes.raw(&name, &before.to_json()),
        };
    }
    nodes.finish()
}

/// A node that waits, with its inputs, which the signal answers.
fn waiting_json(
    name: &Arc<str>,
    outcome: &NodeOutcome,
    spans: &[Span],
    start: DateTime<Utc>,
) -> String {
    let of_node = |span: &&Span| span.kind == SpanKind::Node && span.node == *name;
    let inputs = spans.iter().find(of_node).and_then(|span| span.inputs.as_ref());
    let mut node = JsonObject::new();
    node.splice(&node_json(name, outcome, start));
    node.raw("inputs", inputs.map(fields_json).as_deref().unwrap_or("{}"));
    node.finish()
}

/// Whether the document of a node says that it has succeeded or failed.
pub(crate) fn has_ended(node: &Payload) -> bool {
    matches!(node_status(node), Some("succeeded" | "failed"))
}

/// The nodes of a run that has not started.
pub(crate) fn pending_nodes(program: &Program) -> String {
    let mut nodes = JsonObject::new();
    for (name, _) in program.graph().nodes() {
        nodes.raw(name, PENDING);
    }
    nodes.finish()
}

/// A node that has not started.
pub(crate) const PENDING: &str =
    r#"{"status":"pending","started_at":null,"duration_ms":null,"outputs":null,"error":null}"#;

/// The members of an object that the server wrote.
pub(crate) fn members(json: &str) -> Map {
    let read = Payload::from_record(json).ok();
    read.and_then(|read| read.as_map().cloned()).unwrap_or_default()
}

/// The outputs in the document of a node that succeeded.
pub(crate) fn outputs_of(node: &Payload) -> Option<Payload> {
    let node = node.as_map()?;
    let succeeded = node.get("status")?.as_str()? == "succeeded";
    node.get("outputs").filter(|outputs| succeeded && !outputs.is_null()).cloned()
}

fn with_final_status(node: Payload, not_started: Option<&str>) -> Payload {
    let status = match (not_started, node_status(&node)) {
        (Some(status), Some("pending")) => status,
        (Some(_), Some("waiting" | "running")) => "cancelled",
        _ => return node,
    };
    with_status(node, status)
}

fn usage_of_spans(spans: &[Span]) -> Usage {
    let mut usage = Usage::default();
    for span in spans.iter().filter(|span| span.kind.is_paid()) {
        usage += span.usage.unwrap_or_default();
    }
    usage
}

/// Several traces as one, with consecutive span ids.
fn concatenate<'t>(traces: impl Iterator<Item = &'t str>) -> String {
    let traces: Vec<&str> = traces.filter(|trace| *trace != NO_TRACE).collect();
    match traces.as_slice() {
        [] => return NO_TRACE.to_owned(),
        [one] => return (*one).to_owned(),
        _ => {}
    }
    let mut spans: Vec<String> = Vec::new();
    for trace in traces {
        let before = i64::try_from(spans.len()).unwrap_or(i64::MAX);
        let found = members(trace).swap_remove("spans").unwrap_or_default();
        let found = found.as_list().unwrap_or_default().iter();
        spans.extend(found.map(|span| renumbered(span, before).to_json()));
    }
    let mut object = JsonObject::with_capacity(spans.iter().map(String::len).sum());
    object.list("spans", spans);
    object.finish()
}

fn renumbered(span: &Payload, before: i64) -> Payload {
    let mut members = span.as_map().cloned().unwrap_or_default();
    for name in ["id", "parent_id"] {
        if let Some(Payload::Int(number)) = members.get_mut(name) {
            *number += before;
        }
    }
    Payload::map(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_spans_have_consecutive_ids_and_their_own_parents() {
        let one = r#"{"spans":[{"id":1,"name":"a"},{"id":2,"parent_id":1,"name":"b"}]}"#;
        let two = r#"{"spans":[{"id":1,"name":"c"},{"id":2,"parent_id":1,"raw":"\u0000"}]}"#;
        assert_eq!(
            concatenate([NO_TRACE, one, two].into_iter()),
            concat!(
                r#"{"spans":[{"id":1,"name":"a"},{"id":2,"parent_id":1,"name":"b"},"#,
                r#"{"id":3,"name":"c"},{"id":4,"parent_id":3,"raw":"\u0000"}]}"#
            )
        );
        assert_eq!(concatenate([NO_TRACE, one].into_iter()), one);
        assert_eq!(concatenate([NO_TRACE].into_iter()), NO_TRACE);
    }

    #[test]
    fn usage_survives_writing_and_reading() {
        for cost in [Some(0.5), Some(2.0), None] {
            let usage = Usage { lm_calls: 3, input_tokens: 40, cost, ..Usage::default() };
            assert_eq!(usage_of_json(&usage_json(&usage)), usage);
        }
    }
}
