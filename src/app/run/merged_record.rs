//! The record of a run that lasts, put together from its parts: what the record held before, what
//! nodes gave in attempts that ended early, and what the last attempt adds.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use dsrs::graph::{CompletedNode, CompletedNodes, NodeOutcome, NodeStatus, Program};
use dsrs::lm::Usage;
use dsrs::predict::{Span, SpanKind};
use dsrs::value::{Map, Payload};
use indexmap::IndexMap;
use uuid::Uuid;

use crate::app::json::JsonObject;
use crate::app::run::documents::{fields_json, node_json, trace_json, usage_json};
use crate::app::{AppError, RunFailure};
use crate::store::background_run::{self, NodeRow};
use crate::store::run::{self, RunRow, RunStatus};
use crate::store::{Db, Scope};

/// A trace in which nothing has happened.
pub(crate) const NO_TRACE: &str = r#"{"spans":[]}"#;

/// What there is of a run that is not done.
pub(crate) struct UnfinishedRun {
    /// Its record, with whatever it held when it was last put into the queue.
    pub(crate) run: RunRow,
    /// What its nodes gave since.
    pub(crate) ended: Vec<NodeRow>,
}

/// What an attempt adds.
#[derive(Clone)]
pub(crate) struct AttemptOutput {
    /// What became of the nodes that it ran, by name.
    pub(crate) nodes: HashMap<Arc<str>, String>,
    pub(crate) usage: Usage,
    pub(crate) trace: String,
}

impl AttemptOutput {
    /// Nothing: nobody worked on it.
    pub(crate) fn nothing() -> Self {
        Self { nodes: HashMap::new(), usage: Usage::default(), trace: NO_TRACE.to_owned() }
    }
}

impl UnfinishedRun {
    pub(crate) async fn read(scope: &Scope, db: &Db, id: Uuid) -> Result<Self, AppError> {
        // In this order: a run that is done by the second look has all of it in its record.
        let ended = background_run::nodes(scope, db, id).await?;
        Ok(Self { run: run::get(scope, db, id).await?, ended })
    }

    /// The nodes that need not run again, as the program takes them.
    pub(crate) fn ended_nodes(&self, program: &Program) -> CompletedNodes {
        let restored = |row: &NodeRow| {
            let found = restored(row, program);
            if found.is_none() {
                tracing::error!(node = row.node, "what a node gave cannot be read back");
            }
            Some((Arc::from(row.node.as_str()), found?))
        };
        self.ended.iter().filter_map(restored).collect()
    }

    /// Whether a node has been given an end.
    pub(crate) fn has(&self, node: &str) -> bool {
        self.ended.iter().any(|row| row.node == node)
    }

    /// How many nodes have come to an end.
    pub(crate) fn count(&self) -> i64 {
        i64::try_from(self.ended.len()).unwrap_or(i64::MAX)
    }

    /// The same without the cost and the trace of what an attempt adds itself.
    pub(crate) fn besides(mut self, added: &AttemptOutput) -> Self {
        let own = |row: &&mut NodeRow| added.nodes.contains_key(row.node.as_str());
        for row in self.ended.iter_mut().filter(own) {
            row.usage = usage_json(&Usage::default());
            row.trace = NO_TRACE.to_owned();
        }
        self
    }

    /// How the run stands, for whoever asks before it is done.
    pub(crate) fn so_far(self) -> RunRow {
        self.with(AttemptOutput::nothing(), None)
    }

    /// How the run stands once it has ended at `at`.
    pub(crate) fn ended(
        self,
        added: AttemptOutput,
        ended: Result<String, (RunStatus, RunFailure)>,
        at: DateTime<Utc>,
    ) -> RunRow {
        let run = self.with(added, Some("skipped"));
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

    /// Everything in one record; nodes that have not begun are told as `unbegun`.
    fn with(self, added: AttemptOutput, unbegun: Option<&str>) -> RunRow {
        let Self { run, ended } = self;
        let usages = ended.iter().map(|row| row.usage.as_str()).chain([run.usage.as_str()]);
        let mut usage = added.usage;
        usages.for_each(|earlier| usage += read_usage(earlier));
        let traces = ended.iter().map(|row| row.trace.as_str());
        let trace =
            joined(std::iter::once(run.trace.as_str()).chain(traces).chain([&*added.trace]));
        let kept: HashMap<&str, &str> =
            ended.iter().map(|row| (row.node.as_str(), row.outcome.as_str())).collect();
        let mut nodes = JsonObject::with_capacity(run.nodes.len());
        for (name, before) in members(&run.nodes) {
            // What is kept counts also where the attempt saw no end: a value may have come since.
            match (kept.get(&*name), added.nodes.get(&name)) {
                (Some(kept), _) => nodes.raw(&name, kept),
                (None, Some(own)) => nodes.raw(&name, own),
                (None, None) => nodes.raw(&name, &restated(before, unbegun).to_json()),
            };
        }
        RunRow { usage: usage_json(&usage), trace, nodes: nodes.finish(), ..run }
    }
}

/// How a node ended, from what was kept of it.
fn restored(row: &NodeRow, program: &Program) -> Option<NodeOutcome> {
    let kept = Payload::from_record(&row.outcome).ok()?;
    if let Some(outputs) = outputs_of(&kept) {
        return program.restore_completed_node(&row.node, &outputs);
    }
    let error = kept.as_map()?.get("error")?.as_map()?;
    let text = |name: &str| error.get(name).and_then(Payload::as_str);
    program.restore_failed_node(&row.node, text("code")?, text("detail")?)
}

/// What a node gave, as it is kept while its run goes on.
pub(crate) fn node_row(node: &CompletedNode, start: DateTime<Utc>) -> NodeRow {
    NodeRow {
        node: node.name.to_string(),
        outcome: node_json(&node.name, &node.outcome, start),
        usage: usage_json(&usage_of(&node.spans)),
        trace: trace_json(&node.spans, start),
    }
}

/// The nodes of an outcome that were not taken over from before.
pub(crate) fn own_nodes(
    nodes: &IndexMap<Arc<str>, NodeOutcome>,
    start: DateTime<Utc>,
) -> HashMap<Arc<str>, String> {
    let own = nodes.iter().filter(|(_, node)| node.started.is_some());
    own.map(|(name, node)| (name.clone(), node_json(name, node, start))).collect()
}

/// The nodes of an outcome that wait for values.
pub(crate) fn waiting_nodes(
    nodes: &IndexMap<Arc<str>, NodeOutcome>,
) -> Vec<(&Arc<str>, &NodeOutcome)> {
    nodes.iter().filter(|(_, node)| node.status == NodeStatus::Waiting).collect()
}

/// A run's nodes as recorded, those that wait told as such; one that has waited before keeps its
/// time.
pub(crate) fn with_waiting(
    recorded: &str,
    waiting: &[(&Arc<str>, &NodeOutcome)],
    spans: &[Span],
    start: DateTime<Utc>,
) -> String {
    let mut nodes = JsonObject::with_capacity(recorded.len());
    for (name, before) in members(recorded) {
        let waits = waiting.iter().find(|(waiting, _)| **waiting == name);
        match waits.filter(|_| !is_waiting(&before)) {
            Some((_, outcome)) => nodes.raw(&name, &waiting_json(&name, outcome, spans, start)),
            None => nodes.raw(&name, &before.to_json()),
        };
    }
    nodes.finish()
}

/// A node that waits, with what there is to decide about.
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

/// Whether a node's document says that it came to an end, good or bad.
pub(crate) fn has_ended(node: &Payload) -> bool {
    matches!(node_status(node), Some("succeeded" | "failed"))
}

/// Whether a node's document says that it waits for its value.
pub(crate) fn is_waiting(node: &Payload) -> bool {
    node_status(node) == Some("waiting")
}

fn node_status(node: &Payload) -> Option<&str> {
    node.as_map()?.get("status")?.as_str()
}

/// The nodes of a run that nobody has begun.
pub(crate) fn pending_nodes(program: &Program) -> String {
    let mut nodes = JsonObject::new();
    for (name, _) in program.graph().nodes() {
        nodes.raw(name, PENDING);
    }
    nodes.finish()
}

/// A node that has not begun.
pub(crate) const PENDING: &str =
    r#"{"status":"pending","started_at":null,"duration_ms":null,"outputs":null,"error":null}"#;

/// The members of an object that we have written.
pub(crate) fn members(json: &str) -> Map {
    let read = Payload::from_record(json).ok();
    read.and_then(|read| read.as_map().cloned()).unwrap_or_default()
}

/// What a node's document says that it gave, if it came to a good end.
pub(crate) fn outputs_of(node: &Payload) -> Option<Payload> {
    let node = node.as_map()?;
    let succeeded = node.get("status")?.as_str()? == "succeeded";
    node.get("outputs").filter(|outputs| succeeded && !outputs.is_null()).cloned()
}

fn restated(node: Payload, unbegun: Option<&str>) -> Payload {
    let word = match (unbegun, node_status(&node)) {
        (Some(word), Some("pending")) => word,
        (Some(_), Some("waiting")) => "cancelled",
        _ => return node,
    };
    let mut members = node.as_map().cloned().unwrap_or_default();
    members.insert("status".into(), word.into());
    Payload::map(members)
}

fn usage_of(spans: &[Span]) -> Usage {
    let mut usage = Usage::default();
    for span in spans.iter().filter(|span| span.kind.is_paid()) {
        usage += span.usage.unwrap_or_default();
    }
    usage
}

fn read_usage(json: &str) -> Usage {
    let usage = members(json);
    let count = |name: &str| match usage.get(name) {
        Some(Payload::Int(count)) => u64::try_from(*count).unwrap_or(0),
        _ => 0,
    };
    Usage {
        lm_calls: count("lm_calls"),
        input_tokens: count("input_tokens"),
        output_tokens: count("output_tokens"),
        cached_tokens: count("cached_tokens"),
        cost: match usage.get("cost") {
            Some(Payload::Float(cost)) => Some(*cost),
            _ => None,
        },
    }
}

/// Several traces as one: spans are counted on.
fn joined<'t>(traces: impl Iterator<Item = &'t str>) -> String {
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
        spans.extend(found.map(|span| counted_on(span, before).to_json()));
    }
    let mut object = JsonObject::with_capacity(spans.iter().map(String::len).sum());
    object.list("spans", spans);
    object.finish()
}

fn counted_on(span: &Payload, before: i64) -> Payload {
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
    fn spans_of_several_attempts_are_counted_on_and_keep_their_parents() {
        let one = r#"{"spans":[{"id":1,"name":"a"},{"id":2,"parent_id":1,"name":"b"}]}"#;
        let two = r#"{"spans":[{"id":1,"name":"c"},{"id":2,"parent_id":1,"raw":"\u0000"}]}"#;
        assert_eq!(
            joined([NO_TRACE, one, two].into_iter()),
            concat!(
                r#"{"spans":[{"id":1,"name":"a"},{"id":2,"parent_id":1,"name":"b"},"#,
                r#"{"id":3,"name":"c"},{"id":4,"parent_id":3,"raw":"\u0000"}]}"#
            )
        );
        assert_eq!(joined([NO_TRACE, one].into_iter()), one);
        assert_eq!(joined([NO_TRACE].into_iter()), NO_TRACE);
    }

    #[test]
    fn usage_is_read_as_it_was_written() {
        let usage = Usage { lm_calls: 3, input_tokens: 40, cost: Some(0.5), ..Usage::default() };
        assert_eq!(read_usage(&usage_json(&usage)), usage);
    }
}
